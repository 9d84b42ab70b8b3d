package box

import (
	"path"
	"slices"
	"strings"
)

// Mount is one bind of the composed root, at its own path unless Target says
// otherwise.
type Mount struct {
	Source, Target string
	Writable       bool
	Noexec         bool
	Mapped         bool // shown through the id map of the box, if it has one
	Required       bool // a missing source ends the session; others are left out
}

// Spec says what a composed root holds beside what every one does.
type Spec struct {
	StagedRuntimes []string // bound first, required (CON-155)
	Optional       []string // binaries' directories, interpreter and derived directories (CON-156)
	HostPaths      []string // required (CON-157)
	Runtime        string   // runtime directory, read-only; "" outside of a session
	ReadOnly       []string // parts of the records directory that are only read: logs, children
	Tmp, Home      string   // writable, and tmp is /tmp as well
	NoTmp          bool     // it is not: something of the session lies beneath /tmp
	Work           string   // writable
	WorkOwned      bool     // the work folder belongs to whom commands run as: it is not mapped
	WorkdirExec    bool
	Passwd, Group  string // the synthetic files (CON-148)
	Resolv, Hosts  string // the synthetic resolv.conf and hosts (CON-149)
	Program        string // this program, for its worker form
}

// WorkerPath is where the program lies inside, outside every runtime tree
// (CON-143); its base name makes it a worker.
const WorkerPath = "/.mur/mur-worker"

// fixedTrees are the runtime trees of CON-144.
var fixedTrees = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// etcEntries are what /etc holds of the host (CON-145); passwd, group, hosts and
// resolv.conf are synthetic.
var etcEntries = []string{"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl", "pki", "ca-certificates", "ca-certificates.conf",
	"nsswitch.conf", "localtime", "timezone", "terminfo"}

// Host is what Layout asks of the host's file system.
type Host interface {
	// Link returns the target when path is a symbolic link.
	Link(path string) (target string, isLink bool)
	Exists(path string) bool
}

// Layout is the order of mounts of CON-162 and the links to make in the
// skeleton (link -> target): trees that are links on the host are the same links
// inside. A bind whose target lies below a later one's comes after it.
func Layout(s Spec, h Host) (mounts []Mount, links map[string]string) {
	links = map[string]string{}
	for _, p := range s.StagedRuntimes {
		mounts = append(mounts, Mount{Source: p, Required: true})
	}
	for _, t := range fixedTrees {
		if target, isLink := h.Link(t); isLink {
			links[t] = target
		} else if h.Exists(t) {
			mounts = append(mounts, Mount{Source: t})
		}
	}
	for _, e := range etcEntries {
		if p := "/etc/" + e; h.Exists(p) {
			mounts = append(mounts, Mount{Source: p})
		}
	}
	mounts = append(mounts,
		Mount{Source: s.Passwd, Target: "/etc/passwd", Required: true},
		Mount{Source: s.Group, Target: "/etc/group", Required: true},
		Mount{Source: s.Resolv, Target: "/etc/resolv.conf", Required: true},
		Mount{Source: s.Hosts, Target: "/etc/hosts", Required: true},
		Mount{Source: s.Program, Target: WorkerPath, Required: true})
	if !s.NoTmp {
		mounts = append(mounts, Mount{Source: s.Tmp, Target: "/tmp", Writable: true, Noexec: !s.WorkdirExec, Mapped: true, Required: true})
	}
	for _, p := range s.Optional {
		if h.Exists(p) && !beneathAny(p, fixedTrees) {
			mounts = append(mounts, Mount{Source: p})
		}
	}
	for _, p := range s.HostPaths {
		mounts = append(mounts, Mount{Source: p, Noexec: true, Required: true})
	}
	if s.Runtime != "" {
		// Native tools are started from there.
		mounts = append(mounts, Mount{Source: s.Runtime, Mapped: true, Required: true})
	}
	for _, p := range s.ReadOnly {
		if h.Exists(p) {
			mounts = append(mounts, Mount{Source: p, Noexec: true, Mapped: true})
		}
	}
	for _, p := range []string{s.Tmp, s.Home, s.Work} {
		mounts = append(mounts, Mount{Source: p, Writable: true, Noexec: !s.WorkdirExec, Mapped: p != s.Work || !s.WorkOwned, Required: true})
	}
	for i := range mounts {
		if mounts[i].Target == "" {
			mounts[i].Target = mounts[i].Source
		}
	}
	return ordered(mounts), links
}

// ordered moves a bind behind every one whose target lies above its own, so that
// none is covered; otherwise the order stays.
func ordered(in []Mount) []Mount {
	var out []Mount
	for _, m := range in {
		at := len(out)
		for i, o := range out {
			if beneath(o.Target, m.Target) {
				at = min(at, i)
			}
		}
		out = slices.Insert(out, at, m)
	}
	return out
}

func beneath(p, dir string) bool {
	return p != dir && (dir == "/" || strings.HasPrefix(p, path.Clean(dir)+"/"))
}

func beneathAny(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return p == d || beneath(p, d) })
}
