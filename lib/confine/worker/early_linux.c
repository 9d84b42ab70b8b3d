// What this program does before its Go runtime starts, when it was re-executed
// under one of two names. Everybody else passes through at the cost of two
// comparisons.
#define _GNU_SOURCE
#include "protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void mur_worker_main(void);

static const int control = 3;

static void refuse(uint32_t step) {
	struct mur_answer a = {.kind = MUR_FAILED, .step = step, .err = (uint32_t)errno};
	send(control, &a, sizeof a, MSG_NOSIGNAL);
	_exit(126);
}

static void put(const char *path, const char *text, uint32_t step) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		refuse(step);
	close(fd);
}

// The holder's namespaces (CON-204): a network of its own, owned by a user
// namespace unless the host's root makes it. It is uid 0 there, so that what it
// starts keeps its rights over execve; workers give them up for good. Go goes on
// inside.
static void enter_namespaces(void) {
	uid_t uid = geteuid();
	gid_t gid = getegid();
	if (uid != 0) {
		char map[64];
		if (unshare(CLONE_NEWUSER) < 0)
			refuse(MUR_STEP_USERNS);
		put("/proc/self/setgroups", "deny", MUR_STEP_SETGROUPS);
		snprintf(map, sizeof map, "0 %u 1", uid);
		put("/proc/self/uid_map", map, MUR_STEP_UIDMAP);
		snprintf(map, sizeof map, "0 %u 1", gid);
		put("/proc/self/gid_map", map, MUR_STEP_GIDMAP);
	}
	if (unshare(CLONE_NEWNET) < 0)
		refuse(MUR_STEP_NETNS);
}

__attribute__((constructor)) static void early(int argc, char **argv) {
	const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;
	name = name ? name + 1 : argc > 0 ? argv[0] : "";
	int worker = strcmp(name, "mur-worker") == 0;
	int holder = strcmp(name, "mur-holder") == 0;
	if (!worker && !holder)
		return;
	int type = 0;
	socklen_t n = sizeof type;
	if (getsockopt(control, SOL_SOCKET, SO_TYPE, &type, &n) < 0 || type != SOCK_SEQPACKET) {
		static const char msg[] = "error: an internal form of mur-shell, started by mur-shell alone\n";
		write(2, msg, sizeof msg - 1);
		_exit(125); // SHL-1
	}
	if (worker)
		mur_worker_main();
	enter_namespaces();
}
