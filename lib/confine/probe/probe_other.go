//go:build !linux || !cgo

package probe

import (
	"os"
	"runtime"

	"github.com/mur-capsules/mur/lib/confine"
)

// Host returns a reading in which every mechanism is absent: off Linux there is
// none (CON-7), and a build without cgo can not fork the children that try them.
func Host() confine.Reading {
	b := &confine.Blocker{Name: confine.ProbeUnavailable}
	if runtime.GOOS != "linux" {
		b = &confine.Blocker{Name: confine.NotLinux}
	}
	return confine.Reading{
		UID: os.Getuid(), GID: os.Getgid(),
		Landlock: confine.Landlock{State: confine.LandlockAbsent},
		ProcView: "host", SealedBlocker: b, NetworkBlocker: b,
		Cgroup: confine.Cgroup{Controllers: []string{}, Hierarchies: map[string]string{}, Blocker: b},
	}
}

// WithoutNetwork is Host.
func WithoutNetwork() confine.Reading { return Host() }
