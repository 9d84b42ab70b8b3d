//go:build linux && cgo

package room

import (
	"context"
	"fmt"
	"sync"

	"github.com/mur-capsules/mur/lib/confine/egress"
	"github.com/mur-capsules/mur/lib/confine/holder"
	"github.com/mur-capsules/mur/lib/policy"
)

// maxNotes bounds the lines about refused connections in a log (CON-219).
const maxNotes = 100

// Network is a session's network namespace with the proxy that serves it.
type Network struct {
	holder *holder.Holder
	proxy  *egress.Proxy
	note   func(string)
	ipv6   bool

	mu       sync.Mutex
	refusals []Refusal
	notes    int
}

// StartNetwork makes the namespace and serves it under the rules. It needs no
// reading of the host: the error of a namespace that can not be had is a
// *worker.StepError. note takes a line for each refusal, once.
func StartNetwork(ctx context.Context, rules policy.Rules, note func(string)) (*Network, error) {
	ports, beyond := egress.Ports(rules)
	for _, p := range beyond {
		note(fmt.Sprintf("network: port %d gets no listener, there are 16 already", p))
	}
	h, sockets, err := holder.Start(ctx, ports)
	if err != nil {
		return nil, err
	}
	n := &Network{holder: h, note: note, ipv6: sockets.IPv6}
	n.proxy = egress.Serve(sockets, rules, n.refused)
	return n, nil
}

// Bequeath names cgroup directories, made already or not yet, that go when this process
// dies and has not removed them (CON-133).
func (n *Network) Bequeath(groups []string) error { return n.holder.Bequeath(groups) }

// IPv6 reports whether the namespace has it.
func (n *Network) IPv6() bool { return n.ipv6 }

func (n *Network) refused(f egress.Refusal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := Refusal{Host: f.Host, Port: f.Port, Missing: f.Missing, Times: 1}
	if f.Err != nil {
		r.Error = f.Err.Error()
	}
	for i := range n.refusals {
		if o := &n.refusals[i]; o.Host == r.Host && o.Port == r.Port && o.Missing == r.Missing {
			o.Times++
			return
		}
	}
	if n.notes == maxNotes {
		return
	}
	n.notes++
	n.refusals = append(n.refusals, r)
	n.note(r.String())
}

// Refusals are those noted so far, each destination once.
func (n *Network) Refusals() []Refusal {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Refusal(nil), n.refusals...)
}

// Close ends the namespace and every connection.
func (n *Network) Close() {
	n.proxy.Close()
	n.holder.Stop()
}
