package egress

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// From makes the sockets of a holder usable outside of its namespace. It closes the
// files. They are in order a listener a port on IPv4, the same on IPv6 where there
// is any, the DNS socket on IPv4, the one on IPv6; a wrong count is an error
// (CON-206).
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
