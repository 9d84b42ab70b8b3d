// What travels between a worker and its client: packets of a SEQPACKET socket
// whose both ends are this very program, so numbers are the machine's own.
#ifndef MUR_PROTOCOL_H
#define MUR_PROTOCOL_H

#include <stdint.h>

enum mur_packet {
	// To the worker, before START; nothing is applied until START.
	MUR_RULES = 1, // struct mur_rules, as many descriptors
	MUR_FILTER,    // uint32_t kind, then struct sock_filter[]
	MUR_TREE,      // struct mur_tree, one descriptor
	MUR_INSIDE,    // struct mur_inside
	MUR_START,     // struct mur_start, and the user namespace of an id map if any
	MUR_GROUPS,    // uint32_t kind, descriptors of at most 16 groups to enter
	// To the worker, after READY.
	MUR_EXEC,   // struct mur_exec, descriptors: strings, 0, 1, 2
	MUR_SIGNAL, // struct mur_signal
	MUR_FINISH, // struct mur_signal: end a command and everything it left
	// From the worker.
	MUR_READY,   // struct mur_answer
	MUR_FAILED,  // struct mur_answer: the set-up, or the start of a command
	MUR_STARTED, // struct mur_answer
	MUR_EXITED,  // struct mur_ended: the first process of a lingering command
	MUR_ENDED,   // struct mur_ended
};

// The most descriptors one packet carries (unix(7), SCM_MAX_FD is 253).
#define MUR_MAX_FDS 250
// The longest packet.
#define MUR_MAX_PACKET 16384

struct mur_rules {
	uint32_t kind, count;
	uint64_t rights[MUR_MAX_FDS]; // count of them
};

// A tree that is kept in the worker's private mount namespace, writable unless it
// is read_only. The
// descriptor says which directory is meant: the path, opened again in the new
// namespace, must lead to the same one. The first tree is the work folder, where
// commands start.
struct mur_tree {
	uint32_t kind;
	uint32_t noexec;   // mounted noexec (CON-279)
	uint32_t over_tmp; // also mounted on /tmp (CON-72)
	uint32_t read_only;
	uint32_t mapped; // through the id map of START
	char path[4096];
};

// A rule for what exists in the worker's own root alone, such as its /proc: no
// descriptor of the client's can stand for it.
struct mur_inside {
	uint32_t kind, pad;
	uint64_t rights;
	char path[256];
};

enum {
	MUR_PRIVATE_MOUNTS = 1, // a mount namespace of its own has been made: use it
	MUR_PRIVATE_PROC = 2,   // so has a PID namespace: mount its proc
	MUR_SWITCH_USER = 4,    // become uid and gid
	MUR_NESTED_USER = 8,    // from uid 0 of a user namespace: appear as uid and gid in one below it
	MUR_KEEP_PRIVILEGES = 16, // an unconfined session: drop nothing
	MUR_COUNT_OWN = 32,     // where the host allows it, count processes apart from the rest of the user's
};

struct mur_start {
	uint32_t kind, flags;
	uint32_t uid, gid;
	uint64_t handled_fs, handled_net, scoped; // Landlock; handled_fs 0: none
	uint64_t attr_size;                       // of the ruleset attribute at this kernel's ABI
};

#define MUR_NO_LIMIT UINT64_MAX

struct mur_exec {
	uint32_t kind, argc, envc;
	uint32_t linger; // what the first process leaves goes on until FINISH (SHL-79)
	uint64_t id;
	uint64_t length; // of the strings: program, argv, environment, each with its NUL
	uint64_t nofile, fsize, cpu, as, nproc;
};

struct mur_signal {
	uint32_t kind, signal;
	uint64_t id;
};

// Where a set-up or a start failed.
enum mur_step {
	MUR_STEP_NONE = 0,
	MUR_STEP_PACKET,
	MUR_STEP_PRIVATE_MOUNTS,
	MUR_STEP_OPEN_TREE,
	MUR_STEP_SAME_TREE,
	MUR_STEP_BIND_TREE,
	MUR_STEP_READ_ONLY,
	MUR_STEP_WRITABLE_TREE,
	MUR_STEP_MOVE_TREE,
	MUR_STEP_PROC,
	MUR_STEP_SHM,
	MUR_STEP_SUBREAPER,
	MUR_STEP_CLOSE_RANGE,
	MUR_STEP_USER,
	MUR_STEP_CAPABILITIES,
	MUR_STEP_NO_NEW_PRIVS,
	MUR_STEP_RULESET,
	MUR_STEP_RULE,
	MUR_STEP_RESTRICT,
	MUR_STEP_SECCOMP,
	MUR_STEP_DUMPABLE,
	MUR_STEP_STRINGS,
	MUR_STEP_FORK,
	MUR_STEP_SESSION,
	MUR_STEP_LIMITS,
	MUR_STEP_DIRECTORY,
	MUR_STEP_STDIO,
	MUR_STEP_EXECVE,
	MUR_STEP_USERNS,
	MUR_STEP_SETGROUPS,
	MUR_STEP_UIDMAP,
	MUR_STEP_GIDMAP,
	MUR_STEP_REACH,
	MUR_STEP_GROUP,
};

// counts_own, of READY: processes are counted from the worker on (CON-175).
struct mur_answer {
	uint32_t kind, step, err, pid;
	uint64_t id;
	uint64_t counts_own;
};

struct mur_ended {
	uint32_t kind;
	int32_t status; // as wait4(2) gives it
	uint64_t id;
	uint64_t user_us, system_us, max_rss_kib;
	uint32_t leftovers; // processes the command left, all killed
	uint32_t survivors; // 1 when some did not end within two seconds
};

#endif
