// One probe step, run in a child of its own that is forked, tried and gone.
#ifndef MUR_PROBE_H
#define MUR_PROBE_H

enum mur_probe {
	MUR_PROBE_LANDLOCK = 1,
	MUR_PROBE_SECCOMP,
	MUR_PROBE_MOUNT,
	MUR_PROBE_NET,
	MUR_PROBE_PROC,
	MUR_PROBE_IDMAP,
	MUR_PROBES, // one more than the last
};

// How long one probe child may take, in milliseconds (CON-11).
#define MUR_PROBE_TIMEOUT 5000

// What a child wrote: the step it came to (0 when all passed), the error number
// of that step, and a value (Landlock: ABI; network: 1 when IPv6 works).
struct mur_result {
	int step;
	int err;
	int value;
};

// Steps, in the order the probes take them.
enum mur_step {
	MUR_STEP_DONE = 0,
	MUR_STEP_UNFINISHED, // killed, crashed or out of time
	MUR_STEP_FORK,
	MUR_STEP_USERNS,
	MUR_STEP_SETGROUPS,
	MUR_STEP_UIDMAP,
	MUR_STEP_GIDMAP,
	MUR_STEP_PRIVATE,
	MUR_STEP_TMPFS,
	MUR_STEP_BIND,
	MUR_STEP_REMOUNT,
	MUR_STEP_OLDROOT,
	MUR_STEP_CHDIR,
	MUR_STEP_PIVOT,
	MUR_STEP_DETACH,
	MUR_STEP_NETNS,
	MUR_STEP_LO_UP,
	MUR_STEP_ROUTE4,
	MUR_STEP_PIDNS,
	MUR_STEP_PROC,
	MUR_STEP_LANDLOCK_VERSION,
	MUR_STEP_LANDLOCK_RULESET,
	MUR_STEP_LANDLOCK_RULE,
	MUR_STEP_LANDLOCK_RESTRICT,
	MUR_STEP_LANDLOCK_EFFECT,
	MUR_STEP_NO_NEW_PRIVS,
	MUR_STEP_SECCOMP,
	MUR_STEP_OPEN_TREE,
	MUR_STEP_USERNS_FD,
	MUR_STEP_SETATTR,
};

// What was tried of several, and what came of it.
struct mur_told {
	int probe;
	struct mur_result result;
};

// Runs one probe in a forked child that may take timeout_ms. base is a directory that
// exists; nothing is done to it outside of the child's mount namespace.
struct mur_result mur_probe_run(int probe, const char *base, int timeout_ms);

// Tries everything but the network in the calling process and few children: a third of
// the work of each in a child of its own. It writes a struct mur_told for each probe
// to out, in any order. A failure may be the fault of what was tried before. The
// caller's namespaces are others afterwards: it ends then.
void mur_probe_together(const char *base, int out);

// What was begun before the Go runtime started: a process that writes what
// mur_probe_together does to the other end of fd and ends. pid 0: nothing.
struct mur_ahead {
	int pid, fd;
};
extern struct mur_ahead mur_probe_ahead;

#endif
