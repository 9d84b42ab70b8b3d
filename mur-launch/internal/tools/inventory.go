package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Inventory is the names a script capsule may call: its declared tools, guests and
// native ones, and its skills (TOL-26).
type Inventory struct {
	byName   map[string]*session.Artifact
	reserved []string
}

// NewInventory reads the names from a staged document.
func NewInventory(d *session.Document) Inventory {
	inv := Inventory{byName: map[string]*session.Artifact{}, reserved: d.ReservedToolNames}
	for i := range d.Artifacts {
		a := &d.Artifacts[i]
		runs := isNative(a) || a.Implementation == session.ImplComponent || a.Implementation == session.ImplCore
		switch {
		case a.Role == "skill":
		case a.Role == "tool" && runs && slices.Contains(d.AllowlistedTools, a.ToolName):
		default:
			continue
		}
		inv.byName[a.ToolName] = a
	}
	return inv
}

// Names lists what can be called, sorted.
func (inv Inventory) Names() []string {
	names := make([]string, 0, len(inv.byName))
	for name := range inv.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Resolve returns the artifact a name stands for. The error is a refusal in the
// runtime's own words and wraps wasmhost.ErrDenied.
func (inv Inventory) Resolve(name string) (*session.Artifact, error) {
	if a := inv.byName[name]; a != nil {
		return a, nil
	}
	if slices.Contains(inv.reserved, name) {
		return nil, fmt.Errorf("%w: %q is a tool of the agent loop, which a script capsule does not have", wasmhost.ErrDenied, name)
	}
	have := "it declares none"
	if names := inv.Names(); len(names) > 0 {
		have = "it declares " + strings.Join(names, ", ")
	}
	return nil, fmt.Errorf("%w: the capsule declares no tool %q; %s", wasmhost.ErrDenied, name, have)
}
