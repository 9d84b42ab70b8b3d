// Package egress is the network of confined commands (CON section 14). Inside
// the session's namespace every destination is local: a listener on each port of
// the allow list takes connections to any address, and a DNS socket takes every
// question. The listeners are handed out of the namespace; a Proxy outside
// accepts, decides by the original destination alone, and dials from the host's
// network. It reads no byte a command sends to decide anything, and no name a
// command chose ever leaves the host (CON-214, CON-229).
package egress

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/policy"
)

// maxPorts bounds the listeners of a session (CON-205).
const maxPorts = 16

// Ports are the ports listeners are needed on, sorted; the second result are
// those beyond the limit, which get none.
func Ports(rules policy.Rules) (listen, beyond []int) {
	for _, r := range rules {
		for _, p := range r.CommandPorts() {
			if !slices.Contains(listen, p) {
				listen = append(listen, p)
			}
		}
	}
	slices.Sort(listen)
	if len(listen) > maxPorts {
		return listen[:maxPorts:maxPorts], listen[maxPorts:]
	}
	return listen, nil
}

// Names maps the listed host names to the synthetic addresses commands see
// (CON-225). It is fixed for the session and safe for concurrent use.
type Names struct {
	byName map[string][2]netip.Addr // IPv4, IPv6
	byAddr map[netip.Addr]string
}

// NewNames gives each host name of the rules an address of 198.18.0.0/15 and
// one of fd6d:7572::/32, none of which is itself listed. Address literals and
// localhost are no names.
func NewNames(rules policy.Rules) *Names {
	n := &Names{byName: map[string][2]netip.Addr{}, byAddr: map[netip.Addr]string{}}
	listed := map[netip.Addr]bool{}
	var names []string
	for _, r := range rules {
		if a, err := netip.ParseAddr(r.Host); err == nil {
			listed[a] = true
		} else if r.Host != "localhost" && !slices.Contains(names, r.Host) {
			names = append(names, r.Host)
		}
	}
	v4, v6 := netip.MustParseAddr("198.18.0.10"), netip.MustParseAddr("fd6d:7572::10")
	next := func(a *netip.Addr) netip.Addr {
		for listed[*a] {
			*a = a.Next()
		}
		got := *a
		*a = a.Next()
		return got
	}
	for _, name := range names {
		pair := [2]netip.Addr{next(&v4), next(&v6)}
		n.byName[name] = pair
		n.byAddr[pair[0]], n.byAddr[pair[1]] = name, name
	}
	return n
}

// loopback is what localhost is everywhere, listed or not (RFC 6761): the commands'
// own.
var loopback = [2]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// lookup finds a name as a question spells it: any case, with or without the
// trailing dot.
func (n *Names) lookup(question string) ([2]netip.Addr, bool) {
	name := strings.ToLower(strings.TrimSuffix(question, "."))
	if name == "localhost" {
		return loopback, true
	}
	pair, ok := n.byName[name]
	return pair, ok
}

// Decision is what becomes of one connection: Host is dialled, or the
// connection is refused because Missing is not in the allow list.
type Decision struct {
	Host    string // a name or an address; "" when refused
	Missing string // the rule that would allow it
}

// Decide judges a connection by its original destination (CON-215, CON-216).
func Decide(rules policy.Rules, names *Names, dst netip.AddrPort) Decision {
	addr, port := dst.Addr().Unmap(), int(dst.Port())
	host := addr.String()
	if name, ok := names.byAddr[addr]; ok {
		host = name
	}
	if rules.AllowsCommand(host, port) {
		return Decision{Host: host}
	}
	// localhost stands for both loopback addresses, and the service outside may
	// listen on the other one.
	if slices.Contains(loopback[:], addr) && rules.AllowsCommand("localhost", port) {
		return Decision{Host: "localhost"}
	}
	return Decision{Missing: policy.Missing("", host, port)}
}
