// The probes of "mur-shell run" begin before the Go runtime starts: a program that
// has just begun is small and has one thread, so that its children cost a tenth of
// what they cost later, and they work while the runtime is set up. They are tried
// together, which is cheap; what does not pass so is tried again alone, which tells
// why. Every other program passes through at the cost of two comparisons.
#define _GNU_SOURCE
#include "probe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

struct mur_ahead mur_probe_ahead;

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
	if (pid == 0) {
		// What else this program was begun with is not for the probes to keep open.
		if (dup2(p[1], 3) < 0 || syscall(SYS_close_range, 4, ~0U, 0) < 0)
			_exit(1);
		const char *tmp = getenv("TMPDIR");
		mur_probe_together(tmp && *tmp ? tmp : "/tmp", 3);
		_exit(0);
	}
	close(p[1]);
	if (pid < 0) {
		close(p[0]);
		return;
	}
	mur_probe_ahead = (struct mur_ahead){.pid = pid, .fd = p[0]};
}
