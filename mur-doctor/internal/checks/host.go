package checks

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
	"github.com/mur-capsules/mur/lib/workfs"
	"golang.org/x/sys/unix"
)

// gatherHost probes the host and asks the engines who they are.
func gatherHost(env cli.Env) (Host, []Check) {
	h := Host{Version: cli.Version, Probe: probe.Host(), Interfaces: wasmhost.Served(), Engines: map[string]Engine{"component": {}, "core": {}}}
	h.Tier = h.Probe.Tier()
	best := confine.Decide(h.Probe, policy.Sealed, nil)
	h.Ceiling = best.Achieved.String()

	checks := confinement(h.Probe, best)
	checks = append(checks, engines(&h)...)
	home, err := workfs.FindHome(env.Environ)
	if err != nil {
		return h, append(checks, fault("home", Failed, err))
	}
	h.MurmurHome = home.Path()
	return h, append(checks, homeUsable(home.Path()), configFile(filepath.Join(home.Path(), "config.yaml")))
}

// confinement is a row for each mechanism of the reading (CON-4), with the
// blocker and its remedy where one is missing.
func confinement(r confine.Reading, best confine.Decision) []Check {
	rows := []Check{
		mechanism("landlock", r.Landlock.State == confine.LandlockEnforced, fmt.Sprintf("Landlock is %s, ABI %d", r.Landlock.State, r.Landlock.ABI), confine.Blocker{Name: confine.LandlockUnavailable}),
		mechanism("seccomp", r.Seccomp, "seccomp filters can be installed", confine.Blocker{Name: confine.KernelUnsupported}),
		blocked("mount-namespace", r.MountNS, "a composed root can be mounted and entered", r.SealedBlocker),
		blocked("network-namespace", r.NetNS, "a network namespace with local routes can be made", r.NetworkBlocker),
		{Name: "private-proc", Status: OK, Message: "the view of processes is " + r.ProcView},
		cgroupScope(r.Cgroup),
	}
	if r.UsernsGrant != nil {
		rows = append(rows, ok("user-namespaces", "user namespaces: "+*r.UsernsGrant))
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

func mechanism(name string, has bool, message string, b confine.Blocker) Check {
	if has {
		return ok(name, message)
	}
	return Check{Name: name, Status: Warning, Code: "E-CAP-003", Message: "not there: " + message, Remedy: b.Remedy()}
}

func blocked(name string, has bool, message string, b *confine.Blocker) Check {
	if has {
		return ok(name, message)
	}
	c := Check{Name: name, Status: Warning, Code: "E-CAP-003", Message: "not possible: " + message}
	if name == "network-namespace" {
		c.Code = "E-CAP-005"
	}
	if b != nil {
		c.Message += ": " + b.String()
		c.Remedy = b.Remedy()
	}
	return c
}

// cgroupScope predicts E-RUN-012 (CON-178, CON-179).
func cgroupScope(c confine.Cgroup) Check {
	if c.Version != nil {
		return ok("cgroup", fmt.Sprintf("a scope can be made on cgroup v%d with %s", *c.Version, strings.Join(c.Controllers, ", ")))
	}
	row := Check{Name: "cgroup", Status: Warning, Code: "E-RUN-012", Message: "no cgroup scope can be made, so a capsule that runs processes is refused", Remedy: "delegate the memory, pids and cpu controllers to this user, for example with a systemd user session"}
	if c.Blocker != nil {
		row.Message += ": " + c.Blocker.String()
	}
	return row
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
	e := core.New()
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

// homeUsable looks whether the murmur home, or the nearest directory above it
// that exists, is this user's and can be written. It makes nothing (SES-14).
func homeUsable(home string) Check {
	var st unix.Stat_t
	for dir := home; ; dir = filepath.Dir(dir) {
		err := unix.Lstat(dir, &st)
		if err == unix.ENOENT && dir != "/" {
			continue
		}
		var e *diag.Error
		switch {
		case err != nil:
			e = diag.Errorf("E-IO-003", "the murmur home %s can not be looked at: %w", home, err)
		case st.Mode&unix.S_IFMT != unix.S_IFDIR:
			e = diag.Errorf("E-IO-003", "the murmur home %s is unusable: %s is not a directory", home, dir)
		case dir == home && int(st.Uid) != os.Getuid():
			e = diag.Errorf("E-IO-003", "the murmur home %s belongs to uid %d", home, st.Uid)
		case unix.Access(dir, unix.W_OK|unix.X_OK) != nil:
			e = diag.Errorf("E-IO-003", "the murmur home %s can not be written: %s is not writable", home, dir)
		case dir == home:
			return ok("home", "the murmur home is "+home)
		default:
			return ok("home", fmt.Sprintf("the murmur home %s will be made in %s", home, dir))
		}
		return fault("home", Failed, e.Hint("set MURMUR_HOME to a directory of yours"))
	}
}

// configFile warns of a config.yaml that others can read (W-SEC-028).
func configFile(path string) Check {
	st, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return ok("config", "no config file "+path)
	case err != nil:
		return fault("config", Failed, diag.Errorf("E-IO-003", "%s can not be looked at: %w", path, err))
	case st.Mode().Perm()&0o077 != 0:
		return Check{Name: "config", Status: Warning, Code: "W-SEC-028", Message: fmt.Sprintf("%s can be read by others: mode %04o", path, st.Mode()&fs.ModePerm), Remedy: "chmod 600 " + path}
	}
	return ok("config", path+" is private")
}
