// What this program does before its Go runtime starts, when it was re-executed
// under the name of a worker. Everybody else passes through at the cost of a
// comparison.
#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void mur_worker_main(void);

// Refuses an internal form that was not started by this program: descriptor 3 is
// the socket it speaks through (SHL-1). The holder calls it too.
void mur_internal_form(void) {
	static const char msg[] = "error: an internal form of mur-shell, started by mur-shell alone\n";
	int type = 0;
	socklen_t n = sizeof type;
	if (getsockopt(3, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_SEQPACKET)
		return;
	write(2, msg, sizeof msg - 1);
	_exit(125);
}

__attribute__((constructor)) static void early(int argc, char **argv) {
	const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;
	name = name ? name + 1 : argc > 0 ? argv[0] : "";
	if (strcmp(name, "mur-worker") != 0)
		return;
	mur_internal_form();
	mur_worker_main();
}
