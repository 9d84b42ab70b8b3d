package tools

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

func document() *session.Document {
	d := &session.Document{SessionID: "ses_1"}
	d.Capsule.Name, d.Capsule.Version = "demo", "1.2.3"
	d.Directories.Runtime.Path = "/home/sessions/ses_1/runtime"
	d.Directories.Records.Path = "/home/records/w/ses_1"
	d.Directories.MurmurHome.Path = "/home"
	d.Policy.NetworkAllow = policy.Rules{{Host: "api.example"}}
	d.Policy.Limits = policy.Limits{MemoryBytes: 1 << 20, TableElements: 10, Instances: 3, DeadlineSeconds: 7}
	return d
}

func text(s string) *string { return &s }

// SES-120, TOL-97, TOL-98, TOL-99, TOL-100, MAN-72 to MAN-78, SES-96
func TestGrants(t *testing.T) {
	d := document()
	ceiling := CapsuleGrant(d, nil)
	if ceiling.Scope != "." || ceiling.State != "" || len(ceiling.Network) != 1 {
		t.Errorf("the capsule's own grant is %+v", ceiling)
	}
	if l := ceiling.Limits; l.MemoryBytes != 1<<20 || l.TableElements != 10 || l.Instances != 3 || l.Deadline != 7*time.Second {
		t.Errorf("limits %+v", l)
	}
	d.Policy.FilesystemScope = text("sub/dir")
	for _, c := range []struct {
		name  string
		grant *policy.Grant
		scope string
		rules int
		state string
		fails string
	}{
		{"no entry is the ceiling", nil, "sub/dir", 1, "", ""},
		{"nothing", &policy.Grant{}, "", 0, "", ""},
		{"a scope of its own", &policy.Grant{FilesystemScope: text("sub/dir/deep")}, "sub/dir/deep", 0, "", ""},
		{"whole folder", &policy.Grant{FilesystemScope: text("."), NetworkAllow: d.Policy.NetworkAllow}, ".", 1, "", ""},
		{"a store", &policy.Grant{StateDir: text("/home/state/s")}, "", 0, "state/s", ""},
		{"a store elsewhere", &policy.Grant{StateDir: text("/etc")}, "", 0, "", "not beneath the murmur home"},
		{"a store that is a session", &policy.Grant{StateDir: text("/home/sessions/ses_1")}, "", 0, "", "not beneath the murmur home"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := ToolGrant(d, &session.Artifact{Grant: c.grant}, nil)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %+v, %v; want an error with %q", g, err, c.fails)
				}
				return
			}
			if err != nil || g.Scope != c.scope || len(g.Network) != c.rules || g.State != c.state {
				t.Errorf("got %+v, %v", g, err)
			}
		})
	}
}

// AGT-158, AGT-159, TOL-104, MAN-82, MAN-84, MAN-125, SES-113
func TestGuestEnvironment(t *testing.T) {
	d := document()
	d.Policy.EnvAllow = []string{"LANG", "UNSET", "MURMUR_SESSION_ID", "MURMUR_ARTIFACT_CONFIG", "OPENAI_API_KEY", "STRIPPED", "LANG"}
	d.Policy.ShellStripEnv = []policy.Pattern{"STRIP*"}
	host := []string{"LANG=a", "HOME=/root", "MURMUR_SESSION_ID=forged", "MURMUR_ARTIFACT_CONFIG=forged", "OPENAI_API_KEY=k", "STRIPPED=s", "LANG=C"}
	own := []string{
		"MURMUR_CAPSULE_NAME=demo", "MURMUR_CAPSULE_VERSION=1.2.3", "MURMUR_SESSION_ID=ses_1",
		"MURMUR_RUNTIME_DIR=/home/sessions/ses_1/runtime", "MURMUR_RECORDS_DIR=/home/records/w/ses_1",
	}
	want := append([]string{"LANG=C"}, own...)
	if got := CapsuleGrant(d, host).Env; !slices.Equal(got, want) {
		t.Errorf("the capsule sees %q, want %q", got, want)
	}
	g, err := ToolGrant(d, &session.Artifact{ConfigJSON: text(`{"a":1}`)}, host)
	if err != nil {
		t.Fatal(err)
	}
	if want := append(want, `MURMUR_ARTIFACT_CONFIG={"a":1}`); !slices.Equal(g.Env, want) {
		t.Errorf("a configured tool sees %q, want %q", g.Env, want)
	}
}

// TOL-25, TOL-26, ART-111
func TestResolve(t *testing.T) {
	d := document()
	d.Artifacts = []session.Artifact{
		{Name: "local/a", ToolName: "a", Role: "tool", Implementation: session.ImplCore},
		{Name: "local/b", ToolName: "b", Role: "tool", Implementation: session.ImplComponent},
		{Name: "local/s", ToolName: "s", Role: "skill", Implementation: session.ImplSkill},
		{Name: "local/d", ToolName: "d", Role: "driver", Implementation: session.ImplCore},
		{Name: "local/h", ToolName: "h", Role: "hook", Implementation: session.ImplCore},
		{Name: "local/n", ToolName: "n", Role: "tool", Implementation: session.ImplNative},
		{Name: "local/u", ToolName: "u", Role: "tool", Implementation: session.ImplCore}, // not on the list
	}
	d.AllowlistedTools = []string{"a", "b", "n"}
	d.ReservedToolNames = []string{"delegate-task"}
	inv := NewInventory(d)
	if got := strings.Join(inv.Names(), " "); got != "a b n s" {
		t.Errorf("names %q, want \"a b n s\"", got)
	}
	for name, says := range map[string]string{
		"d": "declares no tool", "h": "declares no tool", "u": "declares no tool",
		"": "declares no tool", "local/a": "it declares a, b, n, s", "delegate-task": "of the agent loop",
	} {
		if a, err := inv.Resolve(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, %v; want an error with %q", name, a, err, says)
		}
	}
	if a, err := inv.Resolve("b"); err != nil || a.Name != "local/b" {
		t.Errorf("b: got %v, %v", a, err)
	}
}
