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

// A probe that runs: its process, or -1 and why there is none.
struct mur_child {
	int pid, fd, err;
};

// Starts one probe in a forked child. base is a directory that exists; nothing is
// left behind in it.
struct mur_child mur_probe_start(int probe, const char *base);

// Waits for its answer at most timeout_ms.
struct mur_result mur_probe_answer(struct mur_child c, int timeout_ms);

// Kills it and waits for its end.
void mur_probe_end(struct mur_child c);

// All three.
struct mur_result mur_probe_run(int probe, const char *base, int timeout_ms);

// What was begun before the Go runtime started, or pid 0: a process that writes
// struct mur_result[MUR_PROBES] to the other end of fd and ends.
extern struct mur_child mur_probe_ahead;

#endif
