package manifest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

func mustArtifact(t testing.TB, text string) *Artifact {
	t.Helper()
	a, _, err := ParseArtifact("x@1.0.0", []byte(text), ArtifactOptions{})
	if err != nil {
		t.Fatalf("refused: %v\n%s", err, text)
	}
	return a
}

// MAN-240, MAN-241, MAN-242, MAN-243, MAN-250
func TestArtifactKinds(t *testing.T) {
	for _, tt := range []struct {
		text  string
		role  policy.Role
		kind  Kind
		files []string
	}{
		{"", policy.Tool, WASM, []string{}},
		{"runtime: wasm\n", policy.Tool, WASM, []string{}},
		{"runtime: native\n", policy.Tool, WASM, []string{}},
		{"runtime: later\n", policy.Tool, WASM, []string{}},
		{"implementation: native\n", policy.Tool, Native, []string{}},
		{"implementation: later\n", policy.Tool, WASM, []string{}},
		{"runtime: driver\nimplementation: native\n", policy.Driver, WASM, []string{}},
		{"runtime: hook\n", policy.Hook, WASM, []string{}},
		{"runtime: skill\n", policy.Skill, Static, []string{"skill.md"}},
		{"runtime: skill\nrequires_files: []\n", policy.Skill, Static, []string{}},
		{"requires_files: [a.txt]\n", policy.Tool, WASM, []string{"a.txt"}},
		{"execution: STATIC\n", policy.Tool, Static, []string{}},
		{"execution: Native\nimplementation: wasm\n", policy.Tool, Native, []string{}},
	} {
		a := mustArtifact(t, head+tt.text)
		if a.Role != tt.role || a.Kind != tt.kind || !slices.Equal(a.RequiresFiles, tt.files) || a.RequiresFiles == nil {
			t.Errorf("%q: %s %s %q", tt.text, a.Role, a.Kind, a.RequiresFiles)
		}
	}
}

// MAN-238, MAN-239, MAN-240, MAN-241, MAN-242, MAN-243, MAN-246, MAN-264,
// MAN-268, MAN-311, MAN-312, MAN-313, ART-33
func TestBadArtifacts(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		pack       bool
		want       string
	}{
		{"no name", "version: 1.0.0\n", false, "E-MAN-001 1:1"},
		{"no version", "name: x\n", false, "E-MAN-001 1:1"},
		{"float version", "name: x\nversion: 1.0\n", false, "E-MAN-003 2:10"},
		{"no runtime", head, true, "E-MAN-001 1:1"},
		{"unknown runtime", head + "runtime: wasm\n", true, "E-MAN-001 3:10"},
		{"implementation", head + "runtime: tool\nimplementation: go\n", true, "E-MAN-003 4:17"},
		{"execution", head + "execution: fast\n", false, "E-MAN-003 3:12"},
		{"requires_files", head + "requires_files: skill.md\n", false, "E-MAN-003 3:17"},
		{"null list", head + "requires_files:\n", false, "E-MAN-003 3:16"},
		{"schema list", head + "input_schema: []\n", false, "E-MAN-003 3:15"},
		{"schema number", head + "output_schema: 5\n", false, "E-MAN-003 3:16"},
		{"schema key", head + "input_schema: {1: x}\n", false, "E-MAN-003 3:15"},
		{"former auth", head + "runtime: tool\nupstream_auth: {header: a, value: b}\ninference_auth: {header: a}\n", true, "E-BLD-004 5:17"},
		{"provider tool shape", head + "execution: static\nprovider_tool: {vendor: v}\n", false, "E-MAN-003 4:16"},
		{"provider tool with payload", head + "provider_tool: {vendor: v, type: t}\n", false, "E-MAN-003 3:16"},
		{"provider tools", head + "runtime: driver\nprovider_tools: v\n", false, "E-MAN-003 4:17"},
		{"limits without match", head + "model_limits: [{context_window: 5}]\n", false, "E-MAN-003 3:16"},
		{"limits match", head + "model_limits: [{match: \"a*b\"}]\n", false, "E-MAN-003 3:24"},
		{"hook contract", head + "runtime: hook\nbinding: on-boot\n", true, "E-MAN-003 4:10"},
		{"two keys", head + "name: y\n", false, "E-MAN-002 3:1"},
	} {
		_, _, err := ParseArtifact("/p/murmur.yaml", []byte(tt.text), ArtifactOptions{Pack: tt.pack})
		if got, _, _ := strings.Cut(said(err), "\n"); got != tt.want {
			t.Errorf("%s: got %s, want %s (%v)", tt.name, got, tt.want, err)
		}
	}
	if _, _, err := ParseArtifact("m", []byte(head+"runtime: hook\nbinding: on-boot\n"), ArtifactOptions{}); err != nil {
		t.Errorf("reading a hook for another purpose judges its contract: %v", err)
	}
	_, _, err := ParseArtifact("m", []byte(head+"runtime: tool\nimplementaton: native\n"), ArtifactOptions{Pack: true, Options: Options{Strict: true}})
	if diag.CodeOf(err) != "E-MAN-003" {
		t.Errorf("strict: %v", err)
	}
}

// MAN-246, MAN-247, MAN-270
func TestSchemas(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", EmptySchema},
		{"input_schema:\n", EmptySchema},
		{"input_schema: {}\n", "{}"},
		{"input_schema:\n  type: object\n  properties:\n    z: {type: string, default: 1.50}\n    a: {enum: [on, yes, true, null, 0x10, 2026-01-01]}\n",
			`{"type":"object","properties":{"z":{"type":"string","default":1.50},"a":{"enum":["on","yes",true,null,16,"2026-01-01"]}}}`},
		{"input_schema: '{ \"b\": 1,\n \"a\": [ 1 ] }'\n", `{"b":1,"a":[1]}`},
		{"input_schema: '[1]'\n", "[1]"},
		{"input_schema: 'not <json>'\n", `"not <json>"`},
		{"input_schema: {a: &x [1, 2], b: *x}\n", `{"a":[1,2],"b":[1,2]}`},
		{"input_schema: {n: 1_000, f: .5, big: 123456789012345678901234567890, e: 1e3, o: 0o17, neg: -7}\n",
			`{"n":1000,"f":0.5,"big":123456789012345678901234567890,"e":1e3,"o":15,"neg":-7}`},
	} {
		a := mustArtifact(t, head+tt.in)
		if a.InputSchema != tt.want {
			t.Errorf("%q: got %s, want %s", tt.in, a.InputSchema, tt.want)
		}
	}
	if a := mustArtifact(t, head); a.OutputSchema != "" {
		t.Errorf("output schema %q", a.OutputSchema)
	}
}

// MAN-313
func TestModelLimits(t *testing.T) {
	a := mustArtifact(t, head+"model_limits:\n  - {match: big-1, context_window: 5}\n  - {match: big-*, max_output_tokens: 6}\n  - {match: \"*\"}\n")
	for model, want := range map[string]int{"big-1": 0, "big-12": 1, "big-": 1, "other": 2} {
		if got := a.Limit(model); got != &a.ModelLimits[want] {
			t.Errorf("%s: %+v", model, got)
		}
	}
	if mustArtifact(t, head).Limit("x") != nil {
		t.Error("a limit out of nothing")
	}
}

// MAN-244, MAN-245, MAN-248, MAN-249: what describes an artifact, what it is absent as,
// and that the words of a hook are read in a hook alone.
func TestDescriptions(t *testing.T) {
	a := mustArtifact(t, head+"description: '  counts things '\ntags: [text, count]\n")
	if a.Description != "counts things" || !slices.Equal(a.Tags, []string{"text", "count"}) {
		t.Errorf("%q %q", a.Description, a.Tags)
	}
	for _, text := range []string{"", "description:\nupstream_auth:\n", "description: ' '\ntags: []\n"} {
		if a := mustArtifact(t, head+text); a.Description != "" || len(a.Tags) != 0 {
			t.Errorf("%q: %q %q", text, a.Description, a.Tags)
		}
	}
	for text, says := range map[string]string{
		"description: [x]\n": "description: expected string, found list",
		"tags: text\n":       "tags: expected list, found string",
		"tags: [text, {}]\n": "tags[1]: expected string, found mapping",
	} {
		_, _, err := ParseArtifact("/a/murmur.yaml", []byte(head+text), ArtifactOptions{})
		if diag.CodeOf(err) != "E-MAN-003" || !strings.HasSuffix(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
	for _, role := range []string{"tool", "driver", "skill", "hook"} {
		text := head + "runtime: " + role + "\nbinding: on-nothing\nexecution_mode: later\ncommit_policy: perhaps\n"
		_, _, err := ParseArtifact("/a/murmur.yaml", []byte(text), ArtifactOptions{Pack: true})
		if (err != nil) != (role == "hook") {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// MAN-251 to MAN-263, HOK-1 to HOK-3: every combination of words, against the
// table of section 14.2 written out once more.
func TestContracts(t *testing.T) {
	allowed := map[string][]string{
		"":                 {"none", "write-manifests", "replace-context", "reopen-task", "seed-context"},
		"on-stage":         {"none", "write-manifests"},
		"on-session-start": {"none"},
		"on-task-start":    {"none", "seed-context"},
		"on-inference":     {"none"},
		"on-tool-call":     {"none", "deny"},
		"on-shell":         {"none", "deny"},
		"on-compaction":    {"none", "replace-context"},
		"on-task-end":      {"none", "reopen-task"},
		"on-session-end":   {"none"},
	}
	words := []string{"none", "write-manifests", "replace-context", "reopen-task", "seed-context", "deny"}
	good := 0
	for _, binding := range append([]string{""}, Bindings()...) {
		for _, mode := range []string{"blocking", "async"} {
			for _, commit := range words {
				text := head + "runtime: hook\nexecution_mode: " + mode + "\ncommit_policy: " + commit + "\n"
				if binding != "" {
					text += "binding: " + binding + "\n"
				}
				want := slices.Contains(allowed[binding], commit)
				if mode == "async" {
					want = commit == "none" && binding != "on-stage"
				}
				c, err := mustArtifact(t, text).Contract("house@1.0.0")
				if (err == nil) != want {
					t.Errorf("binding %q, %s, %s: %v", binding, mode, commit, err)
				}
				if err == nil {
					good++
					if c != (Contract{binding, mode, commit}) {
						t.Errorf("got %+v", c)
					}
				} else if diag.CodeOf(err) != "E-MAN-003" || !strings.Contains(err.Error(), "house@1.0.0") || !strings.Contains(err.Error(), commit) {
					t.Errorf("binding %q, %s, %s: %v", binding, mode, commit, err)
				}
			}
		}
	}
	if good != 5+2+1+2+1+2+2+2+2+1+9 {
		t.Errorf("%d combinations are good", good)
	}
	if c, err := mustArtifact(t, head).Contract("h@1"); err != nil || c != (Contract{"", "blocking", "none"}) {
		t.Errorf("defaults: %+v %v", c, err)
	}
}

// MAN-264, MAN-265
func TestContractFaults(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"binding: [on-shell]\n", "E-MAN-003 3:10\nhook h@1: binding: expected string, found list\n"},
		{"commit_policy: true\n", "E-MAN-003 3:16\nhook h@1: commit_policy: expected string, found boolean\n"},
		{"execution_mode: Async\n", "E-MAN-003 3:17\nhook h@1: execution_mode: the value \"Async\" is not one of blocking, async\n"},
		{"binding: on-compaction\ncommit_policy: deny\n", "E-MAN-003 4:16\nhook h@1: deny needs binding: on-shell or on-tool-call (binding on-compaction, execution_mode blocking, commit_policy deny; the policy this binding honours besides none: replace-context)\n"},
		{"binding: on-task-start\ncommit_policy: reopen-task\n", "E-MAN-003 4:16\nhook h@1: the binding does not honour the policy (binding on-task-start, execution_mode blocking, commit_policy reopen-task; the policy this binding honours besides none: seed-context)\n"},
	} {
		if _, err := mustArtifact(t, head+tt.text).Contract("h@1"); said(err) != tt.want {
			t.Errorf("%q: got\n%swant\n%s", tt.text, said(err), tt.want)
		}
	}
}

// MAN-248, MAN-266, MAN-267, MAN-268, MAN-97
func TestUpstreamAuth(t *testing.T) {
	a := mustArtifact(t, head+"upstream_auth:\n  header: Authorization\n  value: Bearer {key}\n")
	if got, err := a.UpstreamAuth("d@1"); err != nil || got != (UpstreamAuth{"Authorization", "Bearer {key}"}) {
		t.Errorf("%+v %v", got, err)
	}
	for _, tt := range []struct{ text, want string }{
		{"", "declares no upstream_auth"},
		{"upstream_auth:\n", "declares no upstream_auth"},
		{"inference_auth: {header: a, value: \"{key}\"}\nupstream_auth: {header: a, value: \"{key}\"}\n", "uses inference_auth, which is now called upstream_auth"},
		{"upstream_auth: Bearer\n", "it is no mapping"},
		{"upstream_auth: {value: \"{key}\"}\n", "header is missing"},
		{"upstream_auth: {header: x}\n", "value is missing"},
		{"upstream_auth: {header: 5, value: \"{key}\"}\n", "header: expected string, found integer"},
		{"upstream_auth: {header: \"a b\", value: \"{key}\"}\n", `header "a b" is no HTTP header name`},
		{"upstream_auth: {header: \"\", value: \"{key}\"}\n", `header "" is no HTTP header name`},
		{"upstream_auth: {header: x, value: none}\n", "value holds {key} 0 times, not once"},
		{"upstream_auth: {header: x, value: \"{key}{key}\"}\n", "value holds {key} 2 times, not once"},
		{"upstream_auth: {header: x, value: \"{key}\\n\"}\n", "value holds a control character"},
	} {
		_, err := mustArtifact(t, head+tt.text).UpstreamAuth("d@1")
		if diag.CodeOf(err) != "E-RUN-025" || !strings.HasPrefix(err.Error(), "d@1 ") || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%q: %v", tt.text, err)
		}
	}
	for _, h := range forbiddenHeaders {
		text := fmt.Sprintf("upstream_auth: {header: %s, value: \"{key}\"}\n", strings.ToUpper(h))
		if _, err := mustArtifact(t, head+text).UpstreamAuth("d@1"); diag.CodeOf(err) != "E-RUN-025" {
			t.Errorf("%s: %v", h, err)
		}
	}
}

// MAN-82, MAN-83, MAN-31
func TestConfigJSON(t *testing.T) {
	entry := func(config string) *Config {
		return mustParse(t, head+"artifacts:\n  - name: local/x\n    version: 1.0.0\n    config:"+config+"\n").Artifacts[0].Config
	}
	for _, tt := range []struct{ in, want string }{
		{" {}", "{}"},
		{"\n      z: 1\n      a: {y: [~, true], b: \"<&>\"}\n      \"on\": on", `{"z":1,"a":{"y":[null,true],"b":"<&>"},"on":"on"}`},
		{" {<<: {a: 1}, t: 2026-01-01}", `{"<<":{"a":1},"t":"2026-01-01"}`},
	} {
		if got, err := entry(tt.in).JSON(); err != nil || got != tt.want {
			t.Errorf("%q: got %s %v, want %s", tt.in, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"", "expected mapping, found null"},
		{" [1]", "expected mapping, found list"},
		{" text", "expected mapping, found string"},
		{" {a: {1: x}}", "the key on line 6, column 18 is no string (integer)"},
		{" {a: [.inf]}", "the number on line 6, column 18 is not finite, which JSON has no word for"},
		{" {a: " + strings.Repeat("x", MaxConfigBytes) + "}", fmt.Sprintf("it has %d bytes as JSON, more than %d", MaxConfigBytes+8, MaxConfigBytes)},
	} {
		_, err := entry(tt.in).JSON()
		if diag.CodeOf(err) != "E-CAP-010" || !strings.HasPrefix(err.Error(), "artifacts[0].config (local/x): ") || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%.40q: %v", tt.in, err)
		}
	}
	if got, err := entry(" {a: " + strings.Repeat("x", MaxConfigBytes-8) + "}").JSON(); err != nil || len(got) != MaxConfigBytes {
		t.Errorf("the largest block: %d %v", len(got), err)
	}
	var e *diag.Error
	_, err := entry(" [1]").JSON()
	if !errors.As(err, &e) || e.Subject.Line != 6 || !reflect.DeepEqual(e.Names["artifact"], "local/x") {
		t.Errorf("%+v", e)
	}
}
