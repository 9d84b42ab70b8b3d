// The probes of "mur-shell run" begin before the Go runtime starts: a program that
// has just begun is small and has one thread, so that its children cost a tenth of
// what they cost later, and they work while the runtime is set up. They are the
// same probes, each in a child of its own. Every other program passes through at
// the cost of two comparisons.
#define _GNU_SOURCE
#include "probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

struct mur_child mur_probe_ahead;

static long milliseconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

// Runs the probes at the same time and writes what came of them.
static void probe_all(int out) {
	static const int probes[] = {MUR_PROBE_LANDLOCK, MUR_PROBE_SECCOMP, MUR_PROBE_MOUNT, MUR_PROBE_PROC, MUR_PROBE_IDMAP};
	struct mur_result results[MUR_PROBES] = {{0}};
	struct mur_child children[MUR_PROBES];
	int n = sizeof probes / sizeof probes[0];
	const char *tmp = getenv("TMPDIR");
	// What else this program was begun with is not for the probes to keep open.
	if (out != 3 && dup2(out, 3) == 3)
		out = 3;
	if (out == 3)
		syscall(SYS_close_range, 4, ~0U, 0);
	char base[4096];
	if (getuid() != 0)
		n--; // there is nothing to map for anybody but root
	// Without a directory of its own nothing is written, and the probes run later.
	if (snprintf(base, sizeof base, "%s/mur-probe-XXXXXX", tmp && *tmp ? tmp : "/tmp") >= (int)sizeof base || !mkdtemp(base))
		_exit(1);
	for (int i = 0; i < n; i++)
		children[i] = mur_probe_start(probes[i], base);
	long end = milliseconds() + MUR_PROBE_TIMEOUT;
	for (int i = 0; i < n; i++) {
		long left = end - milliseconds();
		results[probes[i]] = mur_probe_answer(children[i], left > 0 ? (int)left : 0);
	}
	// The end of a child that has namespaces takes longer than what it tried, and
	// nobody need wait for it: a command may run by then, and nothing of this
	// program's environment is for commands to read (CON-118).
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	write(out, results, sizeof results);
	for (int i = 0; i < n; i++)
		mur_probe_end(children[i]);
	rmdir(base);
	_exit(0);
}

__attribute__((constructor)) static void ahead(int argc, char **argv) {
	const char *name = argc > 1 ? strrchr(argv[0], '/') : NULL;
	name = name ? name + 1 : argc > 1 ? argv[0] : "";
	if (strcmp(name, "mur-shell") != 0 || strcmp(argv[1], "run") != 0)
		return;
	int p[2];
	if (pipe2(p, O_CLOEXEC) < 0)
		return;
	// A standard stream that is closed must not become this pipe.
	int pid = p[0] < 3 || p[1] < 3 ? -1 : fork();
	if (pid == 0)
		probe_all(p[1]);
	close(p[1]);
	if (pid < 0) {
		close(p[0]);
		return;
	}
	mur_probe_ahead.pid = pid;
	mur_probe_ahead.fd = p[0];
}
