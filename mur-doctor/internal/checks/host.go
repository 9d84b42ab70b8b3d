package checks

import (
	"fmt"
	"runtime"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/cgroup"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
)

// gatherHost probes the host and asks the engines who they are.
func gatherHost() (Host, []Check) {
	h := Host{Version: cli.Version, Probe: probe.Host(), Interfaces: wasmhost.Served(), Engines: map[string]Engine{"component": {}, "core": {}}}
	h.Tier = h.Probe.Tier()
	best := confine.Decide(h.Probe, policy.Sealed, nil)
	h.Ceiling = best.Achieved.String()

	if runtime.GOOS == "linux" {
		h.Facts = gatherFacts()
	}
	checks := append([]Check{kernel(h.Probe)}, confinement(h.Probe, h.Facts, best)...)
	if runtime.GOOS == "linux" {
		checks = append(checks, h.Facts.rows()...)
		checks = append(checks, leftGroups(cgroup.Leftovers(h.Probe.Cgroup))...)
	}
	checks = append(checks, engines(&h)...)
	return h, checks
}

func kernel(r confine.Reading) Check {
	release := r.KernelRelease
	if release != "" {
		release = " " + release
	}
	return ok("kernel", fmt.Sprintf("%s%s on %s, running as uid %d and gid %d", runtime.GOOS, release, runtime.GOARCH, r.UID, r.GID))
}

// confinement is a row for each mechanism of the reading (CON-4), with the
// blocker and its remedy where one is missing.
func confinement(r confine.Reading, f Facts, best confine.Decision) []Check {
	proc := ok("private-proc", "commands get a /proc that shows their own processes alone")
	if r.ProcView != "private" {
		proc = Check{Name: "private-proc", Status: Warning, Message: "commands of a scoped session see the host's /proc: no fresh proc can be mounted in a PID namespace", Remedy: "in a container unmask /proc (podman run --security-opt unmask=/proc), or run outside of it"}
	}
	if !r.Linux() {
		return []Check{anotherSystem(best)}
	}
	rows := []Check{
		landlock(r.Landlock), seccomp(r, f),
		blocked("mount-namespace", "E-CAP-003", r.MountNS, "a composed root can be mounted and entered", r.SealedBlocker),
		blocked("network-namespace", "E-CAP-005", r.NetNS, "a network namespace with local routes can be made", r.NetworkBlocker),
		proc, cgroupScope(r.Cgroup, f.Systemd, r.UID),
	}
	if r.UsernsGrant != nil {
		rows = append(rows, appArmor(r))
	}
	if r.Root != nil {
		rows = append(rows, root(*r.Root))
	}
	row := ok("containment", "the strongest class of this host is "+best.Achieved.String())
	if err := best.Refusal(); err != nil {
		row = fault("containment", Warning, err)
	}
	return append(rows, row)
}

// anotherSystem is the one row of a host that can not confine commands (CON-7).
func anotherSystem(best confine.Decision) Check {
	row := fault("containment", Warning, best.Refusal())
	row.Message = "on this system commands run with this user's rights, in no class above " + best.Achieved.String() + ", and the cgroup_* limits do nothing: " + row.Message
	return row
}

func seccomp(r confine.Reading, f Facts) Check {
	if r.Seccomp && f.SeccompNotify {
		return ok("seccomp", "seccomp filters can be installed, also ones that ask a supervisor")
	}
	if r.Seccomp {
		return ok("seccomp", "seccomp filters can be installed, but none that ask a supervisor, which is not needed")
	}
	c := Check{Name: "seccomp", Status: Warning, Code: "E-CAP-003", Message: "seccomp filters can not be installed, so nothing limits what commands ask of the kernel and containment above advisory is refused", Remedy: "use a kernel with CONFIG_SECCOMP_FILTER, and a container profile that lets seccomp and prctl through"}
	if b := r.SealedBlocker; b != nil && b.Name == confine.ProbeUnavailable {
		c.Message, c.Remedy = c.Message+": "+b.String(), b.Remedy()
	}
	return c
}

func blocked(name string, code diag.Code, has bool, message string, b *confine.Blocker) Check {
	if has {
		return ok(name, message)
	}
	c := Check{Name: name, Status: Warning, Code: code, Message: "not possible: " + message}
	if b != nil {
		c.Message += ": " + b.String()
		c.Remedy = b.Remedy()
	}
	return c
}

// root says as whom commands would run (CON-278).
func root(r confine.RootUser) Check {
	if r.RunAs != nil {
		return ok("root", fmt.Sprintf("running as root: commands would run as uid %d by %s", r.RunAs.UID, r.RunAs.Access))
	}
	c := Check{Name: "root", Status: Warning, Code: "E-CAP-003", Message: "running as root, and commands can not be given another user", Remedy: "run as an ordinary user"}
	if r.Blocker != nil {
		c.Message += ": " + r.Blocker.String()
	}
	return c
}

// engines names the engines of this build, predicting E-RUN-105 where the
// component engine is missing.
func engines(h *Host) []Check {
	e, err := core.New()
	if err != nil {
		return []Check{{Name: "engine.core", Status: Warning, Code: "E-RUN-105", Message: "guests can not run: " + err.Error()}}
	}
	info := e.Info()
	_ = e.Close()
	h.Engines["core"] = Engine{Info: &info}
	rows := []Check{ok("engine.core", fmt.Sprintf("%s %s runs core modules", info.Name, info.Version))}

	c, err := component.New()
	if err != nil {
		return append(rows, Check{Name: "engine.component", Status: Warning, Code: "E-RUN-105", Message: "components can not run: " + err.Error(), Remedy: "build mur with cgo"})
	}
	info2 := c.Info()
	_ = c.Close()
	h.Engines["component"] = Engine{Info: &info2}
	return append(rows, ok("engine.component", fmt.Sprintf("%s %s runs components", info2.Name, info2.Version)))
}
