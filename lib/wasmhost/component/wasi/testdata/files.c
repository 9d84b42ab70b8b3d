// A command that exercises files through wasi-libc; build.sh makes files.wasm of it.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(const char *what, int ok) {
  if (!ok) { printf("FAIL %s errno %d\n", what, errno); exit(1); }
}
static unsigned char buf[200000], got[200000];

// whole is pread that goes on after a short read.
static ssize_t whole(int fd, unsigned char *p, size_t n, off_t off) {
  size_t done = 0;
  while (done < n) {
    ssize_t k = pread(fd, p + done, n - done, off + done);
    if (k <= 0) break;
    done += k;
  }
  return done;
}

int main(int argc, char **argv) {
  printf("args %d %s env %s\n", argc, argv[0], getenv("K"));
  check("stdin", getchar() == EOF);
  for (size_t i = 0; i < sizeof buf; i++) buf[i] = (unsigned char)(i * i >> 3);
  check("mkdir", mkdir("d", 0777) == 0);
  static const size_t sizes[] = {0, 1, 7, 8, 4095, 4096, 65536, 65537, 200000};
  for (int i = 0; i < 9; i++) {
    size_t n = sizes[i];
    FILE *f = fopen("d/f", "wb");
    check("fopen", f != 0);
    check("fwrite", fwrite(buf, 1, n, f) == n && fclose(f) == 0);
    memset(got, 0, sizeof got);
    f = fopen("d/f", "rb");
    check("fread", f && fread(got, 1, sizeof got, f) == n && memcmp(buf, got, n) == 0);
    fclose(f);
    int fd = open("d/f", O_RDWR);
    check("pwrite", pwrite(fd, buf, n, 5) == (ssize_t)n);
    check("pread empty", pread(fd, got, 0, 5) == 0);
    check("pread", whole(fd, got, n, 5) == (ssize_t)n && memcmp(buf, got, n) == 0);
    check("ftruncate", ftruncate(fd, 3) == 0 && fsync(fd) == 0);
    close(fd);
    fd = open("d/f", O_WRONLY | O_APPEND);
    check("append", write(fd, "abc", 3) == 3 && close(fd) == 0);
    struct stat st;
    check("stat", stat("d/f", &st) == 0 && st.st_size == 6);
  }
  check("rename", rename("d/f", "g") == 0);
  check("symlink", symlink("g", "l") == 0);
  char link[10] = {0};
  check("readlink", readlink("l", link, 9) == 1 && link[0] == 'g');
  check("symlink out", symlink("../x", "out") == -1);
  check("open out", open("../x", O_RDONLY) == -1 && open("/etc/passwd", O_RDONLY) == -1);
  check("remove", unlink("l") == 0 && unlink("g") == 0 && rmdir("d") == 0);
  check("state", fopen("state/s", "w") != 0);
  printf("done\n");
  return 3;
}
