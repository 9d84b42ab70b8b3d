// wasi.h: what a small C component needs to know of its host.
//
// A component's imports and exports are typed (world.wit). This header spells
// out how those types look in memory, by the component model's canonical ABI,
// for the few functions used here: no libc, no generated code, no adapter. A
// list or string the host returns is put into memory that cabi_realloc hands
// out; here that is one arena that grows and is wound back by its user.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

enum { MAX_PATH = 4096, CHUNK = 64 << 10 };

// ---- text and memory ------------------------------------------------------------

static inline size_t str_len(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

static inline bool mem_equal(const char *a, const char *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static inline bool str_equal(const char *a, const char *b) {
  return str_len(a) == str_len(b) && mem_equal(a, b, str_len(a));
}

static inline void mem_copy(char *to, const char *from, size_t n) { __builtin_memcpy(to, from, n); }

// ---- the arena ------------------------------------------------------------------

extern char __heap_base;  // the linker's: the first byte after the program's data
static uintptr_t arena;

// cabi_realloc is how the host asks for room for what it returns.
EXPORT("cabi_realloc")
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
  if (arena == 0) arena = (uintptr_t)&__heap_base;
  uintptr_t p = (arena + align - 1) & ~(uintptr_t)(align - 1);
  size_t have = __builtin_wasm_memory_size(0) << 16;
  if (p + size > have) {
    size_t pages = (p + size - have + 0xffff) >> 16;
    if (__builtin_wasm_memory_grow(0, pages) == (size_t)-1) __builtin_trap();
  }
  arena = p + size;
  if (old_size > 0) __builtin_memcpy((void *)p, old, old_size < size ? old_size : size);
  return (void *)p;
}

struct string {
  const char *p;
  size_t n;
};

// ---- wasi:filesystem@0.2.0 --------------------------------------------------------

typedef int32_t descriptor;  // an open file or folder; 0 is a valid number
typedef int32_t dir_stream;

enum { DIRECTORY = 3, REGULAR_FILE = 6 };  // cases of descriptor-type
enum { OPEN_DIRECTORY = 2 };               // a flag of open-flags
enum { READ = 1 };                         // a flag of descriptor-flags

struct preopen {
  descriptor dir;
  struct string name;
};

struct preopens {
  struct preopen *p;
  size_t n;
};

// A result<T, error-code> is one byte telling ok (0) from error, then T.
struct result_handle {
  uint8_t is_error;
  int32_t handle;
};

struct result_entry {  // result<option<directory-entry>, error-code>
  uint8_t is_error;
  uint8_t some __attribute__((aligned(4)));
  uint8_t type __attribute__((aligned(4)));
  struct string name;
};

struct result_read {  // result<tuple<list<u8>, bool>, error-code>
  uint8_t is_error;
  struct string bytes;
  uint8_t at_end;
};

_Static_assert(sizeof(struct result_entry) == 20 && offsetof(struct result_entry, name) == 12, "canonical ABI");
_Static_assert(offsetof(struct result_read, at_end) == 12, "canonical ABI");

#define FILESYSTEM "wasi:filesystem/types@0.2.0"

IMPORT("wasi:filesystem/preopens@0.2.0", "get-directories")
void fs_get_directories(struct preopens *);
IMPORT(FILESYSTEM, "[method]descriptor.read-directory")
void fs_read_directory(descriptor, struct result_handle *);
IMPORT(FILESYSTEM, "[method]directory-entry-stream.read-directory-entry")
void fs_read_entry(dir_stream, struct result_entry *);
IMPORT(FILESYSTEM, "[method]descriptor.open-at")
void fs_open_at(descriptor, int32_t path_flags, const char *, size_t, int32_t open_flags, int32_t flags,
                struct result_handle *);
IMPORT(FILESYSTEM, "[method]descriptor.read")
void fs_read(descriptor, int64_t length, int64_t offset, struct result_read *);
IMPORT(FILESYSTEM, "[resource-drop]descriptor")
void fs_drop(descriptor);
IMPORT(FILESYSTEM, "[resource-drop]directory-entry-stream")
void fs_drop_stream(dir_stream);

// wasi_work_folder finds the folder the capsule's manifest granted: ".".
static bool wasi_work_folder(descriptor *dir) {
  struct preopens all;
  fs_get_directories(&all);
  for (size_t i = 0; i < all.n; i++)
    if (all.p[i].name.n == 1 && all.p[i].name.p[0] == '.') {
      *dir = all.p[i].dir;
      return true;
    }
  return false;
}

// wasi_open opens one name in dir for reading; a symbolic link is not followed.
static bool wasi_open(descriptor dir, const char *name, int32_t open_flags, descriptor *opened) {
  struct result_handle r;
  fs_open_at(dir, 0, name, str_len(name), open_flags, READ, &r);
  *opened = r.handle;
  return !r.is_error;
}

static void wasi_close(descriptor d) { fs_drop(d); }

static bool wasi_list(descriptor dir, dir_stream *entries) {
  struct result_handle r;
  fs_read_directory(dir, &r);
  *entries = r.handle;
  return !r.is_error;
}

struct entry {
  uint8_t type;
  char name[256];
};

// wasi_next copies the next entry, or returns false at the end of the folder.
// A name too long for struct entry is left out.
static bool wasi_next(dir_stream entries, struct entry *e) {
  for (;;) {
    uintptr_t mark = arena;
    struct result_entry r;
    fs_read_entry(entries, &r);
    if (r.is_error || !r.some) return false;
    bool fits = r.name.n < sizeof e->name;
    if (fits) {
      mem_copy(e->name, r.name.p, r.name.n);
      e->name[r.name.n] = 0;
      e->type = r.type;
    }
    arena = mark;  // the name was all the host had put there
    if (fits) return true;
  }
}

static void wasi_list_end(dir_stream entries) { fs_drop_stream(entries); }

// wasi_read_all reads a file from its start until it ends or room is full. It
// returns the bytes read, or -1.
static long wasi_read_all(descriptor f, char *to, size_t room) {
  size_t n = 0;
  while (n < room) {
    uintptr_t mark = arena;
    struct result_read r;
    size_t want = room - n < CHUNK ? room - n : CHUNK;
    fs_read(f, (int64_t)want, (int64_t)n, &r);
    if (r.is_error) return -1;
    mem_copy(to + n, r.bytes.p, r.bytes.n);
    n += r.bytes.n;
    bool done = r.at_end || r.bytes.n == 0;
    arena = mark;
    if (done) break;
  }
  return (long)n;
}

// ---- murmur:tool/run@0.1.0 --------------------------------------------------------

enum { PASSED, FAILED, ERROR };  // cases of status

struct option_string {
  uint32_t is_some;
  struct string s;
};

struct tool_result {
  uint8_t status;
  struct option_string summary, data, data_path;
  uint8_t truncated;
  struct string *metadata;  // pairs: name, value, name, value, ...
  size_t metadata_len;      // number of pairs
};

_Static_assert(sizeof(struct tool_result) == 52, "canonical ABI");

static inline struct option_string some(const char *s) {
  return (struct option_string){1, {s, str_len(s)}};
}

void run_tool(struct tool_result *result);

// The input is data: option<string> and log-path: option<string>, six numbers.
// This tool needs neither: what it reads is the folder it was granted.
EXPORT("murmur:tool/run@0.1.0#run")
struct tool_result *murmur_tool_run(int32_t has_data, const char *data, size_t data_len, int32_t has_log,
                                    const char *log, size_t log_len) {
  (void)has_data, (void)data, (void)data_len, (void)has_log, (void)log, (void)log_len;
  static struct tool_result result;
  run_tool(&result);
  return &result;
}
