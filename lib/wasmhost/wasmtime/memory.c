//go:build cgo

// Linear memories, made here and not by the library for one reason: the
// library's limiter answers memory.grow with -1 and tells nobody, so that a
// guest that ran out of memory ends in an ordinary trap. Here each size is
// counted against its store, and a refusal is remembered.
#define _GNU_SOURCE
#include "capi.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

// A region is address space for one memory: a guard, the memory, what it may
// grow into, and a guard. Its first open bytes can be read and written; what the
// library does not check by comparing it leaves to the rest to fault.
typedef struct {
  uint8_t *map;
  size_t map_size, guard, open;
  bool spoiled; // a change of open failed, maybe half way
} region_t;

typedef struct {
  wh_store_t *owner;
  region_t r;
  size_t size, capacity;
} memory_t;

// Memories this large at their start mostly hold data that is copied in at once
// (8 MiB of it took 3.1 ms in small pages and 1.1 ms in large ones; a call of a Go
// guest with 2.8 MiB took 1.3 ms and 0.9 ms).
enum { LARGE = 2 << 20 };

// Regions of small memories are kept for the next instance, emptied: making and
// unmaking one costs as much as the rest of a small instance.
enum { KEPT = 32, SMALL = 1 << 20 };
static region_t kept[KEPT];
static size_t kept_count;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

// current is the store whose guest runs on this thread. A memory is only ever
// made while its store is instantiated.
static _Thread_local wh_store_t *current;

wh_store_t *wh_enter(wh_store_t *s) {
  wh_store_t *old = current;
  current = s;
  return old;
}

void wh_leave(wh_store_t *old) { current = old; }

static bool charge(wh_store_t *s, uint64_t more) {
  if (s->mem_limit && more > s->mem_limit - s->mem_used) {
    s->mem_refused = true;
    return false;
  }
  s->mem_used += more;
  return true;
}

// open_to makes exactly the first n bytes of the memory usable.
static bool open_to(region_t *r, size_t n) {
  uint8_t *base = r->map + r->guard;
  int e = 0;
  if (n > r->open) e = mprotect(base + r->open, n - r->open, PROT_READ | PROT_WRITE);
  if (n < r->open) e = mprotect(base + n, r->open - n, PROT_NONE);
  if (e) r->spoiled = true;
  else r->open = n;
  return e == 0;
}

// take_kept finds a kept region of the size, best one that is open as far as
// asked for.
static bool take_kept(region_t *out, size_t map_size, size_t guard, size_t open) {
  size_t found = KEPT;
  pthread_mutex_lock(&kept_lock);
  for (size_t i = 0; i < kept_count; i++) {
    if (kept[i].map_size != map_size || kept[i].guard != guard) continue;
    found = i;
    if (kept[i].open == open) break;
  }
  if (found < KEPT) {
    *out = kept[found];
    kept[found] = kept[--kept_count];
  }
  pthread_mutex_unlock(&kept_lock);
  return found < KEPT;
}

// empty makes every open byte of the region zero by dropping its pages. Only
// Linux promises zeros for that (madvise(2), MADV_DONTNEED).
static bool empty(const region_t *r) {
#ifdef __linux__
  return r->open == 0 || madvise(r->map + r->guard, r->open, MADV_DONTNEED) == 0;
#else
  return false;
#endif
}

// give_back keeps the region, all zeros, or unmaps it.
static void give_back(region_t r) {
  bool keep = !r.spoiled && r.open <= SMALL && empty(&r);
  if (keep) {
    pthread_mutex_lock(&kept_lock);
    keep = kept_count < KEPT;
    if (keep) kept[kept_count++] = r;
    pthread_mutex_unlock(&kept_lock);
  }
  if (!keep) munmap(r.map, r.map_size);
}

static bool new_region(region_t *r, size_t guard, size_t capacity, size_t open) {
  size_t map_size = guard + capacity + guard;
  if (!take_kept(r, map_size, guard, open)) {
    void *p = mmap(NULL, map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    *r = (region_t){.map = p, .map_size = map_size, .guard = guard};
  }
  if (open_to(r, open)) return true;
  munmap(r->map, r->map_size);
  return false;
}

static uint8_t *get_memory(void *env, size_t *size, size_t *capacity) {
  memory_t *m = env;
  *size = m->size;
  *capacity = m->capacity;
  return m->r.map + m->r.guard;
}

static wasmtime_error_t *grow_memory(void *env, size_t size) {
  memory_t *m = env;
  if (size <= m->size) return NULL;
  if (size > m->capacity) return wasmtime_error_new("memory larger than its reservation");
  if (!charge(m->owner, size - m->size)) return wasmtime_error_new("memory limit reached");
  if (!open_to(&m->r, size)) {
    m->owner->mem_used -= size - m->size;
    return wasmtime_error_new("no memory from the system");
  }
  m->size = size;
  return NULL;
}

static void delete_memory(void *env) {
  memory_t *m = env;
  m->owner->mem_used -= m->size;
  if (m->owner->memory == m) m->owner->memory = NULL;
  give_back(m->r);
  free(m);
}

static wasmtime_error_t *new_memory(void *env, const wasm_memorytype_t *ty, size_t minimum, size_t maximum, size_t reserved, size_t guard, wasmtime_linear_memory_t *out) {
  wh_store_t *s = current;
  (void)env, (void)ty, (void)maximum;
  if (!s) return wasmtime_error_new("memory made outside of a store");
  if (!charge(s, minimum)) return wasmtime_error_new("memory limit reached");
  memory_t *m = calloc(1, sizeof *m);
  if (!m) abort();
  m->owner = s;
  m->size = minimum;
  m->capacity = reserved > minimum ? reserved : minimum;
  if (!new_region(&m->r, guard, m->capacity, minimum)) {
    s->mem_used -= minimum;
    free(m);
    return wasmtime_error_new("no memory from the system");
  }
#ifdef MADV_HUGEPAGE
  if (minimum >= LARGE) madvise(m->r.map + guard, minimum, MADV_HUGEPAGE); // only advice
#endif
  s->memory = m;
  s->memories++;
  out->env = m;
  out->get_memory = get_memory;
  out->grow_memory = grow_memory;
  out->finalizer = delete_memory;
  return NULL;
}

uint8_t *wh_memory(const wh_store_t *s, size_t *size) {
  const memory_t *m = s->memories == 1 ? s->memory : NULL;
  *size = m ? m->size : 0;
  return m ? m->r.map + m->r.guard : NULL;
}

void wh_memory_creator(wasmtime_memory_creator_t *c) {
  c->env = NULL;
  c->new_memory = new_memory;
  c->finalizer = NULL;
}
