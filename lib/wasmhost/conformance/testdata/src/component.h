// The guest as a component: the canonical ABI laid out by hand. A guest that is
// a capsule (CAPSULE defined) imports the tool registry, a tool has HTTP, the
// chunks and the task.

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

struct text { const char *p; size_t n; };
struct option { uint8_t some; struct text s; }; // the host writes one byte of a tag
struct tool_result {
  uint8_t status;
  struct option summary, data, data_path;
  uint8_t truncated;
  struct text (*metadata)[2];
  size_t metadata_len;
};
_Static_assert(sizeof(struct tool_result) == 52, "tool-result");

EXPORT("cabi_realloc") void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
  (void)old_size;
  if (!size) return (void *)align;
  void *p = realloc(old, size);
  if (!p) abort();
  return p;
}

#ifdef CAPSULE

IMPORT("murmur:tool-registry/invoke@0.1.0", "invoke")
void registry_invoke(const char *, size_t, uint32_t, const char *, size_t, uint32_t, const char *, size_t, void *);

static bool invoke(const char *name, const char *data) {
  struct { uint8_t err; union { struct tool_result ok; struct text text; } u; } r;
  registry_invoke(name, strlen(name), 1, data, strlen(data), 0, NULL, 0, &r);
  if (r.err) {
    snprintf(answer, sizeof answer, "%.*s", (int)r.u.text.n, r.u.text.p);
    return false;
  }
  struct option *d = &r.u.ok.data;
  snprintf(answer, sizeof answer, "%c %.*s", "pfe"[r.u.ok.status], d->some ? (int)d->s.n : 1, d->some ? d->s.p : "-");
  return true;
}

static bool unavailable(void) { return snprintf(answer, sizeof answer, "unavailable"), false; }
static bool http_get(const char *url) { return (void)url, unavailable(); }
static bool emit(int kind, const char *s) { return (void)kind, (void)s, unavailable(); }
static bool ask(const char *prompt) { return (void)prompt, unavailable(); }

EXPORT("murmur:capsule/run@0.1.0#run") void run(void) {
  static char in[ROOM];
  snprintf(in, sizeof in, "%s", getenv("DO"));
  struct result r = act(in);
  fputs(r.data, stdout);
  fflush(stdout);
  if (r.status != PASSED) exit(r.status);
}

#else

IMPORT("murmur:text/chunks@0.1.0", "emit-chunk") void emit_chunk(const char *, size_t);
IMPORT("murmur:text/chunks@0.1.0", "emit-thinking-chunk") void emit_thinking_chunk(const char *, size_t);
IMPORT("murmur:task/task@0.1.0", "request-input") void request_input(const char *, size_t, struct text *);

#define TYPES "wasi:http/types@0.2.0"
IMPORT(TYPES, "[constructor]fields") int32_t fields(void);
IMPORT(TYPES, "[constructor]outgoing-request") int32_t outgoing_request(int32_t headers);
IMPORT(TYPES, "[method]outgoing-request.set-scheme") int32_t set_scheme(int32_t, int32_t some, int32_t scheme, const char *, size_t);
IMPORT(TYPES, "[method]outgoing-request.set-authority") int32_t set_authority(int32_t, int32_t some, const char *, size_t);
IMPORT(TYPES, "[method]outgoing-request.set-path-with-query") int32_t set_path(int32_t, int32_t some, const char *, size_t);
IMPORT(TYPES, "[method]future-incoming-response.subscribe") int32_t subscribe(int32_t);
IMPORT(TYPES, "[method]future-incoming-response.get") void future_get(int32_t, void *);
IMPORT(TYPES, "[method]incoming-response.status") int32_t status(int32_t);
IMPORT(TYPES, "[method]incoming-response.consume") void consume(int32_t, int32_t *);
IMPORT(TYPES, "[method]incoming-body.stream") void body_stream(int32_t, int32_t *);
IMPORT("wasi:http/outgoing-handler@0.2.0", "handle") void handle(int32_t request, int32_t some, int32_t options, void *);
IMPORT("wasi:io/poll@0.2.0", "[method]pollable.block") void block(int32_t);
IMPORT("wasi:io/streams@0.2.0", "[method]input-stream.blocking-read") void blocking_read(int32_t, uint64_t, void *);

// refused puts a word for an error-code into answer.
static bool refused(uint8_t error) {
  snprintf(answer, sizeof answer, "%s", error == 15 ? "denied" : "transport");
  return false;
}

static bool http_get(const char *url) {
  bool tls = !strncmp(url, "https://", 8);
  const char *host = strstr(url, "://") + 3, *path = strchr(host, '/');
  int32_t r = outgoing_request(fields());
  set_scheme(r, 1, tls, NULL, 0);
  set_authority(r, 1, host, path ? (size_t)(path - host) : strlen(host));
  set_path(r, 1, path ? path : "/", path ? strlen(path) : 1);
  // An error-code is aligned to 8 bytes, so a tag before it takes 8.
  union { uint8_t tag[64]; int32_t word[16]; uint64_t align; } out;
  handle(r, 0, 0, &out);
  if (out.tag[0]) return refused(out.tag[8]);
  int32_t future = out.word[2];
  block(subscribe(future));
  future_get(future, &out); // option, result, result
  if (out.tag[16]) return refused(out.tag[24]);
  int32_t response = out.word[6], got[2];
  int n = snprintf(answer, sizeof answer, "%d ", (int)status(response));
  consume(response, got);
  body_stream(got[1], got);
  for (;;) {
    struct { uint8_t err; union { struct text list; uint8_t tag; } u; } read;
    blocking_read(got[1], sizeof answer - 1 - n, &read);
    if (read.err) {
      if (read.u.tag == 0) return refused(0); // failed, not closed
      break;
    }
    memcpy(answer + n, read.u.list.p, read.u.list.n);
    n += read.u.list.n;
  }
  answer[n] = 0;
  return true;
}

static bool invoke(const char *name, const char *data) {
  return (void)name, (void)data, snprintf(answer, sizeof answer, "unavailable"), false;
}

static bool emit(int kind, const char *s) {
  (kind ? emit_thinking_chunk : emit_chunk)(s, strlen(s));
  return true;
}

static bool ask(const char *prompt) {
  struct text t;
  request_input(prompt, strlen(prompt), &t);
  snprintf(answer, sizeof answer, "%.*s", (int)t.n, t.p);
  return true;
}

static struct option option(const char *s) {
  return s ? (struct option){1, {s, strlen(s)}} : (struct option){0};
}

EXPORT("murmur:tool/run@0.1.0#run")
struct tool_result *run(uint32_t some, const char *p, size_t n, uint32_t log, const char *log_p, size_t log_n) {
  static struct tool_result out;
  static struct text metadata[2][2] = {{{"k", 1}, {"v", 1}}, {{"k", 1}, {"w", 1}}};
  static char in[ROOM];
  (void)log_p, (void)log_n;
  snprintf(in, sizeof in, "%.*s", some ? (int)n : 0, p);
  struct result r = some ? act(in) : say(PASSED, log ? "log path without data" : "no data");
  out = (struct tool_result){
      r.status, option(r.summary), option(r.data), option(r.data_path), r.truncated,
      metadata, r.metadata ? 2 : 0,
  };
  return &out;
}

#endif
