// Package policy is what a capsule may do, as plain values: network rules,
// environment rules, folder scopes, limits, the containment floor, and what is
// left of them for one artifact.
//
// It promises that everything it grants was written by the operator: an absent
// block, an absent key and an empty list are the same denial (SES-96), and a
// narrowing never adds to what it narrows. It is pure: it makes no system call,
// reads no file, resolves no name and looks at no environment. mur-stage makes
// a Policy and the Grants from the manifest; mur-launch and mur-shell read them
// back from the staged-session document; mur-doctor reports on them.
package policy

// Policy is the ceiling of one capsule: the member `policy` of the
// staged-session document (SES-93, SES-94). Every member is resolved; no list
// is nil after Resolve.
type Policy struct {
	NetworkAllow              Rules                `json:"network_allow"`
	UnixSockets               bool                 `json:"unix_sockets"`
	PeerFetchAllow            Rules                `json:"peer_fetch_allow"`
	FilesystemScope           *string              `json:"filesystem_scope"` // nil: the whole work folder
	WorkdirExec               bool                 `json:"workdir_exec"`
	ReadOnly                  []string             `json:"read_only"`
	ShellAllow                []string             `json:"shell_allow"`
	ShellStripEnv             []Pattern            `json:"shell_strip_env"`
	ShellBaselineEnv          []string             `json:"shell_baseline_env"`
	InterpreterRuntime        []InterpreterRuntime `json:"interpreter_runtime"`
	StagedRuntime             []StagedRuntime      `json:"staged_runtime"`
	DerivedInterpreterRuntime []DerivedRuntime     `json:"derived_interpreter_runtime"` // filled by mur-stage (MAN-123)
	TrustStore                []string             `json:"trust_store"`                 // filled by mur-stage (MAN-123)
	HostPaths                 []string             `json:"host_paths"`                  // filled by mur-stage from the global config
	SpawnAllow                []string             `json:"spawn_allow"`
	SpawnWorkdirSnapshot      []string             `json:"spawn_workdir_snapshot"`
	EnvAllow                  []string             `json:"env_allow"`
	PlanSubmit                bool                 `json:"plan_submit"`
	InstallSkill              []InstallEntry       `json:"install_skill"`
	InstallTool               []InstallEntry       `json:"install_tool"`
	InstallFromSources        bool                 `json:"install_from_sources"`
	Limits                    Limits               `json:"limits"`
	DeclaredDeadlineSeconds   *int64               `json:"declared_deadline_seconds"`
	Resources                 Resources            `json:"resources"`
	DeclaredResources         DeclaredResources    `json:"declared_resources"`
	ContainmentFloor          Class                `json:"containment_floor"`
	StateDeclared             bool                 `json:"state_declared"`
	ConversationDeclared      bool                 `json:"conversation_declared"`
}

// Resolve makes the ceiling from a capsule-wide block (nil when absent) and the
// effective floor. It refuses with E-CAP-001 (network and peer lists), E-CAP-002
// (scope) and E-CAP-012 (read-only entries), in that order; mur-stage calls the
// single checks at their own steps before it, so that the order of session.md
// section 3.2 holds.
func Resolve(caps *Capabilities, floor Class) (Policy, error) {
	if caps == nil {
		caps = &Capabilities{}
	}
	p := Policy{
		NetworkAllow: Rules{}, PeerFetchAllow: Rules{},
		ReadOnly: []string{}, ShellAllow: []string{}, ShellStripEnv: []Pattern{}, ShellBaselineEnv: []string{},
		InterpreterRuntime: []InterpreterRuntime{}, StagedRuntime: []StagedRuntime{},
		DerivedInterpreterRuntime: []DerivedRuntime{}, TrustStore: []string{}, HostPaths: []string{},
		SpawnAllow: []string{}, SpawnWorkdirSnapshot: []string{}, EnvAllow: []string{},
		InstallSkill: []InstallEntry{}, InstallTool: []InstallEntry{},
		Limits: caps.Limits.Resolve(), Resources: caps.Resources.Resolve(),
		ContainmentFloor: floor,
		StateDeclared:    caps.State != nil, ConversationDeclared: caps.Conversation != nil,
	}
	if caps.Limits != nil {
		p.DeclaredDeadlineSeconds = caps.Limits.DeadlineSeconds
	}
	if caps.Resources != nil {
		p.DeclaredResources = *caps.Resources
	}
	var err error
	if n := caps.Network; n != nil {
		if p.NetworkAllow, err = ParseRules(Place{Key: "capabilities.network.allow"}, n.Allow); err != nil {
			return Policy{}, err
		}
		p.UnixSockets = n.UnixSockets != nil && *n.UnixSockets
	}
	if f := caps.PeerFetch; f != nil {
		if p.PeerFetchAllow, err = ParseRules(Place{Key: "capabilities.peer_fetch.allow"}, f.Allow); err != nil {
			return Policy{}, err
		}
	}
	if f := caps.Filesystem; f != nil {
		if f.Scope != "" {
			scope, err := CheckScope(Place{Key: "capabilities.filesystem.scope"}, f.Scope)
			if err != nil {
				return Policy{}, err
			}
			p.FilesystemScope = &scope
		}
		p.WorkdirExec = f.WorkdirExec != nil && *f.WorkdirExec
		if p.ReadOnly, err = CheckReadOnly(Place{Key: "capabilities.filesystem.read_only"}, f.ReadOnly); err != nil {
			return Policy{}, err
		}
	}
	if s := caps.Shell; s != nil {
		p.ShellAllow = append(p.ShellAllow, s.Allow...)
		p.ShellStripEnv = append(p.ShellStripEnv, s.StripEnv...)
		p.ShellBaselineEnv = append(p.ShellBaselineEnv, s.BaselineEnv...)
		p.InterpreterRuntime = append(p.InterpreterRuntime, s.InterpreterRuntime...)
		p.StagedRuntime = append(p.StagedRuntime, s.StagedRuntime...)
	}
	if s := caps.Spawn; s != nil {
		p.SpawnAllow = append(p.SpawnAllow, s.Allow...)
		p.SpawnWorkdirSnapshot = append(p.SpawnWorkdirSnapshot, s.WorkdirSnapshot...)
	}
	if e := caps.Env; e != nil {
		p.EnvAllow = append(p.EnvAllow, e.Allow...)
	}
	p.PlanSubmit = caps.Plan != nil && caps.Plan.Submit
	if i := caps.Install; i != nil {
		p.InstallSkill = append(p.InstallSkill, i.Skill...)
		p.InstallTool = append(p.InstallTool, i.Tool...)
		p.InstallFromSources = i.FromSources
	}
	return p, nil
}

// HookLimits are the limits of a hook's lifecycle call: the capsule's, with the
// hook's own deadline unless the manifest declares one (SES-95).
func (p Policy) HookLimits() Limits {
	l := p.Limits
	if p.DeclaredDeadlineSeconds == nil {
		l.DeadlineSeconds = HookDeadlineSeconds
	}
	return l
}

// RunsProcesses tells whether the capsule itself can have a process tree:
// commands or delegated children. Native artifacts are the caller's to add
// (CON-40).
func (p Policy) RunsProcesses() bool { return len(p.ShellAllow) > 0 || len(p.SpawnAllow) > 0 }

// Env returns the rules that decide which host variables survive.
func (p Policy) Env() EnvRules { return EnvRules{Strip: p.ShellStripEnv} }
