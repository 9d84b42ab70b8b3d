// The worker: a single-threaded process that confines itself once and then runs
// the commands it is sent. It is this program re-executed under the name
// mur-worker, and runs here before the Go runtime starts, because Landlock and
// capabilities belong to a thread and Go has many. It never returns to Go.
//
// It trusts the packets of its client and nothing else: no argument, no
// environment, and no path but the program's own and those of its trees.
#define _GNU_SOURCE
#include "protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <grp.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define CLOSE_RANGE_CLOEXEC_BIT 4
#define TREE_CLONE 1
#define RECURSIVE 0x8000
#define MOVE_EMPTY_PATH 4
#define ATTR_RDONLY 1
#define ATTR_NOSUID 2
#define ATTR_NODEV 4
#define ATTR_NOEXEC 8
#define ATTR_IDMAP 0x00100000
struct attr {
	uint64_t set, clear, propagation, userns;
};
// Landlock's attribute as of ABI 6; attr_size of START says how much is known.
struct ruleset_attr {
	uint64_t handled_fs, handled_net, scoped;
};

static const int control = 3; // the socket

// What the set-up packets hold until START.
static struct {
	struct {
		uint64_t rights;
		int fd;
	} *rules;
	size_t rule_count, rule_room;
	struct sock_filter filter[4096];
	unsigned short filter_len;
	struct {
		struct mur_tree t;
		int fd;
	} trees[8];
	size_t tree_count;
	struct mur_inside inside[32];
	size_t inside_count;
	int idmap;    // user namespace whose map the trees get, or -1
	int children; // /proc/thread-self/children, open before Landlock closes it
	int pid1;
} W = {.idmap = -1, .children = -1};

static void die(int code) { _exit(code); }

static void answer(uint32_t kind, uint32_t step, int err, uint64_t id, pid_t pid) {
	struct mur_answer a = {.kind = kind, .step = step, .err = (uint32_t)err, .pid = (uint32_t)pid, .id = id};
	if (send(control, &a, sizeof a, MSG_NOSIGNAL) < 0)
		die(1);
}

// A failed set-up is answered and ends the worker: no command ever starts.
static void fail(uint32_t step) {
	answer(MUR_FAILED, step, errno, 0, 0);
	die(126);
}

#define MUST(step, call)                \
	do {                            \
		if ((call) < 0)         \
			fail(step);     \
	} while (0)

// Receives one packet; 0 when the client has gone.
static ssize_t receive(void *buf, int fds[], int *nfds) {
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int) * MUR_MAX_FDS)];
	} c;
	struct iovec iov = {buf, MUR_MAX_PACKET};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.room, .msg_controllen = sizeof c.room};
	ssize_t n;
	do {
		n = recvmsg(control, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	*nfds = 0;
	if (n <= 0)
		return 0;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		*nfds = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(h), sizeof(int) * (size_t)*nfds);
	}
	if (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		errno = EMSGSIZE;
		fail(MUR_STEP_PACKET);
	}
	return n;
}

static void protocol_error(void) {
	errno = EPROTO;
	fail(MUR_STEP_PACKET);
}

static void add_rules(const void *buf, size_t n, const int *fds, int nfds) {
	const struct mur_rules *r = buf;
	if (n < 8 || r->count != (uint32_t)nfds || n < 8 + 8 * (size_t)nfds)
		protocol_error();
	for (int i = 0; i < nfds; i++) {
		if (W.rule_count == W.rule_room) {
			W.rule_room = W.rule_room ? 2 * W.rule_room : 256;
			W.rules = realloc(W.rules, W.rule_room * sizeof *W.rules);
			if (!W.rules)
				fail(MUR_STEP_PACKET);
		}
		W.rules[W.rule_count].rights = r->rights[i];
		W.rules[W.rule_count++].fd = fds[i];
	}
}

static void add_filter(const char *buf, size_t n) {
	size_t k = (n - 4) / sizeof(struct sock_filter);
	if (n < 4 || k > 4096u - W.filter_len)
		protocol_error();
	memcpy(W.filter + W.filter_len, buf + 4, k * sizeof(struct sock_filter));
	W.filter_len += k;
}

static void add_tree(const void *buf, size_t n, const int *fds, int nfds) {
	if (n != sizeof(struct mur_tree) || nfds != 1 || W.tree_count == 8)
		protocol_error();
	W.trees[W.tree_count].t = *(const struct mur_tree *)buf;
	W.trees[W.tree_count].t.path[sizeof W.trees[0].t.path - 1] = 0;
	W.trees[W.tree_count++].fd = fds[0];
}

static void add_inside(const void *buf, size_t n) {
	if (n != sizeof(struct mur_inside) || W.inside_count == 32)
		protocol_error();
	W.inside[W.inside_count] = *(const struct mur_inside *)buf;
	W.inside[W.inside_count++].path[sizeof W.inside[0].path - 1] = 0;
}

// The client's descriptor stands for the directory as the client's namespace
// mounts it: without noexec, and perhaps unmapped. The path is opened again here,
// must lead to the same directory, and is what commands start in.
static void open_trees(void) {
	for (size_t i = 0; i < W.tree_count; i++) {
		struct stat meant, found;
		int fd = open(W.trees[i].t.path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		MUST(MUR_STEP_OPEN_TREE, fd);
		MUST(MUR_STEP_SAME_TREE, fstat(fd, &found));
		MUST(MUR_STEP_SAME_TREE, fstat(W.trees[i].fd, &meant));
		if (meant.st_dev != found.st_dev || meant.st_ino != found.st_ino) {
			errno = ESTALE;
			fail(MUR_STEP_SAME_TREE);
		}
		close(W.trees[i].fd);
		W.trees[i].fd = fd;
	}
}

// CON-71, CON-279: everything read-only but the trees, and those noexec.
static void private_mounts(void) {
	MUST(MUR_STEP_PRIVATE_MOUNTS, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	open_trees();
	for (size_t i = 0; i < W.tree_count; i++) {
		int m = (int)syscall(SYS_open_tree, W.trees[i].fd, "", TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH);
		MUST(MUR_STEP_BIND_TREE, m);
		close(W.trees[i].fd);
		W.trees[i].fd = m;
	}
	struct attr ro = {.set = ATTR_RDONLY};
	MUST(MUR_STEP_READ_ONLY, syscall(SYS_mount_setattr, AT_FDCWD, "/", RECURSIVE, &ro, sizeof ro));
	for (size_t i = 0; i < W.tree_count; i++) {
		struct attr rw = {.set = ATTR_NOSUID | ATTR_NODEV | (W.trees[i].t.noexec ? ATTR_NOEXEC : 0)};
		if (W.idmap >= 0) {
			rw.set |= ATTR_IDMAP;
			rw.userns = (uint64_t)W.idmap;
		}
		int m = W.trees[i].fd;
		MUST(MUR_STEP_WRITABLE_TREE, syscall(SYS_mount_setattr, m, "", AT_EMPTY_PATH, &rw, sizeof rw));
		if (W.trees[i].t.over_tmp) {
			int second = (int)syscall(SYS_open_tree, m, "", TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH);
			MUST(MUR_STEP_BIND_TREE, second);
			MUST(MUR_STEP_MOVE_TREE, syscall(SYS_move_mount, second, "", AT_FDCWD, "/tmp", MOVE_EMPTY_PATH));
			close(second);
		}
		MUST(MUR_STEP_MOVE_TREE, syscall(SYS_move_mount, m, "", AT_FDCWD, W.trees[i].t.path, MOVE_EMPTY_PATH));
	}
}

// The bounding set goes first: becoming another user gives up the right to.
static void drop_bounding(void) {
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL && errno != EPERM)
			fail(MUR_STEP_CAPABILITIES);
}

static void drop_capabilities(void) {
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	MUST(MUR_STEP_CAPABILITIES, syscall(SYS_capset, &h, none));
}

static void switch_user(const struct mur_start *s) {
	gid_t gid = s->gid;
	MUST(MUR_STEP_USER, setgroups(1, &gid));
	MUST(MUR_STEP_USER, setresgid(s->gid, s->gid, s->gid));
	MUST(MUR_STEP_USER, setresuid(s->uid, s->uid, s->uid));
}

static void put(const char *path, const char *text, uint32_t step) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	MUST(step, fd);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail(step);
	close(fd);
}

// CON-142: the rights of the outer namespace, which owns the mounts, the
// processes and the network, are left behind for good.
static void nest_user(const struct mur_start *s) {
	char map[64];
	MUST(MUR_STEP_USERNS, unshare(CLONE_NEWUSER));
	put("/proc/self/setgroups", "deny", MUR_STEP_SETGROUPS);
	snprintf(map, sizeof map, "%u 0 1", s->uid);
	put("/proc/self/uid_map", map, MUR_STEP_UIDMAP);
	snprintf(map, sizeof map, "%u 0 1", s->gid);
	put("/proc/self/gid_map", map, MUR_STEP_GIDMAP);
}

static void restrict_self(const struct mur_start *s) {
	struct ruleset_attr attr = {s->handled_fs, s->handled_net, s->scoped};
	if (s->attr_size > sizeof attr)
		protocol_error();
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, (size_t)s->attr_size, 0);
	MUST(MUR_STEP_RULESET, ruleset);
	for (size_t i = 0; i < W.inside_count; i++) {
		int fd = open(W.inside[i].path, O_PATH | O_CLOEXEC);
		if (fd < 0)
			continue; // what is not there needs no grant
		struct landlock_path_beneath_attr b = {.allowed_access = W.inside[i].rights, .parent_fd = fd};
		MUST(MUR_STEP_RULE, syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &b, 0));
		close(fd);
	}
	for (size_t i = 0; i < W.rule_count; i++) {
		struct landlock_path_beneath_attr b = {.allowed_access = W.rules[i].rights, .parent_fd = W.rules[i].fd};
		if (b.allowed_access)
			MUST(MUR_STEP_RULE, syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &b, 0));
		close(W.rules[i].fd);
	}
	MUST(MUR_STEP_RESTRICT, syscall(SYS_landlock_restrict_self, ruleset, 0));
	close(ruleset);
}

// The order of CON section 10, steps 4 to 8: mounts before Landlock, which
// forbids them; no_new_privs before both; the filter last.
static void apply(const struct mur_start *s) {
	W.pid1 = getpid() == 1;
	if (s->flags & MUR_PRIVATE_MOUNTS)
		private_mounts();
	else
		open_trees();
	if (s->flags & MUR_PRIVATE_PROC)
		MUST(MUR_STEP_PROC, mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
	W.children = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	MUST(MUR_STEP_SUBREAPER, prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	MUST(MUR_STEP_CLOSE_RANGE, syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC_BIT));
	umask(022);
	if (s->flags & MUR_NESTED_USER)
		nest_user(s);
	drop_bounding();
	if (s->flags & MUR_SWITCH_USER)
		switch_user(s);
	drop_capabilities();
	MUST(MUR_STEP_NO_NEW_PRIVS, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (s->handled_fs)
		restrict_self(s);
	MUST(MUR_STEP_DUMPABLE, prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
	if (W.filter_len) {
		struct sock_fprog p = {.len = W.filter_len, .filter = W.filter};
		MUST(MUR_STEP_SECCOMP, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p));
	}
}

// The command that is running; pid 0: none.
static struct {
	pid_t pid;
	uint64_t id;
} C;

static int set_limit(int what, uint64_t value) {
	if (value == MUR_NO_LIMIT)
		return 0;
	struct rlimit old, l = {value, value};
	// An inherited ceiling stays (CON-172).
	if (getrlimit(what, &old) == 0 && old.rlim_max < value)
		l.rlim_cur = l.rlim_max = old.rlim_max;
	return setrlimit(what, &l);
}

// Between fork and execve; a failure goes through the pipe.
static void child(const struct mur_exec *x, const int *fds, char *program, char **argv, char **envp, int report) {
	uint32_t out[2];
	sigset_t none;
	sigemptyset(&none);
	out[0] = MUR_STEP_SESSION;
	if (setsid() < 0)
		goto failed;
	out[0] = MUR_STEP_DIRECTORY;
	if (fchdir(W.trees[0].fd) < 0)
		goto failed;
	out[0] = MUR_STEP_STDIO;
	for (int i = 0; i < 3; i++)
		if (dup2(fds[1 + i], i) < 0)
			goto failed;
	out[0] = MUR_STEP_LIMITS;
	if (set_limit(RLIMIT_CORE, 0) < 0 || set_limit(RLIMIT_NOFILE, x->nofile) < 0 || set_limit(RLIMIT_FSIZE, x->fsize) < 0 || set_limit(RLIMIT_CPU, x->cpu) < 0 || set_limit(RLIMIT_NPROC, x->nproc) < 0 || set_limit(RLIMIT_AS, x->as) < 0)
		goto failed;
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	out[0] = MUR_STEP_EXECVE;
	execve(program, argv, envp);
failed:
	out[1] = (uint32_t)errno;
	write(report, out, sizeof out);
	_exit(127);
}

// Splits the strings at their NULs; NULL when they are not as many as promised.
static char **split(const struct mur_exec *x, char *text) {
	size_t want = 1 + (size_t)x->argc + x->envc, got = 0;
	char **all = calloc(want + 2, sizeof *all);
	if (!all)
		return NULL;
	char *p = text, *end = text + x->length;
	while (p < end && got < want) {
		// argv and environment end with a NULL each: leave a gap between them.
		all[got <= x->argc ? got : got + 1] = p;
		got++;
		p = memchr(p, 0, (size_t)(end - p));
		if (!p)
			break;
		p++;
	}
	if (got == want && p == end)
		return all;
	free(all);
	errno = EPROTO;
	return NULL;
}

static void start(const struct mur_exec *x, const int *fds, int nfds) {
	uint32_t step = MUR_STEP_STRINGS;
	char *text = MAP_FAILED;
	char **all = NULL;
	int report[2] = {-1, -1};
	pid_t pid = -1;
	errno = EPROTO;
	if (nfds != 4 || C.pid != 0)
		goto failed;
	text = mmap(NULL, x->length ? x->length : 1, PROT_READ, MAP_PRIVATE, fds[0], 0);
	if (text == MAP_FAILED || !(all = split(x, text)))
		goto failed;
	step = MUR_STEP_FORK;
	if (pipe2(report, O_CLOEXEC) < 0)
		goto failed;
	pid = fork();
	if (pid == 0)
		child(x, fds, all[0], all + 1, all + 1 + x->argc + 1, report[1]);
	if (pid < 0)
		goto failed;
	close(report[1]);
	report[1] = -1;
	uint32_t why[2];
	if (read(report[0], why, sizeof why) == sizeof why) {
		waitpid(pid, NULL, 0);
		step = why[0];
		errno = (int)why[1];
		pid = -1;
		goto failed;
	}
	C.pid = pid;
	C.id = x->id;
failed:
	if (pid > 0)
		answer(MUR_STARTED, 0, 0, x->id, pid);
	else
		answer(MUR_FAILED, step, errno, x->id, 0);
	if (text != MAP_FAILED)
		munmap(text, x->length ? x->length : 1);
	free(all);
	for (int i = 0; i < 2; i++)
		if (report[i] >= 0)
			close(report[i]);
}

// Kills what the subreaper has adopted, where there is no PID namespace to kill
// as a whole.
static void kill_children(void) {
	char buf[4096];
	if (W.children < 0)
		return;
	ssize_t n = pread(W.children, buf, sizeof buf - 1, 0);
	if (n <= 0)
		return;
	buf[n] = 0;
	for (char *p = buf; *p;) {
		long pid = strtol(p, &p, 10);
		if (pid > 1)
			kill((pid_t)pid, SIGKILL);
		while (*p == ' ')
			p++;
	}
}

static void kill_rest(pid_t group) {
	if (W.pid1) {
		kill(-1, SIGKILL);
		return;
	}
	kill(-group, SIGKILL);
	kill_children();
}

// CON-282: everything the command left is killed and reaped, for two seconds.
static void ended(int status, const struct rusage *u) {
	struct mur_ended e = {
		.kind = MUR_ENDED, .status = status, .id = C.id,
		.user_us = (uint64_t)u->ru_utime.tv_sec * 1000000 + (uint64_t)u->ru_utime.tv_usec,
		.system_us = (uint64_t)u->ru_stime.tv_sec * 1000000 + (uint64_t)u->ru_stime.tv_usec,
		.max_rss_kib = (uint64_t)u->ru_maxrss,
	};
	struct timespec nap = {0, 1000000};
	for (int turn = 0; turn < 2000; turn++) {
		kill_rest(C.pid);
		pid_t got;
		int saw = 0;
		while ((got = waitpid(-1, NULL, WNOHANG)) > 0) {
			e.leftovers++;
			saw = 1;
		}
		if (got < 0 && errno == ECHILD)
			goto done;
		if (!saw)
			nanosleep(&nap, NULL);
	}
	e.survivors = 1;
done:
	C.pid = 0;
	if (send(control, &e, sizeof e, MSG_NOSIGNAL) < 0)
		die(1);
}

static void reap(void) {
	int status;
	struct rusage u;
	pid_t pid;
	while ((pid = wait4(-1, &status, WNOHANG, &u)) > 0)
		if (C.pid && pid == C.pid) {
			ended(status, &u);
			return;
		}
}

static void leave(void) {
	// The client has gone. As pid 1 the kernel ends the rest with us.
	if (C.pid)
		kill_rest(C.pid);
	die(0);
}

static void serve(void) {
	static char buf[MUR_MAX_PACKET];
	int fds[MUR_MAX_FDS], nfds;
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); // signals from inside do nothing (pid 1, same uid)
	sigset_t chld;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	int sfd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sfd < 0)
		fail(MUR_STEP_PACKET);
	for (;;) {
		struct pollfd p[2] = {{.fd = control, .events = POLLIN}, {.fd = sfd, .events = POLLIN}};
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			die(1);
		if (p[1].revents & POLLIN) {
			struct signalfd_siginfo si;
			while (read(sfd, &si, sizeof si) == sizeof si)
				;
			reap();
		}
		if (p[0].revents & (POLLIN | POLLHUP | POLLERR)) {
			ssize_t n = receive(buf, fds, &nfds);
			if (n == 0)
				leave();
			uint32_t kind = n >= 4 ? *(uint32_t *)buf : 0;
			if (kind == MUR_EXEC && n == sizeof(struct mur_exec))
				start((struct mur_exec *)buf, fds, nfds);
			else if (kind == MUR_SIGNAL && n == sizeof(struct mur_signal)) {
				struct mur_signal *s = (struct mur_signal *)buf;
				if (C.pid && s->id == C.id)
					kill(-C.pid, (int)s->signal);
			} else
				die(1);
			for (int i = 0; i < nfds; i++)
				close(fds[i]);
		}
	}
}

void mur_worker_main(void) {
	static char buf[MUR_MAX_PACKET];
	int fds[MUR_MAX_FDS], nfds;
	for (;;) {
		ssize_t n = receive(buf, fds, &nfds);
		if (n == 0)
			die(0);
		uint32_t kind = n >= 4 ? *(uint32_t *)buf : 0;
		switch (kind) {
		case MUR_RULES:
			add_rules(buf, (size_t)n, fds, nfds);
			break;
		case MUR_FILTER:
			add_filter(buf, (size_t)n);
			break;
		case MUR_TREE:
			add_tree(buf, (size_t)n, fds, nfds);
			break;
		case MUR_INSIDE:
			add_inside(buf, (size_t)n);
			break;
		case MUR_START:
			if (n != sizeof(struct mur_start) || nfds > 1 || W.tree_count == 0)
				protocol_error();
			if (nfds == 1)
				W.idmap = fds[0];
			apply((struct mur_start *)buf);
			answer(MUR_READY, 0, 0, 0, getpid());
			serve();
			break;
		default:
			protocol_error();
		}
	}
}
