package confine

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
)

func whole() Reading {
	return Reading{
		Landlock: Landlock{State: LandlockEnforced, ABI: 5}, Seccomp: true, MountNS: true, NetNS: true, ProcView: "private",
	}
}

func reading(change func(*Reading)) Reading { r := whole(); change(&r); return r }

// CON-32, CON-58, CON-72, CON-121
func TestReportBoundaries(t *testing.T) {
	noMounts := func(r *Reading) { r.MountNS = false }
	tests := []struct {
		name       string
		r          Reading
		declared   policy.Class
		caps       []Cap
		exec       bool
		restricted string
		gaps       string
		proc       string
		signals    string
		mapping    string
	}{
		{"sealed", whole(), policy.Sealed, nil, false, "enforced", "", "private", "pid-namespace", "private-tmp"},
		{"scoped, private mounts", whole(), policy.Scoped, nil, false, "enforced", "outside_names", "private", "pid-namespace", "private-tmp"},
		{"scoped, workdir exec", whole(), policy.Scoped, nil, true, "enforced", "outside_names loader_exec", "private", "pid-namespace", "private-tmp"},
		{"scoped, no mounts", reading(noMounts), policy.Scoped, nil, false, "enforced", "outside_names outside_metadata loader_exec", "private", "pid-namespace", "env-only"},
		{"scoped, host proc, ABI 6", reading(func(r *Reading) { r.ProcView, r.Landlock.ABI = "host", 6 }), policy.Scoped, nil, false, "enforced", "outside_names", "host", "landlock", "private-tmp"},
		{"scoped, host proc, ABI 5", reading(func(r *Reading) { r.ProcView = "host" }), policy.Scoped, nil, false, "enforced", "outside_names signals", "host", "unmediated", "private-tmp"},
		{"advisory by a cap", whole(), policy.Advisory, []Cap{{"k", "r"}}, false, "advisory", "outside_names outside_metadata loader_exec signals", "host", "unmediated", "env-only"},
		{"no Landlock", reading(func(r *Reading) { r.Landlock = Landlock{State: LandlockAbsent} }), policy.Advisory, nil, false, "absent", "outside_names outside_metadata loader_exec signals", "host", "unmediated", "env-only"},
		{"unconfined", whole(), policy.Unconfined, nil, false, "absent", "outside_names outside_metadata loader_exec signals", "host", "unmediated", "env-only"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p, err := policy.Resolve(nil, tc.declared)
			if err != nil {
				t.Fatal(err)
			}
			p.WorkdirExec = tc.exec
			r := Report(Scope{Reading: tc.r, Decision: Decide(tc.r, tc.declared, tc.caps), Policy: p})
			if got := strings.Join(r.FilesystemBoundary.NotProtected, " "); r.FilesystemBoundary.Restriction != tc.restricted || got != tc.gaps {
				t.Errorf("boundary %s, gaps %q", r.FilesystemBoundary.Restriction, got)
			}
			if r.ProcessBoundary.ProcView != tc.proc || r.ProcessBoundary.Signals != tc.signals || r.TempDir.Mapping != tc.mapping {
				t.Errorf("%+v, %+v", r.ProcessBoundary, r.TempDir)
			}
			if !r.FloorMet || r.ShortfallReason != "" {
				t.Errorf("floor met %v, reason %q", r.FloorMet, r.ShortfallReason)
			}
		})
	}
}

func full() Scope {
	ten := int64(10)
	p, err := policy.Resolve(&policy.Capabilities{
		Network:    &policy.Network{Allow: []string{"https://example.com", "10.0.0.1:53"}},
		Filesystem: &policy.Filesystem{Scope: "data", ReadOnly: []string{"ro"}},
		Shell: &policy.Shell{
			Allow:              []string{"bash", "cat"},
			InterpreterRuntime: []policy.InterpreterRuntime{{Binary: "bash", Dirs: []policy.RuntimeDir{{Path: "/opt/b", ListDir: true}, {Path: "/opt/c"}}}},
			StagedRuntime:      []policy.StagedRuntime{{Binary: "cat", SourcePath: "/opt/cat", Pin: "7"}},
		},
		Env:       &policy.Env{Allow: []string{"LANG"}},
		Resources: &policy.DeclaredResources{CgroupIOBytesPerSec: &ten},
	}, policy.Sealed)
	if err != nil {
		panic(err)
	}
	scope, ttl := "data/in", int64(60)
	r := whole()
	r.MountNS, r.SealedBlocker = false, &Blocker{Name: MountDenied, Step: "tmpfs", Errno: 13}
	return Scope{
		Reading: r, Decision: Decide(r, policy.Sealed, nil), Policy: p,
		Preopens:            []Preopen{{"ana/count", "tool", &scope, "scoped-subtree"}, {"ana/watch", "hook", nil, "nothing"}},
		StateStores:         []StateStore{{"ana/count", "memory", "/h/state/memory"}},
		ConfiguredArtifacts: []string{"ana/count"},
		ExportsFiles:        &FilesExport{"out", "read-only", 100}, PeerFiles: &PeerExport{"out", &ttl, 5},
		Folders: Folders{Tmp: "/h/records/p/s/tmp"},
	}
}

// CON-54, CON-55, CON-56, CON-57
func TestReportForms(t *testing.T) {
	r := Report(full())
	if r.FloorMet || r.ShortfallReason == "" {
		t.Fatalf("floor met %v, reason %q", r.FloorMet, r.ShortfallReason)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	if n := reflect.TypeFor[ScopeReport]().NumField(); len(members) != n {
		t.Errorf("%d members, want %d", len(members), n)
	}
	for name, v := range members {
		if v == nil && !slices.Contains([]string{"userns_grant", "parent_workdir"}, name) {
			t.Errorf("%s is null", name)
		}
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Containment\n  declared:               sealed\n  achieved:               scoped\n  floor met:              no\n  reason:                 mount-denied at tmpfs",
		"\nNot protected here\n  outside_names\n  outside_metadata\n  loader_exec\n",
		"\nEffective grants\n  filesystem scope:       data\n",
		"  read-only advisory for: bash\n",
		"  preopens:               ana/count (tool): scoped-subtree data/in\n                          ana/watch (hook): nothing\n",
		"  network allow:          https://example.com\n                          10.0.0.1:53\n",
		"  spawn allow:            <none>\n",
		"  interpreter runtime:    bash: /opt/b (list_dir)\n                          bash: /opt/c\n",
		"  staged runtime:         cat: /opt/cat (pin: 7)\n",
		"  state stores:           ana/count: memory at /h/state/memory\n",
		"\nResource plane\n  exports.files:          out (read-only, at most 100 bytes)\n  io.max:                 10 bytes per second, not-probed\n",
		"\nPeer handoff\n  exports.peer_files:     out (at most 5 bytes, for at most 60 s)\n",
		"\nRuntime writes (relative to the work folder)\n  peer-in (directory, peer-fetch)\n  out (directory, script-session)\n",
		"\nThis is a report only: staging this capsule here is refused.\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("lacks %q in\n%s", want, text.String())
		}
	}
}
