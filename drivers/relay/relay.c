// relay: a driver written in C as a WebAssembly component.
//
// It translates nothing: what the agent loop asks is posted to the endpoint as it
// is, and what comes back is the answer. Whoever wants to bring a model of their
// own needs no WebAssembly for it, just an HTTP server that speaks the payloads
// of docs/spec/agent.md, sections 6 and 7.
//
// No libc, no generated code, no adapter: the imports and the shape of records in
// memory are spelled out below, by the component model's canonical ABI.
// ./rebuild.sh builds it.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

struct string { const char *p; size_t n; };
struct option_string { uint8_t some; struct string s; };
struct list { void *p; size_t n; };

// ---- memory ---------------------------------------------------------------------

extern char __heap_base;  // the linker's: the first byte after the program's data
static uintptr_t arena;

// cabi_realloc is how the host asks for room for what it returns. Nothing is
// given back: an instance lives for one call.
EXPORT("cabi_realloc")
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
  if (arena == 0) arena = (uintptr_t)&__heap_base;
  uintptr_t p = (arena + align - 1) & ~(uintptr_t)(align - 1);
  size_t have = __builtin_wasm_memory_size(0) << 16;
  if (p + size > have && __builtin_wasm_memory_grow(0, (p + size - have + 0xffff) >> 16) == (size_t)-1) __builtin_trap();
  arena = p + size;
  if (old_size > 0) __builtin_memcpy((void *)p, old, old_size < size ? old_size : size);
  return (void *)p;
}

static size_t length(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

static bool begins(struct string s, const char *with) {
  size_t n = length(with);
  if (s.n < n) return false;
  for (size_t i = 0; i < n; i++)
    if (s.p[i] != with[i]) return false;
  return true;
}

// ---- the host ---------------------------------------------------------------------

#define TYPES "wasi:http/types@0.2.0"
#define STREAMS "wasi:io/streams@0.2.0"

struct variable { struct string name, value; };
struct result_handle { uint8_t err; int32_t handle; };
// An error-code is aligned to 8 bytes, so a tag before it takes 8.
union result_code { uint8_t tag[64]; int32_t word[16]; uint64_t align; };
struct result_read { uint8_t err; union { struct list ok; uint8_t err_case; } u; };

IMPORT("wasi:cli/environment@0.2.0", "get-environment") void get_environment(struct list *);
IMPORT(TYPES, "[constructor]fields") int32_t new_fields(void);
IMPORT(TYPES, "[method]fields.append") void append(int32_t, const char *, size_t, const char *, size_t, uint8_t *);
IMPORT(TYPES, "[constructor]outgoing-request") int32_t new_request(int32_t fields);
IMPORT(TYPES, "[method]outgoing-request.set-method") int32_t set_method(int32_t, int32_t method, const char *, size_t);
IMPORT(TYPES, "[method]outgoing-request.set-scheme") int32_t set_scheme(int32_t, int32_t some, int32_t scheme, const char *, size_t);
IMPORT(TYPES, "[method]outgoing-request.set-authority") int32_t set_authority(int32_t, int32_t some, const char *, size_t);
IMPORT(TYPES, "[method]outgoing-request.set-path-with-query") int32_t set_path(int32_t, int32_t some, const char *, size_t);
IMPORT(TYPES, "[method]outgoing-request.body") void request_body(int32_t, struct result_handle *);
IMPORT(TYPES, "[method]outgoing-body.write") void body_write(int32_t, struct result_handle *);
IMPORT(TYPES, "[static]outgoing-body.finish") void body_finish(int32_t, int32_t some, int32_t trailers, union result_code *);
IMPORT(TYPES, "[method]future-incoming-response.subscribe") int32_t subscribe(int32_t);
IMPORT(TYPES, "[method]future-incoming-response.get") void future_get(int32_t, union result_code *);
IMPORT(TYPES, "[method]incoming-response.status") int32_t response_status(int32_t);
IMPORT(TYPES, "[method]incoming-response.consume") void consume(int32_t, struct result_handle *);
IMPORT(TYPES, "[method]incoming-body.stream") void body_stream(int32_t, struct result_handle *);
IMPORT("wasi:http/outgoing-handler@0.2.0", "handle") void handle(int32_t request, int32_t some, int32_t options, union result_code *);
IMPORT("wasi:io/poll@0.2.0", "[method]pollable.block") void block(int32_t);
IMPORT(STREAMS, "[method]input-stream.blocking-read") void blocking_read(int32_t, uint64_t, struct result_read *);
IMPORT(STREAMS, "[method]output-stream.blocking-write-and-flush") void write_and_flush(int32_t, const char *, size_t, struct result_handle *);
IMPORT(STREAMS, "[resource-drop]output-stream") void drop_output(int32_t);

// ---- the exchange -------------------------------------------------------------------

enum { POST = 2, HTTP = 0, WRITE = 4096, READ = 65536 };

// endpoint is where the runtime's gateway takes requests: http://127.0.0.1:9 and
// the path of gateway.endpoint.
static bool endpoint(struct string *authority, struct string *path) {
  static const char name[] = "MURMUR_INFERENCE_ENDPOINT", scheme[] = "http://";
  struct list env;
  get_environment(&env);
  for (size_t i = 0; i < env.n; i++) {
    struct variable v = ((struct variable *)env.p)[i];
    if (v.name.n != sizeof name - 1 || !begins(v.name, name) || !begins(v.value, scheme)) continue;
    struct string rest = {v.value.p + sizeof scheme - 1, v.value.n - (sizeof scheme - 1)};
    size_t n = 0;
    while (n < rest.n && rest.p[n] != '/') n++;
    *authority = (struct string){rest.p, n};
    *path = n < rest.n ? (struct string){rest.p + n, rest.n - n} : (struct string){"/", 1};
    return true;
  }
  return false;
}

// post sends text and reads the answer; false when no whole answer came.
static bool post(struct string text, int32_t *status, struct string *answer) {
  struct string authority, path;
  if (!endpoint(&authority, &path)) return false;
  uint8_t ignored[8];
  int32_t headers = new_fields();
  append(headers, "content-type", 12, "application/json", 16, ignored);
  char digits[10];  // simple servers read no body whose length they are not told
  size_t first = sizeof digits;
  for (size_t n = text.n; n > 0 || first == sizeof digits; n /= 10) digits[--first] = (char)('0' + n % 10);
  append(headers, "content-length", 14, digits + first, sizeof digits - first, ignored);
  int32_t request = new_request(headers);
  set_method(request, POST, NULL, 0);
  set_scheme(request, 1, HTTP, NULL, 0);
  set_authority(request, 1, authority.p, authority.n);
  set_path(request, 1, path.p, path.n);
  struct result_handle body, stream, wrote;
  request_body(request, &body);
  if (body.err) return false;

  union result_code out;
  handle(request, 0, 0, &out);
  if (out.tag[0]) return false;
  int32_t future = out.word[2];

  body_write(body.handle, &stream);
  if (stream.err) return false;
  for (size_t i = 0; i < text.n; i += WRITE) {
    write_and_flush(stream.handle, text.p + i, text.n - i < WRITE ? text.n - i : WRITE, &wrote);
    if (wrote.err) return false;
  }
  drop_output(stream.handle);  // a body with an open stream can not be finished
  body_finish(body.handle, 0, 0, &out);
  if (out.tag[0]) return false;

  block(subscribe(future));
  future_get(future, &out);  // option, result, result
  if (out.tag[16]) return false;
  int32_t response = out.word[6];
  *status = response_status(response);
  consume(response, &body);
  body_stream(body.handle, &stream);

  char *all = cabi_realloc(NULL, 0, 1, 0);
  size_t n = 0;
  for (;;) {
    struct result_read read;
    blocking_read(stream.handle, READ, &read);
    if (read.err) {
      *answer = (struct string){all, n};
      return read.u.err_case != 0;  // closed, not failed
    }
    if (read.u.ok.p != all + n) {  // else the host put it right behind what there is
      char *grown = cabi_realloc(NULL, 0, 1, n + read.u.ok.n);
      __builtin_memcpy(grown, all, n);
      __builtin_memcpy(grown + n, read.u.ok.p, read.u.ok.n);
      all = grown;
    }
    n += read.u.ok.n;
  }
}

// ---- the driver ---------------------------------------------------------------------

struct tool_result {
  uint8_t status;  // passed, failed, error
  struct option_string summary, data, data_path;
  uint8_t truncated;
  struct list metadata;
};
_Static_assert(sizeof(struct tool_result) == 52 && offsetof(struct tool_result, data) == 16, "canonical ABI");

#define FAILURE(why) "{\"stop_reason\":\"error\",\"content\":[],\"error\":\"" why "\"}"

EXPORT("murmur:tool/run@0.1.0#run")
struct tool_result *run(int32_t some, const char *p, size_t n, int32_t log, const char *log_p, size_t log_n) {
  static struct tool_result out;
  static char refused[] = FAILURE("the server answered 000");
  (void)log, (void)log_p, (void)log_n;
  struct string answer = {0};
  int32_t status = 0;
  if (!some) {
    answer = (struct string){FAILURE("the driver was called without a request"), 0};
    answer.n = length(answer.p);
  } else if (!post((struct string){p, n}, &status, &answer)) {
    answer = (struct string){FAILURE("the server can not be reached, or its answer broke off"), 0};
    answer.n = length(answer.p);
  } else if (status != 200) {
    char *digits = refused + sizeof refused - 1 - 2 - 3;
    for (int i = 2; i >= 0; i--, status /= 10) digits[i] = (char)('0' + status % 10);
    answer = (struct string){refused, sizeof refused - 1};
  }
  out.data = (struct option_string){1, answer};
  return &out;
}
