package egress

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Opened are the sockets Open made, in the order From expects them.
type Opened struct {
	Files []*os.File
	IPv6  bool
}

// Open makes the calling thread's network namespace one in which every
// destination is local, and opens a listener on each port and the DNS sockets.
// The holder calls it, in a namespace of its own that it has the rights in. The
// order of files: a listener a port on IPv4, the same on IPv6 where there is
// any, the DNS socket on IPv4, the one on IPv6.
func Open(ports []int) (Opened, error) {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return Opened{}, fmt.Errorf("find lo: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return Opened{}, fmt.Errorf("bring lo up: %w", err)
	}
	if err := routeLocal(lo, "0.0.0.0/0"); err != nil {
		return Opened{}, fmt.Errorf("add local route: %w", err)
	}
	o := Opened{IPv6: routeLocal(lo, "::/0") == nil}
	families := []int{unix.AF_INET}
	if o.IPv6 {
		families = append(families, unix.AF_INET6)
	}
	for _, family := range families {
		for _, port := range ports {
			fd, err := socket(family, unix.SOCK_STREAM, port)
			if err != nil {
				return o, fmt.Errorf("listen on port %d: %w", port, err)
			}
			o.Files = append(o.Files, os.NewFile(uintptr(fd), "listener"))
			if err := unix.Listen(fd, maxConns); err != nil {
				return o, fmt.Errorf("listen on port %d: %w", port, err)
			}
		}
	}
	for _, family := range families {
		fd, err := socket(family, unix.SOCK_DGRAM, 53)
		if err != nil {
			return o, fmt.Errorf("DNS socket: %w", err)
		}
		o.Files = append(o.Files, os.NewFile(uintptr(fd), "dns"))
	}
	return o, nil
}

func routeLocal(lo netlink.Link, cidr string) error {
	_, dst, err := net.ParseCIDR(cidr)
	if err != nil {
		return err
	}
	err = netlink.RouteAdd(&netlink.Route{LinkIndex: lo.Attrs().Index, Scope: netlink.SCOPE_HOST, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL, Dst: dst})
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// socket binds a socket of one family to a port on every address.
func socket(family, kind, port int) (int, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: port}
	set := []error{unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)}
	if family == unix.AF_INET6 {
		sa = &unix.SockaddrInet6{Port: port}
		set = append(set, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1))
	}
	if kind == unix.SOCK_DGRAM {
		if family == unix.AF_INET6 {
			set = append(set, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1))
		} else {
			set = append(set, unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1))
		}
	}
	if err := errors.Join(append(set, unix.Bind(fd, sa))...); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// From makes the sockets of Open usable outside of the namespace. It closes the
// files. A wrong count is an error (CON-206).
func From(files []*os.File, ports int, ipv6 bool) (Sockets, error) {
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	families := 1
	if ipv6 {
		families = 2
	}
	if len(files) != families*(ports+1) {
		return Sockets{}, fmt.Errorf("%d sockets came out of the namespace, want %d", len(files), families*(ports+1))
	}
	s := Sockets{IPv6: ipv6}
	for i, f := range files {
		if i < families*ports {
			l, err := net.FileListener(f)
			if err != nil {
				return s, fmt.Errorf("listener: %w", err)
			}
			s.Listeners = append(s.Listeners, l)
			continue
		}
		c, err := net.FilePacketConn(f)
		if err != nil {
			return s, fmt.Errorf("DNS socket: %w", err)
		}
		s.DNS = append(s.DNS, c.(*net.UDPConn))
	}
	return s, nil
}

// sourceOf turns the packet information of a question into that of its answer:
// the address asked becomes the address that answers.
func sourceOf(oob []byte) []byte {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for _, m := range msgs {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= unix.SizeofInet4Pktinfo:
			// struct in_pktinfo: interface, address that took it, address asked.
			info := &unix.Inet4Pktinfo{}
			copy(info.Spec_dst[:], m.Data[8:12])
			return unix.PktInfo4(info)
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= unix.SizeofInet6Pktinfo:
			info := &unix.Inet6Pktinfo{}
			copy(info.Addr[:], m.Data[:16])
			return unix.PktInfo6(info)
		}
	}
	return nil
}
