package stage

import (
	"path/filepath"
	"runtime"
	"slices"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/closure"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// document puts together what the steps found out (SES section 4).
func (s *staging) document() (*session.Document, error) {
	dirs, err := s.directories()
	if err != nil {
		return nil, err
	}
	c := s.capsule
	d := &session.Document{
		Schema:          session.Schema,
		StagedAtMs:      s.in.Now().UnixMilli(),
		Stager:          session.Stager{Version: s.in.Version, OS: runtime.GOOS, Arch: runtime.GOARCH},
		SessionID:       s.id,
		Kind:            session.KindScript,
		Capsule:         s.capsuleMember(),
		Bundle:          s.bundleMember(),
		Manifest:        s.manifestMember(),
		Directories:     dirs,
		WorkdirIdentity: s.opts.WorkdirIdentity,
		EnvFile:         s.envFile,
		Lock:            s.lockMember(),
		Stores:          s.storesMember(),
		Engine:          s.enginesMember(),
		Artifacts:       s.artifactMembers(),
		ArtifactNames:   map[string]string{},

		ReservedToolNames: session.ReservedToolNames(),
		Policy:            s.policy,
		Containment: session.Containment{
			Declared: s.decision.Declared, DeclaredBy: s.votes, Achieved: s.decision.Achieved,
			Tier: string(s.decision.HostTier), Shortfall: optional(s.decision.Shortfall),
			TempMapping: s.report.TempDir.Mapping, Unconfined: s.decision.Declared == policy.Unconfined,
		},
		HostProbe:       s.reading,
		HostFacts:       s.hostFacts(),
		ProtectedPaths:  s.protected(),
		ToolAnnotations: s.annotations,
		EffectiveGrants: s.report,
		Sandbox:         s.sandbox(),
		Lifecycle:       lifecycleMember(s.lifecycle, s.overrides),
		Inference:       s.inference,

		InstructionFiles: s.instructions,
		Trace:            session.Trace{Capture: c.Trace.Capture},
		Observability:    s.observability(),
		Network:          session.Network{BindAddr: s.opts.Bind},
		Gateways:         s.gateways,
		Spend:            s.spend,
		SpawnBounds: session.SpawnBounds{
			MaxDepth: s.config.MaxDepth, MaxConcurrent: s.config.MaxConcurrent, DepthRemaining: s.config.MaxDepth,
		},
		ContextID: optional(s.opts.Context),
		Task:      session.Task{Written: s.opts.Task != nil, Import: s.agent() && s.opts.Task == nil},
		Deadline:  s.deadline(),
		Warnings:  warningMembers(s),
		Files:     s.files(),
	}
	if c.Network.InternalPort != 0 {
		d.Network.InternalPort = &c.Network.InternalPort
	}
	if r := c.Trace.Retain; r != nil {
		d.Trace.Retain = &session.TraceRetain{MaxSessions: r.Max, MaxAgeSecs: r.MaxAgeSecs}
	}
	if s.agent() {
		d.Kind = session.KindAgent
		d.Context = contextMember(c.Context)
	}
	for _, a := range s.artifacts {
		d.ArtifactNames[a.entry.ToolName()] = a.entry.Name.String()
		d.DeclaredArtifacts = append(d.DeclaredArtifacts, a.entry.Name.String())
		if a.entry.Role == policy.Tool {
			d.AllowlistedTools = append(d.AllowlistedTools, a.entry.ToolName())
		}
	}
	slices.Sort(d.AllowlistedTools)
	return d, nil
}

func (s *staging) directories() (session.Directories, error) {
	h := &s.held
	var d session.Directories
	work, err := identityOf(h.work, s.workFolder(s.id))
	if err != nil {
		return d, err
	}
	d.Work = session.WorkDirectory{Path: work.Path, Dev: work.Dev, Ino: work.Ino, Created: h.madeWork}
	d.WorkdirRoot = work
	if h.madeWork {
		d.CreatedWorkdirs = &s.root
		if d.WorkdirRoot, err = identityAt(s.root); err != nil {
			return d, err
		}
	}
	for _, r := range []struct {
		into *session.Directory
		root rootOf
	}{
		{&d.Session, h.session}, {&d.Runtime, h.runtime}, {&d.SealedEtc, h.etc}, {&d.Harness, h.harness},
		{&d.Records, h.records}, {&d.MurmurHome, h.home},
	} {
		if *r.into, err = identityOf(r.root, r.root.Path()); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (s *staging) manifestMember() session.Manifest {
	m := session.Manifest{
		Dir: s.dir, FileName: s.manifestCopy, SHA256: hashOf(s.manifestData),
		FilesRoot: session.FilesRoot{Kind: "directory", Path: s.dir},
	}
	if s.pkg != nil {
		m.FilesRoot = session.FilesRoot{Kind: "package", Path: s.pkg.file.Path}
	} else {
		m.File = &s.file
	}
	return m
}

func (s *staging) capsuleMember() session.Capsule {
	c := session.Capsule{
		Name: s.capsule.Name, Version: s.capsule.Version, Description: optional(s.capsule.Description),
		Artifact: "local/" + s.capsule.Name,
	}
	if s.pkg != nil {
		c.Artifact = s.opts.Capsule.Full.String()
	}
	if g := s.component; g != nil {
		f := &session.File{Path: g.file.Path, SHA256: g.file.SHA256, Bytes: g.file.Bytes}
		if s.pkg != nil {
			c.Archive, c.Payload = f, &g.guest.payload
		} else {
			c.Component = f
		}
		c.Implementation, c.Interface, c.Compiled = &g.guest.implementation, &g.guest.iface, g.guest.compiled
	}
	return c
}

func (s *staging) lockMember() session.Lock {
	l := session.Lock{Present: s.lockFound, Written: s.held.lockWritten}
	if s.pkg == nil && s.bundle == nil {
		l.Path = ptr(s.lockPath())
	}
	for _, a := range s.artifacts {
		if a.source == "" {
			l.Resolved = append(l.Resolved, session.ResolvedPart{
				Name: a.entry.Name.String(), ResolvedVersion: a.entry.Version, SHA256: a.hash, Origin: originOf(a.origin),
			})
		}
	}
	return l
}

func originOf(o lockfile.Origin) session.Origin {
	return session.Origin{Kind: o.Word(), Session: o.Session}
}

func (s *staging) storesMember() session.Stores {
	m := session.Stores{DecompressionCeiling: int64(min(artifact.LimitsOf(s.environ).EntryBytes, 1<<62))}
	for _, st := range s.stores() {
		switch st.Label() {
		case store.Project:
			m.Project = ptr(st.Dir())
		case store.Global:
			m.Global = ptr(st.Dir())
		default:
			m.Replaced = append(m.Replaced, st.Dir())
		}
	}
	for _, src := range s.config.Registry.Sources {
		m.Sources = append(m.Sources, session.StoreSource{Type: src.Type, Address: src.Repo, TokenVariable: tokenVariable(src)})
	}
	return m
}

func (s *staging) enginesMember() session.Engines {
	m := session.Engines{Interfaces: wasmhost.Served()}
	if f, ok := s.host.Formats.Find(session.ImplComponent); ok {
		m.Component = ptr(session.Engine(f.Info))
	}
	if f, ok := s.host.Formats.Find(session.ImplCore); ok {
		m.Core = session.Engine(f.Info)
	}
	return m
}

func (s *staging) artifactMembers() []session.Artifact {
	out := []session.Artifact{}
	for i, a := range s.artifacts {
		m := session.Artifact{
			Name: a.entry.Name.String(), ToolName: a.entry.ToolName(), Version: a.entry.Version,
			Role: string(a.entry.Role), Kind: string(a.manifest.Kind), Implementation: session.ImplSkill,
			Origin: originOf(a.origin), Store: optional(a.store), Source: optional(a.source), Payload: a.payload,
			ManifestPath: session.ToolsDir + "/" + a.entry.ToolName() + "/" + session.ManifestName,
			Grant:        s.grants[i].grant, ConfigJSON: s.grants[i].config, Gateway: a.gateway,
		}
		if a.source == "" {
			m.Archive = &session.File{Path: a.archive.Path, SHA256: a.archive.SHA256, Bytes: a.archive.Bytes}
		}
		if g := a.guest; g != nil {
			m.Implementation, m.Interface, m.Compiled = g.implementation, &g.iface, g.compiled
		}
		if a.native() {
			m.Implementation = session.ImplNative
		}
		out = append(out, m)
	}
	return out
}

// sandbox is what mur-shell needs beside policy and class (CON-47).
func (s *staging) sandbox() confine.Sandbox {
	b := confine.Sandbox{
		Version: 1, AppliedTier: string(s.decision.AppliedTier), Caps: s.decision.Caps,
		Network: endpoints(s.policy.NetworkAllow), PeerNetwork: endpoints(s.policy.PeerFetchAllow),
		PrivateMounts: s.decision.PrivateMounts(s.reading), RunAs: s.runAs(),
		Exec: s.found.Exec, Natives: s.natives(), Binds: slices.Clone(s.found.Binds),
	}
	for _, g := range s.policy.StagedRuntime {
		b.Binds = append(b.Binds, confine.Bind{Path: g.SourcePath, Required: true, Kind: "staged"})
	}
	for _, g := range s.policy.InterpreterRuntime {
		for _, dir := range g.Dirs {
			b.Binds = append(b.Binds, confine.Bind{Path: dir.Path, Kind: "interpreter"})
		}
	}
	for _, d := range s.policy.DerivedInterpreterRuntime {
		b.Binds = append(b.Binds, confine.Bind{Path: d.Dir, Kind: "derived"})
	}
	for _, p := range s.policy.HostPaths {
		b.Binds = append(b.Binds, confine.Bind{Path: p, Required: true, Kind: "host-path"})
	}
	return b
}

// natives are the native tools as they were laid out, with the files each needs
// to start (CON-134).
func (s *staging) natives() []confine.NativeGrant {
	out := []confine.NativeGrant{}
	for _, a := range s.artifacts {
		if !a.native() {
			continue
		}
		path := s.held.runtime.Join(session.ToolsDir + "/" + a.entry.ToolName() + "/" + a.entry.ToolName())
		g := confine.NativeGrant{Tool: a.entry.ToolName(), Path: path, Closure: []string{}}
		for _, p := range closure.Find([]string{path}, "") {
			g.Closure = p.Closure
		}
		out = append(out, g)
	}
	return out
}

func endpoints(rules policy.Rules) []confine.Endpoint {
	out := []confine.Endpoint{}
	for _, r := range rules {
		e := confine.Endpoint{Raw: r.String(), Scheme: optional(r.Scheme), Host: r.Host}
		if r.Port != 0 {
			e.Port = ptr(r.Port)
		}
		out = append(out, e)
	}
	return out
}

func lifecycleMember(l manifest.Lifecycle, overrides []string) session.Lifecycle {
	return session.Lifecycle{
		TaskAcceptance: l.TaskAcceptance, AfterTask: l.AfterTask, QueueDepth: l.QueueDepth, Conversation: l.Conversation,
		MaxTaskReopens: l.MaxTaskReopens, InputTimeoutSecs: l.InputTimeoutSecs, ShellGraceSecs: l.ShellGraceSecs,
		DelegationDeadlineSecs: l.DelegationDeadlineSecs, DeadlineNoticeSecs: l.DeadlineNoticeSecs, Overrides: overrides,
	}
}

func contextMember(c manifest.Context) *session.Context {
	m := &session.Context{
		Record: c.Record, MaxTokens: c.MaxTokens, SeedBudget: c.SeedBudget, SeedOverflowMargin: c.SeedOverflowMargin,
	}
	if c.Record {
		m.RecordName = &c.RecordStore
	}
	if r := c.Retain; r != nil {
		m.Retain = &session.ContextRetain{MaxAgeSecs: r.MaxAgeSecs, MaxMessages: r.Max}
	}
	return m
}

func (s *staging) observability() session.Observability {
	o := s.capsule.Observability
	m := session.Observability{
		OtelEndpoint: optional(o.OtelEndpoint), CaseID: optional(s.opts.CaseID), DatasetID: optional(s.opts.DatasetID),
	}
	if o.Eval == nil {
		return m
	}
	if m.DatasetID == nil {
		m.DatasetID = optional(o.Eval.DatasetID)
	}
	m.Eval = &session.Eval{}
	for _, sc := range o.Eval.Scorers {
		row := session.Scorer{Type: sc.Type, Name: sc.Name, Expected: sc.Expected}
		if sc.Max != 0 {
			row.Max = ptr(sc.Max)
		}
		m.Eval.Scorers = append(m.Eval.Scorers, row)
	}
	return m
}

// maxDeadlineSecs is the longest deadline (SES-174).
const maxDeadlineSecs = 315_360_000

// deadline counts from the start of this process (SES-174).
func (s *staging) deadline() *session.Deadline {
	if s.opts.DeadlineSecs == 0 {
		return nil
	}
	set := s.in.Started.UnixMilli()
	return &session.Deadline{AtMs: set + min(s.opts.DeadlineSecs, maxDeadlineSecs)*1000, SetAtMs: set, Source: "flag"}
}

func warningMembers(s *staging) []session.Warning {
	out := []session.Warning{}
	for _, w := range s.warnings {
		out = append(out, session.Warning{Code: optional(string(w.Code)), Message: w.Message, Topic: w.Topic})
	}
	return out
}

// files lists every file the launch will trust, each once.
func (s *staging) files() []session.StagedFile {
	var all []session.StagedFile
	if s.component != nil {
		all = append(all, s.component.file)
	}
	for _, a := range s.artifacts {
		if a.source == "" {
			all = append(all, a.archive)
		}
	}
	all = append(all, s.listed...)
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(f session.StagedFile) bool {
		p := filepath.Clean(f.Path)
		twice := seen[p]
		seen[p] = true
		return twice
	})
}
