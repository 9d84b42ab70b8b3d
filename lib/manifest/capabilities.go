package manifest

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
	b := parent.sub("capabilities", capabilityKeys)
	if b == nil {
		return nil
	}
	c := &policy.Capabilities{}
	if n := b.sub("network", allowNetworkKeys); n != nil {
		c.Network = &policy.Network{Allow: n.texts("allow"), UnixSockets: n.flag("unix_sockets")}
	}
	if p := b.sub("peer_fetch", allowKeys); p != nil {
		c.PeerFetch = &policy.PeerFetch{Allow: p.nonEmpty("allow")}
	}
	c.Filesystem = d.filesystem(b, role)
	c.Shell = d.shell(b)
	if e := b.sub("env", allowKeys); e != nil {
		c.Env = &policy.Env{Allow: e.variables("allow")}
	}
	c.Limits = d.limits(b)
	c.Resources = d.resources(b)
	if b.node("containment") != nil {
		if text, ok := b.text("containment"); ok {
			class, err := policy.ParseClass(text)
			if err != nil {
				b.refuse("containment", "the value %s is none of %s", diag.Quote(strings.TrimSpace(text)), list(policy.ClassNames())).Name("value", text)
			}
			c.Containment = class
		}
	}
	if s := b.sub("state", stateKeys); s != nil {
		c.State = &policy.State{}
		if s.node("store") != nil {
			store := s.trimmed("store")
			c.State.Store = &store
		}
	}
	c.Conversation = d.readGrant(b, "conversation", role == policy.Hook || role == wholeCapsule)
	c.TaskIO = d.readGrant(b, "task_io", role == policy.Hook)
	if p := b.sub("plan", planKeys); p != nil {
		c.Plan = &policy.Plan{Submit: p.needFlag("submit")}
	}
	c.Install = d.install(b, role)
	c.Spawn = d.spawn(b)
	return c
}

// nonEmpty reads a list of strings that must have an element.
func (b *block) nonEmpty(key string) []string {
	out := b.texts(key)
	if len(out) == 0 && (!b.has(key) || out != nil) {
		b.refuse(key, "the list %s is required here and must not be empty", key)
	}
	return out
}

// needFlag reads a boolean that is never inferred.
func (b *block) needFlag(key string) bool {
	if b.node(key) == nil {
		b.missing(key)
		return false
	}
	return b.isTrue(key)
}

// variables reads a list of environment variable names.
func (b *block) variables(key string) []string {
	out := b.texts(key)
	for i, name := range out {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			b.d.faultAt(fmt.Sprintf("%s[%d]", b.at(key), i), "%s is no name of an environment variable", diag.Quote(name))
		}
	}
	return out
}

func (d *decoder) filesystem(parent *block, role policy.Role) *policy.Filesystem {
	b := parent.sub("filesystem", filesystemKeys)
	if b == nil {
		return nil
	}
	f := &policy.Filesystem{
		Scope:       b.trimmed("scope"),
		WorkdirExec: b.flag("workdir_exec"),
		ReadOnly:    b.texts("read_only"),
		Records:     b.flag("records"),
	}
	switch {
	case f.Records == nil:
	case role != policy.Hook:
		b.refuse("records", "only a hook can be given the records")
	case *f.Records && f.Scope != "":
		b.refuse("records", "records and scope exclude each other: a hook has one folder")
	}
	return f
}

func (d *decoder) shell(parent *block) *policy.Shell {
	b := parent.sub("shell", shellKeys)
	if b == nil {
		return nil
	}
	s := &policy.Shell{Allow: b.nonEmpty("allow")}
	for i, name := range s.Allow {
		path := fmt.Sprintf("%s[%d]", b.at("allow"), i)
		switch {
		case name == "":
			d.faultAt(path, "the program name is blank")
		case strings.ContainsAny(name, "/\x00"):
			d.faultAt(path, "%s is no bare program name: it holds / or NUL", diag.Quote(name)).
				Hint("name the program alone; it is looked up on PATH")
		}
	}
	for _, it := range b.list("strip_env") {
		if text, ok := d.text(it.node, it.path); ok {
			p, err := policy.ParsePattern(text)
			if err != nil {
				d.faultAt(it.path, "the pattern %s %w", diag.Quote(text), err).Hint("write NAME, PREFIX*, *SUFFIX or *MIDDLE*")
			}
			s.StripEnv = append(s.StripEnv, p)
		}
	}
	s.BaselineEnv = b.variables("baseline_env")
	for i, name := range s.BaselineEnv {
		if strings.HasPrefix(name, "MURMUR_") {
			d.faultAt(fmt.Sprintf("%s[%d]", b.at("baseline_env"), i), "%s is set by mur itself and can not be passed on", diag.Quote(name))
		}
	}
	for _, it := range b.list("interpreter_runtime") {
		if g := d.open(it.node, it.path, interpreterKeys); g != nil {
			s.InterpreterRuntime = append(s.InterpreterRuntime, d.interpreter(g, s.Allow))
		}
	}
	for _, it := range b.list("staged_runtime") {
		if g := d.open(it.node, it.path, stagedKeys); g != nil {
			s.StagedRuntime = append(s.StagedRuntime, d.staged(g, s))
		}
	}
	return s
}

// granted reads a binary that a runtime is granted to; it must be allowed.
func (b *block) granted(allow []string) string {
	name := b.required("binary")
	if name != "" && !slices.Contains(allow, name) {
		b.refuse("binary", "%s is not in the allow list of this shell block", diag.Quote(name)).Name("binary", name)
	}
	return name
}

// absolute reads a required absolute host path.
func (b *block) absolute(key string) string {
	p := b.required(key)
	if p != "" && (!strings.HasPrefix(p, "/") || strings.Contains(p, "\x00")) {
		b.refuse(key, "%s is no absolute path", diag.Quote(p))
	}
	return p
}

func (d *decoder) interpreter(b *block, allow []string) policy.InterpreterRuntime {
	g := policy.InterpreterRuntime{Binary: b.granted(allow)}
	dirs := b.list("dirs")
	if len(dirs) == 0 && (!b.has("dirs") || dirs != nil) {
		b.refuse("dirs", "at least one directory is required")
	}
	for _, it := range dirs {
		if dir := d.open(it.node, it.path, runtimeDirKeys); dir != nil {
			g.Dirs = append(g.Dirs, policy.RuntimeDir{Path: dir.absolute("path"), ListDir: dir.needFlag("list_dir")})
		}
	}
	return g
}

func (d *decoder) staged(b *block, s *policy.Shell) policy.StagedRuntime {
	g := policy.StagedRuntime{Binary: b.granted(s.Allow), SourcePath: b.absolute("source_path"), Pin: b.required("pin")}
	for _, i := range s.InterpreterRuntime {
		if g.Binary != "" && i.Binary == g.Binary {
			b.refuse("binary", "%s has an interpreter_runtime grant already; the two exclude each other", diag.Quote(g.Binary)).Name("binary", g.Binary)
			break
		}
	}
	return g
}

// maxSeconds keeps every number of seconds far from overflowing a duration.
const maxSeconds = 1 << 31

func (d *decoder) limits(parent *block) *policy.DeclaredLimits {
	b := parent.sub("limits", limitKeys)
	if b == nil {
		return nil
	}
	return &policy.DeclaredLimits{
		MemoryBytes:     b.whole("memory_bytes", 1, math.MaxInt64),
		TableElements:   b.whole("table_elements", 1, math.MaxUint32),
		Instances:       b.whole("instances", 1, math.MaxUint32),
		DeadlineSeconds: b.whole("deadline_seconds", 1, maxSeconds),
	}
}

func (d *decoder) resources(parent *block) *policy.DeclaredResources {
	b := parent.sub("resources", resourceKeys)
	if b == nil {
		return nil
	}
	n := func(key string) *int64 { return b.whole(key, 1, math.MaxInt64) }
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
	if parent.node(key) != nil && !may {
		parent.refuse(key, "only a hook can be given %s", key)
		return nil
	}
	b := parent.sub(key, readKeys)
	if b == nil {
		return nil
	}
	return &policy.ReadGrant{Read: b.needFlag("read")}
}

func (d *decoder) install(parent *block, role policy.Role) *policy.Install {
	if parent.node("install") != nil && role != wholeCapsule {
		parent.refuse("install", "only the whole capsule can be allowed to install")
		return nil
	}
	b := parent.sub("install", installKeys)
	if b == nil {
		return nil
	}
	i := &policy.Install{Skill: d.installList(b, "skill"), Tool: d.installList(b, "tool")}
	if d.ok() && len(i.Skill) == 0 && len(i.Tool) == 0 {
		d.faultAt(b.path, "neither skill nor tool names anything that may be installed").
			Hint("entries are %s", policy.InstallForms)
	}
	if b.has("from") {
		switch from := b.texts("from"); {
		case slices.Equal(from, []string{"stores"}):
		case slices.Equal(from, []string{"stores", "sources"}):
			i.FromSources = true
		case from != nil:
			b.refuse("from", "expected [stores] or [stores, sources], found [%s]", strings.Join(from, ", "))
		}
	}
	return i
}

func (d *decoder) installList(b *block, key string) []policy.InstallEntry {
	var out []policy.InstallEntry
	for _, it := range b.list(key) {
		text, ok := d.text(it.node, it.path)
		if !ok {
			continue
		}
		e, err := policy.ParseInstallEntry(strings.TrimSpace(text))
		if err != nil {
			d.faultAt(it.path, "the entry %s is refused: %w", diag.Quote(text), err).Name("entry", text).
				Hint("entries are %s", policy.InstallForms)
		}
		out = append(out, e)
	}
	return out
}

func (d *decoder) spawn(parent *block) *policy.Spawn {
	b := parent.sub("spawn", spawnKeys)
	if b == nil {
		return nil
	}
	s := &policy.Spawn{Allow: b.fullNames("allow"), WorkdirSnapshot: b.fullNames("workdir_snapshot")}
	for i, name := range s.WorkdirSnapshot {
		if !slices.Contains(s.Allow, name) {
			d.faultAt(fmt.Sprintf("%s[%d]", b.at("workdir_snapshot"), i), "%s is not in the allow list of this spawn block", diag.Quote(name))
		}
	}
	return s
}

// fullNames reads a list of full artifact names.
func (b *block) fullNames(key string) []string {
	out := b.texts(key)
	for i, name := range out {
		if _, err := names.ParseFull(name); err != nil {
			b.d.faultAt(fmt.Sprintf("%s[%d]", b.at(key), i), "%w", err)
		}
	}
	return out
}
