// The children below are forked from a process with many threads, so they call
// nothing that takes a lock: system calls, and string work on their own stack.
#define _GNU_SOURCE
#include "probe.h"
#include "../netns/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Numbers and structures that older headers lack; the same on every architecture.
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define MUR_OPEN_TREE_CLONE 1
#define MUR_MOUNT_ATTR_IDMAP 0x00100000
struct mur_mount_attr {
	uint64_t attr_set, attr_clr, propagation, userns_fd;
};
// All rights of Landlock's first version: bits 0 to 12.
#define MUR_LANDLOCK_V1 ((1ULL << 13) - 1)

#define TRY(s, call)                        \
	do {                                    \
		if ((call) < 0) {                   \
			r->step = (s);                  \
			r->err = errno;                 \
			return;                         \
		}                                   \
	} while (0)

static int put(const char *path, const char *text, size_t n) {
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t w = write(fd, text, n);
	int e = errno;
	close(fd);
	errno = e;
	return w == (ssize_t)n ? 0 : -1;
}

// "<id> <id> 1"
static size_t identity(char *out, unsigned id) {
	char d[12];
	size_t n = 0, k = 0;
	do {
		d[n++] = '0' + id % 10;
	} while ((id /= 10) > 0);
	for (int twice = 0; twice < 2; twice++) {
		for (size_t i = n; i > 0; i--)
			out[k++] = d[i - 1];
		out[k++] = ' ';
	}
	out[k++] = '1';
	return k;
}

// CON-14: the maps hold the ids read before the namespace is made.
static void enter(struct mur_result *r, int flags, int namespace_step) {
	char map[32];
	unsigned uid = getuid(), gid = getgid();
	TRY(MUR_STEP_USERNS, unshare(CLONE_NEWUSER));
	TRY(MUR_STEP_SETGROUPS, put("/proc/self/setgroups", "deny", 4));
	TRY(MUR_STEP_UIDMAP, put("/proc/self/uid_map", map, identity(map, uid)));
	TRY(MUR_STEP_GIDMAP, put("/proc/self/gid_map", map, identity(map, gid)));
	TRY(namespace_step, unshare(flags));
}

static void probe_landlock(struct mur_result *r) {
	struct landlock_ruleset_attr attr = {.handled_access_fs = MUR_LANDLOCK_V1};
	int abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	TRY(MUR_STEP_LANDLOCK_VERSION, abi);
	r->value = abi;
	int rules = syscall(SYS_landlock_create_ruleset, &attr, sizeof attr.handled_access_fs, 0);
	TRY(MUR_STEP_LANDLOCK_RULESET, rules);
	struct landlock_path_beneath_attr beneath = {.allowed_access = LANDLOCK_ACCESS_FS_READ_DIR};
	beneath.parent_fd = open("/proc", O_PATH | O_CLOEXEC);
	TRY(MUR_STEP_LANDLOCK_RULE, syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0));
	TRY(MUR_STEP_NO_NEW_PRIVS, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	TRY(MUR_STEP_LANDLOCK_RESTRICT, syscall(SYS_landlock_restrict_self, rules, 0));
	// A domain that hinders nothing is no domain: listing / must fail now.
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 || errno != EACCES) {
		r->step = MUR_STEP_LANDLOCK_EFFECT;
		r->err = fd >= 0 ? 0 : errno;
	}
}

static void probe_seccomp(struct mur_result *r) {
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog prog = {.len = 1, .filter = allow};
	TRY(MUR_STEP_NO_NEW_PRIVS, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	TRY(MUR_STEP_SECCOMP, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog));
}

// Composes a root of its own in the calling process's mount namespace.
static void compose(struct mur_result *r, const char *base) {
	TRY(MUR_STEP_PRIVATE, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	TRY(MUR_STEP_TMPFS, mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k"));
	TRY(MUR_STEP_CHDIR, chdir(base));
	TRY(MUR_STEP_OLDROOT, mkdir("old", 0700));
	TRY(MUR_STEP_OLDROOT, mkdir("bound", 0700));
	TRY(MUR_STEP_BIND, mount("bound", "bound", NULL, MS_BIND, NULL));
	TRY(MUR_STEP_REMOUNT, mount(NULL, "bound", NULL, MS_BIND | MS_REMOUNT | MS_NOEXEC | MS_NOSUID | MS_NODEV, NULL));
	TRY(MUR_STEP_PIVOT, syscall(SYS_pivot_root, ".", "old"));
	TRY(MUR_STEP_CHDIR, chdir("/"));
	TRY(MUR_STEP_DETACH, umount2("/old", MNT_DETACH));
}

static void probe_mount(struct mur_result *r, const char *base) {
	enter(r, CLONE_NEWNS, MUR_STEP_PRIVATE);
	if (!r->step)
		compose(r, base);
}

static void probe_net(struct mur_result *r) {
	enter(r, CLONE_NEWNET, MUR_STEP_NETNS);
	if (r->step)
		return;
	TRY(MUR_STEP_LO_UP, mur_netns_lo_up());
	TRY(MUR_STEP_ROUTE4, mur_netns_route_local(AF_INET));
	r->value = mur_netns_route_local(AF_INET6) == 0;
}

// Mounts a proc of a PID namespace of its own.
static void mount_proc(struct mur_result *r) {
	TRY(MUR_STEP_PRIVATE, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	// A fresh proc shows the namespace of the process that mounts it: its first child.
	pid_t pid = fork();
	TRY(MUR_STEP_FORK, pid);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int ok = mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
		_exit(ok ? 0 : errno & 0xff);
	}
	int status;
	TRY(MUR_STEP_PROC, waitpid(pid, &status, 0));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		r->step = MUR_STEP_PROC;
		r->err = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	}
}

static void probe_proc(struct mur_result *r) {
	enter(r, CLONE_NEWNS | CLONE_NEWPID, MUR_STEP_PIDNS);
	if (!r->step)
		mount_proc(r);
}

// "/proc/<pid>/<name>"
static void proc_path(char *out, pid_t pid, const char *name) {
	char d[12];
	size_t n = 0, k = 6;
	memcpy(out, "/proc/", 6);
	for (unsigned p = pid; p > 0; p /= 10)
		d[n++] = '0' + p % 10;
	while (n > 0)
		out[k++] = d[--n];
	out[k++] = '/';
	memcpy(out + k, name, strlen(name) + 1);
}

// Makes the id-mapped mount of probe_idmap once its namespace's owner exists.
static void map_ids(struct mur_result *r, const char *base, pid_t owner) {
	char path[40];
	struct mur_mount_attr attr = {.attr_set = MUR_MOUNT_ATTR_IDMAP};
	proc_path(path, owner, "uid_map");
	TRY(MUR_STEP_UIDMAP, put(path, "0 65534 1", 9));
	proc_path(path, owner, "gid_map");
	TRY(MUR_STEP_GIDMAP, put(path, "0 65534 1", 9));
	proc_path(path, owner, "ns/user");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	TRY(MUR_STEP_USERNS_FD, fd);
	attr.userns_fd = fd;
	int tree = syscall(SYS_open_tree, AT_FDCWD, base, MUR_OPEN_TREE_CLONE | O_CLOEXEC);
	TRY(MUR_STEP_OPEN_TREE, tree);
	TRY(MUR_STEP_SETATTR, syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr));
}

// CON-278: an id-mapped mount that shows root's files as another user's. The
// mapping is that of a user namespace, which a second child owns meanwhile.
static void probe_idmap(struct mur_result *r, const char *base) {
	int ready[2];
	char c;
	TRY(MUR_STEP_PRIVATE, unshare(CLONE_NEWNS));
	TRY(MUR_STEP_FORK, pipe2(ready, O_CLOEXEC));
	pid_t pid = fork();
	TRY(MUR_STEP_FORK, pid);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = unshare(CLONE_NEWUSER) == 0 ? 0 : (char)errno;
		write(ready[1], &c, 1);
		for (;;)
			pause();
	}
	if (read(ready[0], &c, 1) != 1 || c != 0) {
		r->step = MUR_STEP_USERNS;
		r->err = c;
	} else {
		map_ids(r, base, pid);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void run(int probe, const char *base, struct mur_result *r) {
	switch (probe) {
	case MUR_PROBE_LANDLOCK:
		probe_landlock(r);
		break;
	case MUR_PROBE_SECCOMP:
		probe_seccomp(r);
		break;
	case MUR_PROBE_MOUNT:
		probe_mount(r, base);
		break;
	case MUR_PROBE_NET:
		probe_net(r);
		break;
	case MUR_PROBE_PROC:
		probe_proc(r);
		break;
	case MUR_PROBE_IDMAP:
		probe_idmap(r, base);
		break;
	}
}

struct mur_result mur_probe_run(int probe, const char *base, int timeout_ms) {
	struct mur_result r = {.step = MUR_STEP_UNFINISHED}, got;
	int p[2] = {-1, -1};
	pid_t pid = pipe2(p, O_CLOEXEC) < 0 ? -1 : fork();
	if (pid < 0) {
		r.step = MUR_STEP_FORK;
		r.err = errno;
		close(p[0]);
		close(p[1]);
		return r;
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		struct mur_result mine = {0};
		run(probe, base, &mine);
		write(p[1], &mine, sizeof mine);
		_exit(0);
	}
	close(p[1]);
	struct pollfd pf = {.fd = p[0], .events = POLLIN};
	int ready;
	do {
		ready = poll(&pf, 1, timeout_ms);
	} while (ready < 0 && errno == EINTR);
	if (ready > 0 && read(p[0], &got, sizeof got) == sizeof got)
		r = got;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(p[0]);
	return r;
}

static void tell(int out, int probe, struct mur_result r) {
	struct mur_told t = {.probe = probe, .result = r};
	write(out, &t, sizeof t);
}

void mur_probe_together(const char *base, int out) {
	struct mur_result landlock = {0}, seccomp = {0}, idmap = {0}, proc = {0}, mount = {0};
	// What has a Landlock domain can not mount.
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		probe_landlock(&landlock);
		tell(out, MUR_PROBE_LANDLOCK, landlock);
		probe_seccomp(&seccomp);
		tell(out, MUR_PROBE_SECCOMP, seccomp);
		_exit(0);
	}
	if (getuid() == 0) {
		probe_idmap(&idmap, base);
		tell(out, MUR_PROBE_IDMAP, idmap);
	}
	// A new proc is allowed where an old one is seen, so it comes before the new root.
	enter(&proc, CLONE_NEWNS | CLONE_NEWPID, MUR_STEP_PIDNS);
	if (!proc.step)
		mount_proc(&proc);
	if (!proc.step)
		compose(&mount, base);
	// The end of what has namespaces takes longer than what it tried, and nobody need
	// wait for it: a command may run by then, and nothing of this program's
	// environment is for commands to read (CON-118).
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!proc.step)
		tell(out, MUR_PROBE_MOUNT, mount);
	tell(out, MUR_PROBE_PROC, proc);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}
