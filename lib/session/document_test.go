package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// SES-77, SES-86, SES-87, SES-88, SES-89, SES-90, SES-93, SES-94, SES-97
func TestDocumentRoundTrip(t *testing.T) {
	for name, d := range map[string]*Document{"script": sample(), "agent": sampleAgent()} {
		t.Run(name, func(t *testing.T) {
			data, err := d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(data, []byte("\n")); n != 1 || data[len(data)-1] != '\n' {
				t.Fatalf("%d newlines; want one, at the end", n)
			}
			got, err := Decode(data, "test", d.Engine.Interfaces)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, d) {
				t.Error("what was read differs from what was written")
			}
			again, err := got.Encode()
			if err != nil || !bytes.Equal(again, data) {
				t.Errorf("the second writing differs from the first: %v", err)
			}
		})
	}
}

// SES-77: no array is null, whatever the stager left nil.
func TestNoArrayIsNull(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(encoded(&Document{
		Schema: Schema, SessionID: sampleID, Kind: KindScript,
		Capsule: sample().Capsule, Directories: sample().Directories, Sandbox: sample().Sandbox, Files: sample().Files,
	})), &v); err != nil {
		t.Fatal(err)
	}
	doc := v.(map[string]any)
	for _, key := range []string{"artifacts", "warnings", "gateways", "stage_faults", "allowlisted_tools", "host_facts"} {
		if l, ok := doc[key].([]any); !ok || len(l) != 0 {
			t.Errorf("%s is %v, want []", key, doc[key])
		}
	}
	if l, ok := doc["policy"].(map[string]any)["network_allow"].([]any); !ok || len(l) != 0 {
		t.Error("policy.network_allow is not []")
	}
	if m, ok := doc["tool_annotations"].(map[string]any); !ok || len(m) != 0 {
		t.Error("tool_annotations is not {}")
	}
}

// edit changes the JSON form of a sample before it is read back.
func edit(old, new string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, old) {
			panic("the sample lacks " + old)
		}
		return strings.Replace(s, old, new, 1)
	}
}

// SES-78, SES-81, SES-85, ART-179, CON-47, DIA-175: each of these is E-STG-101.
func TestRefusedDocuments(t *testing.T) {
	tests := []struct {
		name  string
		edit  func(string) string
		wants string
	}{
		{"empty", func(string) string { return " \n" }, "it is empty"},
		{"no JSON", func(string) string { return "{" }, "not a JSON object"},
		{"a list", func(string) string { return "[]" }, "not a JSON object"},
		{"other major", edit(`"murmur.session/1"`, `"murmur.session/2"`), `schema is "murmur.session/2"; this version reads murmur.session/1`},
		{"no schema", edit(`"schema":"murmur.session/1",`, ``), "schema is missing"},
		{"schema in other case", edit(`"schema"`, `"Schema"`), "Schema is not known"},
		{"unknown member", edit(`"kind":`, `"extra":1,"kind":`), "extra is not known"},
		{"unknown inner member", edit(`"unix_sockets"`, `"unix_sockets_too":true,"unix_sockets"`), "policy.unix_sockets_too is not known"},
		{"unknown member in a list", edit(`"tool_name"`, `"x":1,"tool_name"`), "artifacts[0].x is not known"},
		{"other case", edit(`"workdir_exec"`, `"workdir_Exec"`), "policy.workdir_Exec is not known; policy.workdir_exec is missing"},
		{"missing member", edit(`"forget_session":false,`, ``), "forget_session is missing"},
		{"twice", edit(`"kind":"script"`, `"kind":"script","kind":"script"`), "kind stands there twice"},
		{"null list", edit(`"read_only":[]`, `"read_only":null`), "policy.read_only is null"},
		{"null object", edit(`"trace":{"capture":"meta","retain":null}`, `"trace":null`), "trace is null"},
		{"null text", edit(`"kind":"script"`, `"kind":null`), "kind is null"},
		{"list for object", edit(`"trace":{"capture":"meta","retain":null}`, `"trace":[]`), "trace is not an object"},
		{"object for list", edit(`"read_only":[]`, `"read_only":{}`), "policy.read_only is not a list"},
		{"text for number", edit(`"generation":0`, `"generation":"0"`), "generation"},
		{"trailing", func(s string) string { return s + "{}" }, ""},
		{"not UTF-8", edit(`"unknown key"`, "\"unknown \xff key\""), "not UTF-8"},
		{"kind", edit(`"kind":"script"`, `"kind":"agent"`), "kind is agent, but inference or context is null"},
		{"odd word", edit(`"after_task":"exit"`, `"after_task":"stay"`), `lifecycle.after_task is "stay", not one of exit, sleep`},
		{"session id", edit(`"session_id":"ses_`, `"session_id":"tsk_`), "session_id"},
		{"class below floor", edit(`"achieved":"scoped"`, `"achieved":"unconfined"`), "containment.achieved is unconfined, below"},
		{"unknown class", edit(`"achieved":"scoped"`, `"achieved":"safe"`), "safe"},
		{"floor", edit(`"containment_floor":"advisory"`, `"containment_floor":"scoped"`), "policy.containment_floor"},
		{"bad rule", edit(`["https://example.com"]`, `["ftp://example.com"]`), "ftp"},
		{"source of a vote", edit(`"source":"manifest"`, `"source":"somebody"`), `containment.declared_by[0].source is "somebody", not one of manifest, `},
		{"native without a grant", edit(`"kind":"wasm","implementation":"core"`, `"kind":"native","implementation":"native"`), `artifacts[0] is native, and sandbox.natives has no "count"`},
		{"grant without a native", edit(`"natives":[]`, `"natives":[{"tool":"x","path":"/home/ana/.murmur/sessions/`+sampleID+`/runtime/tools/x/x","closure":[]}]`), `sandbox.natives has "x", which is no native artifact`},
		{"native elsewhere", edit(`"natives":[]`, `"natives":[{"tool":"x","path":"/bin/sh","closure":[]}]`), `sandbox.natives[0].path is "/bin/sh", not "`},
		{"sandbox version", edit(`"sandbox":{"version":1`, `"sandbox":{"version":2`), "sandbox.version is 2"},
		{"session directory", edit(`"path":"/home/ana/.murmur/sessions/`, `"path":"/tmp/sessions/`), "directories.session is"},
		{"records directory", edit(`records/p/workdir`, `records/q/workdir`), "directories.records is"},
		{"relative directory", edit(`"path":"/p/workdir/`, `"path":"p/workdir/`), "no clean absolute path"},
		{"tool name", edit(`"tool_name":"count"`, `"tool_name":"../count"`), "artifacts[0].tool_name"},
		{"manifest path", edit(`tools/count/`, `tools/other/`), "artifacts[0].manifest_path"},
		{"implementation", edit(`"kind":"wasm","implementation":"core"`, `"kind":"wasm","implementation":"shell"`), `artifacts[0].implementation is "shell", not one of`},
		{"gateway", edit(`"gateway":null`, `"gateway":0`), "artifacts[0].gateway is 0"},
		{"unlisted file", edit(`{"path":"/p/capsule.wasm","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":100}`,
			`{"path":"/p/other.wasm","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":100}`), `"/p/other.wasm" is named, but files[]`},
		{"one digit of a listed hash", edit(`"files":[{"path":"/p/capsule.wasm","sha256":"9f`, `"files":[{"path":"/p/capsule.wasm","sha256":"8f`), "files[] does not list it"},
		{"upper-case hash", edit(`"files":[{"path":"/p/capsule.wasm","sha256":"9f`, `"files":[{"path":"/p/capsule.wasm","sha256":"9F`), "files[0].sha256"},
		{"a digit of a pin", edit(`"resolved_version":"1.2.0","sha256":"9f`, `"resolved_version":"1.2.0","sha256":"8f`), "lock.resolved[0] and the artifact ana/count differ"},
		{"a pin of nothing", edit(`"resolved":[{"name":"ana/count"`, `"resolved":[{"name":"ana/other"`), `lock.resolved[0] is "ana/other"`},
		{"no pin", func(s string) string {
			i, j := strings.Index(s, `"resolved":[`), strings.Index(s, `],"written"`)
			return s[:i] + `"resolved":[` + s[j:]
		}, "lock.resolved has 0 entries"},
		{"another form", edit(`/compiled/9f`, `/compiled/8f`), "artifacts[0].compiled.path is"},
		{"a form elsewhere", edit(`/home/ana/.murmur/compiled/`, `/tmp/compiled/`), "artifacts[0].compiled.path is"},
		{"file mode", edit(`"mode":"0644"`, `"mode":"644"`), "files[0].mode"},
		{"file twice", edit(`"path":"/p/.murmur/store/ana/count/1.2.0.mur.zip","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":4096,"mode"`,
			`"path":"/p/capsule.wasm","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":4096,"mode"`), "stands there twice"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			d, err := Decode([]byte(tc.edit(encoded(sample()))), "standard input", nil)
			if err == nil || d != nil {
				t.Fatal("read")
			}
			if diag.CodeOf(err) != "E-STG-101" || !strings.Contains(err.Error(), tc.wants) || !strings.Contains(err.Error(), "standard input") {
				t.Errorf("%s %v\nwant E-STG-101 with %q", diag.CodeOf(err), err, tc.wants)
			}
		})
	}
}

// SES-78, ART-179, WIT-3
func TestInterfacesNotServed(t *testing.T) {
	_, err := Decode([]byte(encoded(sample())), "test", []string{"murmur:tool/run@0.2.0"})
	if diag.CodeOf(err) != "E-STG-101" || !strings.Contains(err.Error(), "murmur:capsule/run@0.1.0") {
		t.Errorf("%v", err)
	}
}

func TestTooLargeDocument(t *testing.T) {
	_, err := Read(strings.NewReader(strings.Repeat(" ", MaxBytes)+"{}"), "test", nil)
	if diag.CodeOf(err) != "E-STG-101" || !strings.Contains(err.Error(), "larger") {
		t.Errorf("%v", err)
	}
}

// SES-85
func TestDocumentFileMustBeSafe(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "staged.json")
	if err := os.WriteFile(good, []byte(encoded(sample())), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(good, nil); err != nil {
		t.Fatal(err)
	}
	refused := map[string]func(string) error{
		"missing": func(p string) error { return nil },
		"link":    func(p string) error { return os.Symlink(good, p) },
		"fifo":    func(p string) error { return unix.Mkfifo(p, 0o600) },
		"dir":     func(p string) error { return os.Mkdir(p, 0o700) },
		"group writable": func(p string) error {
			return errors.Join(os.WriteFile(p, []byte(encoded(sample())), 0o600), os.Chmod(p, 0o620))
		},
		"world writable": func(p string) error {
			return errors.Join(os.WriteFile(p, []byte(encoded(sample())), 0o600), os.Chmod(p, 0o602))
		},
	}
	for name, make := range refused {
		p := filepath.Join(dir, name)
		if err := make(p); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(p, nil); diag.CodeOf(err) != "E-STG-101" || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The writer refuses what the reader would.
func TestEncodeRefusesContradictions(t *testing.T) {
	d := sample()
	d.Containment.Achieved = policy.Unconfined
	if _, err := d.Encode(); err == nil {
		t.Error("written")
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(encoded(sample())))
	f.Add([]byte(encoded(sampleAgent())))
	f.Add([]byte(`{"schema":"murmur.session/1","kind":null,"artifacts":[{}],"policy":{"network_allow":["x"]}}`))
	f.Add([]byte(`{"schema":"murmur.session/1","lineage":{"spawner":[[[[]]]]},"lineage":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Decode(data, "fuzz", nil)
		if err != nil {
			if diag.CodeOf(err) != "E-STG-101" || d != nil {
				t.Fatalf("%v", err)
			}
			return
		}
		// What is read can be written and means the same.
		again, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		e, err := Decode(again, "fuzz", nil)
		if err != nil || !reflect.DeepEqual(slices.Clone(e.Artifacts), slices.Clone(d.Artifacts)) || !reflect.DeepEqual(e.Policy, d.Policy) {
			t.Fatalf("%v", err)
		}
	})
}
