package serve

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

// SHL-3, SHL-12, SHL-139, SHL-140, CON-23, CON-46, CON-P12, CON-P13, CON-P16: one
// command on the terms of a document.
func TestRunFromADocument(t *testing.T) {
	shell := murtest.Command(t, "mur-shell")
	for _, class := range []policy.Class{policy.Scoped, policy.Sealed} {
		t.Run(class.String(), func(t *testing.T) {
			doc := staged(t, class, 10, "sh", "cat", "ls")
			dirs := doc.Directories
			for name, text := range map[string]string{
				filepath.Join(dirs.Runtime.Path, "MURMUR.md"): "# About\n", filepath.Join(dirs.Records.Path, "logs", "shell-1.log"): "log\n",
				filepath.Join(dirs.Records.Path, "trace.jsonl"): "{}\n",
			} {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dirs.Session.Path, "sandbox.json")
			write := func(change func(map[string]any)) {
				t.Helper()
				whole, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				all := map[string]any{}
				if err := json.Unmarshal(whole, &all); err != nil {
					t.Fatal(err)
				}
				out := map[string]any{"schema": "murmur.sandbox/1", "host_facts": []session.HostFact{}, "protected_paths": []session.ProtectedPath{}, "tool_annotations": map[string]any{}}
				for _, key := range []string{"session_id", "capsule", "directories", "policy", "containment", "host_probe", "effective_grants", "sandbox"} {
					out[key] = all[key]
				}
				change(out)
				text, err := json.Marshal(out)
				if err == nil {
					err = os.WriteFile(path, text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			run := func(args ...string) (int, string) {
				t.Helper()
				cmd := exec.Command(shell, args...)
				cmd.Dir = filepath.Dir(dirs.Work.Path)
				cmd.Env = []string{"PATH=" + programs, "HOME=" + dirs.Records.Path}
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				return cmd.ProcessState.ExitCode(), string(out)
			}
			write(func(map[string]any) {})
			code, out := run(path, "--", "sh", "-c", `pwd; cat "$MURMUR_RUNTIME_DIR/MURMUR.md" "$MURMUR_RECORDS_DIR/logs/shell-1.log"; echo $HOME; echo x > f; exit 5`)
			if code != 5 || !strings.Contains(out, dirs.Work.Path+"\n# About\nlog\n"+dirs.Records.Path+"/home\n") {
				t.Errorf("%d %q", code, out)
			}
			if code, out := run("run", "--staged", path, "--", "sh", "-c", `cat "$MURMUR_RECORDS_DIR/trace.jsonl" || echo y > "$MURMUR_RUNTIME_DIR/MURMUR.md" || rm "$MURMUR_RUNTIME_DIR/MURMUR.md"`); code == 0 {
				t.Errorf("%d %q", code, out)
			}
			if code, out := run("run", "--staged", path, "--", "env"); code != 125 || !strings.Contains(out, "E-SHL-101") {
				t.Errorf("%d %q", code, out)
			}
			if code, out := run("run", "--staged", path, "--network", "x", "--", "sh"); code != 125 || !strings.Contains(out, "--network can not be combined") {
				t.Errorf("%d %q", code, out)
			}
			if code, out := run("why", "--staged", path, "--", dirs.Runtime.Path, "sh"); code != 0 || !strings.Contains(out, "the runtime directory, read-only") {
				t.Errorf("%d %q", code, out)
			}
			if class == policy.Scoped {
				if code, out := run("run", "--staged", path, "--containment", "sealed", "--", "sh", "-c", "true"); code != 125 || !strings.Contains(out, "E-CAP-003") {
					t.Errorf("%d %q", code, out)
				}
			}
			for name, change := range map[string]func(map[string]any){
				"unknown member": func(m map[string]any) { m["more"] = 1 },
				"missing member": func(m map[string]any) { delete(m, "sandbox") },
				"other version":  func(m map[string]any) { m["sandbox"].(map[string]any)["version"] = 2 },
			} {
				write(change)
				if code, out := run(path, "--", "sh", "-c", "true"); code != 125 || !strings.Contains(out, "E-STG-101") {
					t.Errorf("%s: %d %q", name, code, out)
				}
			}
			write(func(m map[string]any) { m["host_probe"].(map[string]any)["seccomp"] = false })
			if code, out := run(path, "--", "sh", "-c", "true"); code != 125 || !strings.Contains(out, "E-STG-104") {
				t.Errorf("another tier: %d %q", code, out)
			}
		})
	}
}
