// What is done to the calling process's network namespace. Each call returns 0, or
// -1 with errno set.
#ifndef MUR_NETNS_H
#define MUR_NETNS_H

// Brings lo up, which gives it its addresses.
int mur_netns_lo_up(void);

// Makes every destination of one family, AF_INET or AF_INET6, local to lo.
int mur_netns_route_local(int family);

// Opens a socket of one family and kind, SOCK_STREAM or SOCK_DGRAM, bound to a port
// on every address; a stream socket listens. It is non-blocking and close-on-exec; a
// datagram socket says which address it was asked at. Returns the descriptor.
int mur_netns_socket(int family, int kind, int port);

#endif
