package stage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/workfs"
)

// CON-34, SES-16
func TestHomeCap(t *testing.T) {
	for _, tc := range []struct {
		home, work string
		capped     bool
	}{
		{"/h/.murmur", "/p/workdir/ses_1", false},
		{"/h/.murmur", "/h/.murmur", true},
		{"/h/.murmur", "/h", true},
		{"/h/.murmur", "/", true},
		{"/h/.murmur", "/h/.murmur/x", true},
		{"/h/.murmur", "/h/.murmurs", false},
		{"/p/mur", "/p/mur-work", false},
		{"/h/.murmur", "/h/.murmur/records/p/ses_1/children/a-0123456789abcdef", false},
		{"/h/.murmur", "/h/.murmur/records/p/ses_1", true},
		{"/h/.murmur", "/h/.murmur/sessions/children/x", true},
	} {
		c, capped := homeCap(tc.home, tc.work)
		if capped != tc.capped {
			t.Errorf("home %s, work folder %s: capped %v", tc.home, tc.work, capped)
		}
		if capped && (!strings.Contains(c.Reason, tc.home) || !strings.Contains(c.Reason, tc.work)) {
			t.Errorf("the reason names not both: %s", c.Reason)
		}
	}
}

func parsed(t *testing.T, text string) *manifest.Capsule {
	t.Helper()
	c, _, err := manifest.Parse("/p/murmur.yaml", []byte(text), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// SES-263: each of these is refused, and an ordinary capsule is not.
func TestUnbuiltIsRefusedByKey(t *testing.T) {
	const head = "name: demo\nversion: \"1\"\n"
	const agent = head + "artifacts: [{name: ana/m, version: 1.0.0, runtime: driver, gateway: {endpoint: \"https://x.example\", keyless: true}}]\n" +
		"inference: {driver: {artifact: ana/m}, model: big"
	for text, key := range map[string]string{
		head: "",
		head + "capabilities: {network: {allow: [example.com]}, filesystem: {scope: data}, env: {allow: [LANG]}}\n": "",
		head + "artifacts: [{name: ana/h, version: 1.0.0, runtime: hook}]\n":                                        "artifacts[0].runtime",
		head + "capabilities: {filesystem: {read_only: [src]}}\n":                                                   "",
		head + "capabilities: {shell: {allow: [cat]}, resources: {cgroup_pids_max: 5}}\n":                           "",
		head + "capabilities: {peer_fetch: {allow: [example.com]}}\n":                                               "capabilities.peer_fetch",
		head + "capabilities: {plan: {submit: true}}\n":                                                             "capabilities.plan.submit",
		head + "capabilities: {plan: {submit: false}}\n":                                                            "",
		head + "capabilities: {install: {tool: [\"*\"]}}\n":                                                         "capabilities.install",
		head + "capabilities: {spawn: {allow: [ana/child]}}\n":                                                      "capabilities.spawn.allow",
		head + "network: {authentication: {scheme: bearer}}\n":                                                      "network.authentication",
		head + "exports: {files: {root: out, mode: read-only}}\n":                                                   "exports.files",
		head + "exports: {peer_files: {root: out}}\n":                                                               "exports.peer_files",
		head + "exports: {peer_tasks: {accept: true}}\n":                                                            "exports.peer_tasks.accept",
		head + "inference: {transport: process, driver: {artifact: builtin/claude}}\n":                              "inference.transport",
		agent + "}\n": "",
		agent + "}\ncontrol: {settings: [inference.max_tokens]}\n": "control",
	} {
		c := parsed(t, text)
		p, err := policy.Resolve(c.Capabilities, policy.Advisory)
		if err != nil {
			t.Fatal(err)
		}
		keys, reasons := unbuilt(c, p)
		if got := strings.Join(keys, " "); got != key || len(keys) != len(reasons) {
			t.Errorf("%q are refused, want %q of\n%s", got, key, text)
		}
	}
}

// CON-40, CON-41: the namespace counts for every capsule that runs processes.
func TestCheckNamespace(t *testing.T) {
	c := parsed(t, "name: demo\nversion: \"1\"\ncapabilities: {shell: {allow: [cat]}}\n")
	p, err := policy.Resolve(c.Capabilities, policy.Advisory)
	if err != nil {
		t.Fatal(err)
	}
	denied := confine.Reading{NetworkBlocker: &confine.Blocker{Name: confine.NamespaceDenied, Step: "unshare", Errno: 1}}
	for name, tc := range map[string]struct {
		r        confine.Reading
		declared policy.Class
		shell    bool
		refused  bool
	}{
		"namespace":    {confine.Reading{NetNS: true}, policy.Scoped, true, false},
		"none":         {denied, policy.Advisory, true, true},
		"no processes": {denied, policy.Sealed, false, false},
		"unconfined":   {denied, policy.Unconfined, true, false},
		"no reason":    {confine.Reading{}, policy.Scoped, true, true},
	} {
		s := &staging{capsule: c, policy: p, reading: tc.r, decision: confine.Decision{Declared: tc.declared}}
		if !tc.shell {
			s.policy.ShellAllow = nil
		}
		err := s.checkNamespace()
		if (err != nil) != tc.refused || tc.refused && diag.CodeOf(err) != "E-CAP-005" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := namespaceFault("x", "y", denied.NetworkBlocker); !strings.Contains(err.Error(), "namespace-denied at unshare, errno 1") {
		t.Error(err)
	}
}

// CON-55, MAN-72, MAN-73, MAN-77
func TestPreopens(t *testing.T) {
	c := parsed(t, `name: demo
version: "1"
artifacts:
  - {name: ana/a, version: 1.0.0}
  - {name: ana/b, version: 1.0.0, capabilities: {filesystem: {scope: in}}}
  - {name: ana/c, version: 1.0.0, runtime: hook}
  - {name: ana/d, version: 1.0.0, runtime: hook, capabilities: {filesystem: {scope: .}}}
  - {name: ana/e, version: 1.0.0, runtime: hook, capabilities: {filesystem: {records: true}}}
  - {name: ana/f, version: 1.0.0, runtime: skill}
`)
	p, err := policy.Resolve(c.Capabilities, policy.Advisory)
	if err != nil {
		t.Fatal(err)
	}
	s := &staging{capsule: c, policy: p, grants: make([]grant, len(c.Artifacts))}
	if err := s.resolvePreopens(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range preopens(c, p, s.grants) {
		row := o.Artifact + " " + o.Role + " " + o.Surface
		if o.Scope != nil {
			row += " " + *o.Scope
		}
		got = append(got, row)
	}
	want := []string{
		"local/demo capsule whole-workdir", "ana/a tool whole-workdir", "ana/b tool scoped-subtree in",
		"ana/c hook nothing", "ana/d hook whole-workdir", "ana/e hook nothing",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// SES-231
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"  a\tb\r\nc  ":          "a b c",
		"`rm -rf`\x00\x1b[31m":   "rm -rf[31m",
		strings.Repeat("ä", 201): strings.Repeat("ä", 200) + "…",
		strings.Repeat("x", 200): strings.Repeat("x", 200),
		"a \u0085 b":             "a b",
		"":                       "",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

// MAN-173, MAN-315
func TestInstructionPaths(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"AGENTS.md", "b/AGENTS.md", "a/z/AGENTS.md", "a/AGENTS.md", "docs/style.md", "x/y"} {
		path := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(p), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"b/NOTES.md": "../AGENTS.md", "linked": "a", "docs/link.md": "style.md"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := workfs.OpenRoot(dir, workfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	got, err := instructionPaths(root, []string{"docs/style.md", "AGENTS.md", "NOTES.md", "docs/link.md", "gone/x.md", "docs/style.md"})
	want := []string{"docs/style.md", "AGENTS.md", "a/AGENTS.md", "a/z/AGENTS.md", "b/AGENTS.md"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got  %q, %v\nwant %q", got, err, want)
	}
}

// CON-90, SES-49
func TestHostPaths(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"lent", "home/x", "work/x"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("lent", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		dir + "/lent":   "",
		"lent":          "not absolute",
		dir + "/gone":   "can not be examined",
		dir + "/file":   "no directory",
		dir + "/link":   "a link",
		dir:             "the murmur home",
		dir + "/home":   "the murmur home",
		dir + "/home/x": "the murmur home",
		dir + "/work":   "the work folder",
		dir + "/work/x": "the work folder",
	} {
		got := hostPathFault(path, dir+"/home", dir+"/work")
		if says == "" && got != "" || !strings.Contains(got, says) {
			t.Errorf("%s: %q, want %q", path, got, says)
		}
	}
}
