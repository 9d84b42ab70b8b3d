#define _GNU_SOURCE
#include "netns.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// The connections that wait to be accepted.
#define BACKLOG 128

static int done(int fd, int result) {
	int e = errno;
	close(fd);
	errno = e;
	return result;
}

int mur_netns_lo_up(void) {
	struct ifreq ifr;
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -1;
	memset(&ifr, 0, sizeof ifr);
	memcpy(ifr.ifr_name, "lo", 3);
	if (ioctl(s, SIOCGIFFLAGS, &ifr) < 0)
		return done(s, -1);
	ifr.ifr_flags |= IFF_UP;
	return done(s, ioctl(s, SIOCSIFFLAGS, &ifr));
}

// "local default dev lo", as ip-route(8) writes it.
int mur_netns_route_local(int family) {
	struct {
		struct nlmsghdr h;
		struct rtmsg m;
		struct rtattr a;
		int oif;
	} req = {
		.h = {.nlmsg_len = sizeof req, .nlmsg_type = RTM_NEWROUTE, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE},
		.m = {.rtm_family = family, .rtm_table = RT_TABLE_LOCAL, .rtm_protocol = RTPROT_STATIC, .rtm_scope = RT_SCOPE_HOST, .rtm_type = RTN_LOCAL},
		.a = {.rta_len = RTA_LENGTH(sizeof(int)), .rta_type = RTA_OIF},
		.oif = 1, // lo is the first interface of every network namespace
	};
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char rest[64];
	} ack;
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (s < 0)
		return -1;
	if (send(s, &req, sizeof req, 0) < 0 || recv(s, &ack, sizeof ack, 0) < (ssize_t)sizeof ack.h)
		return done(s, -1);
	close(s);
	if (ack.h.nlmsg_type == NLMSG_ERROR && ack.e.error != 0) {
		errno = -ack.e.error;
		return -1;
	}
	return 0;
}

int mur_netns_socket(int family, int kind, int port) {
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int six = family == AF_INET6, on = 1;
	int s = socket(family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return -1;
	if (setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
		return done(s, -1);
	if (six && setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
		return done(s, -1);
	if (kind == SOCK_DGRAM) {
		int r = six ? setsockopt(s, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) : setsockopt(s, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
		if (r < 0)
			return done(s, -1);
	}
	if (bind(s, six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4, six ? sizeof v6 : sizeof v4) < 0)
		return done(s, -1);
	if (kind == SOCK_STREAM && listen(s, BACKLOG) < 0)
		return done(s, -1);
	return s;
}
