package manifest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/policy"
)

// wholeCapsule stands for the top-level block, where an entry has its role.
const wholeCapsule policy.Role = ""

// The keys of a capabilities block, each list in declared order (section 5).
var (
	capabilityKeys = []string{
		"network", "peer_fetch", "filesystem", "shell", "env", "limits", "resources", "containment",
		"state", "conversation", "task_io", "plan", "install", "spawn",
	}
	allowNetworkKeys = []string{"allow", "unix_sockets"}
	allowKeys        = []string{"allow"}
	filesystemKeys   = []string{"scope", "workdir_exec", "read_only", "records"}
	shellKeys        = []string{"allow", "strip_env", "baseline_env", "interpreter_runtime", "staged_runtime"}
	interpreterKeys  = []string{"binary", "dirs"}
	runtimeDirKeys   = []string{"path", "list_dir"}
	stagedKeys       = []string{"binary", "source_path", "pin"}
	limitKeys        = []string{"memory_bytes", "table_elements", "instances", "deadline_seconds"}
	resourceKeys     = []string{
		"max_processes", "max_open_files", "max_file_size_bytes", "cpu_seconds", "memory_bytes",
		"cgroup_memory_bytes", "cgroup_pids_max", "cgroup_cpu_percent", "cgroup_io_bytes_per_sec", "workdir_max_bytes",
	}
	stateKeys   = []string{"store"}
	readKeys    = []string{"read"}
	planKeys    = []string{"submit"}
	installKeys = []string{"skill", "tool", "from"}
	spawnKeys   = []string{"allow", "workdir_snapshot"}
)

// capabilities reads the block of the whole capsule or of an entry of the given
// role; the role decides which parts are refused (MAN-61 to MAN-71).
func (d *decoder) capabilities(parent *block, role policy.Role) *policy.Capabilities {
	b := parent.Sub("capabilities", capabilityKeys)
	if b == nil {
		return nil
	}
	return d.grants(b, role)
}

// grants reads the keys of a capabilities block.
func (d *decoder) grants(b *block, role policy.Role) *policy.Capabilities {
	c := &policy.Capabilities{}
	if n := b.Sub("network", allowNetworkKeys); n != nil {
		c.Network = &policy.Network{Allow: n.Texts("allow"), UnixSockets: n.Flag("unix_sockets")}
	}
	if p := b.Sub("peer_fetch", allowKeys); p != nil {
		c.PeerFetch = &policy.PeerFetch{Allow: p.NonEmpty("allow")}
	}
	c.Filesystem = d.filesystem(b, role)
	c.Shell = d.shell(b)
	if e := b.Sub("env", allowKeys); e != nil {
		c.Env = &policy.Env{Allow: variables(e, "allow")}
	}
	c.Limits = d.limits(b)
	c.Resources = d.resources(b)
	if b.Node("containment") != nil {
		if text, ok := b.Text("containment"); ok {
			class, err := policy.ParseClass(text)
			if err != nil {
				b.Refuse("containment", "the value %s is not one of %s", diag.Quote(strings.TrimSpace(text)), strings.Join(policy.ClassNames(), ", ")).Name("value", text)
			}
			c.Containment = class
		}
	}
	if s := b.Sub("state", stateKeys); s != nil {
		c.State = &policy.State{}
		if s.Node("store") != nil {
			store := s.Trimmed("store")
			c.State.Store = &store
		}
	}
	c.Conversation = d.readGrant(b, "conversation", role == policy.Hook || role == wholeCapsule)
	c.TaskIO = d.readGrant(b, "task_io", role == policy.Hook)
	if p := b.Sub("plan", planKeys); p != nil {
		c.Plan = &policy.Plan{Submit: p.NeedFlag("submit")}
	}
	c.Install = d.install(b, role)
	c.Spawn = d.spawn(b)
	return c
}

// variables reads a list of environment variable names.
func variables(b *block, key string) []string {
	out := b.Texts(key)
	for i, name := range out {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			b.RefuseItem(key, i, "%s is no name of an environment variable", diag.Quote(name))
		}
	}
	return out
}

func (d *decoder) filesystem(parent *block, role policy.Role) *policy.Filesystem {
	b := parent.Sub("filesystem", filesystemKeys)
	if b == nil {
		return nil
	}
	f := &policy.Filesystem{
		Scope:       b.Trimmed("scope"),
		WorkdirExec: b.Flag("workdir_exec"),
		ReadOnly:    b.Texts("read_only"),
		Records:     b.Flag("records"),
	}
	switch {
	case f.Records == nil:
	case role != policy.Hook:
		b.Refuse("records", "only a hook can be given the records")
	case *f.Records && f.Scope != "":
		b.Refuse("records", "records and scope exclude each other: a hook has one folder")
	}
	return f
}

func (d *decoder) shell(parent *block) *policy.Shell {
	b := parent.Sub("shell", shellKeys)
	if b == nil {
		return nil
	}
	s := &policy.Shell{Allow: b.NonEmpty("allow")}
	for i, name := range s.Allow {
		path := fmt.Sprintf("%s[%d]", b.At("allow"), i)
		switch {
		case name == "":
			d.FaultAt(path, "the program name is blank")
		case strings.ContainsAny(name, "/\x00"):
			d.FaultAt(path, "%s is no bare program name: it holds / or NUL", diag.Quote(name)).
				Hint("name the program alone; it is looked up on PATH")
		case name == "." || name == ".." || len(name) > 255 || strings.ContainsFunc(name, unicode.IsControl):
			d.FaultAt(path, "%s is no program's name", diag.Quote(name))
		}
	}
	for _, it := range b.List("strip_env") {
		if text, ok := d.Text(it.Node, it.Path); ok {
			p, err := policy.ParsePattern(text)
			if err != nil {
				d.FaultAt(it.Path, "the pattern %s %w", diag.Quote(text), err).Hint("write NAME, PREFIX*, *SUFFIX or *MIDDLE*")
			}
			s.StripEnv = append(s.StripEnv, p)
		}
	}
	s.BaselineEnv = variables(b, "baseline_env")
	for i, name := range s.BaselineEnv {
		if strings.HasPrefix(name, "MURMUR_") {
			b.RefuseItem("baseline_env", i, "%s is set by mur itself and can not be passed on", diag.Quote(name))
		}
	}
	for _, it := range b.List("interpreter_runtime") {
		if g := d.Open(it.Node, it.Path, interpreterKeys); g != nil {
			s.InterpreterRuntime = append(s.InterpreterRuntime, d.interpreter(g, s.Allow))
		}
	}
	for _, it := range b.List("staged_runtime") {
		if g := d.Open(it.Node, it.Path, stagedKeys); g != nil {
			s.StagedRuntime = append(s.StagedRuntime, d.staged(g, s))
		}
	}
	return s
}

// granted reads a binary that a runtime is granted to; it must be allowed.
func granted(b *block, allow []string) string {
	name := b.Required("binary")
	if name != "" && !slices.Contains(allow, name) {
		b.Refuse("binary", "%s is not in the allow list of this shell block", diag.Quote(name)).Name("binary", name)
	}
	return name
}

// absolute reads a required absolute host path.
func absolute(b *block, key string) string {
	p := b.Required(key)
	if p != "" && (!strings.HasPrefix(p, "/") || strings.Contains(p, "\x00")) {
		b.Refuse(key, "%s is no absolute path", diag.Quote(p))
	}
	return p
}

func (d *decoder) interpreter(b *block, allow []string) policy.InterpreterRuntime {
	g := policy.InterpreterRuntime{Binary: granted(b, allow)}
	dirs := b.List("dirs")
	if len(dirs) == 0 && (!b.Has("dirs") || dirs != nil) {
		b.Refuse("dirs", "at least one directory is required")
	}
	for _, it := range dirs {
		if dir := d.Open(it.Node, it.Path, runtimeDirKeys); dir != nil {
			g.Dirs = append(g.Dirs, policy.RuntimeDir{Path: absolute(dir, "path"), ListDir: dir.NeedFlag("list_dir")})
		}
	}
	return g
}

func (d *decoder) staged(b *block, s *policy.Shell) policy.StagedRuntime {
	g := policy.StagedRuntime{Binary: granted(b, s.Allow), SourcePath: absolute(b, "source_path"), Pin: b.Required("pin")}
	for _, i := range s.InterpreterRuntime {
		if g.Binary != "" && i.Binary == g.Binary {
			b.Refuse("binary", "%s has an interpreter_runtime grant already; the two exclude each other", diag.Quote(g.Binary)).Name("binary", g.Binary)
			break
		}
	}
	return g
}

// maxSeconds keeps every number of seconds far from overflowing a duration.
const maxSeconds = 1 << 31

func (d *decoder) limits(parent *block) *policy.DeclaredLimits {
	b := parent.Sub("limits", limitKeys)
	if b == nil {
		return nil
	}
	return &policy.DeclaredLimits{
		MemoryBytes:     b.Whole("memory_bytes", 1, math.MaxInt64),
		TableElements:   b.Whole("table_elements", 1, math.MaxUint32),
		Instances:       b.Whole("instances", 1, math.MaxUint32),
		DeadlineSeconds: b.Whole("deadline_seconds", 1, maxSeconds),
	}
}

func (d *decoder) resources(parent *block) *policy.DeclaredResources {
	b := parent.Sub("resources", resourceKeys)
	if b == nil {
		return nil
	}
	n := func(key string) *int64 { return b.Whole(key, 1, math.MaxInt64) }
	return &policy.DeclaredResources{
		MaxProcesses: n("max_processes"), MaxOpenFiles: n("max_open_files"), MaxFileSizeBytes: n("max_file_size_bytes"),
		CPUSeconds: n("cpu_seconds"), MemoryBytes: n("memory_bytes"),
		CgroupMemoryBytes: n("cgroup_memory_bytes"), CgroupPidsMax: n("cgroup_pids_max"),
		CgroupCPUPercent: n("cgroup_cpu_percent"), CgroupIOBytesPerSec: n("cgroup_io_bytes_per_sec"),
		WorkdirMaxBytes: n("workdir_max_bytes"),
	}
}

// readGrant reads conversation or task_io; read is never inferred (MAN-80).
func (d *decoder) readGrant(parent *block, key string, may bool) *policy.ReadGrant {
	if parent.Node(key) != nil && !may {
		parent.Refuse(key, "only a hook can be given %s", key)
		return nil
	}
	b := parent.Sub(key, readKeys)
	if b == nil {
		return nil
	}
	return &policy.ReadGrant{Read: b.NeedFlag("read")}
}

func (d *decoder) install(parent *block, role policy.Role) *policy.Install {
	if parent.Node("install") != nil && role != wholeCapsule {
		parent.Refuse("install", "only the whole capsule can be allowed to install")
		return nil
	}
	b := parent.Sub("install", installKeys)
	if b == nil {
		return nil
	}
	i := &policy.Install{Skill: d.installList(b, "skill"), Tool: d.installList(b, "tool")}
	if d.OK() && len(i.Skill) == 0 && len(i.Tool) == 0 {
		d.FaultAt(b.Path, "neither skill nor tool names anything that may be installed").
			Hint("entries are %s", policy.InstallForms)
	}
	if b.Has("from") {
		switch from := b.Texts("from"); {
		case slices.Equal(from, []string{"stores"}):
		case slices.Equal(from, []string{"stores", "sources"}):
			i.FromSources = true
		case from != nil:
			b.Refuse("from", "expected [stores] or [stores, sources], found [%s]", strings.Join(from, ", "))
		}
	}
	return i
}

func (d *decoder) installList(b *block, key string) []policy.InstallEntry {
	var out []policy.InstallEntry
	for _, it := range b.List(key) {
		text, ok := d.Text(it.Node, it.Path)
		if !ok {
			continue
		}
		e, err := policy.ParseInstallEntry(strings.TrimSpace(text))
		if err != nil {
			d.FaultAt(it.Path, "the entry %s is refused: %w", diag.Quote(text), err).Name("entry", text).
				Hint("entries are %s", policy.InstallForms)
		}
		out = append(out, e)
	}
	return out
}

func (d *decoder) spawn(parent *block) *policy.Spawn {
	b := parent.Sub("spawn", spawnKeys)
	if b == nil {
		return nil
	}
	s := &policy.Spawn{Allow: fullNames(b, "allow"), WorkdirSnapshot: fullNames(b, "workdir_snapshot")}
	for i, name := range s.WorkdirSnapshot {
		if !slices.Contains(s.Allow, name) {
			b.RefuseItem("workdir_snapshot", i, "%s is not in the allow list of this spawn block", diag.Quote(name))
		}
	}
	return s
}

// fullNames reads a list of full artifact names.
func fullNames(b *block, key string) []string {
	out := b.Texts(key)
	for i, name := range out {
		if _, err := names.ParseFull(name); err != nil {
			b.RefuseItem(key, i, "%w", err)
		}
	}
	return out
}
