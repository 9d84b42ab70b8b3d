package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
)

// invoke is a step that has the tool do a step.
func invoke(do, name, text string) string {
	inner, _ := json.Marshal(map[string]string{"do": do, "name": name, "text": text})
	outer, _ := json.Marshal(map[string]string{"do": "invoke", "name": "tool", "text": string(inner)})
	return string(outer)
}

func get(url string) string { return fmt.Sprintf(`{"do":"get","text":%q}`, url) }

// TOL-98, MAN-74, WIT-41, CON-210: the tool's entry allows one port of the
// capsule's two; the capsule itself reaches both and nothing else.
func TestToolReachesOnlyWhatItsEntryAllows(t *testing.T) {
	serve := func(name string) (string, policy.Rule) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "this is "+name) }))
		t.Cleanup(srv.Close)
		rule, err := policy.ParseRule(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		return srv.URL, rule
	}
	urlA, a := serve("A")
	urlB, b := serve("B")
	urlC, _ := serve("C")
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(urlA, "http://"))
	s := stageGuest(t, web, "["+strings.Join([]string{
		get(urlA), get(urlB), get(urlC), get("https://127.0.0.1:" + port), get("http://localhost:" + port),
		invoke("get", "", urlA), invoke("get", "", urlB),
	}, ",")+"]")
	s.doc.Policy.NetworkAllow = policy.Rules{a, b}
	whole := "."
	s.doc.Artifacts[0].Grant = &policy.Grant{FilesystemScope: &whole, NetworkAllow: policy.Rules{a}}
	if l := s.launch(context.Background()); l.err != nil || l.outcome.Ending != "ok" {
		t.Fatalf("%v, %+v\n%s", l.err, l.outcome, l.stderr)
	}
	got := strings.Split(strings.TrimSpace(s.records("out/result.txt")), "\n")
	for i, want := range []string{
		"get: 200 this is A", "get: 200 this is B", "denied by policy", "denied by policy", "denied by policy",
		`"data":"200 this is A"`, `"status":"failed"`,
	} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Errorf("answer %d: want %q in\n%s", i+1, want, strings.Join(got, "\n"))
			break
		}
	}
	if last := got[len(got)-1]; !strings.Contains(last, "denied by policy") || strings.Contains(last, "this is B") {
		t.Errorf("the tool reached B: %s", last)
	}
}

// TOL-97, TOL-99, TOL-100, TOL-104, MAN-76, MAN-78, MAN-82, WIT-31, WIT-58,
// WIT-60, AGT-158: folders, store, configuration.
func TestToolHasItsFolderItsStoreAndItsConfiguration(t *testing.T) {
	s := stage(t, "["+strings.Join([]string{
		invoke("write", "mine", "x"), invoke("write", "state/kept", "y"),
		invoke("read", "steps.json", ""), invoke("read", "../steps.json", ""), invoke("read", "/steps.json", ""), invoke("read", "/etc/hostname", ""),
		invoke("link", "up", "../steps.json"), invoke("read", "up", ""),
		invoke("env", "", ""), `{"do":"env"}`, `{"do":"read","name":"sub/mine"}`, `{"do":"read","name":"state/kept"}`,
	}, ",")+"]")
	scope, store, config := "sub", filepath.Join(s.home, "state", "notes"), `{"depth":3}`
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	tool := &s.doc.Artifacts[0]
	tool.Grant = &policy.Grant{FilesystemScope: &scope, NetworkAllow: policy.Rules{}, StateDir: &store}
	tool.ConfigJSON = &config
	if l := s.launch(context.Background()); l.err != nil || l.outcome.Ending != "ok" {
		t.Fatalf("%v, %+v\n%s", l.err, l.outcome, l.stderr)
	}
	result := s.records("out/result.txt")
	for path, want := range map[string]string{filepath.Join(s.work, "sub", "mine"): "x", filepath.Join(store, "kept"): "y"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	var calls []line
	for _, l := range s.trace() {
		if l.Type == "tool_call" {
			calls = append(calls, l)
		}
	}
	for i, want := range []string{"ok", "ok", "error", "error", "error", "error"} {
		if calls[i].Status != want {
			t.Errorf("call %d: %+v, want %s", i+1, calls[i], want)
		}
	}
	if strings.Contains(calls[7].Output, `"do"`) {
		t.Errorf("the tool read through a link: %s", calls[7].Output)
	}
	if env := calls[8].Output; !strings.Contains(env, "MURMUR_ARTIFACT_CONFIG="+config) || !strings.Contains(env, "MURMUR_SESSION_ID="+s.doc.SessionID) {
		t.Errorf("the tool's environment is %s", env)
	}
	i := strings.LastIndex(result, "\nenv: ")
	if own := result[i:]; strings.Contains(own, "MURMUR_ARTIFACT_CONFIG") || !strings.Contains(own, "read: x\n") || !strings.Contains(own, "read: error: ") {
		t.Errorf("the capsule's own answers are %s", own)
	}
}

// SES-59, SES section 5.2 step 1, AGT-159
func TestLaunchLoadsTheEnvironmentFile(t *testing.T) {
	for _, c := range []struct {
		name string
		skip bool
		edit string
		want string
	}{
		{"loaded", false, "", "GREETING=from the file"},
		{"left out", true, "", ""},
		{"edited", false, "GREETING=other\n", "E-STG-102"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stage(t, `[{"do":"env"}]`)
			s.write(".env", "GREETING='from the file'\nHOME=/elsewhere\n")
			f := s.file(".env")
			s.doc.EnvFile = envFile(f.Path, f.SHA256)
			s.doc.Policy.EnvAllow = []string{"GREETING", "HOME"}
			if c.edit != "" {
				s.write(".env", c.edit)
			}
			s.noEnvFile = c.skip
			l := s.launch(context.Background())
			if c.edit != "" {
				if l.err == nil || !strings.Contains(l.err.Error(), ".env is not what was staged") {
					t.Errorf("got %v", l.err)
				}
				return
			}
			if l.err != nil {
				t.Fatal(l.err)
			}
			got := s.records("out/result.txt")
			if strings.Contains(got, "GREETING") != (c.want != "") || !strings.Contains(got, c.want) || !strings.Contains(got, "HOME="+s.dir) {
				t.Errorf("the guest sees %s", got)
			}
		})
	}
}
