//go:build !linux || !cgo

package room

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine/worker"
	"github.com/mur-capsules/mur/lib/policy"
)

// Network is a session's network namespace, which nobody has here.
type Network struct{}

// StartNetwork fails: there are no network namespaces, or no process that could
// enter one.
func StartNetwork(context.Context, policy.Rules, func(string)) (*Network, error) {
	return nil, &worker.StepError{Step: "unshare network namespace", Errno: unix.ENOSYS}
}

// Bequeath has nobody to leave a group to.
func (n *Network) Bequeath([]string) error { return nil }

// IPv6 is false.
func (n *Network) IPv6() bool { return false }

// Refusals are none.
func (n *Network) Refusals() []Refusal { return nil }

// Close has nothing to end.
func (n *Network) Close() {}
