package confine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/policy"
)

// PathRule grants a tree, and says why.
type PathRule struct {
	Path   string `json:"path"`
	Tree   Tree   `json:"tree"`
	Reason string `json:"reason"`
}

// Folders are a session's own directories, absolute and canonical. Runtime and
// the entries of ReadOnly are "" or absent outside of a session.
type Folders struct {
	Work, Tmp, Home string
	Runtime         string
	ReadOnly        []string // of the records directory: logs, children
}

// Grants is what MakePlan decides from: everything resolved, nothing looked up.
type Grants struct {
	Reading  Reading
	Decision Decision
	Policy   policy.Policy
	Exec     []ExecGrant
	Natives  []NativeGrant
	Folders  Folders
	RunAs    RunAs
}

// Plan is what a session's commands are confined to: the very thing that is
// applied by mur-shell and shown by mur-shell check and why. It is pure data.
type Plan struct {
	Class policy.Class `json:"class"`
	Tier  Tier         `json:"tier"`
	// Rules are paths of the host; Inside are paths of the worker's own root.
	Rules  []PathRule `json:"rules"`
	Inside []PathRule `json:"inside"`
	// Namespaces of the worker, and what is mounted in them.
	PrivateMounts bool `json:"private_mounts"`
	PrivateProc   bool `json:"private_proc"`
	OverTmp       bool `json:"over_tmp"` // the session's tmp is /tmp
	Noexec        bool `json:"noexec"`
	ComposedRoot  bool `json:"composed_root"`
	Landlock      int  `json:"landlock"` // the ABI to use; 0: none
	Filter        bool `json:"filter"`
	UnixSockets   bool `json:"unix_sockets"`
	// Network is false where commands stay in the host's (unconfined).
	Network bool         `json:"network"`
	Allow   policy.Rules `json:"allow"`
	RunAs   RunAs        `json:"run_as"`
	Exec    []ExecGrant  `json:"exec"`
	Folders Folders      `json:"-"`

	workdirExec bool
}

// MakePlan turns grants into rules, each with its reason (CON sections 7 to 11).
func MakePlan(g Grants) Plan {
	tier := g.Decision.AppliedTier
	p := Plan{
		Class: g.Decision.Achieved, Tier: tier, Rules: []PathRule{}, Inside: []PathRule{},
		UnixSockets: g.Policy.UnixSockets, Allow: g.Policy.NetworkAllow, RunAs: g.RunAs, Exec: g.Exec, Folders: g.Folders,
		workdirExec: g.Policy.WorkdirExec,
	}
	if g.Decision.Declared == policy.Unconfined {
		return p
	}
	p.Network = g.Reading.NetNS
	p.Filter = tier != TierNone
	if tier != TierScoped && tier != TierSealed {
		return p
	}
	p.Landlock = g.Reading.Landlock.ABI
	p.ComposedRoot = tier == TierSealed
	// The root of the file system can not be bound over itself.
	p.PrivateMounts = !p.ComposedRoot && g.Reading.MountNS && g.Folders.Work != "/"
	p.PrivateProc = p.PrivateMounts && g.Reading.ProcView == "private"
	p.Noexec = !g.Policy.WorkdirExec && (p.PrivateMounts || p.ComposedRoot)
	p.OverTmp = (p.ComposedRoot || p.PrivateMounts) && !g.Folders.beneathTmp()
	p.folders(g.Folders)
	p.programs(g)
	p.lent(g.Policy)
	p.devices()
	if p.ComposedRoot {
		p.composed()
	}
	return p
}

// beneathTmp tells whether one of the folders would be hidden by another /tmp.
func (f Folders) beneathTmp() bool {
	return slices.ContainsFunc(append([]string{f.Work, f.Tmp, f.Home, f.Runtime}, f.ReadOnly...), func(dir string) bool {
		return strings.HasPrefix(dir+"/", "/tmp/")
	})
}

func (p *Plan) grant(tree Tree, path, reason string, args ...any) {
	if path == "" {
		return
	}
	r := PathRule{Path: path, Tree: tree, Reason: fmt.Sprintf(reason, args...)}
	if !slices.ContainsFunc(p.Rules, func(o PathRule) bool { return o.Path == r.Path && o.Tree == r.Tree }) {
		p.Rules = append(p.Rules, r)
	}
}

func (p *Plan) folders(f Folders) {
	p.grant(WorkFolder, f.Work, "the work folder")
	p.grant(WorkFolder, f.Tmp, "the session's temporary folder")
	p.grant(WorkFolder, f.Home, "the session's home")
	p.grant(RuntimeDir, f.Runtime, "the runtime directory, read-only")
	for _, d := range f.ReadOnly {
		p.grant(RuntimeDir, d, "a part of the records directory, read-only")
	}
}

func (p *Plan) programs(g Grants) {
	f := g.Folders
	writable := func(file string) bool {
		return !p.workdirExec && slices.ContainsFunc([]string{f.Work, f.Tmp, f.Home}, func(dir string) bool { return dir != "" && strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/") })
	}
	for _, e := range g.Exec {
		for _, f := range e.Closure {
			if writable(f) { // CON-67: whatever its name, also one that is allowed
				continue
			}
			p.grant(ExecFile, f, "shell.allow %s: needed to start it", e.Entry)
		}
	}
	for _, n := range g.Natives {
		for _, f := range n.Closure {
			p.grant(ExecFile, f, "native tool %s", n.Tool)
		}
	}
}

func (p *Plan) lent(pol policy.Policy) {
	for _, r := range pol.InterpreterRuntime {
		for _, d := range r.Dirs {
			tree := ExecDir
			if d.ListDir {
				tree = ExecListDir
			}
			p.grant(tree, d.Path, "shell.interpreter_runtime of %s", r.Binary)
		}
	}
	for _, r := range pol.StagedRuntime {
		p.grant(ExecListDir, r.SourcePath, "shell.staged_runtime of %s", r.Binary)
	}
	for _, r := range pol.DerivedInterpreterRuntime {
		p.grant(ReadTree, r.Dir, "%s says its modules are there", r.Binary)
	}
	for _, t := range pol.TrustStore {
		p.grant(ReadTree, strings.TrimSuffix(t, "/"), "the host's TLS trust store")
	}
	for _, h := range pol.HostPaths {
		p.grant(ReadTree, h, "host_paths of the operator's config")
	}
}

// devices are those of CON-66, and at sealed those of CON-150. In a composed root
// they are nodes of its own /dev.
func (p *Plan) devices() {
	rules := []PathRule{
		{"/dev/null", DeviceWrite, "device"},
		{"/dev/zero", DeviceRead, "device"},
		{"/dev/urandom", DeviceRead, "device"},
	}
	if p.ComposedRoot || p.PrivateMounts {
		p.Inside = append(p.Inside, PathRule{"/dev/shm", WorkFolder, "shared memory of the session's own"})
	}
	if !p.ComposedRoot {
		p.Rules = append(p.Rules, rules...)
		return
	}
	rules[1].Tree = DeviceWrite
	p.Inside = append(p.Inside, append(rules,
		PathRule{"/dev/full", DeviceWrite, "device"},
		PathRule{"/dev/tty", DeviceWrite, "device"},
		PathRule{"/dev/random", DeviceRead, "device"},
		PathRule{"/dev/pts", Terminals, "terminals of the session's own"})...)
}

// composed adds what only exists in a composed root (CON-160).
func (p *Plan) composed() {
	for _, t := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		p.Inside = append(p.Inside, PathRule{t, ReadTree, "a runtime tree, without execute"})
	}
	for _, t := range []string{"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/ca-certificates.conf",
		"/etc/hosts", "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone", "/etc/terminfo", "/etc/passwd", "/etc/group", "/etc/resolv.conf"} {
		p.Inside = append(p.Inside, PathRule{t, ReadTree, "an entry of /etc that every composed root has"})
	}
	p.Inside = append(p.Inside, PathRule{"/proc", ReadTree, "the worker's own processes"})
}

// Answer says what the plan holds for one thing a command would use, and which
// rule decides it.
type Answer struct {
	Subject string `json:"subject"`
	Allowed bool   `json:"allowed"`
	Rights  string `json:"rights"` // of a path: none, read, execute, write; "" otherwise
	Rule    string `json:"rule"`   // the rule that decides, or what is missing
}

// WhyPath answers for a path of the host, absolute and canonical.
func (p Plan) WhyPath(file string) Answer {
	a := Answer{Subject: file, Rights: "none"}
	if p.Landlock == 0 {
		return Answer{Subject: file, Allowed: true, Rights: "write", Rule: fmt.Sprintf("class %s on this host does not limit file access", p.Class)}
	}
	best := -1
	for _, r := range slices.Concat(p.Rules, p.Inside) {
		if (r.Path == file || strings.HasPrefix(file, strings.TrimSuffix(r.Path, "/")+"/")) && len(r.Path) > best {
			best = len(r.Path)
			a.Allowed, a.Rights, a.Rule = true, rightsWord(r.Tree, p.workdirExec), r.Path+": "+r.Reason
		}
	}
	if best < 0 {
		a.Rule = "no grant covers " + file
	}
	return a
}

func rightsWord(t Tree, workdirExec bool) string {
	switch {
	case t == WorkFolder && workdirExec:
		return "write and execute"
	case t == WorkFolder, t == DeviceWrite, t == Terminals:
		return "write"
	case t == ExecFile, t == ExecDir, t == ExecListDir:
		return "execute"
	default:
		return "read"
	}
}

// WhyProgram answers for the first word of a command.
func (p Plan) WhyProgram(entry string) Answer {
	for _, e := range p.Exec {
		if e.Entry != entry {
			continue
		}
		if len(e.Paths) == 0 {
			return Answer{Subject: entry, Rule: "shell.allow has " + entry + ", and no program of that name is on PATH"}
		}
		return Answer{Subject: entry, Allowed: true, Rule: "shell.allow has " + entry + ": " + e.Paths[0]}
	}
	return Answer{Subject: entry, Rule: "shell.allow has no entry " + entry}
}

// WhyHost answers for a connection to host and port.
func (p Plan) WhyHost(host string, port int) Answer {
	subject := fmt.Sprintf("%s:%d", host, port)
	if !p.Network {
		return Answer{Subject: subject, Allowed: true, Rule: fmt.Sprintf("class %s on this host keeps commands in the host's network", p.Class)}
	}
	for _, r := range p.Allow {
		if r.Host == host && slices.Contains(r.CommandPorts(), port) {
			return Answer{Subject: subject, Allowed: true, Rule: "network.allow has " + r.String()}
		}
	}
	return Answer{Subject: subject, Rule: "network.allow lacks " + policy.Missing("", host, port)}
}

// Resolve cleans a path for WhyPath, relative to the work folder.
func (p Plan) Resolve(file string) string {
	if !path.IsAbs(file) {
		file = path.Join(p.Folders.Work, file)
	}
	return path.Clean(file)
}
