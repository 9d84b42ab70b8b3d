package terms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/grants"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

// standaloneDir is where runs without a session keep their folders (SHL-140).
const standaloneDir = "records/standalone"

// Options are a run's policy file and flags, as they were given.
type Options struct {
	Policy      string // a file, "-" for standard input, or ""
	Allow       []string
	Workdir     string
	Containment policy.Class
	Network     []string
	UnixSockets bool
	WorkdirExec bool
	ReadOnly    []string
	Env         []string
	Limits      []string // FIELD=N
	// First is the first word of a command, which is allowed when nothing else is
	// said (SHL-138).
	First string
	// Report asks for the scope report alone: nothing is made and an unmet floor is
	// reported, not refused.
	Report bool
}

// Standalone settles the terms of a run without a session.
func Standalone(ctx context.Context, o Options, env cli.Env, host Host) (_ *Terms, err error) {
	t := &Terms{ID: fmt.Sprintf("run-%d-%d", env.Now().UnixMilli(), os.Getpid()), notes: NewNotes()}
	defer func() {
		if err != nil {
			_ = t.Close()
		}
	}()
	if t.home, err = workfs.FindHome(env.Environ); err != nil {
		return nil, err
	}
	cfg, warnings, err := config.Load(t.home, env.Dir)
	if err != nil {
		return nil, err
	}
	caps, more, err := o.capabilities(env)
	if err != nil {
		return nil, err
	}
	t.Warnings = append(warnings, more...)
	floor, _ := policy.Floor(
		policy.Vote{Source: policy.FromManifest, Class: caps.Containment},
		policy.Vote{Source: policy.FromGlobalConfig, Class: cfg.GlobalContainment},
		policy.Vote{Source: policy.FromProjectConfig, Class: cfg.ProjectContainment},
		policy.Vote{Source: policy.FromFlag, Class: o.Containment},
	)
	if t.Policy, err = policy.Resolve(caps, floor); err != nil {
		return nil, err
	}
	t.Policy.HostPaths = slices.Clone(cfg.HostPaths)
	work, err := t.workFolder(o.Workdir, env, floor)
	if err != nil {
		return nil, err
	}
	found := t.gather(ctx, env, host, work, o)
	t.Policy.DerivedInterpreterRuntime, t.Policy.TrustStore, t.Binds = found.Derived, found.TrustStore, found.Binds
	t.canonical()

	t.Decision = confine.Decide(t.Reading, floor, t.caps(work))
	id := filepath.Join(t.home.Path(), standaloneDir, t.ID)
	folders := confine.Folders{Work: work, Tmp: filepath.Join(id, "tmp"), Home: filepath.Join(id, "home"), ReadOnly: []string{filepath.Join(id, "logs")}}
	t.Report = confine.Report(confine.Scope{Reading: t.Reading, Decision: t.Decision, Policy: t.Policy, Folders: folders})
	if !o.Report {
		if err := t.Decision.Refusal(); err != nil {
			return nil, err
		}
	}
	if err := t.refuse(found); err != nil {
		return nil, err
	}
	if floor != policy.Unconfined && !t.Reading.Linux() {
		t.Warnings = append(t.Warnings, diag.Warningf("W-SEC-001", "containment",
			"this system has no kernel sandbox that mur can use, so commands run with this user's rights and reach every host: nothing but their environment and their limits is kept from them"))
	}
	t.Runtime = map[string]string{"MURMUR_RECORDS_DIR": id}
	if !o.Report {
		if folders, err = t.makeFolders(work); err != nil {
			return nil, err
		}
	}
	t.Plan = confine.MakePlan(confine.Grants{
		Reading: t.Reading, Decision: t.Decision, Policy: t.Policy, Exec: found.Exec, Folders: folders,
		RunAs: confine.ChooseUser(t.Reading, t.Decision.Declared, work, workfs.Owner),
	})
	return t, nil
}

// capabilities are the policy file's with the flags added.
func (o Options) capabilities(env cli.Env) (*policy.Capabilities, []diag.Warning, error) {
	c := &policy.Capabilities{}
	var warnings []diag.Warning
	if o.Policy != "" {
		name, data, err := o.read(env)
		if err != nil {
			return nil, nil, err
		}
		if c, warnings, err = manifest.ParsePolicy(name, data); err != nil {
			return nil, nil, err
		}
	}
	if len(o.Network) > 0 || o.UnixSockets {
		if c.Network == nil {
			c.Network = &policy.Network{}
		}
		c.Network.Allow = append(c.Network.Allow, o.Network...)
		if o.UnixSockets {
			c.Network.UnixSockets = &o.UnixSockets
		}
	}
	if o.WorkdirExec || len(o.ReadOnly) > 0 {
		if c.Filesystem == nil {
			c.Filesystem = &policy.Filesystem{}
		}
		c.Filesystem.ReadOnly = append(c.Filesystem.ReadOnly, o.ReadOnly...)
		if o.WorkdirExec {
			c.Filesystem.WorkdirExec = &o.WorkdirExec
		}
	}
	if c.Shell == nil {
		c.Shell = &policy.Shell{}
	}
	for _, a := range o.Allow {
		if strings.TrimSpace(a) == "" || strings.ContainsAny(a, "\x00") || strings.Contains(a, "/") && !filepath.IsAbs(a) {
			return nil, nil, diag.Usagef("--allow %s names neither a program nor an absolute path", diag.Quote(a))
		}
	}
	c.Shell.Allow = append(c.Shell.Allow, o.Allow...)
	if o.Policy == "" && len(o.Allow) == 0 && o.First != "" {
		c.Shell.Allow = append(c.Shell.Allow, o.First)
	}
	for _, name := range o.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.HasPrefix(name, "MURMUR_") {
			return nil, nil, diag.Usagef("--env %s is no name of a variable that can be passed on", diag.Quote(name))
		}
	}
	c.Shell.BaselineEnv = append(c.Shell.BaselineEnv, o.Env...)
	if err := o.limits(c); err != nil {
		return nil, nil, err
	}
	return c, warnings, nil
}

func (o Options) read(env cli.Env) (string, []byte, error) {
	if o.Policy == "-" {
		data, err := io.ReadAll(io.LimitReader(env.Stdin, manifest.MaxBytes+1))
		if err != nil {
			return "", nil, diag.Errorf("E-IO-002", "the policy can not be read from standard input: %w", err)
		}
		return "<standard input>", data, nil
	}
	path := o.Policy
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.Dir, path)
	}
	data, err := workfs.ReadFile(path, manifest.MaxBytes+1)
	if err != nil {
		return "", nil, workfs.Fault(err, "cannot read the policy file")
	}
	return path, data, nil
}

// limits adds --limit FIELD=N.
func (o Options) limits(c *policy.Capabilities) error {
	if len(o.Limits) == 0 {
		return nil
	}
	if c.Resources == nil {
		c.Resources = &policy.DeclaredResources{}
	}
	fields := resourceFields(c.Resources)
	for _, l := range o.Limits {
		name, text, ok := strings.Cut(l, "=")
		field := fields[name]
		var n int64
		if _, err := fmt.Sscanf(text, "%d", &n); !ok || field == nil || err != nil || n <= 0 || fmt.Sprint(n) != text {
			return diag.Usagef("--limit %s is not FIELD=N with a number above 0 and one of the fields %s", diag.Quote(l), strings.Join(fieldNames, ", "))
		}
		*field = &n
	}
	return nil
}

var fieldNames = []string{
	"max_processes", "max_open_files", "max_file_size_bytes", "cpu_seconds", "memory_bytes",
	"cgroup_memory_bytes", "cgroup_pids_max", "cgroup_cpu_percent", "cgroup_io_bytes_per_sec", "workdir_max_bytes",
}

func resourceFields(d *policy.DeclaredResources) map[string]**int64 {
	out := map[string]**int64{}
	for i, p := range []**int64{
		&d.MaxProcesses, &d.MaxOpenFiles, &d.MaxFileSizeBytes, &d.CPUSeconds, &d.MemoryBytes,
		&d.CgroupMemoryBytes, &d.CgroupPidsMax, &d.CgroupCPUPercent, &d.CgroupIOBytesPerSec, &d.WorkdirMaxBytes,
	} {
		out[fieldNames[i]] = p
	}
	return out
}

// workFolder checks --workdir (SHL-141).
func (t *Terms) workFolder(dir string, env cli.Env, floor policy.Class) (string, error) {
	if dir == "" {
		dir = env.Dir
	} else if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Dir, dir)
	}
	work, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", noWorkFolder(dir, err.Error())
	}
	if st, err := os.Stat(work); err != nil || !st.IsDir() {
		return "", noWorkFolder(dir, "it is no directory")
	}
	reason := ""
	switch home := realPath(t.home.Path()); {
	case work == "/":
		reason = "is the root of the file system"
	case work == realPath(env.Getenv("HOME")):
		reason = "is your home"
	case within(home, work):
		reason = "contains the murmur home " + home
	case within(work, home):
		reason = "lies in the murmur home " + home
	default:
		return work, nil
	}
	if floor > policy.Advisory {
		return "", diag.Usagef("--workdir %s %s: commands may write everything in it; choose a project folder", work, reason)
	}
	t.Warnings = append(t.Warnings, diag.Warningf("", "containment", "the work folder %s %s, and commands may write everything in it", work, reason))
	return work, nil
}

func noWorkFolder(dir, reason string) error {
	return diag.Errorf("E-RUN-104", "the work folder %s can not be used: %s", dir, reason).In("check").
		About(diag.Subject{Kind: diag.Path, Name: dir}).Name("path", dir)
}

// realPath resolves the links of the part of path that exists.
func realPath(path string) string {
	rest := ""
	for p := path; ; p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if p == filepath.Dir(p) {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// gather does side by side what takes long: the probe, the network namespace, and
// the search for grants.
func (t *Terms) gather(ctx context.Context, env cli.Env, host Host, work string, o Options) grants.Found {
	var (
		wg     sync.WaitGroup
		found  grants.Found
		netErr error
	)
	probe := host.Probe
	real := t.Policy.ContainmentFloor != policy.Unconfined && !o.Report
	if real {
		probe = host.ProbeRest
		wg.Go(func() { t.Network, netErr = room.StartNetwork(ctx, t.Policy.NetworkAllow, t.notes.Add) })
	}
	wg.Go(func() { t.Reading = probe() })
	wg.Go(func() {
		found = grants.Find(ctx, grants.Request{
			Entries: t.Policy.ShellAllow, Path: env.Getenv("PATH"), Network: len(t.Policy.NetworkAllow) > 0,
			// A policy file says by itself what compilers may start.
			Compilers: o.Policy == "",
			Work:      work, Murmur: realPath(t.home.Path()), User: realPath(env.Getenv("HOME")),
		}, host.Grants)
		for _, n := range found.Notes {
			t.notes.Add(n)
		}
	})
	wg.Wait()
	if real {
		t.made(netErr)
	}
	return found
}

// made enters into the reading what came of making the network namespace.
func (t *Terms) made(err error) {
	t.Reading.NetNS = err == nil
	if err == nil {
		t.Reading.IPv6 = t.Network.IPv6()
	} else if t.Reading.NetworkBlocker == nil {
		t.Reading.NetworkBlocker = &confine.Blocker{Name: confine.NamespaceDenied, Step: err.Error()}
		if s := room.Denied(err); s != nil {
			t.Reading.NetworkBlocker.Step, t.Reading.NetworkBlocker.Errno = s.Step, int(s.Errno)
		}
	}
}

// canonical resolves the paths the policy names, so that rules are made for what
// is there and for nothing that is put there later (CON-49).
func (t *Terms) canonical() {
	p := &t.Policy
	for i := range p.InterpreterRuntime {
		for j := range p.InterpreterRuntime[i].Dirs {
			d := &p.InterpreterRuntime[i].Dirs[j]
			d.Path = realPath(d.Path)
		}
	}
	for i := range p.StagedRuntime {
		p.StagedRuntime[i].SourcePath = realPath(p.StagedRuntime[i].SourcePath)
	}
	for i := range p.HostPaths {
		p.HostPaths[i] = realPath(p.HostPaths[i])
	}
}

// caps are the grants that lower the class (CON-33, CON-34).
func (t *Terms) caps(work string) []confine.Cap {
	caps := []confine.Cap{}
	if t.Policy.WorkdirExec {
		caps = append(caps, confine.Cap{
			Key: "capabilities.filesystem.workdir_exec", Reason: "code in the work folder can be executed, so shell.allow does not bind it",
		})
	}
	if home := realPath(t.home.Path()); within(home, work) || within(work, home) {
		caps = append(caps, confine.Cap{
			Key:    "MURMUR_HOME",
			Reason: fmt.Sprintf("the murmur home %s and the work folder %s overlap, so commands could change what the runtime owns", home, work),
		})
	}
	return caps
}

// refuse applies the refusals that follow the class, in the order of staging.
func (t *Terms) refuse(found grants.Found) error {
	if len(t.Policy.StagedRuntime) > 0 && t.Decision.Declared < policy.Sealed {
		var names []string
		for _, g := range t.Policy.StagedRuntime {
			names = append(names, g.Binary)
		}
		list := strings.Join(names, ", ")
		return diag.Errorf("E-CAP-004", "staged_runtime of %s needs the containment floor sealed, and it is %s", list, t.Decision.Declared).
			In("check").Name("binaries", list).Hint("declare containment: sealed")
	}
	if t.Decision.Declared == policy.Unconfined || !t.Reading.Linux() {
		return nil
	}
	if !t.Reading.NetNS {
		return t.namespaceFault()
	}
	if t.Decision.Declared != policy.Sealed {
		return nil
	}
	if scripts := grants.Unreachable(found, t.Policy); len(scripts) > 0 {
		var list []string
		for _, s := range scripts {
			list = append(list, fmt.Sprintf("%s (%s, a script for %s)", s.Entry, s.Path, s.Interpreter))
		}
		text := strings.Join(list, ", ")
		return diag.Errorf("E-CAP-006", "a sealed root would not hold what these scripts need: %s", text).
			In("check").Name("offenders", text).
			Hint("grant the package's tree with shell.interpreter_runtime or shell.staged_runtime")
	}
	return nil
}

func (t *Terms) namespaceFault() error {
	b := t.Reading.NetworkBlocker
	reason, remedy := "the kernel does not support network namespaces", "use a kernel with CONFIG_NET_NS and CONFIG_USER_NS"
	if b != nil {
		if b.Errno != 0 {
			reason = "this process may not make a network namespace"
		}
		if r := b.Remedy(); r != "" {
			remedy = r
		}
		reason += ": " + b.String()
	}
	return diag.Errorf("E-CAP-005", "commands can not be kept to network.allow here, an empty list included: %s", reason).
		Hint("%s", remedy).Hint("or run with --containment unconfined").
		In("check").About(diag.Subject{Kind: diag.Host, Name: "network namespace"}).Name("condition", reason).Name("fix", remedy)
}

// makeFolders makes the directories of a run (SHL-140).
func (t *Terms) makeFolders(work string) (confine.Folders, error) {
	root, err := t.home.Open(filepath.Join(standaloneDir, t.ID), workfs.Options{Ephemeral: true})
	if err != nil {
		return confine.Folders{}, err
	}
	t.records = root
	if t.lock, err = root.TryLock(lockName); err != nil {
		return confine.Folders{}, workfs.Fault(err, "cannot lock the folder of the run")
	}
	t.sweep(t.ID)
	base := realPath(root.Path())
	f := confine.Folders{Work: work, Tmp: filepath.Join(base, "tmp"), Home: filepath.Join(base, "home"), ReadOnly: []string{filepath.Join(base, "logs")}}
	for _, d := range []string{f.Tmp, f.Home, f.ReadOnly[0]} {
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return f, workfs.Fault(err, "cannot make a folder of the run")
		}
	}
	t.Runtime["MURMUR_RECORDS_DIR"] = base
	t.state, t.etc = filepath.Join(base, "sealed-root"), filepath.Join(base, "sealed-etc")
	return f, nil
}
