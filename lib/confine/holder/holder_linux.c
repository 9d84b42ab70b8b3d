// The holder: a single-threaded process that keeps a session's namespaces, opens
// the egress sockets there and forks the workers, which share its network. It is
// this program before its Go runtime has started, and never comes to start it.
//
// It trusts the packets of its client and nothing else, holds no policy and sees
// no command.
#define _GNU_SOURCE
#include "holder.h"
#include "../netns/netns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

// Of package worker: one that speaks through descriptor 3, and a check that it is
// a socket.
void mur_worker_main(void);
void mur_internal_form(void);

struct mur_hold_ahead mur_hold_ahead;

static const int control = 3;
static const long orphan_time = 2000; // milliseconds the processes of a dead worker may take to end
static const long clear_time = 5000;  // and those of a dead client

static struct worker {
	pid_t pid;
	int is_init; // the kernel ends what it leaves
} *workers;
static size_t worker_count, worker_room;
static long orphans_until; // 0: no worker has left processes

static char groups[MUR_HOLD_GROUPS][4096];
static size_t group_count;

static char *title; // what ps(1) shows, as long as a worker's

static long milliseconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

static void answer(uint32_t step, int err, uint32_t value, const int *fds, size_t n) {
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int) * 2 * (MUR_HOLD_PORTS + 1))];
	} c;
	struct mur_held h = {.step = step, .err = (uint32_t)err, .value = value};
	struct iovec iov = {&h, sizeof h};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	if (n > 0) {
		m.msg_control = c.room;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int) * n)};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, sizeof(int) * n);
	}
	sendmsg(control, &m, MSG_NOSIGNAL); // a client that has gone is noticed by the reader
}

static void refuse(uint32_t step) {
	answer(step, errno, 0, NULL, 0);
	_exit(126);
}

static void put(const char *path, const char *text, uint32_t step) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		refuse(step);
	close(fd);
}

// CON-204: a network of its own, owned by a user namespace unless the host's root
// makes it. The holder is uid 0 there, so that the workers keep the rights they set
// themselves up with, and give them up for good.
static void enter_namespaces(void) {
	uid_t uid = geteuid();
	gid_t gid = getegid();
	if (uid != 0) {
		char map[64];
		if (unshare(CLONE_NEWUSER) < 0)
			refuse(MUR_HOLD_USERNS);
		put("/proc/self/setgroups", "deny", MUR_HOLD_SETGROUPS);
		snprintf(map, sizeof map, "0 %u 1", uid);
		put("/proc/self/uid_map", map, MUR_HOLD_UIDMAP);
		snprintf(map, sizeof map, "0 %u 1", gid);
		put("/proc/self/gid_map", map, MUR_HOLD_GIDMAP);
	}
	if (unshare(CLONE_NEWNET) < 0)
		refuse(MUR_HOLD_NETNS);
}

// Opens the sockets in the order egress.From expects: a listener a port on IPv4,
// the same on IPv6 where there is any, the DNS socket on IPv4, the one on IPv6.
static void open_sockets(const struct mur_hold *q) {
	static const int families[] = {AF_INET, AF_INET6};
	int fds[2 * (MUR_HOLD_PORTS + 1)];
	size_t n = 0;
	uint32_t step = MUR_HOLD_DONE, value = 0;
	if (mur_netns_lo_up() < 0)
		step = MUR_HOLD_LO_UP;
	else if (mur_netns_route_local(AF_INET) < 0)
		step = MUR_HOLD_ROUTE;
	int six = !step && mur_netns_route_local(AF_INET6) == 0;
	for (int f = 0; f <= six && !step; f++)
		for (uint32_t i = 0; i < q->count && !step; i++)
			if ((fds[n] = mur_netns_socket(families[f], SOCK_STREAM, q->ports[i])) < 0)
				step = MUR_HOLD_LISTEN, value = q->ports[i];
			else
				n++;
	for (int f = 0; f <= six && !step; f++)
		if ((fds[n] = mur_netns_socket(families[f], SOCK_DGRAM, 53)) < 0)
			step = MUR_HOLD_DNS;
		else
			n++;
	if (step)
		answer(step, errno, value, NULL, 0);
	else
		answer(step, 0, (uint32_t)six, fds, n);
	while (n > 0)
		close(fds[--n]);
}

static void start_worker(const struct mur_hold *q, int socket) {
	long flags = SIGCHLD;
	if (q->flags & MUR_HOLD_PRIVATE)
		flags |= CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
	if (q->flags & MUR_HOLD_PID)
		flags |= CLONE_NEWPID;
	if (worker_count == worker_room) {
		size_t room = worker_room ? 2 * worker_room : 8;
		struct worker *more = realloc(workers, room * sizeof *workers);
		if (!more) {
			answer(MUR_HOLD_FORK, errno, 0, NULL, 0);
			return;
		}
		workers = more;
		worker_room = room;
	}
	// A fork with namespaces; it runs no handlers, and there are none.
	long pid = syscall(SYS_clone, flags, 0, 0, 0, 0);
	if (pid == 0) {
		prctl(PR_SET_NAME, "mur-worker");
		memcpy(title, "mur-worker", sizeof "mur-worker");
		if (dup2(socket, control) < 0 || syscall(SYS_close_range, control + 1, ~0U, 0) < 0)
			_exit(126);
		mur_worker_main();
	}
	if (pid > 0)
		workers[worker_count++] = (struct worker){.pid = (pid_t)pid, .is_init = (q->flags & MUR_HOLD_PID) != 0};
	if (pid < 0)
		answer(MUR_HOLD_FORK, errno, 0, NULL, 0);
	else
		answer(MUR_HOLD_DONE, 0, (uint32_t)pid, NULL, 0);
}

// Receives one request and does it; 0 when the client has gone.
static int serve_one(void) {
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} c;
	static struct mur_hold q;
	struct iovec iov = {&q, sizeof q};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof c.room};
	ssize_t n = recvmsg(control, &m, MSG_CMSG_CLOEXEC);
	if (n < 0 && errno == EINTR)
		return 1;
	if (n <= 0)
		return 0;
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	int fd = -1;
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(h), sizeof fd);
	q.path[sizeof q.path - 1] = 0;
	if (n != sizeof q || q.count > MUR_HOLD_PORTS || (fd >= 0) != (q.kind == MUR_HOLD_WORKER))
		answer(MUR_HOLD_PACKET, EPROTO, 0, NULL, 0);
	else if (q.kind == MUR_HOLD_OPEN)
		open_sockets(&q);
	else if (q.kind == MUR_HOLD_WORKER)
		start_worker(&q, fd);
	else if (q.kind == MUR_HOLD_GROUP && group_count < MUR_HOLD_GROUPS) {
		memcpy(groups[group_count++], q.path, sizeof q.path);
		answer(MUR_HOLD_DONE, 0, 0, NULL, 0);
	} else
		answer(MUR_HOLD_PACKET, EPROTO, 0, NULL, 0);
	if (fd >= 0)
		close(fd);
	return 1;
}

static int is_worker(pid_t pid) {
	for (size_t i = 0; i < worker_count; i++)
		if (workers[i].pid == pid)
			return 1;
	return 0;
}

// Reaps what has ended. A worker ends with its client's end of its socket, or dies,
// perhaps by its own command's hand; the holder is the subreaper of what it leaves.
static void reap(void) {
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < worker_count; i++)
			if (workers[i].pid == pid) {
				if (!workers[i].is_init)
					orphans_until = milliseconds() + orphan_time;
				workers[i] = workers[--worker_count];
				break;
			}
}

// Kills every child that is no worker: a living worker is the subreaper of its own.
// Returns whether there was one.
static int end_orphans(void) {
	char buf[4096];
	int found = 0, fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof buf - 1);
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	for (char *p = buf; *p;) {
		char *end;
		pid_t pid = (pid_t)strtol(p, &end, 10);
		if (end == p)
			break;
		// A number that was cut off at the buffer's end is not taken for whole.
		if (*end && !is_worker(pid)) {
			found = 1;
			kill(pid, SIGKILL);
		}
		for (p = end; *p == ' ';)
			p++;
	}
	return found;
}

// Kills what is in a group.
static void kill_group(int dir) {
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int pid;
	while (f && fscanf(f, "%d", &pid) == 1)
		if (pid > 0 && pid != getpid())
			kill(pid, SIGKILL);
	if (f)
		fclose(f);
}

// Empties and removes a group with the leaves below it; reports whether it is gone.
static int clear_group(const char *path) {
	DIR *d = opendir(path);
	if (!d)
		return errno == ENOENT;
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		int leaf = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (leaf >= 0) {
			kill_group(leaf);
			close(leaf);
		}
		unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
	return rmdir(path) == 0;
}

// Only when its client was killed does a holder live to do so (CON-133).
static void clear_groups(void) {
	struct timespec nap = {0, 10000000};
	for (long end = milliseconds() + clear_time;;) {
		size_t left = 0;
		for (size_t i = 0; i < group_count; i++)
			if (groups[i][0] && clear_group(groups[i]))
				groups[i][0] = 0;
			else if (groups[i][0])
				left++;
		if (left == 0 || milliseconds() > end)
			return;
		nanosleep(&nap, NULL);
	}
}

// What ps(1) shows, and no environment: what a holder is forked from may know
// secrets, and holder and workers share a user namespace with commands (CON-119).
static void forget(int argc, char **argv) {
	static char *none[] = {NULL};
	for (char **e = environ; *e; e++)
		memset(*e, 0, strlen(*e));
	environ = none;
	for (int i = 0; i < argc; i++)
		memset(argv[i], 0, strlen(argv[i]));
	title = argv[0];
	memcpy(title, "mur-holder", sizeof "mur-holder");
	prctl(PR_SET_NAME, "mur-holder");
}

// The holder speaks through descriptor 3.
static void hold(void) {
	sigset_t all, chld;
	// A terminal's signals go to everybody in the foreground; it is for mur-shell to
	// say what becomes of them.
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	signal(SIGCHLD, SIG_DFL); // ignored, children would reap themselves
	int sfd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sfd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		refuse(MUR_HOLD_SUBREAPER);
	enter_namespaces();
	for (int gone = 0; !gone || worker_count > 0 || orphans_until;) {
		struct pollfd p[2] = {{.fd = gone ? -1 : control, .events = POLLIN}, {.fd = sfd, .events = POLLIN}};
		if (poll(p, 2, orphans_until ? 1 : -1) < 0 && errno != EINTR)
			_exit(1);
		if (p[1].revents) {
			struct signalfd_siginfo si;
			while (read(sfd, &si, sizeof si) == sizeof si)
				;
			reap();
		}
		if (orphans_until && (!end_orphans() || milliseconds() > orphans_until))
			orphans_until = 0;
		if (p[0].revents)
			gone = !serve_one();
	}
	clear_groups();
	_exit(0);
}

static const char *base(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

// A program that has just begun is small and has one thread: forked now the holder
// costs a tenth of what it costs later, and enters its namespaces while the Go
// runtime is set up. Nothing is lost where it is not asked for.
static void begin(int argc, char **argv) {
	int s[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) < 0)
		return;
	// A standard stream that is closed must not become one of these.
	int pid = null < 3 || s[0] < 3 || s[1] < 3 ? -1 : fork();
	if (pid == 0) {
		if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 || dup2(s[1], control) < 0 || syscall(SYS_close_range, control + 1, ~0U, 0) < 0 || chdir("/") < 0)
			_exit(126);
		forget(argc, argv);
		hold();
	}
	close(null);
	close(s[1]);
	if (pid < 0) {
		close(s[0]);
		return;
	}
	mur_hold_ahead = (struct mur_hold_ahead){.pid = pid, .fd = s[0]};
}

__attribute__((constructor)) static void early(int argc, char **argv) {
	if (argc < 1)
		return;
	const char *name = base(argv[0]);
	if (strcmp(name, "mur-holder") == 0) {
		mur_internal_form();
		forget(argc, argv);
		hold();
	}
	if (strcmp(name, "mur-shell") == 0 && argc > 1 && strcmp(argv[1], "run") == 0)
		begin(argc, argv);
}
