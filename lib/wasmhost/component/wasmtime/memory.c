//go:build cgo

// Linear memories, made here and not by the library for one reason: the
// library's limiter answers memory.grow with -1 and tells nobody, so that a
// guest that ran out of memory ends in an ordinary trap. Here each size is
// counted against its store, and a refusal is remembered.
#define _GNU_SOURCE
#include "capi.h"
#include <stdlib.h>
#include <sys/mman.h>

typedef struct {
  wh_store_t *owner;
  uint8_t *map, *base; // the whole mapping; where the memory starts in it
  size_t map_size, size, capacity;
} memory_t;

// current is the store whose guest runs on this thread. A memory is only ever
// made while its store is instantiated.
static _Thread_local wh_store_t *current;

wh_store_t *wh_enter(wh_store_t *s) {
  wh_store_t *old = current;
  current = s;
  return old;
}

void wh_leave(wh_store_t *old) { current = old; }

// Memories this large at their start mostly hold data that is copied in at once
// (8 MiB of it took 3.1 ms in small pages and 1.1 ms in large ones).
enum { LARGE = 4 << 20 };

static bool charge(wh_store_t *s, uint64_t more) {
  if (s->mem_limit && more > s->mem_limit - s->mem_used) {
    s->mem_refused = true;
    return false;
  }
  s->mem_used += more;
  return true;
}

static uint8_t *get_memory(void *env, size_t *size, size_t *capacity) {
  memory_t *m = env;
  *size = m->size;
  *capacity = m->capacity;
  return m->base;
}

static wasmtime_error_t *grow_memory(void *env, size_t size) {
  memory_t *m = env;
  if (size <= m->size) return NULL;
  if (size > m->capacity) return wasmtime_error_new("memory larger than its reservation");
  if (!charge(m->owner, size - m->size)) return wasmtime_error_new("memory limit reached");
  if (mprotect(m->base + m->size, size - m->size, PROT_READ | PROT_WRITE)) {
    m->owner->mem_used -= size - m->size;
    return wasmtime_error_new("no memory from the system");
  }
  m->size = size;
  return NULL;
}

static void delete_memory(void *env) {
  memory_t *m = env;
  m->owner->mem_used -= m->size;
  munmap(m->map, m->map_size);
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
  m->map_size = guard + m->capacity + guard;
  m->map = mmap(NULL, m->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  m->base = m->map + guard;
  if (m->map == MAP_FAILED || (minimum && mprotect(m->base, minimum, PROT_READ | PROT_WRITE))) {
    if (m->map != MAP_FAILED) munmap(m->map, m->map_size);
    s->mem_used -= minimum;
    free(m);
    return wasmtime_error_new("no memory from the system");
  }
#ifdef MADV_HUGEPAGE
  if (minimum >= LARGE) madvise(m->base, minimum, MADV_HUGEPAGE); // only advice
#endif
  out->env = m;
  out->get_memory = get_memory;
  out->grow_memory = grow_memory;
  out->finalizer = delete_memory;
  return NULL;
}

void wh_memory_creator(wasmtime_memory_creator_t *c) {
  c->env = NULL;
  c->new_memory = new_memory;
  c->finalizer = NULL;
}
