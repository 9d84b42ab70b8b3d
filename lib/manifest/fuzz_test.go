package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// seeds are every manifest of testdata.
func seeds(f *testing.F) {
	good, _ := filepath.Glob("testdata/good/*.yaml")
	for _, name := range good {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	bad, _ := filepath.Glob("testdata/bad/*.txtar")
	for _, name := range bad {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i := 0; i < len(ar.Files); i += 2 {
			f.Add(ar.Files[i].Data)
		}
	}
	f.Add([]byte(keyed("|\n        sk-hush")))
	f.Add([]byte(agentHead))
}

// FuzzParse holds the parser to its promises on any bytes: it never panics, a
// refusal has a code and a place, the same bytes give the same capsule, and what
// is accepted can be resolved, warned about and redacted without a fault of its
// own. MAN-35
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, warnings, err := Parse("/p/murmur.yaml", data, Options{Running: "0.1.0"})
		again, warnings2, err2 := Parse("/p/murmur.yaml", data, Options{Running: "0.1.0"})
		if !reflect.DeepEqual(c, again) || !reflect.DeepEqual(warnings, warnings2) || (err == nil) != (err2 == nil) {
			t.Fatal("two readings differ")
		}
		if err != nil {
			var e *diag.Error
			if !errors.As(err, &e) || e.Code == "" || e.Subject == nil || e.Subject.Line < 1 || e.Subject.Column < 1 {
				t.Fatalf("a refusal without code or place: %#v", err)
			}
			return
		}
		c.Warnings(c.Lifecycle, policy.Advisory)
		for i := range c.Artifacts {
			if cfg := c.Artifacts[i].Config; cfg != nil {
				if _, err := cfg.JSON(); err != nil && diag.CodeOf(err) != "E-CAP-010" {
					t.Fatal(err)
				}
			}
		}
		redacted, err := Redact(data)
		if err != nil {
			return // it says so instead of giving a copy that is wrong
		}
		c2, _, err := Parse("/p/murmur.yaml", redacted, Options{})
		if err != nil {
			t.Fatalf("the redacted copy is refused: %v", err)
		}
		for i, e := range c2.Artifacts {
			if was := c.Artifacts[i].Gateway; was != nil && was.Literal != nil && e.Gateway.Literal.Reveal() != Redacted {
				t.Fatal("a key is left in the copy")
			}
		}
	})
}

// FuzzParseArtifact holds the artifact reader to the same.
func FuzzParseArtifact(f *testing.F) {
	seeds(f)
	f.Add([]byte(head + "runtime: hook\nbinding: on-shell\ncommit_policy: deny\nupstream_auth: {header: a, value: \"{key}\"}\ninput_schema: '{}'\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, _, err := ParseArtifact("m", data, ArtifactOptions{})
		if err != nil {
			if diag.CodeOf(err) == "" {
				t.Fatalf("a refusal without code: %#v", err)
			}
			return
		}
		if _, err := a.Contract("h@1"); err != nil && diag.CodeOf(err) != "E-MAN-003" {
			t.Fatal(err)
		}
		if _, err := a.UpstreamAuth("d@1"); err != nil && diag.CodeOf(err) != "E-RUN-025" {
			t.Fatal(err)
		}
		if _, err := ScanSecrets("m", data); err != nil {
			t.Fatalf("accepted and not scanned: %v", err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	data := readGood(b, "agent.yaml")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Parse("/p/murmur.yaml", data, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRedact(b *testing.B) {
	data := []byte(keyed("sk-hush"))
	for b.Loop() {
		if _, err := Redact(data); err != nil {
			b.Fatal(err)
		}
	}
}
