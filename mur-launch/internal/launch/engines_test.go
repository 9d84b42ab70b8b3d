package launch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
)

// form is the guest of the conformance suite as one kind of file. A capsule does
// what its variable DO says, a tool what it is called with.
type form struct{ implementation, capsule, tool string }

var (
	asCore      = form{session.ImplCore, "core.wasm", "core.wasm"}
	asComponent = form{session.ImplComponent, "capsule.wasm", "tool.wasm"}
)

func (f form) bytes(t *testing.T, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "..", "lib", "wasmhost", "conformance", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// onEngines runs a test for each engine of this build. Stage lays out a session
// whose capsule does one thing.
func onEngines(t *testing.T, f func(t *testing.T, stage func(t *testing.T, do string) *staged)) {
	forms := []form{asCore, asComponent}
	if _, ok := component.Info(); !ok {
		t.Log("only the core engine is tested: this build has no component engine")
		forms = forms[:1]
	}
	for _, form := range forms {
		t.Run(form.implementation, func(t *testing.T) {
			archive, err := packBytes(form.bytes(t, form.tool))
			if err != nil {
				t.Fatal(err)
			}
			f(t, func(t *testing.T, do string) *staged {
				s := stageBytes(t, form.bytes(t, form.capsule), archive, "")
				sum := s.fileAt(s.extract(form.bytes(t, form.tool)))
				s.doc.Capsule.Implementation = &form.implementation
				a := &s.doc.Artifacts[0]
				a.Implementation = form.implementation
				a.Payload = &session.Payload{Entry: "tool.wasm", SHA256: sum.SHA256, Bytes: sum.Bytes}
				s.doc.Policy.EnvAllow = []string{"DO"}
				s.environ = []string{"DO=" + do}
				return s
			})
		})
	}
}

// extract writes the tool's bytes beside everything else, for their hash.
func (s *staged) extract(wasm []byte) string {
	path := filepath.Join(s.dir, "project", "tool.wasm")
	s.writeAt(path, string(wasm))
	return path
}

// WIT-65, WIT-11, WIT-24, WIT-25, SES-119, TOL-26: a capsule and its tool run
// the same on both engines.
func TestBothEnginesRunACapsuleAndItsTool(t *testing.T) {
	onEngines(t, func(t *testing.T, stage func(*testing.T, string) *staged) {
		for do, want := range map[string]string{
			"echo hello":              "hello",
			"invoke tool echo from a": "p from a",
			"invoke skill":            "p # how\n",
			"env MURMUR_CAPSULE_NAME": "demo",
		} {
			s := stage(t, do)
			l := s.launch(context.Background())
			if l.err != nil || l.outcome.Ending != "ok" {
				t.Fatalf("%s: %v, %+v\n%s", do, l.err, l.outcome, l.stderr)
			}
			if got := s.records("out/result.txt"); got != want {
				t.Errorf("%s: got %q, want %q", do, got, want)
			}
		}
	})
}

// TOL-29, WIT-32, WIT-65, DIA-79: how a tool ends is the same text on both.
func TestBothEnginesTellHowAToolEnded(t *testing.T) {
	onEngines(t, func(t *testing.T, stage func(*testing.T, string) *staged) {
		for _, c := range []struct{ do, says string }{
			{"trap", "E-RUN-001: local/tool@1: the guest trapped"},
			{"recurse", "E-RUN-001: local/tool@1: the guest trapped"},
			{"hog", "E-RUN-001: local/tool@1: the guest reached capabilities.limits.memory_bytes (33554432 bytes)"},
			{"exit 1 sorry", "E-RUN-001: local/tool@1: the guest exited with status 1"},
		} {
			s := stage(t, "invoke tool "+c.do)
			s.doc.Policy.Limits.MemoryBytes = 32 << 20
			l := s.launch(context.Background())
			if l.err != nil {
				t.Fatal(l.err)
			}
			lines := s.trace()
			if call := lines[len(lines)-2]; call.Type != "tool_call" || !strings.HasPrefix(call.Error, c.says) {
				t.Errorf("%s: %s %+v, want the error %q", c.do, s.types(), call, c.says)
			}
			if got := s.records("out/result.txt"); !strings.HasPrefix(got, c.says) {
				t.Errorf("%s: the capsule was told %q", c.do, got)
			}
			if c.do == "exit 1 sorry" && s.records("logs/guest-tool.log") != "sorry" {
				t.Errorf("the tool's log is %q", s.records("logs/guest-tool.log"))
			}
		}
	})
}

// SES-119, SES-195, CON-262, WIT-64: so is how the capsule ended.
func TestBothEnginesTellHowACapsuleEnded(t *testing.T) {
	onEngines(t, func(t *testing.T, stage func(*testing.T, string) *staged) {
		for _, c := range []struct{ do, says string }{
			{"trap", "the guest trapped"},
			{"spin", "the call passed its deadline of 1s (capabilities.limits.deadline_seconds)"},
			{"sleep 30000", "the call passed its deadline of 1s (capabilities.limits.deadline_seconds)"},
			{"hog", "the guest reached capabilities.limits.memory_bytes (33554432 bytes)"},
			{"invoke tool spin", "the call passed its deadline of 1s"},
		} {
			s := stage(t, c.do)
			s.doc.Policy.Limits.MemoryBytes, s.doc.Policy.Limits.DeadlineSeconds = 32<<20, 1
			l := s.launch(context.Background())
			if l.err != nil {
				t.Fatal(l.err)
			}
			if err := l.outcome.Err; l.outcome.Ending != "failed" || err == nil || !strings.Contains(err.Message, "E-RUN-001: local/demo@1.0.0: "+c.says) {
				t.Errorf("%s: ended %+v, want %q", c.do, l.outcome, c.says)
			}
			if lines := s.trace(); lines[len(lines)-1].ExitStatus != "failed" {
				t.Errorf("%s: trace %s", c.do, s.types())
			}
		}
	})
}

// TOL-97 to TOL-99, MAN-74, MAN-76, CON-210, WIT-31, WIT-60: a tool reaches what
// its entry allows, on both engines.
func TestBothEnginesNarrowATool(t *testing.T) {
	serve := func(name string) (string, policy.Rule) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) }))
		t.Cleanup(srv.Close)
		rule, err := policy.ParseRule(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		return srv.URL + "/", rule
	}
	urlA, a := serve("A")
	urlB, b := serve("B")
	_, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(urlA, "http://"), "/"))
	onEngines(t, func(t *testing.T, stage func(*testing.T, string) *staged) {
		for _, c := range []struct{ do, want string }{
			{"invoke tool get " + urlA, "p 200 A"},
			{"invoke tool get " + urlB, "f "},
			{"invoke tool get http://localhost:" + port + "/", "f "},
			{"invoke tool get https://127.0.0.1:" + port + "/", "f "},
			{"invoke tool read mine", "p in the scope"},
			{"invoke tool read ../secret", "f "},
			{"invoke tool read /secret", "f "},
			{"invoke tool read out-of-it", "f "},
			{"invoke tool symlink ../secret made", "f "},
			{"read secret", "secret"},
		} {
			s := stage(t, c.do)
			s.doc.Policy.NetworkAllow = policy.Rules{a, b}
			scope := "scope"
			s.doc.Artifacts[0].Grant = &policy.Grant{FilesystemScope: &scope, NetworkAllow: policy.Rules{a}}
			s.write("work/scope/mine", "in the scope")
			s.write("work/secret", "secret")
			if err := os.Symlink("../secret", filepath.Join(s.work, "scope", "out-of-it")); err != nil {
				t.Fatal(err)
			}
			l := s.launch(context.Background())
			if l.err != nil {
				t.Fatal(l.err)
			}
			if got := s.records("out/result.txt"); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: got %q, want %q\n%s", c.do, got, c.want, l.stderr)
			}
		}
	})
}
