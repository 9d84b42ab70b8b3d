package manifest

import (
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

const agentHead = head + `artifacts:
  - {name: local/d, version: 1.0.0, runtime: driver, gateway: {endpoint: https://api.example.com/v1, api_key: "${KEY}"}}
  - {name: ana/t, version: 1.0.0, gateway: {endpoint: https://tool.example.com, api_key: sk-hush}}
inference: {driver: {artifact: local/d}, model: m}
`

// lines are warnings as one text.
func lines(ws []diag.Warning) string {
	var out []string
	for _, w := range ws {
		out = append(out, string(w.Code)+" "+w.Message)
	}
	return strings.Join(out, "\n")
}

// MAN-99, MAN-108, MAN-110, MAN-120, MAN-128, MAN-148, MAN-297, MAN-302, MAN-303, MAN-95, DIA-145,
// DIA-147, DIA-150, DIA-152, DIA-153, DIA-160, DIA-161, DIA-163, DIA-166
func TestWarnings(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", head, ""},
		{"keys that do nothing here", head + "artifacts: [{name: local/h, version: 1.0.0, runtime: hook, on_overflow: block}]\ncontext: {record: off, record_store: a/b}\nlifecycle: {after_task: sleep, queue_depth: 5}\n", ""},
		{"keys that do nothing for a process", head + "inference: {transport: process, driver: {artifact: builtin/codex}, compaction: {threshold: 0.5, model: m, dump_summaries: true}}\ncontext: {max_tokens: 5, seed_budget: 0.2, seed_overflow_margin: 0.2}\n", ""},
		{"state and conversation", head + "capabilities: {state: {}, conversation: {read: true}}\n",
			"W-SEC-014 capabilities.state grants nothing to a whole capsule; declare it on the artifact that keeps state\n" +
				"W-SEC-016 capabilities.conversation grants nothing to a whole capsule; declare it on the hook that reads the conversation"},
		{"workdir_exec", head + "capabilities: {filesystem: {workdir_exec: true}}\n",
			"W-SEC-011 capabilities.filesystem.workdir_exec lets what a command writes be executed, so that shell.allow is advisory and the class at most advisory"},
		{"workdir_exec off", head + "capabilities: {filesystem: {workdir_exec: false}}\n", ""},
		{"read_only", head + "capabilities: {filesystem: {read_only: [docs]}, shell: {allow: [bash, git, bash, Rscript]}}\n",
			"W-SEC-017 capabilities.filesystem.read_only is advisory for bash: what its scripts write is not seen\n" +
				"W-SEC-017 capabilities.filesystem.read_only is advisory for Rscript: what its scripts write is not seen"},
		{"blank read_only", head + "capabilities: {filesystem: {read_only: [\" \"]}, shell: {allow: [bash]}}\n", ""},
		{"interpreters", head + "capabilities: {shell: {allow: [python3, node], interpreter_runtime: [{binary: python3, dirs: [{path: /a, list_dir: true}, {path: /b, list_dir: false}]}, {binary: node, dirs: [{path: /c, list_dir: true}]}]}}\n",
			"W-SEC-009 capabilities.shell.interpreter_runtime ties the capsule to this host: python3 uses /a (listed), /b (not listed)\n" +
				"W-SEC-009 capabilities.shell.interpreter_runtime ties the capsule to this host: node uses /c (listed)"},
		{"environment", head + "capabilities: {env: {allow: [LANG, SESSION_TOKEN, DB_DSN, SESSION_TOKEN, MY_API_KEY]}, shell: {allow: [git], strip_env: [DB_*]}}\n",
			`W-SEC-024 capabilities.env.allow hands the variable "SESSION_TOKEN", which looks like a credential, to every guest`},
		{"environment that stays", head + "lifecycle: {after_task: sleep}\ncapabilities: {env: {allow: [SESSION_TOKEN]}}\n",
			`W-SEC-024 capabilities.env.allow hands the variable "SESSION_TOKEN", which looks like a credential, to every guest; with lifecycle.after_task: sleep its value outlives the task that launched the session`},
		{"gateways", agentHead + "capabilities: {network: {allow: [api.example.com, \"https://tool.example.com:443\", \"http://tool.example.com\", \"tool.example.com:444\", other.example.com]}}\n",
			`W-SEC-025 capabilities.network.allow[0]: the entry "api.example.com" reaches the upstream of local/d past its gateway and meter; the gateway needs no entry` + "\n" +
				`W-SEC-025 capabilities.network.allow[1]: the entry "https://tool.example.com" reaches the upstream of ana/t past its gateway and meter; the gateway needs no entry` + "\n" +
				"W-SEC-027 the key of artifacts[1] (ana/t) is written into the manifest, so it is read once and a rotated one is not seen; keep it as credentials.NAME in config.yaml\n" +
				"W-SEC-030 artifacts[1] (ana/t) reaches tool.example.com through a gateway that no spend ceiling counts"},
	} {
		c := mustParse(t, tt.text)
		if _, unknown, err := Parse("/p/murmur.yaml", []byte(tt.text), Options{}); err != nil || len(unknown) > 0 {
			t.Errorf("%s: %v, %v", tt.name, unknown, err)
		}
		ws := c.Warnings(c.Lifecycle, policy.Advisory)
		if got := lines(ws); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
		for _, w := range ws {
			if w.Subject == nil || w.Subject.Line == 0 || w.Subject.File == "" || len(w.Names) == 0 || w.Phase != "check" {
				t.Errorf("%s: a warning without place or names: %+v", tt.name, w)
			}
			if strings.Contains(w.Message, "hush") {
				t.Errorf("%s: a key is shown: %s", tt.name, w.Message)
			}
		}
	}
	c := mustParse(t, agentHead+"capabilities: {filesystem: {workdir_exec: true}}\n")
	if ws := c.Warnings(c.Lifecycle, policy.Unconfined); !strings.HasSuffix(ws[0].Message, "at most unconfined") {
		t.Errorf("%v", ws[0])
	}
	if w := c.KeyWarning(&c.Artifacts[0]); w.Code != "W-SEC-027" || !strings.Contains(w.Message, "taken from the environment variable KEY") || !strings.Contains(w.Message, "credentials.KEY") {
		t.Errorf("%+v", w)
	}
	if w := c.ConfigWarning(&c.Artifacts[1]); w.Code != "W-SEC-015" || !strings.Contains(w.Message, "ana/t") {
		t.Errorf("%+v", w)
	}
}

// MAN-79, MAN-121, MAN-126, MAN-199, MAN-231, DIA-48, DIA-52, DIA-53, DIA-55,
// DIA-60
func TestStageChecks(t *testing.T) {
	sleep := Lifecycle{AfterTask: AfterSleep}
	exit := Lifecycle{AfterTask: AfterExit}
	ttl := func(life Lifecycle) func(*Capsule) error {
		return func(c *Capsule) error { _, err := c.PeerTTLSecs(life); return err }
	}
	floor := func(f policy.Class) func(*Capsule) error {
		return func(c *Capsule) error { return c.CheckStagedRuntime(f) }
	}
	staged := head + "capabilities: {shell: {allow: [a, b], staged_runtime: [{binary: a, source_path: /a, pin: x}, {binary: b, source_path: /b, pin: y}]}}\n"
	for _, tt := range []struct {
		name, text string
		check      func(*Capsule) error
		want       string
	}{
		{"record store", head + "context: {record_store: ../x}\n", (*Capsule).CheckRecordStore, "E-CAP-011 3:25\ncontext.record_store: \"../x\" is no name for one folder: it begins with a dot\n"},
		{"blank record store", head + "context: {record_store: \"\"}\n", (*Capsule).CheckRecordStore, "E-CAP-011 3:25\ncontext.record_store: \"\" is no name for one folder: it is empty\n"},
		{"record off", head + "context: {record: off, record_store: a/b}\n", (*Capsule).CheckRecordStore, "no fault\n"},
		{"record store default", head, (*Capsule).CheckRecordStore, "no fault\n"},
		{"environment", head + "capabilities: {env: {allow: [AWS_REGION, LANG, X_DSN, AWS_REGION]}, shell: {allow: [git], strip_env: [\"*_DSN\"]}}\n", (*Capsule).CheckEnv,
			"E-CAP-016 3:29\ncapabilities.env.allow names what no guest may see: \"AWS_REGION\" (pattern AWS_* of the built-in credential backstop), \"X_DSN\" (pattern *_DSN of capabilities.shell.strip_env)\nhint: drop the name; a key for an artifact's upstream belongs into its gateway.api_key\n"},
		{"environment without the block", head, (*Capsule).CheckEnv, "no fault\n"},
		{"state store", head + "artifacts:\n  - {name: local/x, version: 1.0.0, capabilities: {state: {store: a/b}}}\n", (*Capsule).CheckStateStores,
			"E-CAP-009 4:67\nartifacts[0].capabilities.state.store (local/x): the store \"a/b\" is refused: it holds /, \\ or NUL\n"},
		{"blank state store", head + "artifacts:\n  - {name: local/x, version: 1.0.0, capabilities: {state: {store: \"\"}}}\n", (*Capsule).CheckStateStores,
			"E-CAP-009 4:67\nartifacts[0].capabilities.state.store (local/x): the store \"\" is refused: it is empty\n"},
		{"state store default", head + "artifacts:\n  - {name: local/x, version: 1.0.0, capabilities: {state: {}}}\n", (*Capsule).CheckStateStores, "no fault\n"},
		{"no lifetime", head + "exports: {peer_files: {root: a}}\n", ttl(sleep),
			"E-CAP-008 3:23\nexports.peer_files.max_ttl: with lifecycle.after_task: sleep a lifetime of at most 900 seconds is required; declared is none\n"},
		{"long lifetime", head + "exports: {peer_files: {root: a, max_ttl: 16m}}\n", ttl(sleep),
			"E-CAP-008 3:42\nexports.peer_files.max_ttl: with lifecycle.after_task: sleep a lifetime of at most 900 seconds is required; declared is 960 seconds\n"},
		{"short lifetime", head + "exports: {peer_files: {root: a, max_ttl: 15m}}\n", ttl(sleep), "no fault\n"},
		{"long lifetime, exits", head + "exports: {peer_files: {root: a, max_ttl: 5h}}\n", ttl(exit), "no fault\n"},
		{"no export", head, ttl(sleep), "no fault\n"},
		{"staged runtime", staged, floor(policy.Scoped),
			"E-CAP-004 3:55\ncapabilities.shell.staged_runtime: the floor is scoped and a staged runtime exists under sealed alone: a, b\nhint: raise capabilities.containment to sealed, or grant interpreter_runtime instead\n"},
		{"staged runtime, sealed", staged, floor(policy.Sealed), "no fault\n"},
		{"network, placed", head + "capabilities: {network: {allow: [ok.example, \"ftp://x\"]}}\n", func(c *Capsule) error {
			_, err := policy.Resolve(c.Capabilities, policy.Advisory)
			return c.Locate(err)
		}, "E-CAP-001 3:46\ncapabilities.network.allow[1]: the entry \"ftp://x\" is refused: its scheme is \"ftp\"; only http and https can be allowed\n"},
	} {
		if got := said(tt.check(mustParse(t, tt.text))); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
	}
	c := mustParse(t, head+"exports: {peer_files: {root: a}}\n")
	if n, err := c.PeerTTLSecs(exit); n != 3600 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if err := CheckSegment("--context", "a/b"); diag.CodeOf(err) != "E-CAP-011" || !strings.HasPrefix(err.Error(), "--context: ") {
		t.Errorf("%v", err)
	}
}
