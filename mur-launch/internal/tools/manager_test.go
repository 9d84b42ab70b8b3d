package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

// ART-174, ART-175, ART-176, WIT-29
func TestManagerAnswers(t *testing.T) {
	skill := session.Artifact{Name: "ana/style", ToolName: "style", Version: "local", Role: "skill", Implementation: session.ImplSkill}
	driver := session.Artifact{Name: "local/d", ToolName: "d", Version: "1", Role: "driver", Implementation: session.ImplCore}
	r := newRoom(t, tool("b", "code"), skill, driver)
	r.doc.Policy.ShellAllow = []string{"git", "b"}
	m, ctx := r.Manager(), context.Background()
	asJSON := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	list := `[{"name":"ana/style","version":"local","runtime":"wasm"},{"name":"local/b","version":"1","runtime":"wasm"},{"name":"git","version":"0.0.0","runtime":"native"}]`
	if got := asJSON(m.List(ctx)); got != list {
		t.Errorf("list %s", got)
	}
	for name, text := range map[string]string{
		"b":     "name: b\nversion: '1'\ndescription: counts\ntags: [x]\nruntime: tool\ninput_schema:\n  type: object\n",
		"style": "name: style\nversion: local\nruntime: skill\n",
	} {
		if err := r.folders.Runtime.WriteFile("tools/"+name+"/murmur.yaml", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"b", "local/b"} {
		info, err := m.Describe(ctx, name)
		if err != nil || info.Name != "local/b" || info.Description != "counts" || asJSON(info.Tags) != `["x"]` || info.InputSchema == nil {
			t.Errorf("%s: %s, %v", name, asJSON(info), err)
		}
	}
	if info, err := m.Describe(ctx, "style"); err != nil || asJSON(info.Tags) != "[]" || info.Description != "" {
		t.Errorf("style: %s, %v", asJSON(info), err)
	}
	for name, says := range map[string]string{"nope": "not installed", "d": "not installed", "git": "tools/git/murmur.yaml"} {
		if _, err := m.Describe(ctx, name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want %q", name, err, says)
		}
	}
	state, err := m.Diagnostics(ctx)
	if err != nil || state.CapsuleID != "ses_1" || asJSON(state.Installed) != list || state.Capabilities != "install: nothing is granted" {
		t.Errorf("diagnostics %s, %v", asJSON(state), err)
	}
	if _, err := m.Search(ctx, "x"); err == nil {
		t.Error("a search was answered")
	}
}

// ART-138, ART-158, ART-137, DIA-188
func TestManagerPullsAndRemovesNothing(t *testing.T) {
	r := newRoom(t)
	m, ctx := r.Manager(), context.Background()
	for _, want := range []string{"not-granted:", "not-available:"} {
		if _, err := m.Pull(ctx, "local/x", "1"); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "local/x") {
			t.Errorf("pull: %v, want %s", err, want)
		}
		if done, err := m.Remove(ctx, "local/x"); done || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("remove: %v, %v, want %s", done, err, want)
		}
		r.doc.Policy.InstallTool = []policy.InstallEntry{"*"}
	}
}
