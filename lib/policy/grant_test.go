package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// MAN-61 to MAN-70, MAN-72 to MAN-81, MAN-298, MAN-299, MAN-301, TOL-97 to
// TOL-101, HOK-7, DIA-142, DIA-143, DIA-144
func TestNarrow(t *testing.T) {
	ceiling, err := Resolve(&Capabilities{Network: &Network{Allow: []string{"a.example", "https://b.example"}}}, Advisory)
	if err != nil {
		t.Fatal(err)
	}
	scoped := ceiling
	src := "src"
	scoped.FilesystemScope = &src
	yes, no, store := true, false, "shared"
	net := func(entries ...string) *Capabilities {
		return &Capabilities{Network: &Network{Allow: append([]string{}, entries...)}}
	}
	scope := func(s string) *Capabilities { return &Capabilities{Filesystem: &Filesystem{Scope: s}} }
	inert := &Capabilities{
		Network: &Network{UnixSockets: &yes}, PeerFetch: &PeerFetch{}, Filesystem: &Filesystem{WorkdirExec: &no, ReadOnly: []string{}},
		Shell: &Shell{}, Env: &Env{}, Limits: &DeclaredLimits{}, Resources: &DeclaredResources{}, Containment: Sealed, Plan: &Plan{}, Spawn: &Spawn{},
	}
	const whole = `{"filesystem_scope":".","network_allow":["a.example","https://b.example"],"state_dir":null,"records":false,"conversation_read":false,"task_io_read":false}`
	const all = "network.unix_sockets, peer_fetch, filesystem.workdir_exec, filesystem.read_only, shell, env, limits, resources, containment, plan, spawn"
	for _, tt := range []struct {
		name    string
		ceiling Policy
		role    Role
		native  bool
		caps    *Capabilities
		want    string // the grant as JSON
		store   string
		warns   string
	}{
		{"tool without block", ceiling, Tool, false, nil, "null", "", ""},
		{"hook without block", ceiling, Hook, false, nil, "null", "", ""},
		{"tool, empty block", ceiling, Tool, false, &Capabilities{}, "null", "", ""},
		{"tool, network block without list", ceiling, Tool, false, &Capabilities{Network: &Network{}}, "null", "", ""},
		{"tool narrows to nothing", ceiling, Tool, false, net(),
			`{"filesystem_scope":".","network_allow":[],"state_dir":null,"records":false,"conversation_read":false,"task_io_read":false}`, "", ""},
		{"driver narrows", ceiling, Driver, false, net("a.example:80", "b.example", "https://b.example", "c.example"),
			`{"filesystem_scope":".","network_allow":["a.example:80","https://b.example"],"state_dir":null,"records":false,"conversation_read":false,"task_io_read":false}`, "",
			"W-SEC-007 artifacts[3].capabilities.network.allow (ana/x) asks for what capabilities.network.allow does not cover, which was dropped: b.example, c.example"},
		{"hook is granted", ceiling, Hook, false, net("c.example"),
			`{"filesystem_scope":null,"network_allow":["c.example"],"state_dir":null,"records":false,"conversation_read":false,"task_io_read":false}`, "", ""},
		{"tool scope", ceiling, Tool, false, scope("./out/"), strings.Replace(whole, `"."`, `"out"`, 1), "", ""},
		{"hook scope", scoped, Hook, false, scope("out"), `{"filesystem_scope":"out","network_allow":[],"state_dir":null,"records":false,"conversation_read":false,"task_io_read":false}`, "", ""},
		{"hook, whole folder", ceiling, Hook, false, scope("."), `{"filesystem_scope":".","network_allow":[],"state_dir":null,"records":false,"conversation_read":false,"task_io_read":false}`, "", ""},
		{"tool scope below the ceiling", scoped, Tool, false, scope("src/a"), strings.Replace(whole, `"."`, `"src/a"`, 1), "", ""},
		{"tool scope above the ceiling", scoped, Tool, false, scope("."), strings.Replace(whole, `"."`, `"src"`, 1), "", ""},
		{"tool inherits the ceiling's scope", scoped, Tool, false, &Capabilities{State: &State{}}, strings.Replace(whole, `"."`, `"src"`, 1), "demo", ""},
		{"tool state", ceiling, Tool, false, &Capabilities{State: &State{Store: &store}}, whole, "shared", ""},
		{"hook reads", ceiling, Hook, false, &Capabilities{Filesystem: &Filesystem{Records: &yes}, Conversation: &ReadGrant{true}, TaskIO: &ReadGrant{false}, State: &State{}},
			`{"filesystem_scope":null,"network_allow":[],"state_dir":null,"records":true,"conversation_read":true,"task_io_read":false}`, "demo", ""},
		{"hook, inert", ceiling, Hook, false, inert, "null", "", "W-SEC-006 artifacts[3].capabilities (ana/x) declares what does nothing on a hook: " + all},
		{"driver, inert", ceiling, Driver, false, inert, "null", "", "W-SEC-008 artifacts[3].capabilities (ana/x) declares what does nothing on a driver: " + all},
		{"native", ceiling, Tool, true, net("c.example"), "null", "",
			"W-SEC-008 artifacts[3].capabilities (ana/x) does nothing: the artifact is native and runs as a host process under the capsule's own policy"},
	} {
		g, ws, err := Narrow(tt.ceiling, "demo", Entry{Index: 3, Name: "ana/x", Role: tt.role, Native: tt.native, Capabilities: tt.caps})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		b, _ := json.Marshal(g)
		var said []string
		for _, w := range ws {
			said = append(said, string(w.Code)+" "+w.Message)
			if w.Subject == nil || !strings.HasPrefix(w.Subject.Name, "artifacts[3].capabilities") || len(w.Names) != 2 {
				t.Errorf("%s: %+v", tt.name, w)
			}
		}
		got := ""
		if g != nil {
			got = g.StateStore
		}
		if string(b) != tt.want || strings.Join(said, "\n") != tt.warns || got != tt.store {
			t.Errorf("%s: got %s %q %q", tt.name, b, said, got)
		}
	}
	bad := "../x"
	for _, tt := range []struct {
		name string
		caps *Capabilities
		code diag.Code
		text string
	}{
		{"network", net("ok.example", "ftp://x"), "E-CAP-001", "artifacts[3].capabilities.network.allow[1] (ana/x): "},
		{"scope", scope("../x"), "E-CAP-002", "artifacts[3].capabilities.filesystem.scope (ana/x): "},
		{"scope beside the ceiling", scope("other"), "E-CAP-002", "it lies outside capabilities.filesystem.scope, which is src"},
		{"scope that only looks inside", scope("srcs"), "E-CAP-002", "it lies outside"},
		{"store", &Capabilities{State: &State{Store: &bad}}, "E-CAP-009", "artifacts[3].capabilities.state.store (ana/x): "},
	} {
		g, _, err := Narrow(scoped, "demo", Entry{Index: 3, Name: "ana/x", Role: Tool, Capabilities: tt.caps})
		if g != nil || diag.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v %v", tt.name, g, err)
		}
	}
}
