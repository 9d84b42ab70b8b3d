// What travels between the holder and its client: packets of a SEQPACKET socket
// whose both ends are this very program, so numbers are the machine's own. Every
// request is answered by one struct mur_held.
#ifndef MUR_HOLDER_H
#define MUR_HOLDER_H

#include <stdint.h>

// The most ports that are listened on (CON-205), and groups that are left.
#define MUR_HOLD_PORTS 16
#define MUR_HOLD_GROUPS 16

enum mur_hold_kind {
	MUR_HOLD_OPEN = 1, // open the sockets of ports; they come with the answer
	MUR_HOLD_WORKER,   // start a worker; one descriptor, its socket
	MUR_HOLD_GROUP,    // path is a group to empty and remove when the client has died
};

enum {
	MUR_HOLD_PRIVATE = 1, // the worker's own mount, IPC and UTS namespaces
	MUR_HOLD_PID = 2,     // its own PID namespace
};

struct mur_hold {
	uint32_t kind, flags, count; // count: of ports
	uint16_t ports[MUR_HOLD_PORTS];
	char path[4096];
};

// Where a request failed. The first four are of the namespaces: a holder that can
// not have them says so unasked and ends.
enum mur_hold_step {
	MUR_HOLD_DONE = 0,
	MUR_HOLD_USERNS,
	MUR_HOLD_SETGROUPS,
	MUR_HOLD_UIDMAP,
	MUR_HOLD_GIDMAP,
	MUR_HOLD_NETNS,
	MUR_HOLD_SUBREAPER,
	MUR_HOLD_LO_UP,
	MUR_HOLD_ROUTE,
	MUR_HOLD_LISTEN, // value: the port
	MUR_HOLD_DNS,
	MUR_HOLD_FORK,
	MUR_HOLD_PACKET,
};

// value: of OPEN whether there is IPv6; of WORKER its process.
struct mur_held {
	uint32_t step, err, value;
};

// The holder that was begun before the Go runtime of "mur-shell run" started: its
// process and the client's end of its socket; pid 0: none.
struct mur_hold_ahead {
	int pid, fd;
};
extern struct mur_hold_ahead mur_hold_ahead;

#endif
