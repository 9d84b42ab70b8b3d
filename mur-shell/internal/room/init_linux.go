//go:build linux && cgo

package room

import (
	"github.com/mur-capsules/mur/lib/confine/box"
	"github.com/mur-capsules/mur/lib/confine/holder"
)

// Init takes the process over if it is one that a room made: a composed root's
// init, or the holder. The worker has taken over before main.
func Init() {
	box.Init()
	holder.Main()
}
