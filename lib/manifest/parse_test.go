package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

const head = "name: demo\nversion: 1.0.0\n"

// mustParse reads a manifest that has to be good.
func mustParse(t testing.TB, text string) *Capsule {
	t.Helper()
	c, _, err := Parse("/p/murmur.yaml", []byte(text), Options{})
	if err != nil {
		t.Fatalf("refused: %v\n%s", err, text)
	}
	return c
}

func readGood(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/good/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// MAN-23, MAN-24, MAN-47, MAN-55 (prompt payload), MAN-62 to MAN-80 (shape),
// MAN-102 to MAN-119, MAN-149 to MAN-156, MAN-164 to MAN-187, MAN-197 to
// MAN-234, SES-96
func TestTypicalManifest(t *testing.T) {
	c, warnings, err := Parse("/p/murmur.yaml", readGood(t, "agent.yaml"), Options{Strict: true, Running: "0.1.0"})
	if err != nil || len(warnings) != 0 {
		t.Fatalf("%v %v", err, warnings)
	}
	if !c.Agent() || len(c.Artifacts) != 5 {
		t.Fatalf("agent %v, %d artifacts", c.Agent(), len(c.Artifacts))
	}
	for _, tt := range []struct {
		what string
		got  any
		want any
	}{
		{"driver gateway", *c.Artifacts[0].Gateway, Gateway{Endpoint: "https://api.anthropic.com", Scheme: "https", Host: "api.anthropic.com", Port: 443, Reference: "ANTHROPIC_API_KEY", Pointer: "/artifacts/0/gateway/api_key"}},
		{"keyless gateway", c.Artifacts[2].Gateway.LocalURL(), "http://127.0.0.1:9/v1"},
		{"keyless port", c.Artifacts[2].Gateway.Port, 8080},
		{"role default", c.Artifacts[1].Role, policy.Tool},
		{"overflow", c.Artifacts[3].OnOverflow, "block"},
		{"overflow default", c.Artifacts[1].OnOverflow, "drop"},
		{"empty list is written", c.Artifacts[3].Capabilities.Network.Allow, []string{}},
		{"skill", []any{c.Artifacts[4].Version, c.Artifacts[4].LocalSource, c.Artifacts[4].PromptPayload}, []any{"local", true, true}},
		{"tool name", c.Artifacts[4].ToolName(), "house-style"},
		{"blank read_only kept for stage time", c.Capabilities.Filesystem.ReadOnly, []string{"docs", ""}},
		{"class", c.Capabilities.Containment, policy.Scoped},
		{"turns", c.Inference.MaxTurns, int64(40)},
		{"driver config", *c.Inference.Driver.ConfigJSON, `{"effort":"high","beta":["a","b"]}`},
		{"alternate tokens", c.Inference.Alternates[0].MaxTokens, int64(8192)},
		{"verbatim prompt", *c.Inference.Compaction.SystemPrompt, "Summarise.\n"},
		{"record on", c.Context.Record, true},
		{"record store", c.Context.RecordStore, "repo-report"},
		{"age", *c.Context.Retain.MaxAgeSecs, int64(30 * 86400)},
		{"grace 0", c.Lifecycle.ShellGraceSecs, int64(0)},
		{"background", c.Lifecycle.Background(), true},
		{"scorer default", c.Observability.Eval.Scorers[0], Scorer{Type: "exit_ok", Name: "exit_ok", Expected: []string{}}},
		{"scorer", c.Observability.Eval.Scorers[1].Max, int64(20)},
		{"size", c.Exports.Files.MaxBytes, int64(4 << 20)},
		{"ttl", *c.Exports.PeerFiles.MaxTTLSecs, int64(600)},
		{"install", *c.Capabilities.Install, policy.Install{Skill: []policy.InstallEntry{"ana/*"}, Tool: []policy.InstallEntry{"ana/tool-extra"}, FromSources: true}},
		{"control", c.Control.Surface(), true},
		{"place", c.Pos("capabilities.network.allow[1]"), Position{Line: 51, Column: 9}},
		{"place of an absent key", c.Pos("capabilities.network.later.x"), c.Pos("capabilities.network")},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: got %#v, want %#v", tt.what, tt.got, tt.want)
		}
	}
}

// MAN-101, MAN-163, MAN-206, MAN-235
func TestDefaults(t *testing.T) {
	c := mustParse(t, head)
	want := &Capsule{
		Name: "demo", Version: "1.0.0",
		Context:   Context{Record: true, RecordStore: "demo", SeedBudget: 0.1, SeedOverflowMargin: 0.1},
		Lifecycle: Lifecycle{TaskAcceptance: "single", AfterTask: "exit", QueueDepth: 1, Conversation: "stateless", MaxTaskReopens: 1, ShellGraceSecs: 10, DelegationDeadlineSecs: 600},
		Trace:     Trace{Capture: "meta"},
	}
	c.Positions = nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
	if c.Agent() || c.Control.Surface() || c.Lifecycle.Background() {
		t.Error("an empty manifest grants something")
	}
}

// MAN-23, MAN-24: null and blank are absence for scalars and blocks.
func TestNullAndBlankAreAbsent(t *testing.T) {
	text := head + `mur_version: ""
description:
capabilities:
  network:
  filesystem: {scope: " "}
  shell:
  containment: ""
inference:
context:
lifecycle: {queue_depth: }
trace:
observability: {otel_endpoint: " ", eval: }
network: {internal_port: , authentication: }
exports: {files: , peer_files: }
control:
`
	c := mustParse(t, text)
	if c.Inference != nil || c.Capabilities.Network != nil || c.Capabilities.Filesystem.Scope != "" ||
		c.Capabilities.Containment != policy.Unstated || c.Observability.OtelEndpoint != "" || c.Network.Authentication != nil {
		t.Errorf("%+v", c)
	}
}

// MAN-5: one file may be capsule and artifact.
func TestBothManifestsInOne(t *testing.T) {
	text := head + `description: does things
runtime: tool
implementation: native
execution: static
requires_files: []
tags: [a]
input_schema: {type: object}
output_schema: "{}"
upstream_auth: {header: x-api-key, value: "{key}"}
binding: on-shell
execution_mode: blocking
commit_policy: deny
provider_tool: {vendor: v, type: t}
provider_tools: []
model_limits: []
artifacts:
  - {name: local/x, version: 1.0.0}
capabilities:
  network: {allow: [example.com]}
config_typo: 1
`
	c, warnings, err := Parse("/p/murmur.yaml", []byte(text), Options{})
	if err != nil || len(warnings) != 1 || len(c.Artifacts) != 1 {
		t.Fatalf("%v %v", err, warnings)
	}
	a, warnings, err := ParseArtifact("/p/murmur.yaml", []byte(text), ArtifactOptions{})
	if err != nil || len(warnings) != 1 || a.Kind != Static {
		t.Fatalf("%v %v %+v", err, warnings, a)
	}
}

// MAN-6, MAN-31: an artifact's own manifest grants nothing, and its capsule keys
// are not even looked at.
func TestArtifactGrantsNothing(t *testing.T) {
	text := head + "capabilities: 5\nconfig: [x]\nartifacts: no\ngateway: {endpoint: http://x}\non_overflow: maybe\n"
	a, _, err := ParseArtifact("m", []byte(text), ArtifactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v := reflect.ValueOf(*a); v.FieldByName("Capabilities").IsValid() || v.FieldByName("Config").IsValid() || v.FieldByName("Gateway").IsValid() {
		t.Error("an artifact manifest has a field for a grant")
	}
}

// MAN-9, MAN-17
func TestBytes(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"byte order mark", "\uFEFF" + head, ""},
		{"carriage returns", strings.ReplaceAll(head, "\n", "\r\n"), ""},
		{"no UTF-8", head + "description: caf\xe9\n", `E-MAN-002 3:17`},
		{"UTF-16", "\xff\xfen\x00a\x00", `E-MAN-002 1:1`},
		{"a second byte order mark", head + "\uFEFFdescription: x\n", `E-MAN-002 3:1`},
		{"NUL", "name: a\x00b\n", `E-MAN-002 1:8`},
		{"escape character", head + "description: \"\x1b[2J\"\n", `E-MAN-002 3:15`},
		{"largest", head + "#" + strings.Repeat("x", MaxBytes-len(head)-1), ""},
		{"too large", head + "#" + strings.Repeat("x", MaxBytes-len(head)), `E-MAN-002 1:1`},
	} {
		_, _, err := Parse("/p/murmur.yaml", []byte(tt.in), Options{})
		got := ""
		if err != nil {
			got, _, _ = strings.Cut(said(err), "\n")
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q (%v)", tt.name, got, tt.want, err)
		}
	}
}

// MAN-16, MAN-26 to MAN-31, MAN-305, DIA-11, DIA-155
func TestUnknownKeys(t *testing.T) {
	text := head + `mur_versoin: 1
artifacts:
  - name: local/x
    version: 1.0.0
    config: {anything: {goes: here}}
    capabilities:
      shell:
        allow: [git]
        stripenv: []
      zzz: 1
    Runtime: tool
inference:
  driver: {artifact: builtin/claude, config: {free: 1}}
  transport: process
  compaction: {driver_config: {free: 1}}
capabilities:
  <<: {plan: {submit: true}}
network:
  authentication: {scheme: bearer, credentials: {any-name: {scopes: [tasks/get], note: 1}}}
input_schema: {free: 1}
output_schema: {free: 1}
lifecycel: {}
`
	want := []string{
		`the unknown key "mur_versoin" at the top level was ignored; it looks like a misspelling of "mur_version"`,
		`the unknown key "stripenv" in artifacts[0].capabilities.shell was ignored; it looks like a misspelling of "strip_env"`,
		`the unknown key "zzz" in artifacts[0].capabilities was ignored; a newer version of mur may know it`,
		`the unknown key "Runtime" in artifacts[0] was ignored; it looks like a misspelling of "runtime"`,
		`the unknown key "<<" in capabilities was ignored; a newer version of mur may know it`,
		`the unknown key "note" in network.authentication.credentials.any-name was ignored; a newer version of mur may know it`,
		`the unknown key "lifecycel" at the top level was ignored; it looks like a misspelling of "lifecycle"`,
	}
	c, warnings, err := Parse("/p/murmur.yaml", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.Message)
		if w.Code != "W-SEC-019" || w.Subject.Line == 0 || w.Subject.File != "/p/murmur.yaml" {
			t.Errorf("%+v", w)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if c.Capabilities.Plan != nil {
		t.Error("the merge key was merged")
	}

	_, warnings, err = Parse("/p/murmur.yaml", []byte(text), Options{Strict: true, All: true})
	if len(warnings) != 0 || diag.CodeOf(err) != "E-MAN-003" {
		t.Fatalf("strict: %v %v", warnings, err)
	}
	if n := len(strings.Split(err.Error(), "\n")); n != len(want) {
		t.Errorf("strict: %d faults, want %d:\n%v", n, len(want), err)
	}
	if _, _, err := Parse("/p/murmur.yaml", []byte("version: 1\nx: 1\n"), Options{Strict: true}); diag.CodeOf(err) != "E-MAN-001" {
		t.Errorf("strict hides another fault: %v", err)
	}
}

// MAN-29, MAN-38, DIA-155
func TestNewerVersion(t *testing.T) {
	for _, tt := range []struct {
		pin, running string
		extra        bool
	}{
		{"0.10.0", "0.9.9", true}, {"1.0.0", "0.9.9", true}, {"0.9.9", "0.9.9", false}, {"0.9.8", "0.9.9", false},
		{"v1.0.0", "0.9.9", false}, {"1.0", "0.9.9", false}, {"1.0.0-rc1", "0.9.9", false}, {"1.0.0", "devel", false}, {"1.0.0", "", false},
	} {
		text := head + "mur_version: " + tt.pin + "x\nfuture: 1\n"
		text = strings.Replace(text, tt.pin+"x", `"`+tt.pin+`"`, 1)
		_, warnings, err := Parse("/p/murmur.yaml", []byte(text), Options{Running: tt.running})
		if err != nil {
			t.Fatal(err)
		}
		if extra := len(warnings) == 2; extra != tt.extra {
			t.Errorf("pin %s, running %s: %v", tt.pin, tt.running, warnings)
		}
		if tt.extra {
			want := fmt.Sprintf("mur_version is %s and this is %s: the 1 unknown key above may belong to the newer version", tt.pin, tt.running)
			if warnings[1].Message != want || warnings[1].Code != "W-SEC-019" {
				t.Errorf("got %+v", warnings[1])
			}
		}
	}
	c := mustParse(t, head+"mur_version: \"1.0.0\"\n")
	if w, ok := c.VersionWarning("0.9.0"); !ok || w.Code != "" || w.Message != `mur_version asks for "1.0.0" and this is "0.9.0"` {
		t.Errorf("%v %+v", ok, w)
	}
	if _, ok := c.VersionWarning("1.0.0"); ok {
		t.Error("an equal version warns")
	}
}

// MAN-34: further faults come after the first, which decides.
func TestAllFaults(t *testing.T) {
	text := "name: UP\nversion: 2\nlifecycle: {queue_depth: 0}\ntrace: {capture: x}\n"
	_, _, err := Parse("/p/murmur.yaml", []byte(text), Options{All: true})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T", err)
	}
	var paths []string
	for _, one := range joined.Unwrap() {
		var e *diag.Error
		if !errors.As(one, &e) {
			t.Fatalf("%T", one)
		}
		paths = append(paths, e.Subject.Name)
	}
	if want := []string{"name", "version", "trace.capture", "lifecycle.queue_depth"}; !reflect.DeepEqual(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
}

// MAN-43, MAN-218, MAN-223: what is ignored is said, plainly.
func TestPlainWarnings(t *testing.T) {
	text := head + `trace: {include_tool_output: true}
artifacts:
  - {name: local/s, runtime: skill, source: s.md, version: 3.0.0}
observability: {eval: {scorers: [{type: vibes}, {type: llm_judge, max: 3}]}}
`
	c, warnings, err := Parse("/p/murmur.yaml", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		if w.Code != "" {
			t.Errorf("not plain: %+v", w)
		}
		got = append(got, w.Message)
	}
	want := []string{
		"trace.include_tool_output: the key is retired; write trace.capture: content",
		"artifacts[0].version: ignored: an entry with source has the version local",
		`observability.eval.scorers[0].type: the scorer type "vibes" is unknown and was skipped`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if c.Trace.Capture != "content" || c.Artifacts[0].Version != "local" || len(c.Observability.Eval.Scorers) != 1 || c.Observability.Eval.Scorers[0].Max != 0 {
		t.Errorf("%+v", c)
	}
}

// MAN-167, MAN-169
func TestDrivers(t *testing.T) {
	entry := "artifacts:\n  - {name: local/d, version: 1.0.0, runtime: driver, gateway: {endpoint: https://x.example, keyless: true}}\n  - {name: local/e, version: 1.0.0, runtime: driver}\n"
	for _, tt := range []struct{ name, inference, want string }{
		{"older spelling", "{provider: {artifact: local/d}, model: m}", "local/d"},
		{"driver wins", "{provider: {artifact: local/e}, driver: {artifact: local/d}, model: m}", "local/d"},
		{"driver block without name", "{provider: {artifact: local/d}, driver: {config: {a: 1}}, model: m}", "local/d"},
	} {
		if c := mustParse(t, head+entry+"inference: "+tt.inference+"\n"); c.Inference.Driver.Artifact != tt.want {
			t.Errorf("%s: %+v", tt.name, c.Inference.Driver)
		}
	}
	c := mustParse(t, head+"inference: {transport: process, driver: {artifact: builtin/codex}, command: ./codex, compaction: {threshold: 0.5}}\ncontext: {max_tokens: 5}\n")
	if c.Inference.Driver.Artifact != "builtin/codex" || c.Inference.Command != "./codex" || c.Inference.MaxTokens != 0 || c.Inference.Model != "" {
		t.Errorf("%+v", c.Inference)
	}
}

// MAN-91, MAN-93, MAN-98
func TestEndpoints(t *testing.T) {
	for _, tt := range []struct {
		endpoint, local, host string
		port                  int
	}{
		{"https://api.example.com", "http://127.0.0.1:9", "api.example.com", 443},
		{"https://API.Example.com./v1/", "http://127.0.0.1:9/v1", "api.example.com", 443},
		{"https://api.example.com:8443/a/b", "http://127.0.0.1:9/a/b", "api.example.com", 8443},
		{"https://10.0.0.1/x", "http://127.0.0.1:9/x", "10.0.0.1", 443},
		{"http://localhost", "http://127.0.0.1:9", "localhost", 80},
		{"http://127.8.9.1:11434/api", "http://127.0.0.1:9/api", "127.8.9.1", 11434},
		{"http://[::1]:8080", "http://127.0.0.1:9", "::1", 8080},
	} {
		c := mustParse(t, head+"artifacts:\n  - {name: local/x, version: 1.0.0, gateway: {endpoint: \""+tt.endpoint+"\", keyless: true}}\n")
		g := c.Artifacts[0].Gateway
		if g.LocalURL() != tt.local || g.Host != tt.host || g.Port != tt.port {
			t.Errorf("%s: %s %s %d", tt.endpoint, g.LocalURL(), g.Host, g.Port)
		}
	}
	for _, tt := range []struct{ key, reference, literal string }{
		{"${API_KEY}", "API_KEY", ""}, {"${_X1}", "_X1", ""}, {"${lower}", "", "${lower}"}, {"${1A}", "", "${1A}"},
		{"x${API_KEY}", "", "x${API_KEY}"}, {" sk-1 ", "", "sk-1"},
	} {
		c := mustParse(t, head+"artifacts:\n  - {name: local/x, version: 1.0.0, gateway: {endpoint: https://x.example, api_key: \""+tt.key+"\"}}\n")
		g := c.Artifacts[0].Gateway
		literal := ""
		if g.Literal != nil {
			literal = g.Literal.Reveal()
		}
		if g.Reference != tt.reference || literal != tt.literal {
			t.Errorf("%s: reference %q, literal %q", tt.key, g.Reference, literal)
		}
	}
}

// DIA-7: no way of printing a manifest shows a literal key.
func TestSecretsDoNotPrint(t *testing.T) {
	c := mustParse(t, head+"artifacts:\n  - {name: local/x, version: 1.0.0, gateway: {endpoint: https://x.example, api_key: sk-hush-hush}}\n")
	j, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	s := *c.Artifacts[0].Gateway.Literal
	type outer struct{ inner Secret }
	for _, shown := range []string{
		string(j), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s), fmt.Sprintf("%v %+v %#v", c, c, c.Artifacts),
		fmt.Sprintf("%v %+v %#v", outer{s}, outer{s}, outer{s}),
	} {
		if strings.Contains(shown, "hush") {
			t.Errorf("shown: %s", shown)
		}
	}
	if s.Reveal() != "sk-hush-hush" || (Secret{}).Reveal() != "" {
		t.Error("Reveal does not give the text")
	}
}

// MAN-215, MAN-216
func TestLifecycleOverride(t *testing.T) {
	base := mustParse(t, head).Lifecycle
	l, flags, err := base.Override("queue", "sleep")
	if err != nil || !l.Background() || len(flags) != 2 {
		t.Errorf("%+v %v %v", l, flags, err)
	}
	if l, flags, err := base.Override("", ""); err != nil || l != base || len(flags) != 0 {
		t.Errorf("%+v %v %v", l, flags, err)
	}
	var usage *diag.UsageError
	if _, _, err := base.Override("", "stay"); !errors.As(err, &usage) {
		t.Errorf("%v", err)
	}
}
