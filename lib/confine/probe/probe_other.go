//go:build !linux || !cgo

package probe

import (
	"os"
	"runtime"

	"github.com/mur-capsules/mur/lib/confine"
)

// Identity is the part of a reading that needs no trying: who the program runs as.
func Identity() confine.Reading { return confine.Reading{UID: os.Getuid(), GID: os.Getgid()} }

// Host returns a reading in which every mechanism is absent: off Linux there is
// none (CON-7), and a build without cgo can not fork the children that try them.
func Host() confine.Reading {
	b := &confine.Blocker{Name: confine.ProbeUnavailable}
	if runtime.GOOS != "linux" {
		b = &confine.Blocker{Name: confine.NotLinux}
	}
	r := Identity()
	r.Landlock.State = confine.LandlockAbsent
	r.ProcView, r.SealedBlocker, r.NetworkBlocker = "host", b, b
	r.Cgroup = confine.Cgroup{Controllers: []string{}, Hierarchies: map[string]string{}, Blocker: b}
	return r
}

// Cgroup is that part of Host.
func Cgroup() confine.Cgroup { return Host().Cgroup }

// WithoutNetwork is Host.
func WithoutNetwork() confine.Reading { return Host() }

// Settle has nothing to wait for: nothing is begun ahead.
func Settle() {}
