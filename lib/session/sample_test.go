package session

import (
	"encoding/json"
	"strings"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/policy"
)

const (
	sampleID   = "ses_0193f6a1b2c37d4e8f90a1b2c3d4e5f6"
	sampleHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
)

func ptr[T any](v T) *T { return &v }

// sample is a script session that uses every kind of value a document has.
func sample() *Document {
	dir := func(p string, ino uint64) Directory { return Directory{Path: p, Dev: 2049, Ino: ino} }
	home := "/home/ana/.murmur"
	ses := home + "/sessions/" + sampleID
	archive := &File{Path: "/p/.murmur/store/ana/count/1.2.0.mur.zip", SHA256: sampleHash, Bytes: 4096}
	component := &File{Path: "/p/capsule.wasm", SHA256: sampleHash, Bytes: 100}
	pol, err := policy.Resolve(nil, policy.Advisory)
	if err != nil {
		panic(err)
	}
	return &Document{
		Schema: Schema, StagedAtMs: 1733000000000, Stager: Stager{"0.1.0", "linux", "amd64"},
		SessionID: sampleID, Kind: KindScript,
		Capsule: Capsule{
			Name: "demo", Version: "1.0.0", Artifact: "local/demo", Component: component,
			Implementation: ptr(ImplCore), Interface: ptr("murmur:capsule/run@0.1.0"),
		},
		Bundle: &Bundle{Digest: "sha256:" + sampleHash},
		Manifest: Manifest{
			Dir: "/p", File: ptr("/p/murmur.yaml"), FileName: ptr("murmur.yaml"), SHA256: sampleHash,
			FilesRoot: FilesRoot{"directory", "/p"},
		},
		Directories: Directories{
			Work:    WorkDirectory{Path: "/p/workdir/" + sampleID, Dev: 2049, Ino: 1, Created: true},
			Session: dir(ses, 2), Runtime: dir(ses+"/runtime", 3), SealedEtc: dir(ses+"/sealed-etc", 4),
			Harness: dir(ses+"/harness", 5), Records: dir(home+"/records/p/workdir/"+sampleID, 6),
			WorkdirRoot: dir("/p/workdir", 7), MurmurHome: dir(home, 8), CreatedWorkdirs: ptr("/p/workdir"),
		},
		Lock: Lock{Path: ptr("/p/murmur.lock"), Present: true, Resolved: []ResolvedPart{{
			Name: "ana/count", ResolvedVersion: "1.2.0", SHA256: sampleHash, Origin: Origin{Kind: "operator"},
		}}},
		Stores: Stores{Project: ptr("/p/.murmur/store"), Global: ptr(home + "/artifacts"), DecompressionCeiling: 1 << 30},
		Engine: Engines{Core: Engine{"wazero", "1.12.0", "f"}, Interfaces: []string{"murmur:capsule/run@0.1.0", "murmur:tool/run@0.1.0"}},
		Artifacts: []Artifact{{
			Name: "ana/count", ToolName: "count", Version: "1.2.0", Role: "tool", Kind: "wasm", Implementation: ImplCore,
			Origin: Origin{Kind: "operator"}, Store: ptr("project"), Archive: archive,
			Payload:      &Payload{Entry: "count.wasm", SHA256: sampleHash, Bytes: 2000},
			Compiled:     &Compiled{Path: home + "/compiled/" + sampleHash + "-f.cwasm", SHA256: sampleHash, Fingerprint: "f"},
			ManifestPath: "tools/count/murmur.yaml", Interface: ptr("murmur:tool/run@0.1.0"),
			Grant: &policy.Grant{FilesystemScope: ptr("data"), NetworkAllow: policy.Rules{{Host: "example.com", Port: 443, Scheme: "https"}}},
		}},
		ArtifactNames: map[string]string{"count": "ana/count"}, AllowlistedTools: []string{"count"},
		DeclaredArtifacts: []string{"ana/count"}, ReservedToolNames: []string{"submit-plan"},
		Policy: pol,
		Containment: Containment{
			Declared: policy.Advisory, DeclaredBy: []policy.Vote{{Source: "manifest", Class: policy.Advisory}},
			Achieved: policy.Scoped, Tier: string(confine.TierScoped), TempMapping: "env-only",
		},
		HostProbe: confine.Reading{BootID: "b", Landlock: confine.Landlock{State: "enforced", ABI: 5}, ProcView: "host"},
		EffectiveGrants: confine.ScopeReport{DeclaredContainment: policy.Advisory, AchievedContainment: policy.Scoped, FloorMet: true, RuntimeWrites: confine.RuntimeWrites(),
			IOMax: confine.IOMax{Status: "not-required"}, FilesystemBoundary: confine.FilesystemBoundary{Restriction: "enforced"},
			TempDir: confine.TempDir{Mapping: "env-only"}, ProcessBoundary: confine.ProcessBoundary{ProcView: "host", Signals: "unmediated"}},
		Sandbox:   confine.Sandbox{Version: 1, AppliedTier: string(confine.TierScoped), RunAs: confine.RunAs{Access: "self"}},
		Lifecycle: Lifecycle{TaskAcceptance: "single", AfterTask: "exit", QueueDepth: 1, Conversation: "stateless"},
		Trace:     Trace{Capture: "meta"},
		Network:   Network{BindAddr: "127.0.0.1"},
		Warnings:  []Warning{{Code: ptr("W-SEC-019"), Message: "unknown key", Topic: "manifest"}},
		Files: []StagedFile{
			{component.Path, component.SHA256, component.Bytes, "0644"},
			{archive.Path, archive.SHA256, archive.Bytes, "0600"},
		},
	}
}

// sampleAgent is an agent session.
func sampleAgent() *Document {
	d := sample()
	d.Kind = KindAgent
	d.Capsule.Component, d.Capsule.Implementation, d.Capsule.Interface = nil, nil, nil
	d.Files = d.Files[1:]
	d.Artifacts[0].Role = "driver"
	d.Artifacts[0].Gateway = ptr(0)
	d.Gateways = []Gateway{{
		Artifact: "ana/count", Endpoint: "https://api.example.com/v1", Auth: GatewayAuth{"Authorization", "Bearer {key}"},
		Credential: &CredentialRef{Name: "EXAMPLE_KEY", Source: FromConfig, Rereadable: true, File: "/home/ana/.murmur/config.yaml"}, Metered: true,
	}}
	d.Inference = &Inference{
		Transport: "http", Model: "m", MaxTurns: 10, MaxOutputTokens: 8192,
		Choices:      []Choice{{Name: "primary", Driver: "ana/count", Model: "m", Available: true, Limits: &ModelLimits{ContextWindow: ptr(int64(200000))}}},
		Compaction:   Compaction{Threshold: 0.98, Model: "m"},
		SystemPrompt: SystemPrompt{Text: "Be <brief> & kind.", SHA256: sampleHash, Source: "manifest"},
		ToolRefresh:  "compaction",
	}
	d.Context = &Context{Record: true, RecordName: ptr("demo"), SeedBudget: 0.1, SeedOverflowMargin: 0.1}
	d.ContextID = ptr("ctx_0193f6a1b2c37d4e8f90a1b2c3d4e5f6")
	d.Deadline = &Deadline{AtMs: 1733000100000, SetAtMs: 1733000000000, Source: "flag"}
	d.ParentWorkdirSnapshot = json.RawMessage(`{"files":3}`)
	d.InstructionFiles = &InstructionFiles{Files: []InstructionFile{{Path: "AGENTS.md", Bytes: 2, SHA256: sampleHash, Text: "hi"}}}
	return d
}

func encoded(d *Document) string {
	data, err := d.Encode()
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(string(data), "\n")
}
