package launch

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/trace"
)

// SES-78, SES-81, SES-82, SES-100, SES-102 to SES-104, SES-122, SES-246, SES-264, TRC-84,
// ART-74, DIA-83, DIA-180: a document that is not what was staged is refused with its code, no
// guest runs and nothing new exists.
func TestLaunchRefuses(t *testing.T) {
	type change struct {
		name string
		code diag.Code
		says string
		// keeps is set for the refusals that change nothing at all.
		keeps bool
		do    func(*staged) string // returns the document
	}
	edit := func(f func(*session.Document)) func(*staged) string {
		return func(s *staged) string { f(s.doc); return s.document() }
	}
	text := func(old, new string) func(*staged) string {
		return func(s *staged) string {
			d := s.document()
			if !strings.Contains(d, old) {
				t.Fatalf("the document lacks %q", old)
			}
			return strings.Replace(d, old, new, 1)
		}
	}
	for _, c := range []change{
		{"empty", "E-STG-101", "it is empty", true, func(*staged) string { return " \n" }},
		{"not JSON", "E-STG-101", "not a JSON object", true, func(*staged) string { return "session" }},
		{"another schema", "E-STG-101", "schema is \"murmur.session/2\"", true, text(`"murmur.session/1"`, `"murmur.session/2"`)},
		{"an unknown member", "E-STG-101", "not known", true, text(`"kind":`, `"more":1,"kind":`)},
		{"an interface not served", "E-STG-101", "murmur:tool/run@9.9.9", true, edit(func(d *session.Document) { d.Engine.Interfaces = []string{"murmur:tool/run@9.9.9"} })},
		{"a gateway", "E-STG-101", "does not serve: gateways", true, edit(func(d *session.Document) {
			d.Gateways = []session.Gateway{{Artifact: "local/tool", Endpoint: "https://x.example", Auth: session.GatewayAuth{Header: "A", Value: "{key}"}}}
		})},
		{"a byte of a hash", "E-STG-101", "not list it with the same hash", true, func(s *staged) string {
			h := s.doc.Capsule.Component.SHA256
			other := "0"
			if h[0] == '0' {
				other = "1"
			}
			return strings.Replace(s.document(), h, other+h[1:], 1)
		}},
		{"a byte of a pin", "E-STG-101", "lock.resolved", true, func(s *staged) string {
			h := s.doc.Lock.Resolved[0].SHA256
			other := "0"
			if h[0] == '0' {
				other = "1"
			}
			d := s.document()
			i := strings.Index(d, `"resolved_version"`)
			return d[:i] + strings.Replace(d[i:], h, other+h[1:], 1)
		}},
		{"a byte of every hash", "E-STG-102", "its hash was", false, func(s *staged) string {
			h := s.doc.Artifacts[0].Archive.SHA256
			other := "0"
			if h[0] == '0' {
				other = "1"
			}
			return strings.ReplaceAll(s.document(), h, other+h[1:])
		}},
		{"a file edited", "E-STG-102", "capsule.wasm is not what was staged: its hash", false, func(s *staged) string {
			path := s.doc.Capsule.Component.Path
			data, _ := os.ReadFile(path)
			data[len(data)-1] ^= 1
			s.writeAt(path, string(data))
			return s.document()
		}},
		{"a file gone", "E-STG-102", "it is gone", false, func(s *staged) string {
			os.Remove(s.doc.Artifacts[0].Archive.Path)
			return s.document()
		}},
		{"a file replaced by a link", "E-STG-102", "tool.zip", false, func(s *staged) string {
			path := s.doc.Artifacts[0].Archive.Path
			os.Rename(path, path+".real")
			os.Symlink(path+".real", path)
			return s.document()
		}},
		{"another work folder", "E-STG-102", "its identity", false, func(s *staged) string {
			os.Rename(s.work, s.work+".old")
			os.MkdirAll(s.work, 0o755)
			return s.document()
		}},
		{"another host", "E-STG-104", "boot id", false, edit(func(d *session.Document) { d.HostProbe.BootID = "another" })},
		{"an agent", "E-RUN-005", "inference.driver.artifact is missing", false, edit(func(d *session.Document) {
			d.Kind, d.Capsule.Component, d.Capsule.Implementation = session.KindAgent, nil, nil
			d.Context = &session.Context{}
			d.Inference = &session.Inference{
				Transport: "http", Model: "m", ToolRefresh: "compaction", SystemPrompt: session.SystemPrompt{Source: "none"},
				Compaction: session.Compaction{Threshold: 0.98},
			}
		})},
		{"a deadline", "E-RUN-102", "can not be enforced on a script capsule", false, edit(func(d *session.Document) { d.Deadline = &session.Deadline{AtMs: 1, SetAtMs: 1, Source: "flag"} })},
		{"a formation", "E-RUN-046", "formation", false, edit(func(d *session.Document) { d.Lineage.ExpectsFormationLifeline = true })},
		{"a spawner", "E-RUN-020", "spawner", false, edit(func(d *session.Document) { d.Lineage.ExpectsSpawnerLifeline = true })},
		{"a signal before it began", "E-RUN-040", "before the session began", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stageBytes(t, []byte("no guest is needed"), []byte("nor an archive"), "")
			sessionDir := s.doc.Directories.Session.Path
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var document string
			if c.do == nil {
				document = s.document()
				cancel()
			} else {
				document = c.do(s)
			}
			before := s.left()
			l := s.launchText(ctx, document)
			if diag.CodeOf(l.err) != c.code || !strings.Contains(l.err.Error(), c.says) || l.outcome != nil {
				t.Fatalf("got %v, want %s with %q", l.err, c.code, c.says)
			}
			if l.start != nil {
				t.Error("it was announced")
			}
			if s.records(trace.FileName) != "" {
				t.Error("there is a trace")
			}
			after := s.left()
			if c.keeps {
				if !slices.Equal(before, after) {
					t.Errorf("files were %q, are %q", before, after)
				}
				return
			}
			if _, err := os.Lstat(sessionDir); err == nil {
				t.Error("the session directory was left")
			}
			if len(after) > 0 {
				t.Errorf("files were left: %q", after)
			}
		})
	}
}

// SES-102, SES-103
func TestLaunchRefusesWhatIsLocked(t *testing.T) {
	s := stageBytes(t, []byte("no guest is needed"), []byte("nor an archive"), "")
	lock, err := s.doc.Take()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if l := s.launch(context.Background()); diag.CodeOf(l.err) != "E-STG-103" {
		t.Errorf("got %v", l.err)
	}
	if _, err := os.Stat(s.doc.Directories.Session.Path); err != nil {
		t.Errorf("a refused launch took the session of another: %v", err)
	}
}

// SES-85, SES-100
func TestLaunchReadsTheDocumentItIsGiven(t *testing.T) {
	s := stage(t, `[{"do":"print"}]`)
	document := s.document()
	s.write("staged.json", document)
	path := filepath.Join(s.dir, "staged.json")
	run := func(input string) error {
		var stderr bytes.Buffer
		env := cli.Env{Stdin: strings.NewReader(""), Stderr: &stderr, Environ: []string{"MURMUR_HOME=" + s.home}, Dir: s.dir, Now: time.Now}
		_, err := Run(context.Background(), env, Options{Input: input, Announce: func(Start) {}, Warn: func(diag.Warning) {}})
		return err
	}
	for _, c := range []struct {
		mode os.FileMode
		code diag.Code
	}{{0o622, "E-STG-101"}, {0o660, "E-STG-101"}} {
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if err := run("staged.json"); diag.CodeOf(err) != c.code {
			t.Errorf("mode %o: %v", c.mode, err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if err := run(path); diag.CodeOf(err) != "E-STG-101" {
			t.Errorf("another owner's file: %v", err)
		}
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(filepath.Join(s.dir, "nowhere")); diag.CodeOf(err) != "E-STG-101" {
		t.Errorf("a missing file: %v", err)
	}
	if err := run(s.doc.SessionID); diag.CodeOf(err) != "E-STG-101" {
		t.Errorf("a session without staged.json: %v", err)
	}
	if err := run("staged.json"); err != nil {
		t.Errorf("the right file: %v", err)
	}
}

// SES-122, SES-134, SES-195, CON-262: a signal ends the guest at once and the
// session in order.
func TestLaunchEndsOnASignal(t *testing.T) {
	for _, steps := range []string{
		`[{"do":"print"},{"do":"spin"}]`,
		`[{"do":"print"},{"do":"sleep","n":60000}]`,
		`[{"do":"print"},{"do":"invoke","name":"tool","text":"{\"do\":\"spin\"}"}]`,
	} {
		t.Run(steps, func(t *testing.T) {
			s := stage(t, steps)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var canceledAt time.Time
			go func() {
				for s.records("out/result.txt") == "" {
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(50 * time.Millisecond)
				canceledAt = time.Now()
				cancel()
			}()
			l := s.launch(ctx)
			if l.err != nil {
				t.Fatal(l.err)
			}
			took := time.Since(canceledAt)
			if l.outcome.Ending != "canceled" || l.outcome.Err.Code != "E-RUN-040" || !strings.Contains(l.outcome.Err.Message, "a signal ended it") {
				t.Errorf("ended %+v", l.outcome)
			}
			if took > 5*time.Second {
				t.Errorf("it ended %s after the signal", took)
			}
			lines := s.trace()
			if end := lines[len(lines)-1]; end.Type != "session_end" || end.ExitStatus != "canceled" {
				t.Errorf("trace %s: %+v", s.types(), end)
			}
			if _, err := os.Lstat(s.doc.Directories.Session.Path); err == nil {
				t.Error("the session directory was left")
			}
		})
	}
}

// SES-45, SES-46: a link the runtime meets in its own folders fails the session.
func TestLaunchFailsOnARefusalOfFileAccess(t *testing.T) {
	s := stage(t, `[{"do":"print","text":"x"},{"do":"link","name":"scoped","text":"."},{"do":"invoke","name":"tool","text":"{\"do\":\"print\"}"}]`)
	scope := "scoped"
	s.doc.Artifacts[0].Grant = grantOf(scope)
	l := s.launch(context.Background())
	if l.err != nil {
		t.Fatal(l.err)
	}
	if l.outcome.Ending != "failed" || l.outcome.Err.Names["code"] != "E-RUN-103" {
		t.Errorf("ended %+v, %v\n%s", l.outcome, l.outcome.Err, s.records("out/result.txt"))
	}
}
