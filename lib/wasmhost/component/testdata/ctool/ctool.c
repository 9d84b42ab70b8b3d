// ctool: a tool in C on wasi-libc, the fixture for the whole way from fopen
// through the preview 1 adapter to our WASI host, and for the benchmarks.
//
// data "read <path>" answers the file's text, "env <name>" a variable,
// "print <text>" writes to both streams, "exit <n>" ends the process, "alloc
// <MiB>" touches so much memory; anything else comes back with "c:" before it.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The canonical ABI of murmur:tool/run, laid out by hand.
typedef struct { const char *p; size_t n; } text_t;
typedef struct { uint32_t some; text_t s; } option_t;
typedef struct { uint8_t status; option_t summary, data, data_path; uint8_t truncated; void *metadata; size_t metadata_len; } result_t;
_Static_assert(sizeof(result_t) == 52, "tool-result");

__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
  (void)old_size;
  if (size == 0) return (void *)align;
  void *p = realloc(old, size);
  if (!p) abort();
  return p;
}

static char answer[4096];
static result_t result;

static result_t *done(int status, size_t n) {
  memset(&result, 0, sizeof result);
  result.status = status;
  result.data.some = 1;
  result.data.s.p = answer;
  result.data.s.n = n;
  return &result;
}

// argument returns what follows "<verb> " in s, or NULL.
static const char *argument(const char *s, const char *verb) {
  size_t n = strlen(verb);
  return strncmp(s, verb, n) == 0 && s[n] == ' ' ? s + n + 1 : NULL;
}

__attribute__((export_name("murmur:tool/run@0.1.0#run")))
result_t *run(uint32_t some, const char *p, size_t n, uint32_t log, const char *lp, size_t ln) {
  char in[256];
  const char *arg;
  (void)log, (void)lp, (void)ln;
  snprintf(in, sizeof in, "%.*s", some ? (int)n : 0, p);
  if ((arg = argument(in, "read"))) {
    FILE *f = fopen(arg, "r");
    if (!f) return done(1, snprintf(answer, sizeof answer, "%s: %s", arg, strerror(errno)));
    n = fread(answer, 1, sizeof answer, f);
    fclose(f);
    return done(0, n);
  }
  if ((arg = argument(in, "env"))) {
    const char *v = getenv(arg);
    return done(v ? 0 : 1, snprintf(answer, sizeof answer, "%s", v ? v : ""));
  }
  if ((arg = argument(in, "print"))) {
    fprintf(stdout, "out %s\n", arg);
    fflush(stdout);
    fprintf(stderr, "err %s\n", arg);
    return done(0, 0);
  }
  if ((arg = argument(in, "exit"))) exit(atoi(arg));
  if ((arg = argument(in, "alloc"))) {
    size_t size = (size_t)atoi(arg) << 20;
    volatile char *m = malloc(size);
    if (!m) abort();
    for (size_t i = 0; i < size; i += 4096) m[i] = 1;
    return done(0, 0);
  }
  return done(0, snprintf(answer, sizeof answer, "c:%s", in));
}
