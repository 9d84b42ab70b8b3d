// The worker: a single-threaded process that confines itself once and then runs
// the commands it is sent. It is this program re-executed under the name
// mur-worker, or forked by a holder, and runs here before the Go runtime starts,
// because Landlock and capabilities belong to a thread and Go has many. It never
// returns to Go.
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
	int groups[16];
	size_t group_count;
	int proc;     // /proc as it was before everything became read-only
	int idmap;    // user namespace whose map the trees get, or -1
	int children; // /proc/thread-self/children, open before Landlock closes it
	int pid1;
	int counts_own;
} W = {.proc = -1, .idmap = -1, .children = -1};

static void die(int code) { _exit(code); }

static void answer(uint32_t kind, uint32_t step, int err, uint64_t id, pid_t pid) {
	struct mur_answer a = {.kind = kind, .step = step, .err = (uint32_t)err, .pid = (uint32_t)pid, .id = id, .counts_own = (uint64_t)W.counts_own};
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

static void add_groups(size_t n, const int *fds, int nfds) {
	if (n != 4 || nfds > 16 || W.group_count > 0)
		protocol_error();
	for (int i = 0; i < nfds; i++)
		W.groups[W.group_count++] = fds[i];
}

// A thread that moves itself is moved at once. Whole processes, or others, are
// moved when every processor has been elsewhere meanwhile: some 10 ms.
static void enter_groups(void) {
	for (size_t i = 0; i < W.group_count; i++) {
		MUST(MUR_STEP_GROUP, write(W.groups[i], "0", 1));
		close(W.groups[i]);
	}
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

// Whether the user commands run as may go through a directory.
static int searchable(const struct stat *st, const struct mur_start *s) {
	if (st->st_uid == s->uid)
		return st->st_mode & S_IXUSR;
	if (st->st_gid == s->gid)
		return st->st_mode & S_IXGRP;
	return st->st_mode & S_IXOTH;
}

// Commands that run as another user than this program must reach their trees,
// whose way down may be for this program's user alone: such a directory is covered
// by an empty one that holds nothing but the rest of the way. It is covered in
// this namespace only. The covers are made read-only when all trees are in place.
static struct {
	char path[4096];
} covers[16];
static size_t cover_count;

static void make_reachable(const char *tree, const struct mur_start *s) {
	char path[4096];
	snprintf(path, sizeof path, "%s", tree);
	for (char *p = path + 1;; p++) {
		if (*p && *p != '/')
			continue;
		char was = *p;
		struct stat st;
		*p = 0;
		if (stat(path, &st) < 0) {
			if (errno != ENOENT || mkdir(path, 0755) < 0)
				fail(MUR_STEP_REACH);
		} else if (was && !searchable(&st, s)) {
			if (cover_count == sizeof covers / sizeof covers[0]) {
				errno = E2BIG;
				fail(MUR_STEP_REACH);
			}
			MUST(MUR_STEP_REACH, mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=64k"));
			memcpy(covers[cover_count++].path, path, sizeof path);
		}
		if (!was)
			return;
		*p = '/';
	}
}

static void place_tree(size_t i, const struct mur_start *s) {
	const struct mur_tree *t = &W.trees[i].t;
	int m = W.trees[i].fd;
	struct attr a = {.set = ATTR_NOSUID | ATTR_NODEV | (t->noexec ? ATTR_NOEXEC : 0) | (t->read_only ? ATTR_RDONLY : 0)};
	if (t->mapped) {
		a.set |= ATTR_IDMAP;
		a.userns = (uint64_t)W.idmap;
	}
	MUST(MUR_STEP_WRITABLE_TREE, syscall(SYS_mount_setattr, m, "", AT_EMPTY_PATH, &a, sizeof a));
	if (t->over_tmp) {
		int second = (int)syscall(SYS_open_tree, m, "", TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH);
		MUST(MUR_STEP_BIND_TREE, second);
		MUST(MUR_STEP_MOVE_TREE, syscall(SYS_move_mount, second, "", AT_FDCWD, "/tmp", MOVE_EMPTY_PATH));
		close(second);
	}
	if (s->flags & MUR_SWITCH_USER)
		make_reachable(t->path, s);
	MUST(MUR_STEP_MOVE_TREE, syscall(SYS_move_mount, m, "", AT_FDCWD, t->path, MOVE_EMPTY_PATH));
}

// CON-71, CON-279: everything read-only but the trees, and those noexec. A tree
// that lies in another comes after it.
static void private_mounts(const struct mur_start *s) {
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
	for (size_t length = 1; length < sizeof W.trees[0].t.path; length++)
		for (size_t i = 0; i < W.tree_count; i++)
			if (strlen(W.trees[i].t.path) == length)
				place_tree(i, s);
	// Shared memory of its own: libraries make their semaphores there (shm_overview(7)).
	if (mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777,size=64m") < 0 && errno != ENOENT && errno != ENOTDIR)
		fail(MUR_STEP_SHM);
	for (size_t i = 0; i < cover_count; i++)
		MUST(MUR_STEP_READ_ONLY, syscall(SYS_mount_setattr, AT_FDCWD, covers[i].path, 0, &ro, sizeof ro));
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

// Writes a file of this process, by its name below /proc.
static void put(const char *name, const char *text, uint32_t step) {
	int fd = openat(W.proc, name, O_WRONLY | O_CLOEXEC);
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
	put("self/setgroups", "deny", MUR_STEP_SETGROUPS);
	snprintf(map, sizeof map, "%u 0 1", s->uid);
	put("self/uid_map", map, MUR_STEP_UIDMAP);
	snprintf(map, sizeof map, "%u 0 1", s->gid);
	put("self/gid_map", map, MUR_STEP_GIDMAP);
	W.counts_own = 1;
}

// The kernel counts a user's processes per user namespace, and holds
// RLIMIT_NPROC against the count (CON-175): in a namespace of its own a worker's
// commands are counted from one, whatever else the user runs. A host that forbids
// it keeps the common count. The namespace maps the user to itself.
static void count_own(void) {
	char uid_map[64], gid_map[64];
	snprintf(uid_map, sizeof uid_map, "%u %u 1", geteuid(), geteuid());
	snprintf(gid_map, sizeof gid_map, "%u %u 1", getegid(), getegid());
	if (unshare(CLONE_NEWUSER) < 0)
		return;
	// Having become another user the process may not write its own maps
	// otherwise (proc(5), /proc/[pid]).
	MUST(MUR_STEP_DUMPABLE, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	put("self/setgroups", "deny", MUR_STEP_SETGROUPS);
	put("self/uid_map", uid_map, MUR_STEP_UIDMAP);
	put("self/gid_map", gid_map, MUR_STEP_GIDMAP);
	W.counts_own = 1;
	drop_bounding(); // a new namespace gives all capabilities, in itself
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
	enter_groups();
	W.pid1 = getpid() == 1;
	// A copy of the mount stays writable; what has no new mount calls has no
	// private mounts either.
	if (!(s->flags & MUR_PRIVATE_PROC))
		W.proc = (int)syscall(SYS_open_tree, AT_FDCWD, "/proc", TREE_CLONE | RECURSIVE | O_CLOEXEC);
	if (s->flags & MUR_PRIVATE_MOUNTS)
		private_mounts(s);
	else
		open_trees();
	if (s->flags & MUR_PRIVATE_PROC)
		MUST(MUR_STEP_PROC, mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
	if (W.proc < 0)
		MUST(MUR_STEP_PROC, W.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
	W.children = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	MUST(MUR_STEP_SUBREAPER, prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
	MUST(MUR_STEP_CLOSE_RANGE, syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC_BIT));
	umask(022);
	if (s->flags & MUR_NESTED_USER)
		nest_user(s);
	if (!(s->flags & MUR_KEEP_PRIVILEGES)) {
		drop_bounding();
		if (s->flags & MUR_SWITCH_USER)
			switch_user(s);
		if (s->flags & MUR_COUNT_OWN)
			count_own();
		drop_capabilities();
		MUST(MUR_STEP_NO_NEW_PRIVS, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	}
	close(W.proc);
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
	int linger, exited; // exited: the first process has ended, as status says
	int status;
	struct rusage usage;
} C;

static int set_limit(int what, uint64_t value) {
	if (value == MUR_NO_LIMIT)
		return 0;
	// At the hard limit of CPU time the kernel kills without SIGXCPU, which says
	// why: it stands a second above (setrlimit(2)).
	struct rlimit old, l = {value, what == RLIMIT_CPU ? value + 1 : value};
	// An inherited ceiling stays (CON-172).
	if (getrlimit(what, &old) == 0 && old.rlim_max < l.rlim_max) {
		l.rlim_max = old.rlim_max;
		if (l.rlim_cur > l.rlim_max)
			l.rlim_cur = l.rlim_max;
	}
	return setrlimit(what, &l);
}

// Why a command could not be started: its child shares the memory until execve.
static volatile struct {
	uint32_t step;
	int err;
} why;

// Between vfork and execve. It changes nothing of the worker's memory but why.
static void child(const struct mur_exec *x, const int *fds, char *program, char **argv, char **envp) {
	sigset_t none;
	sigemptyset(&none);
	why.step = MUR_STEP_SESSION;
	if (setsid() < 0)
		goto failed;
	why.step = MUR_STEP_DIRECTORY;
	if (fchdir(W.trees[0].fd) < 0)
		goto failed;
	why.step = MUR_STEP_STDIO;
	for (int i = 0; i < 3; i++)
		if (dup2(fds[1 + i], i) < 0)
			goto failed;
	why.step = MUR_STEP_LIMITS;
	if (set_limit(RLIMIT_CORE, 0) < 0 || set_limit(RLIMIT_NOFILE, x->nofile) < 0 || set_limit(RLIMIT_FSIZE, x->fsize) < 0 || set_limit(RLIMIT_CPU, x->cpu) < 0 || set_limit(RLIMIT_NPROC, x->nproc) < 0 || set_limit(RLIMIT_AS, x->as) < 0)
		goto failed;
	sigprocmask(SIG_SETMASK, &none, NULL);
	why.step = MUR_STEP_EXECVE;
	execve(program, argv, envp);
failed:
	why.err = errno;
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
	pid_t pid = -1;
	errno = EPROTO;
	if (nfds != 4 || C.pid != 0)
		goto failed;
	text = mmap(NULL, x->length ? x->length : 1, PROT_READ, MAP_PRIVATE, fds[0], 0);
	if (text == MAP_FAILED || !(all = split(x, text)))
		goto failed;
	step = MUR_STEP_FORK;
	why.err = 0;
	// The worker goes on when its child has become the program or has ended; that
	// costs no copy of the worker's page tables.
	pid = vfork();
	if (pid == 0)
		child(x, fds, all[0], all + 1, all + 1 + x->argc + 1);
	if (pid < 0)
		goto failed;
	if (why.err) {
		waitpid(pid, NULL, 0);
		step = why.step;
		errno = why.err;
		pid = -1;
		goto failed;
	}
	C.pid = pid;
	C.id = x->id;
	C.linger = x->linger != 0;
	C.exited = 0;
failed:
	if (pid > 0)
		answer(MUR_STARTED, 0, 0, x->id, pid);
	else
		answer(MUR_FAILED, step, errno, x->id, 0);
	if (text != MAP_FAILED)
		munmap(text, x->length ? x->length : 1);
	free(all);
}

// Signals what the subreaper has adopted, where there is no PID namespace to
// signal as a whole.
static void signal_children(int sig) {
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
			kill((pid_t)pid, sig);
		while (*p == ' ')
			p++;
	}
}

// The process group of a command whose first process has been reaped may be
// somebody else's by now, unless the numbers are the worker's own.
static void signal_group(int sig) {
	if (W.pid1 || !C.exited)
		kill(-C.pid, sig);
	else
		signal_children(sig);
}

static void kill_rest(void) {
	if (W.pid1) {
		kill(-1, SIGKILL);
		return;
	}
	signal_group(SIGKILL);
	signal_children(SIGKILL);
}

static void report(uint32_t kind, uint32_t leftovers, uint32_t survivors) {
	const struct rusage *u = &C.usage;
	struct mur_ended e = {
		.kind = kind, .status = C.status, .id = C.id,
		.user_us = (uint64_t)u->ru_utime.tv_sec * 1000000 + (uint64_t)u->ru_utime.tv_usec,
		.system_us = (uint64_t)u->ru_stime.tv_sec * 1000000 + (uint64_t)u->ru_stime.tv_usec,
		.max_rss_kib = (uint64_t)u->ru_maxrss, .leftovers = leftovers, .survivors = survivors,
	};
	if (send(control, &e, sizeof e, MSG_NOSIGNAL) < 0)
		die(1);
}

// CON-282: everything the command left is killed and reaped, for two seconds.
static void finish(void) {
	struct timespec nap = {0, 1000000};
	uint32_t leftovers = 0, survivors = 1;
	for (int turn = 0; turn < 2000 && survivors; turn++) {
		kill_rest();
		pid_t got;
		int saw = 0;
		while ((got = waitpid(-1, NULL, WNOHANG)) > 0) {
			leftovers++;
			saw = 1;
		}
		if (got < 0 && errno == ECHILD)
			survivors = 0;
		else if (!saw)
			nanosleep(&nap, NULL);
	}
	report(MUR_ENDED, leftovers, survivors);
	C.pid = 0;
}

// Reaps whatever has ended. A command is over with its first process, and a
// lingering one when nothing of it is left or its client says so (SHL-78 to
// SHL-80).
static void reap(void) {
	int status, first = 0;
	struct rusage u;
	pid_t pid;
	while ((pid = wait4(-1, &status, WNOHANG, &u)) > 0)
		if (C.pid && pid == C.pid && !C.exited) {
			first = C.exited = 1;
			C.status = status;
			C.usage = u;
			if (!C.linger)
				break;
		}
	if (!C.pid || !C.exited)
		return;
	if (!C.linger || (pid < 0 && errno == ECHILD))
		finish();
	else if (first)
		report(MUR_EXITED, 0, 0);
}

static void leave(void) {
	// The client has gone. As pid 1 the kernel ends the rest with us.
	if (C.pid)
		kill_rest();
	die(0);
}

static void serve(void) {
	static char buf[MUR_MAX_PACKET];
	int fds[MUR_MAX_FDS], nfds;
	// What a command starts with: a program keeps what is ignored.
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
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
					signal_group((int)s->signal);
			} else if (kind == MUR_FINISH && n == sizeof(struct mur_signal)) {
				struct mur_signal *s = (struct mur_signal *)buf;
				if (C.pid && s->id == C.id && C.exited)
					finish();
				else if (C.pid && s->id == C.id) {
					C.linger = 0;
					signal_group(SIGKILL);
				}
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
		case MUR_GROUPS:
			add_groups((size_t)n, fds, nfds);
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
