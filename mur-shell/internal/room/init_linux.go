//go:build linux && cgo

package room

import (
	"github.com/mur-capsules/mur/lib/confine/box"
	"github.com/mur-capsules/mur/lib/confine/holder"
	"github.com/mur-capsules/mur/lib/confine/probe"
)

// Init takes the process over if it is a composed root's init. Holder and worker
// have taken over before main.
func Init() { box.Init() }

// Settle ends what was begun before main and was not asked for, and waits for it: the
// end of mur-shell leaves no process.
func Settle() {
	holder.Settle()
	probe.Settle()
}
