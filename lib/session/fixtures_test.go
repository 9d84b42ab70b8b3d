package session

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the fixtures of package schema anew")

// ART-177: the fixtures of package schema, which fix names and nesting of all
// members, are the samples and small changes to them.
func TestFixturesAreTheSamples(t *testing.T) {
	script, agent := encoded(sample()), encoded(sampleAgent())
	for name, text := range map[string]string{
		"good/script.json":                      script,
		"good/agent.json":                       agent,
		"bad/schema-2.json":                     edit(`"murmur.session/1"`, `"murmur.session/2"`)(script),
		"bad/unknown-member.json":               edit(`"kind":`, `"allow_everything":true,"kind":`)(script),
		"bad/unknown-policy-member.json":        edit(`"unix_sockets"`, `"allow_all":true,"unix_sockets"`)(script),
		"bad/missing-policy-member.json":        edit(`"env_allow":[],`, ``)(script),
		"bad/null-list.json":                    edit(`"read_only":[]`, `"read_only":null`)(script),
		"bad/odd-class.json":                    edit(`"achieved":"scoped"`, `"achieved":"safe"`)(script),
		"bad/short-hash.json":                   edit(sampleHash, sampleHash[1:])(script),
		"bad/number-as-text.json":               edit(`"max_turns":10`, `"max_turns":"10"`)(agent),
		"bad/rule-below-floor.json":             edit(`"achieved":"scoped"`, `"achieved":"unconfined"`)(script),
		"bad/rule-unlisted-file.json":           edit(`"files":[{"path":"/p/capsule.wasm"`, `"files":[{"path":"/p/other.wasm"`)(script),
		"bad/rule-agent-without-inference.json": edit(`"kind":"script"`, `"kind":"agent"`)(script),
		"bad/rule-other-records.json":           edit(`records/p/workdir`, `records/q/workdir`)(script),
	} {
		path := filepath.Join("schema", "testdata", filepath.FromSlash(name))
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(text), "", " "); err != nil {
			t.Fatal(err)
		}
		want.WriteByte('\n')
		if *update {
			if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(want.String()) {
			t.Errorf("%s is not what the sample calls for (%v): run go test ./session -update", path, err)
		}
	}
}
