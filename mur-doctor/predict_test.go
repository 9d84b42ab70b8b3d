package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/lib/murtest/sample"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/mur-doctor/internal/app"
)

// broken is a project that mur-stage refuses.
type broken struct {
	code   string
	name   string
	needs  string            // component, sealed or user: what the refusal takes to be met
	files  map[string]string // "murmur.yaml" is the manifest, "home/..." lies in the murmur home, "tool/..." is published as ana/...
	env    []string
	flags  []string // of both commands
	breaks func(dir, home string) error
	passes bool // doctor's status is 0: only the host is at fault
	alone  bool // mur-stage takes it, and mur-launch, which finds no mur-shell, refuses

	names []string // what the row of the code owes (DIA sections 2 to 10); DIR is the project's directory, HOME the murmur home
}

const (
	script = "name: demo\nversion: '1'\n"
	tool   = "name: one\nversion: 1.0.0\nruntime: tool\nrequires_files: [t.wasm]\n"
	driver = "name: one\nversion: 1.0.0\nruntime: driver\nrequires_files: [t.wasm]\n"
	agent  = script + "inference: {driver: {artifact: ana/one}, model: m}\n"
	useOne = "artifacts: [{name: ana/one, version: 1.0.0}]\n"
	pinOne = "lock_version: 3\nartifacts:\n  - name: ana/one\n    resolved_version: 1.0.0\n    sha256:\n      any: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n    origin: operator\n"
	keyed  = "artifacts: [{name: ana/one, version: 1.0.0, runtime: driver, gateway: {endpoint: 'https://example.com', api_key: '${SOME_KEY}'}}]\n"
	freely = "artifacts: [{name: ana/one, version: 1.0.0, runtime: driver, gateway: {endpoint: 'https://example.com', keyless: true}}]\n"
	auth   = "upstream_auth: {header: Authorization, value: 'Bearer {key}'}\n"
)

func archive(dir string) string {
	return filepath.Join(dir, ".murmur/artifacts/ana/one/1.0.0/one-1.0.0.mur.zip")
}

func brokenProjects() []broken {
	own := func(more string) map[string]string {
		return map[string]string{"murmur.yaml": script + more, "capsule.wasm": "core"}
	}
	with := func(manifest, artifact, wasm string) map[string]string {
		return map[string]string{"murmur.yaml": manifest, "capsule.wasm": "core", "tool/murmur.yaml": artifact, "tool/t.wasm": wasm}
	}
	and := func(files map[string]string, name, text string) map[string]string { files[name] = text; return files }
	return []broken{
		{code: "E-IO-001", name: "no mur-shell", names: []string{"mur-shell", "looked for it at ", "PATH"}, needs: "commands", alone: true, files: own("capabilities: {shell: {allow: [cat]}}\n")},
		{code: "E-IO-001", name: "no manifest", names: []string{"DIR/nowhere.yaml", "no manifest at"}, flags: []string{"--manifest", "nowhere.yaml"}},
		{code: "E-MAN-001", name: "no name", names: []string{"DIR/murmur.yaml", "name: "}, files: map[string]string{"murmur.yaml": "version: '1'\n"}},
		{code: "E-MAN-002", name: "no YAML", names: []string{"DIR/murmur.yaml:1:1"}, files: map[string]string{"murmur.yaml": "name: ["}},
		{code: "E-MAN-003", name: "wrong type", names: []string{"artifacts: ", "expected list", "found integer"}, files: own("artifacts: 7\n")},
		{code: "E-MAN-003", name: "unknown key, strictly", files: own("flavour: sweet\n"), flags: []string{"--strict"}},
		{code: "E-MAN-003", name: "what is not built", files: own("capabilities: {plan: {submit: true}}\n")},
		{code: "E-CAP-018", name: "gateway without key", names: []string{"artifacts[0]", "ana/one", "https://example.com"}, files: own("artifacts: [{name: ana/one, version: 1.0.0, gateway: {endpoint: 'https://example.com'}}]\n")},
		{code: "E-IO-003", name: "relative home", files: own(""), env: []string{"MURMUR_HOME=relative"}},
		{code: "E-IO-003", name: "configuration", names: []string{"HOME/config.yaml", "found integer"}, files: and(own(""), "home/config.yaml", "spend: 7\n")},
		{code: "E-IO-003", name: "environment file", files: and(own(""), ".env", "no equals sign\n")},
		{code: "E-MAN-003", name: "lent path", names: []string{"relative", "HOME/config.yaml"}, files: and(own(""), "home/config.yaml", "host_paths: [relative]\n")},
		{code: "E-RUN-003", name: "lock of another version", names: []string{"DIR/murmur.lock", "99", "3 alone"}, files: and(own(""), "murmur.lock", "lock_version: 99\nartifacts: []\n")},
		{code: "E-RUN-003", name: "no pin", names: []string{"ana/one@1.0.0", "murmur.lock"}, files: and(with(script+useOne, tool, "core"), "murmur.lock", "lock_version: 3\nartifacts: []\n")},
		{code: "E-RUN-020", name: "spawner", names: []string{"MURMUR_SPAWNER", "can not do"}, files: own(""), env: []string{"MURMUR_SPAWNER=x"}, passes: true},
		{code: "E-RUN-044", name: "formation", files: own(""), env: []string{"MURMUR_FORMATION_ID=x"}, passes: true},
		{code: "E-CAP-013", name: "reserved artifact", names: []string{"ana/submit-plan", "pull-artifact, remove-artifact, session-status, switch-driver, share-file, fetch-peer-file, delegate-task, call-member, end-without-answer"}, files: own("artifacts: [{name: ana/submit-plan, version: 1.0.0}]\n")},
		{code: "E-CAP-013", name: "reserved program", files: own("capabilities: {shell: {allow: [pull-artifact]}}\n")},
		{code: "E-RUN-008", name: "not installed", names: []string{"ana/one@1.0.0", "mur-lock install"}, files: own(useOne)},
		{code: "E-RUN-004", name: "no component", names: []string{"DIR holds no component"}, files: map[string]string{"murmur.yaml": script}},
		{code: "E-RUN-004", name: "two components", names: []string{"DIR ", "a.wasm, b.wasm"}, files: map[string]string{"murmur.yaml": script, "a.wasm": "core", "b.wasm": "core"}},
		{code: "E-CAP-001", name: "network", names: []string{"ftp://example.com", "only http and https"}, files: own("capabilities: {network: {allow: ['ftp://example.com']}}\n")},
		{code: "E-CAP-002", name: "scope", names: []string{"../x", "climbs"}, files: own("capabilities: {filesystem: {scope: ../x}}\n")},
		{code: "E-CAP-002", name: "scope of an artifact", names: []string{"/x", "it is absolute", "artifacts[0]", "ana/one"}, files: with(script+"artifacts: [{name: ana/one, version: 1.0.0, capabilities: {filesystem: {scope: /x}}}]\n", tool, "core")},
		{code: "E-CAP-003", name: "executable work folder", names: []string{"containment scoped", "gives advisory", "capabilities.filesystem.workdir_exec"}, files: own("capabilities: {containment: scoped, filesystem: {workdir_exec: true}}\n"), passes: true},
		{code: "E-CAP-003", name: "project configuration", files: and(own("capabilities: {filesystem: {workdir_exec: true}}\n"), ".murmur/config.yaml", "containment: scoped\n"), passes: true},
		{code: "E-CAP-004", name: "staged runtime", names: []string{"cat", "floor is advisory"}, files: own("capabilities: {shell: {allow: [cat], staged_runtime: [{binary: cat, source_path: /opt/cat, pin: '7'}]}}\n"), passes: true},
		{code: "E-CAP-006", name: "unreachable script", names: []string{"prog", "DIR/bin/prog", "/bin/sh"}, needs: "sealed", files: and(own("capabilities: {containment: sealed, shell: {allow: [prog]}}\n"), "bin/prog", "#!/bin/sh\n"), passes: true,
			breaks: func(dir, _ string) error { return os.Chmod(filepath.Join(dir, "bin/prog"), 0o755) }},
		{code: "E-CAP-008", name: "peer files", names: []string{"3600 seconds", "900 seconds"}, files: own("lifecycle: {after_task: sleep}\nexports: {peer_files: {root: out, max_ttl: 1h}}\n")},
		{code: "E-CAP-009", name: "state store", names: []string{"../x", "begins with a dot"}, files: with(script+"artifacts: [{name: ana/one, version: 1.0.0, capabilities: {state: {store: ../x}}}]\n", tool, "core")},
		{code: "E-CAP-010", name: "config block", names: []string{"ana/one", "not finite"}, files: with(script+"artifacts: [{name: ana/one, version: 1.0.0, config: {a: .nan}}]\n", tool, "core")},
		{code: "E-CAP-011", name: "record store", names: []string{"context.record_store", "a/b"}, files: with(agent+freely+"context: {record: on, record_store: a/b}\n", driver+auth, "core")},
		{code: "E-CAP-012", name: "read-only path", names: []string{"/etc", "it is absolute"}, files: own("capabilities: {filesystem: {read_only: [/etc]}}\n")},
		{code: "E-CAP-016", name: "stripped variable", names: []string{"GITHUB_TOKEN", "pattern GITHUB_TOKEN", "built-in credential backstop"}, files: own("capabilities: {env: {allow: [GITHUB_TOKEN]}}\n"), env: []string{"GITHUB_TOKEN=x"}, passes: true},
		{code: "E-REG-002", name: "changed bytes", names: []string{"ana/one@1.0.0", "recorded beside", "expected ", "actual "}, files: with(script+useOne, tool, "core"), breaks: func(dir, _ string) error { return os.WriteFile(archive(dir), []byte("x"), 0o644) }},
		{code: "E-REG-002", name: "another pin", names: []string{"ana/one@1.0.0", "murmur.lock", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "actual "}, files: and(with(script+useOne, tool, "core"), "murmur.lock", pinOne)},
		{code: "E-REG-102", name: "unsigned", names: []string{"ana/one@1.0.0", "sha256 ", "no signature"}, files: and(with(script+useOne, tool, "core"), ".murmur/config.yaml", "trust: {require: all}\n")},
		{code: "E-RUN-043", name: "pulled", names: []string{"ana/one@1.0.0", "ses_0193f6a1b2c37d4e8f90a1b2c3d4e5f6", "driver", "mur-lock pin ana/one@1.0.0"}, files: and(with(agent+freely, driver+auth, "core"), "murmur.lock", strings.Replace(pinOne, "origin: operator", "origin: runtime\n    session: ses_0193f6a1b2c37d4e8f90a1b2c3d4e5f6", 1))},
		{code: "E-RUN-021", name: "another platform", names: []string{"ana/one@1.0.0", "linux-other", "this host is "}, files: map[string]string{
			"murmur.yaml": script + useOne, "capsule.wasm": "core",
			"tool/murmur.yaml": "name: one\nversion: 1.0.0\nruntime: tool\nimplementation: native\nrequires_files: [bin/one]\n",
			"tool/bin/one":     "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 11) + "\x16" + strings.Repeat("\x00", 45),
		}},
		{code: "E-MAN-003", name: "another role", names: []string{"artifacts[0].runtime (ana/one)", "tool", "driver"}, files: with(script+useOne, driver, "core")},
		{code: "E-RUN-001", name: "no guest", names: []string{"ana/one@1.0.0", "not a WebAssembly"}, files: with(script+useOne, tool, "nonsense")},
		{code: "E-RUN-001", name: "torn component", files: map[string]string{"murmur.yaml": script, "capsule.wasm": "nonsense"}},
		{code: "E-RUN-001", name: "type error in a function", names: []string{"ana/one@1.0.0", "does not compile", "type mismatch"}, needs: "component", files: with(script+useOne, tool, `(module (memory (export "memory") 1) (func (export "_start") i64.const 1 i32.eqz drop))`)},
		{code: "E-RUN-001", name: "type error in a module of a component", names: []string{"ana/one@1.0.0", "does not compile", "type mismatch"}, needs: "component", files: with(script+useOne, tool, `(component (core module $m (func (export "run") i64.const 1 i32.eqz drop)) (core instance $i (instantiate $m)) (func $f (canon lift (core func $i "run"))) (instance $o (export "run" (func $f))) (export "murmur:tool/run@0.1.0" (instance $o)))`)},
		{code: "E-RUN-002", name: "foreign import", names: []string{"ana/one@1.0.0", "env.escape"}, needs: "component", files: with(script+useOne, tool, `(module (import "env" "escape" (func)) (memory (export "memory") 1) (func (export "_start")))`)},
		{code: "E-RUN-029", name: "foreign import of a driver", needs: "component", files: with(agent+freely, driver+auth, `(module (import "env" "escape" (func)) (memory (export "memory") 1) (func (export "_start")))`)},
		{code: "E-CAP-017", name: "gateway of a program", names: []string{"ana/one"}, files: map[string]string{
			"murmur.yaml": script + strings.Replace(freely, "runtime: driver, ", "", 1), "capsule.wasm": "core",
			"tool/murmur.yaml": "name: one\nversion: 1.0.0\nruntime: tool\nimplementation: native\nrequires_files: [bin/one]\n", "tool/bin/one": "#!/bin/sh\n",
		}},
		{code: "E-IO-001", name: "no local source", names: []string{"DIR/gone", "does not exist"}, files: own("artifacts: [{name: local/style, runtime: skill, source: gone}]\n")},
		{code: "E-MAN-003", name: "credential", names: []string{"artifacts[0].gateway.api_key (ana/one)", "credentials.SOME_KEY in HOME/config.yaml", "the variable SOME_KEY"}, files: with(agent+keyed, driver+auth, "core")},
		{code: "E-RUN-025", name: "no upstream_auth", names: []string{"ana/one@1.0.0"}, files: with(agent+freely, driver, "core")},
		{code: "E-RUN-026", name: "spend ledger", names: []string{"HOME/spend", "not a directory"}, files: and(and(with(agent+freely, driver+auth, "core"), "home/config.yaml", "spend: {tree_tokens: 5}\n"), "home/spend", "")},
		{code: "E-RUN-026", name: "ledger of the day", names: []string{"HOME/spend", "not a directory"}, files: and(and(with(agent+freely, driver+auth, "core"), "home/config.yaml", "spend: {machine_tokens_per_day: 5}\n"), "home/spend", "")},
		{code: "E-CAP-003", name: "before any artifact", names: []string{"containment sealed", "gives advisory"}, files: with(script+useOne+"capabilities: {containment: sealed, filesystem: {workdir_exec: true}}\n", tool, "nonsense")},
		{code: "E-RUN-009", name: "prompt file", names: []string{"inference.system_prompt_file", "DIR/gone.md", "does not exist"}, files: with(strings.Replace(agent, "model: m", "model: m, system_prompt_file: gone.md", 1)+freely, driver+auth, "core")},
		{code: "E-IO-003", name: "work folders", names: []string{"DIR/workdir", "not a directory"}, files: and(own(""), "workdir", "")},
		{code: "E-RUN-006", name: "no built-in driver", names: []string{"builtin/gone"}, files: own("inference: {driver: {artifact: builtin/gone}, model: m}\n")},
		{code: "E-RUN-030", name: "driver of processes", names: []string{"ana/one@1.0.0", "murmur:driver/process@0.1.0"}, needs: "component", files: with(agent+freely, driver+auth, `(component (instance (export "murmur:driver/process@0.1.0")))`)},
		{code: "E-BLD-003", name: "two payloads", names: []string{"a.wasm, b.wasm"}, files: with(script+useOne, tool, "core"), breaks: func(dir, _ string) error { return rename(dir, "t.wasm", "a.wasm", "b.wasm") }},
		{code: "E-REG-103", name: "signature of other bytes", names: []string{"ana/one@1.0.0", "SHA256:", "other bytes"}, files: and(with(script+useOne, tool, "core"), "home/config.yaml", "trust: {require: all, keys: [ana.pub]}\n"), breaks: signOther},
		{code: "E-REG-104", name: "key to trust", names: []string{"HOME/gone.pub", "does not exist"}, files: and(own(""), "home/config.yaml", "trust: {require: all, keys: [gone.pub]}\n")},
		{code: "E-MAN-003", name: "what comes later", files: with(agent+freely+"lifecycle: {task_acceptance: queue, after_task: sleep}\n", driver+auth, "core")},
		{code: "E-IO-002", name: "unwritable project", names: []string{"DIR"}, needs: "user", files: own(""), breaks: func(dir, _ string) error { return os.Chmod(dir, 0o555) }},
	}
}

var firstCode = regexp.MustCompile(`^error\[([EW]-[A-Z]+-\d+)\]: (.*)`)

// Whatever a project is refused with, mur-doctor has named before, in the same words.
// Every row is staged, and where that passes launched, for real; the refusal has status
// 1 and names what its code owes. DIA-6, DIA-33, DIA-36, DIA-208, SES-271, and the codes
// DIA-40, DIA-45 to DIA-48, DIA-50, DIA-52 to DIA-57, DIA-60 to DIA-62, DIA-64 to DIA-69,
// DIA-71, DIA-80 to DIA-82, DIA-84, DIA-86, DIA-87, DIA-98, DIA-99, DIA-103, DIA-104,
// DIA-108, DIA-121, DIA-203 to DIA-205. What is refused has made no session: MAN-53,
// MAN-122, MAN-147, MAN-190, MAN-289, MAN-292
func TestEveryRefusalIsPredicted(t *testing.T) {
	stage, launch := murtest.Command(t, "mur-stage"), murtest.Command(t, "mur-launch")
	murtest.Command(t, "mur-shell") // beside it
	bin, alone := t.TempDir(), t.TempDir()
	for _, program := range []string{stage, launch} {
		if err := os.Symlink(program, filepath.Join(bin, filepath.Base(program))); err != nil {
			t.Fatal(err)
		}
	}
	copyFile(t, stage, filepath.Join(alone, "mur-stage"))
	copyFile(t, launch, filepath.Join(alone, "mur-launch"))
	reading := probe.Host()
	for _, b := range brokenProjects() {
		t.Run(b.code+" "+b.name, func(t *testing.T) {
			t.Parallel()
			switch _, hasComponents := component.Info(); {
			case b.needs == "component" && !hasComponents:
				t.Skip("no component engine in this build")
			case b.needs == "sealed" && confine.Decide(reading, policy.Sealed, nil).Refusal() != nil:
				t.Skip("this host gives no sealed class: " + confine.Decide(reading, policy.Sealed, nil).Shortfall)
			case b.needs == "commands" && !reading.NetNS:
				t.Skip("no network namespace can be made here: " + reading.NetworkBlocker.String())
			case b.needs == "user" && os.Geteuid() == 0:
				t.Skip("root may write everywhere")
			}
			if b.alone {
				predicted(t, b, alone)
				return
			}
			predicted(t, b, bin)
		})
	}
}

func predicted(t *testing.T, b broken, bin string) {
	dir := t.TempDir()
	home := filepath.Join(t.TempDir(), "murmur")
	lay(t, b, dir, home)
	env := append([]string{"HOME=" + filepath.Dir(home), "MURMUR_HOME=" + home, "PATH=" + filepath.Join(dir, "bin") + ":" + bin + ":/usr/bin:/bin"}, b.env...)

	var out, errOut bytes.Buffer
	status := app.Run(context.Background(), cli.Env{Stdout: &out, Stderr: &errOut, Args: append([]string{"--json"}, b.flags...), Environ: env, Dir: dir, Now: time.Now})
	var report struct {
		Checks []struct{ Name, Status, Code, Message string }
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s%s", err, out.Bytes(), errOut.Bytes())
	}

	cmd := exec.Command(filepath.Join(bin, "mur-stage"), b.flags...)
	cmd.Dir, cmd.Env = dir, env
	if b.alone {
		document, err := cmd.Output()
		if err != nil {
			t.Fatalf("mur-stage: %v", err)
		}
		cmd = exec.Command(filepath.Join(bin, "mur-launch"))
		cmd.Dir, cmd.Env, cmd.Stdin = dir, env, bytes.NewReader(document)
	}
	said, err := cmd.CombinedOutput()
	m := firstCode.FindSubmatch(said)
	if err == nil || m == nil || string(m[1]) != b.code {
		t.Fatalf("%s: %v, want %s: %s", cmd.Path, err, b.code, said)
	}
	if left, _ := os.ReadDir(filepath.Join(home, "sessions")); len(left) > 0 && !b.alone {
		t.Errorf("a refused staging left %v", left)
	}
	if status := cmd.ProcessState.ExitCode(); status != 1 {
		t.Errorf("the status of %s is %d", cmd.Path, status)
	}
	for _, name := range b.names {
		if name = strings.NewReplacer("DIR", dir, "HOME", home).Replace(name); !strings.Contains(string(said), name) {
			t.Errorf("%s does not name %q", said, name)
		}
	}
	i := slices.IndexFunc(report.Checks, func(c struct{ Name, Status, Code, Message string }) bool { return c.Code == b.code && c.Status != "ok" })
	if i < 0 {
		t.Fatalf("it is refused with %s, and mur-doctor says\n%s", said, out.Bytes())
	}
	words := func(text string) bool {
		return slices.ContainsFunc(report.Checks, func(c struct{ Name, Status, Code, Message string }) bool {
			return strings.HasPrefix(c.Message, text)
		})
	}
	if first := string(m[2]); !words(first) && b.code != "E-RUN-008" {
		t.Errorf("%s says %q, and mur-doctor has no such words:\n%s", cmd.Path, first, out.Bytes())
	}
	if (status == 0) != b.passes {
		t.Errorf("the status of mur-doctor is %d: %s", status, out.Bytes())
	}
}

// lay makes the project: its files, and what is to be published.
func lay(t *testing.T, b broken, dir, home string) {
	t.Helper()
	project, murmur := map[string]string{}, map[string]string{}
	for name, text := range b.files {
		if strings.HasPrefix(text, "(module") || strings.HasPrefix(text, "(component") {
			wasm, err := component.Wat(text)
			if err != nil {
				t.Fatal(err)
			}
			text = string(wasm)
		}
		if rest, ok := strings.CutPrefix(name, "home/"); ok {
			murmur[rest] = text
			continue
		}
		project[name] = text
	}
	err := write(dir, project)
	if err == nil && len(murmur) > 0 {
		err = os.Mkdir(home, 0o700)
	}
	if err == nil {
		err = write(home, murmur)
	}
	if _, ok := b.files["tool/murmur.yaml"]; ok && err == nil {
		_ = os.Chmod(filepath.Join(dir, "tool/bin/one"), 0o755)
		err = sample.Publish(dir, "ana", filepath.Join(dir, "tool"))
	}
	if b.breaks != nil && err == nil {
		err = b.breaks(dir, home)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
}
