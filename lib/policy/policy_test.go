package policy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// MAN-145, MAN-146, CON-22, CON-24, CON-25, CON-27
func TestFloor(t *testing.T) {
	if !(Unstated < Unconfined && Unconfined < Advisory && Advisory < Scoped && Scoped < Sealed) {
		t.Fatal("the classes are out of order")
	}
	for _, tt := range []struct {
		votes []Class
		want  Class
		spoke int
	}{
		{nil, Advisory, 0},
		{[]Class{Unstated, Unstated}, Advisory, 0},
		{[]Class{Unconfined}, Unconfined, 1},
		{[]Class{Unconfined, Unstated, Advisory}, Advisory, 2},
		{[]Class{Sealed, Scoped}, Sealed, 2},
		{[]Class{Scoped, Sealed}, Sealed, 2},
		{[]Class{Advisory, Unconfined}, Advisory, 2},
	} {
		var votes []Vote
		for _, c := range tt.votes {
			votes = append(votes, Vote{FromManifest, c})
		}
		got, spoke := Floor(votes...)
		if got != tt.want || len(spoke) != tt.spoke || spoke == nil {
			t.Errorf("%v: %v %v", tt.votes, got, spoke)
		}
	}
	for _, name := range ClassNames() {
		c, err := ParseClass(" " + name + "\n")
		if err != nil || c.String() != name {
			t.Errorf("%s: %v %v", name, c, err)
		}
		b, _ := json.Marshal(Vote{FromFlag, c})
		var v Vote
		if err := json.Unmarshal(b, &v); err != nil || v.Class != c {
			t.Errorf("%s: %v %v", b, v, err)
		}
	}
	if _, err := ParseClass("Sealed"); err == nil {
		t.Error("the case of a class does not matter")
	}
	if _, err := Class(9).MarshalText(); err == nil || Class(9).String() != "class(9)" {
		t.Error("a class that does not exist is written")
	}
}

// MAN-107, MAN-109, CON-239, DIA-46, DIA-56
func TestScopes(t *testing.T) {
	for in, want := range map[string]string{
		".": ".", "./": ".", "a": "a", "a/": "a", "./a//b/.": "a/b", "a/../b": "b", "a/..": ".", " a ": "a", "..a": "..a", "a/...": "a/...",
	} {
		if got, err := CheckScope(Place{}, in); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"..": "climbs", "../a": "climbs", "a/../../b": "climbs", "a/../../a/b": "climbs", "./..": "climbs",
		"/": "absolute", "/a": "absolute", " /a": "absolute", "": "empty", "a\x00": "NUL",
	} {
		_, err := CheckScope(Place{Key: "k"}, in)
		if diag.CodeOf(err) != "E-CAP-002" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
	got, err := CheckReadOnly(Place{Key: "k"}, []string{" docs/ ", "", "  ", "a/../b"})
	if err != nil || !slices.Equal(got, []string{"docs", "b"}) {
		t.Errorf("%q %v", got, err)
	}
	_, err = CheckReadOnly(Place{Key: "k"}, []string{"ok", "../x"})
	if diag.CodeOf(err) != "E-CAP-012" || err.Error() != `k[1]: the entry "../x" is refused: it climbs with .. above the work folder` {
		t.Errorf("%v", err)
	}
	if got, err := CheckReadOnly(Place{}, nil); err != nil || got == nil {
		t.Errorf("%v %v", got, err)
	}
	for _, tt := range []struct {
		scope, p string
		want     bool
	}{{".", "a", true}, {"a", "a", true}, {"a", "a/b", true}, {"a", "ab", false}, {"a/b", "a", false}} {
		if Within(tt.scope, tt.p) != tt.want {
			t.Errorf("%q within %q", tt.p, tt.scope)
		}
	}
}

// MAN-112, SHL-48
func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern  string
		yes, not []string
	}{
		{"A", []string{"A"}, []string{"a", "AA", ""}},
		{"A*", []string{"A", "AB"}, []string{"BA", "aB"}},
		{"*A", []string{"A", "BA"}, []string{"AB"}},
		{"*A*", []string{"A", "BAC", "AB"}, []string{"B"}},
		{"*", []string{"", "A"}, nil},
	} {
		p, err := ParsePattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tt.yes {
			if !p.Match(s) {
				t.Errorf("%s does not match %q", p, s)
			}
		}
		for _, s := range tt.not {
			if p.Match(s) {
				t.Errorf("%s matches %q", p, s)
			}
		}
	}
	for _, s := range []string{"", "**", "***", "A*B", "*A*B*", "A**", "A=B", "A\x00"} {
		if _, err := ParsePattern(s); err == nil {
			t.Errorf("%q is a pattern", s)
		}
	}
}

// MAN-126, MAN-127, SHL-47, SHL-50, DIA-60
func TestBackstop(t *testing.T) {
	for _, p := range Backstop() {
		if _, err := ParsePattern(string(p)); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	rules := EnvRules{Strip: []Pattern{"DB_*", "*_API_KEY"}}
	for name, want := range map[string]Removal{
		"ANTHROPIC_API_KEY": {"ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY", BackstopList},
		"ACME_API_KEY":      {"ACME_API_KEY", "*_API_KEY", BackstopList},
		"AWS_":              {"AWS_", "AWS_*", BackstopList},
		"DOCKER_HOST":       {"DOCKER_HOST", "DOCKER_*", BackstopList},
		"DB_HOST":           {"DB_HOST", "DB_*", StripList},
	} {
		if got, ok := rules.Removes(name); !ok || got != want {
			t.Errorf("%s: %+v %v", name, got, ok)
		}
	}
	for _, name := range []string{"PATH", "aws_region", "API_KEY", "XAWS_A", "GITHUB_TOKEN_2", ""} {
		if got, ok := rules.Removes(name); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if err := CheckEnv([]string{"LANG", "TERM"}, rules); err != nil {
		t.Error(err)
	}
}

// MAN-128
func TestCredentialShaped(t *testing.T) {
	for _, s := range []string{"SESSION_TOKEN", "mySecretName", "DbPassword", "x_Api_Key_2", "SSH_KEY", "KEYS", "a-pass.b", "X_DSN", "AUTH", "http.cookie", "GH_PAT", "MYTOKENS", "CREDS_1"} {
		if !CredentialShaped(s) {
			t.Errorf("%s is not seen", s)
		}
	}
	for _, s := range []string{"LANG", "KEYBOARD", "MONKEY", "PATH", "COMPASS", "AUTHOR", "PATTERN", "DSNX", "APIKEY", ""} {
		if CredentialShaped(s) {
			t.Errorf("%s is seen", s)
		}
	}
}

// MAN-129 to MAN-144, SES-95, CON-169, CON-258, CON-259
func TestLimits(t *testing.T) {
	var none *DeclaredLimits
	if got := none.Resolve(); got != (Limits{536870912, 100000, 1000, 600}) {
		t.Errorf("%+v", got)
	}
	var nothing *DeclaredResources
	if got := nothing.Resolve(); got != (Resources{128, 1024, 4294967296, 3600, 2147483648, 4294967296, 256, 200, 104857600, 10737418240}) {
		t.Errorf("%+v", got)
	}
	five := int64(5)
	if got := (&DeclaredLimits{Instances: &five}).Resolve(); got.Instances != 5 || got.MemoryBytes != 536870912 {
		t.Errorf("%+v", got)
	}
	if nothing.Cgroup() || (&DeclaredResources{CPUSeconds: &five}).Cgroup() || !(&DeclaredResources{CgroupPidsMax: &five}).Cgroup() {
		t.Error("cgroup")
	}
	p, err := Resolve(nil, Advisory)
	if err != nil || p.HookLimits().DeadlineSeconds != 30 || p.Limits.DeadlineSeconds != 600 {
		t.Errorf("%+v %v", p.Limits, err)
	}
	p, _ = Resolve(&Capabilities{Limits: &DeclaredLimits{DeadlineSeconds: &five}}, Advisory)
	if p.HookLimits().DeadlineSeconds != 5 || p.Limits.DeadlineSeconds != 5 {
		t.Errorf("%+v", p.Limits)
	}
}

// SES-77, SES-93, SES-94, SES-96: the empty policy denies, has every member, and
// no list is null.
func TestEmptyPolicy(t *testing.T) {
	p, err := Resolve(nil, Scoped)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"network_allow":[],"unix_sockets":false,"peer_fetch_allow":[],"filesystem_scope":null,"workdir_exec":false,"read_only":[],` +
		`"shell_allow":[],"shell_strip_env":[],"shell_baseline_env":[],"interpreter_runtime":[],"staged_runtime":[],"derived_interpreter_runtime":[],` +
		`"trust_store":[],"host_paths":[],"spawn_allow":[],"spawn_workdir_snapshot":[],"env_allow":[],"plan_submit":false,"install_skill":[],` +
		`"install_tool":[],"install_from_sources":false,` +
		`"limits":{"memory_bytes":536870912,"table_elements":100000,"instances":1000,"deadline_seconds":600},"declared_deadline_seconds":null,` +
		`"resources":{"max_processes":128,"max_open_files":1024,"max_file_size_bytes":4294967296,"cpu_seconds":3600,"memory_bytes":2147483648,` +
		`"cgroup_memory_bytes":4294967296,"cgroup_pids_max":256,"cgroup_cpu_percent":200,"cgroup_io_bytes_per_sec":104857600,"workdir_max_bytes":10737418240},` +
		`"declared_resources":{"max_processes":null,"max_open_files":null,"max_file_size_bytes":null,"cpu_seconds":null,"memory_bytes":null,` +
		`"cgroup_memory_bytes":null,"cgroup_pids_max":null,"cgroup_cpu_percent":null,"cgroup_io_bytes_per_sec":null,"workdir_max_bytes":null},` +
		`"containment_floor":"scoped","state_declared":false,"conversation_declared":false}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	if p.RunsProcesses() || p.NetworkAllow.Allows("https", "example.com", 443) {
		t.Error("the empty policy grants something")
	}
}

// SES-93, SES-94: a full policy survives the document, and its errors come in
// order.
func TestResolve(t *testing.T) {
	yes, five := true, int64(5)
	caps := &Capabilities{
		Network:    &Network{Allow: []string{"https://A.example"}, UnixSockets: &yes},
		PeerFetch:  &PeerFetch{Allow: []string{"b.example"}},
		Filesystem: &Filesystem{Scope: "./src/", WorkdirExec: &yes, ReadOnly: []string{" docs ", ""}},
		Shell: &Shell{Allow: []string{"git"}, StripEnv: []Pattern{"X*"}, BaselineEnv: []string{"LC_TIME"},
			InterpreterRuntime: []InterpreterRuntime{{"git", []RuntimeDir{{"/usr/lib", true}}}}, StagedRuntime: []StagedRuntime{{"git", "/opt", "p"}}},
		Env: &Env{Allow: []string{"LANG"}}, Resources: &DeclaredResources{MaxProcesses: &five},
		State: &State{}, Conversation: &ReadGrant{}, Plan: &Plan{Submit: true},
		Install: &Install{Skill: []InstallEntry{"*"}, FromSources: true}, Spawn: &Spawn{Allow: []string{"local/x"}, WorkdirSnapshot: []string{"local/x"}},
	}
	p, err := Resolve(caps, Sealed)
	if err != nil {
		t.Fatal(err)
	}
	if *p.FilesystemScope != "src" || !slices.Equal(p.ReadOnly, []string{"docs"}) || p.Resources.MaxProcesses != 5 || *p.DeclaredResources.MaxProcesses != 5 ||
		p.NetworkAllow[0] != (Rule{"https", "a.example", 443}) || !p.RunsProcesses() || !p.StateDeclared || !p.ConversationDeclared || !p.PlanSubmit ||
		!p.InstallFromSources || !p.UnixSockets || !p.WorkdirExec || len(p.Env().Strip) != 1 {
		t.Errorf("%+v", p)
	}
	b, _ := json.Marshal(p)
	var again Policy
	if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(p, again) {
		t.Errorf("%v\n%+v\n%+v", err, p, again)
	}
	p.ShellAllow[0] = "changed"
	if caps.Shell.Allow[0] != "git" {
		t.Error("the policy shares its lists with the manifest")
	}
	bad := &Capabilities{Network: &Network{Allow: []string{"*"}}, Filesystem: &Filesystem{Scope: "/", ReadOnly: []string{"/"}}}
	for _, code := range []diag.Code{"E-CAP-001", "E-CAP-002", "E-CAP-012", ""} {
		if _, err := Resolve(bad, Advisory); diag.CodeOf(err) != code {
			t.Errorf("%v, want %s", err, code)
		}
		switch code {
		case "E-CAP-001":
			bad.Network = nil
		case "E-CAP-002":
			bad.Filesystem.Scope = ""
		case "E-CAP-012":
			bad.Filesystem.ReadOnly = nil
		}
	}
}

// MAN-150, MAN-152, MAN-153
func TestInstallEntries(t *testing.T) {
	for _, s := range []string{"*", "ana/*", "ana/tool-*", "ana/tool-x", "ana/" + strings.Repeat("p", 100) + "*"} {
		if e, err := ParseInstallEntry(s); err != nil || string(e) != s {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{"", "ana", "ana*", "an*/x", "*/x", "ana/*x", "ana/x**", "ana/-x*", "ana/X*", "/x*", "a/b/c", "a/b/c*", "builtin/*", "builtin/x", "ana/" + strings.Repeat("p", 101) + "*"} {
		if _, err := ParseInstallEntry(s); err == nil {
			t.Errorf("%q is an entry", s)
		}
	}
	for _, tt := range []struct {
		entry InstallEntry
		name  string
		want  bool
	}{
		{"*", "ana/x", true}, {"*", "nonsense", false}, {"*", "builtin/claude", false}, {"ana/*", "ana/x", true}, {"ana/*", "anax/x", false},
		{"ana/to*", "ana/tool", true}, {"ana/to*", "ana/to", true}, {"ana/to*", "ana/t", false}, {"ana/x", "ana/x", true}, {"ana/x", "ana/xy", false},
	} {
		if got := tt.entry.Matches(tt.name); got != tt.want {
			t.Errorf("%s matches %s: %v", tt.entry, tt.name, got)
		}
	}
	entries := []InstallEntry{"*", "ana/*", "ana/to*", "ana/tool*", "ana/tool", "ana/to", "bob/*"}
	names := []string{"ana/x", "ana/to", "ana/tool", "ana/toolbox", "bob/x", "bob/tool"}
	for _, parent := range entries {
		for _, child := range entries {
			inside := !slices.ContainsFunc(names, func(n string) bool { return child.Matches(n) && !parent.Matches(n) })
			if parent.Covers(child) && !inside {
				t.Errorf("%s is said to cover %s", parent, child)
			}
			if child == parent && !parent.Covers(child) {
				t.Errorf("%s does not cover itself", child)
			}
		}
	}
	for _, tt := range []struct{ parent, child InstallEntry }{{"*", "*"}, {"*", "ana/x"}, {"ana/*", "ana/to*"}, {"ana/to*", "ana/tool"}} {
		if !tt.parent.Covers(tt.child) {
			t.Errorf("%s does not cover %s", tt.parent, tt.child)
		}
	}
	if InstallEntry("ana/tool").Covers("ana/tool*") || InstallEntry("ana/*").Covers("*") {
		t.Error("the narrower covers the wider")
	}
}
