// The guest of the conformance suite: one program, built as a core module (with
// core.h) and as a component (with component.h). What it does for a call stands
// here and uses nothing but libc and the functions declared below; how a call
// arrives and how requests leave stands in the two headers.
//
// The input is "<verb> <arguments>". The answer is text; a verb that fails
// answers with status failed and the reason.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PASSED, FAILED, ERROR };
enum { ROOM = 1 << 16 };

// struct result is a tool-result; a null pointer is an absent option.
struct result {
  int status;
  const char *summary, *data, *data_path;
  bool truncated, metadata;
};

static char answer[ROOM];

// What the headers provide. Each returns false and leaves the reason in answer
// when the runtime refuses.
static bool http_get(const char *url);
static bool invoke(const char *name, const char *data);
static bool emit(int kind, const char *s);
static bool ask(const char *prompt);

static struct result say(int status, const char *text) {
  if (text != answer) snprintf(answer, sizeof answer, "%s", text);
  return (struct result){.status = status, .data = answer};
}
static struct result done(bool ok) {
  if (!ok) return say(FAILED, strerror(errno));
  return say(PASSED, "");
}

// next cuts the next word off s.
static char *next(char **s) {
  char *word = *s, *end = strchr(word, ' ');
  if (end) *end = 0, *s = end + 1;
  else *s = word + strlen(word);
  return word;
}

static struct result put(const char *path, int flags, const char *text) {
  int fd = open(path, O_WRONLY | O_CREAT | flags, 0644);
  if (fd < 0) return done(false);
  bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  return done(close(fd) == 0 && ok);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static struct result list(const char *path) {
  DIR *d = opendir(path);
  if (!d) return done(false);
  char *names[1000];
  size_t n = 0;
  for (struct dirent *e; n < 1000 && (e = readdir(d));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
      char name[300];
      snprintf(name, sizeof name, "%s%s", e->d_name, e->d_type == DT_DIR ? "/" : "");
      names[n++] = strdup(name);
    }
  closedir(d);
  qsort(names, n, sizeof *names, by_name);
  answer[0] = 0;
  for (size_t i = 0; i < n; i++) strcat(strcat(answer, i ? " " : ""), names[i]);
  return say(PASSED, answer);
}

static volatile uint32_t spins;
__attribute__((noinline)) static uint32_t recurse(uint32_t n) { return n ? recurse(n + 1) + spins : 0; }

static struct result act(char *in) {
  char *verb = next(&in), *path = in;
  if (!strcmp(verb, "echo")) return say(PASSED, in);
  if (!strcmp(verb, "full"))
    return (struct result){FAILED, "the \"summary\"", in, "out/a b", true, true};
  if (!strcmp(verb, "nothing")) return (struct result){.status = ERROR};
  if (!strcmp(verb, "env")) {
    const char *v = getenv(in);
    return v ? say(PASSED, v) : say(FAILED, "unset");
  }
  // Files.
  if (!strcmp(verb, "read")) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) return done(false);
    ssize_t n = read(fd, answer, sizeof answer - 1);
    close(fd);
    if (n < 0) return done(false);
    answer[n] = 0;
    return say(PASSED, answer);
  }
  if (!strcmp(verb, "write")) return path = next(&in), put(path, O_TRUNC, in);
  if (!strcmp(verb, "append")) return path = next(&in), put(path, O_APPEND, in);
  if (!strcmp(verb, "create")) return put(path, O_EXCL, "");
  if (!strcmp(verb, "list")) return list(path);
  if (!strcmp(verb, "mkdir")) return done(mkdir(path, 0755) == 0);
  if (!strcmp(verb, "rmdir")) return done(rmdir(path) == 0);
  if (!strcmp(verb, "unlink")) return done(unlink(path) == 0);
  if (!strcmp(verb, "truncate")) return path = next(&in), done(truncate(path, atoi(in)) == 0);
  if (!strcmp(verb, "rename")) return path = next(&in), done(rename(path, in) == 0);
  if (!strcmp(verb, "link")) return path = next(&in), done(link(path, in) == 0);
  if (!strcmp(verb, "symlink")) return path = next(&in), done(symlink(path, in) == 0);
  if (!strcmp(verb, "readlink")) {
    ssize_t n = readlink(path, answer, sizeof answer - 1);
    if (n < 0) return done(false);
    answer[n] = 0;
    return say(PASSED, answer);
  }
  if (!strcmp(verb, "stat") || !strcmp(verb, "lstat")) {
    struct stat st;
    if ((verb[0] == 'l' ? lstat : stat)(path, &st)) return done(false);
    const char *type = S_ISDIR(st.st_mode) ? "dir" : S_ISREG(st.st_mode) ? "file" : S_ISLNK(st.st_mode) ? "link" : "other";
    snprintf(answer, sizeof answer, "%s %lld %lld", type, S_ISDIR(st.st_mode) ? 0 : (long long)st.st_size, (long long)st.st_nlink * !S_ISDIR(st.st_mode));
    return say(PASSED, answer);
  }
  if (!strcmp(verb, "touch")) {
    path = next(&in);
    struct timespec t[2] = {{.tv_sec = atoll(in)}, {.tv_sec = atoll(in)}};
    struct stat st;
    if (utimensat(AT_FDCWD, path, t, 0) || stat(path, &st)) return done(false);
    snprintf(answer, sizeof answer, "%lld", (long long)st.st_mtim.tv_sec);
    return say(PASSED, answer);
  }
  // Clocks and chance.
  if (!strcmp(verb, "clock")) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (spins = 0; spins < 1000000; spins++) {}
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec >= b.tv_nsec)) return say(FAILED, "the clock stands still");
    snprintf(answer, sizeof answer, "%lld", (long long)time(NULL));
    return say(PASSED, answer);
  }
  if (!strcmp(verb, "random")) {
    unsigned char b[16];
    if (getentropy(b, sizeof b)) return done(false);
    for (int i = 0; i < 16; i++) sprintf(answer + 2 * i, "%02x", b[i]);
    return say(PASSED, answer);
  }
  if (!strcmp(verb, "sleep")) {
    struct timespec t = {.tv_sec = atol(in) / 1000, .tv_nsec = atol(in) % 1000 * 1000000};
    return done(nanosleep(&t, NULL) == 0);
  }
  // The runtime.
  if (!strcmp(verb, "get")) return say(http_get(in) ? PASSED : FAILED, answer);
  if (!strcmp(verb, "invoke")) {
    char *name = next(&in);
    return say(invoke(name, in) ? PASSED : FAILED, answer);
  }
  if (!strcmp(verb, "chunk")) return answer[0] = 0, say(emit(0, in) && emit(1, in) ? PASSED : FAILED, answer);
  if (!strcmp(verb, "ask")) return say(ask(in) ? PASSED : FAILED, answer);
  // Ways to end.
  if (!strcmp(verb, "exit")) {
    char *status = next(&in);
    fputs(in, stderr);
    exit(atoi(status));
  }
  if (!strcmp(verb, "trap")) __builtin_trap();
  if (!strcmp(verb, "abort")) abort();
  if (!strcmp(verb, "recurse")) recurse(spins = 1);
  if (!strcmp(verb, "spin")) for (;;) spins++;
  if (!strcmp(verb, "outside")) return spins = *(volatile uint32_t *)0xfffffff0u, done(true);
  if (!strcmp(verb, "alloc")) {
    size_t n = (size_t)atoi(in) << 20;
    volatile char *p = malloc(n);
    if (!p) return say(FAILED, "no memory");
    for (size_t i = 0; i < n; i += 4096) p[i] = 1;
    return say(PASSED, "allocated");
  }
  if (!strcmp(verb, "hog"))
    for (;;) {
      static char *volatile last; // keeps the compiler from dropping the memory
      if (!(last = malloc(1 << 20))) abort();
      memset(last, 1, 1 << 20);
    }
  if (!strcmp(verb, "flood"))
    for (;;) write(1, answer, sizeof answer);
  return say(ERROR, "unknown verb");
}

#ifdef CORE
#include "core.h"
#else
#include "component.h"
#endif
