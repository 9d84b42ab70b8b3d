//go:build linux && cgo

package probe

/*
#include <stdlib.h>
#include "probe.h"
*/
import "C"

import (
	"maps"
	"os"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	_ "github.com/mur-capsules/mur/lib/confine/netns" // the C of the probe calls it
)

// steps names the steps of probe.h for blockers and reports.
var steps = map[C.int]string{
	C.MUR_STEP_UNFINISHED: "probe did not finish", C.MUR_STEP_FORK: "fork", C.MUR_STEP_USERNS: "unshare user namespace",
	C.MUR_STEP_SETGROUPS: "deny setgroups", C.MUR_STEP_UIDMAP: "write uid_map", C.MUR_STEP_GIDMAP: "write gid_map",
	C.MUR_STEP_PRIVATE: "make mounts private", C.MUR_STEP_TMPFS: "mount tmpfs", C.MUR_STEP_BIND: "bind mount",
	C.MUR_STEP_REMOUNT: "remount noexec", C.MUR_STEP_OLDROOT: "make directory", C.MUR_STEP_CHDIR: "change directory",
	C.MUR_STEP_PIVOT: "pivot_root", C.MUR_STEP_DETACH: "detach old root", C.MUR_STEP_NETNS: "unshare network namespace",
	C.MUR_STEP_LO_UP: "bring lo up", C.MUR_STEP_ROUTE4: "add local route", C.MUR_STEP_PIDNS: "unshare PID namespace",
	C.MUR_STEP_PROC: "mount proc", C.MUR_STEP_LANDLOCK_VERSION: "ask Landlock's version", C.MUR_STEP_LANDLOCK_RULESET: "create Landlock ruleset",
	C.MUR_STEP_LANDLOCK_RULE: "add Landlock rule", C.MUR_STEP_LANDLOCK_RESTRICT: "enter Landlock domain", C.MUR_STEP_LANDLOCK_EFFECT: "be hindered by Landlock",
	C.MUR_STEP_NO_NEW_PRIVS: "set no_new_privs", C.MUR_STEP_SECCOMP: "install seccomp filter", C.MUR_STEP_OPEN_TREE: "clone mount",
	C.MUR_STEP_USERNS_FD: "make mapping namespace", C.MUR_STEP_SETATTR: "map ids of mount",
}

// result is what one probe child reported.
type result struct {
	step  C.int
	errno int
	value int
}

func (r result) ok() bool { return r.step == C.MUR_STEP_DONE }

func (r result) blocker(name string) *confine.Blocker {
	if r.step == C.MUR_STEP_UNFINISHED {
		name = confine.ProbeUnfinished
	}
	return &confine.Blocker{Name: name, Step: steps[r.step], Errno: r.errno}
}

// Identity is the part of a reading that needs no trying: which boot of which kernel
// this is, and who the program runs as.
func Identity() confine.Reading {
	var uts unix.Utsname
	_ = unix.Uname(&uts)
	return confine.Reading{
		BootID:        trimmed("/proc/sys/kernel/random/boot_id"),
		KernelRelease: unix.ByteSliceToString(uts.Release[:]),
		UID:           os.Getuid(), GID: os.Getgid(),
	}
}

// Host takes a reading by exercising each mechanism in a child of its own
// (CON-8 to CON-13). It leaves no mount, cgroup, file or process behind.
func Host() confine.Reading { return read(true) }

// WithoutNetwork is Host for a caller that makes a network namespace itself, and
// so knows whether one can be had: NetNS and IPv6 are left to it to fill in.
func WithoutNetwork() confine.Reading { return read(false) }

func read(network bool) confine.Reading {
	r := Identity()
	r.ProcView, r.Cgroup = "host", cgroups()
	grant := usernsGrant(trimmed)
	r.UsernsGrant = &grant

	probes := []C.int{C.MUR_PROBE_LANDLOCK, C.MUR_PROBE_SECCOMP, C.MUR_PROBE_MOUNT, C.MUR_PROBE_PROC}
	if network {
		probes = append(probes, C.MUR_PROBE_NET)
	}
	if r.UID == 0 {
		probes = append(probes, C.MUR_PROBE_IDMAP)
	}
	got := takeAhead()
	probes = slices.DeleteFunc(probes, func(p C.int) bool { _, done := got[p]; return done })
	if len(probes) > 0 {
		tried := runAll(probes)
		maps.Copy(tried, got)
		got = tried
	}

	landlock := got[C.MUR_PROBE_LANDLOCK]
	r.Landlock = landlockState(landlock)
	r.Seccomp = got[C.MUR_PROBE_SECCOMP].ok()
	mount := got[C.MUR_PROBE_MOUNT]
	r.MountNS = mount.ok()
	if net, tried := got[C.MUR_PROBE_NET]; tried {
		r.NetNS, r.IPv6 = net.ok(), net.ok() && net.value == 1
		if !r.NetNS {
			r.NetworkBlocker = net.blocker(namespaceBlocker(net))
		}
	}
	if got[C.MUR_PROBE_PROC].ok() {
		r.ProcView = "private"
	}
	r.SealedBlocker = sealedBlocker(grant, mount, r.Landlock)
	if r.UID == 0 {
		r.Root = rootUser(got[C.MUR_PROBE_IDMAP])
	}
	return r
}

func runAll(probes []C.int) map[C.int]result {
	dir := C.CString(base())
	defer C.free(unsafe.Pointer(dir))
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		out = map[C.int]result{}
	)
	for _, p := range probes {
		wg.Go(func() {
			r := C.mur_probe_run(p, dir, C.MUR_PROBE_TIMEOUT)
			mu.Lock()
			defer mu.Unlock()
			out[p] = result{step: r.step, errno: int(r.err), value: int(r.value)}
		})
	}
	wg.Wait()
	return out
}

// base is a directory that exists: where one is says nothing about mounts.
func base() string {
	dirs := []string{os.TempDir(), "/tmp", "/var/tmp", "/run", "/mnt"}
	i := slices.IndexFunc(dirs, func(dir string) bool {
		st, err := os.Stat(dir)
		return err == nil && st.IsDir()
	})
	return dirs[max(i, 0)]
}

func landlockState(r result) confine.Landlock {
	switch {
	case r.ok():
		return confine.Landlock{State: confine.LandlockEnforced, ABI: r.value}
	case r.step == C.MUR_STEP_LANDLOCK_VERSION || r.step == C.MUR_STEP_UNFINISHED || r.step == C.MUR_STEP_FORK:
		return confine.Landlock{State: confine.LandlockAbsent}
	default:
		return confine.Landlock{State: confine.LandlockPartial, ABI: r.value}
	}
}

// namespaceBlocker sorts the failing step of a namespace probe into the
// blockers of CON-20.
func namespaceBlocker(r result) string {
	switch r.step {
	case C.MUR_STEP_USERNS, C.MUR_STEP_NETNS:
		if r.errno == int(unix.ENOSYS) || r.errno == int(unix.EINVAL) || r.errno == int(unix.ENOSPC) {
			return confine.KernelUnsupported
		}
		return confine.NamespaceDenied
	case C.MUR_STEP_SETGROUPS, C.MUR_STEP_UIDMAP, C.MUR_STEP_GIDMAP:
		return confine.IDMapDenied
	case C.MUR_STEP_PIVOT, C.MUR_STEP_DETACH:
		return confine.PivotDenied
	default:
		return confine.MountDenied
	}
}

// sealedBlocker chooses the one blocker of CON-20.
func sealedBlocker(grant string, mount result, landlock confine.Landlock) *confine.Blocker {
	switch {
	case grant == confine.UsernsWithheld:
		return &confine.Blocker{Name: confine.AppArmorMissing, Step: "read AppArmor's state"}
	case !mount.ok():
		return mount.blocker(namespaceBlocker(mount))
	case landlock.State != confine.LandlockEnforced:
		return &confine.Blocker{Name: confine.LandlockUnavailable, Step: "enter Landlock domain"}
	}
	return nil
}

// nobody is the id commands get where root's files are shown id-mapped: the
// kernel's overflow id, which owns nothing.
const nobody = 65534

func rootUser(idmap result) *confine.RootUser {
	if idmap.ok() {
		return &confine.RootUser{RunAs: &confine.RunAs{UID: nobody, GID: nobody, Access: "idmap"}}
	}
	return &confine.RootUser{Blocker: idmap.blocker(confine.IDMapDenied)}
}
