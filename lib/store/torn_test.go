package store

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// DIA-209, ART-53: what a writer did not finish is named and put right; what is
// merely not whole is named alone.
func TestTorn(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		recoverable  bool
		spoil        func(dir string) error
	}{
		{"whole", "", false, func(string) error { return nil }},
		{"journal", "interrupted", true, func(dir string) error {
			data, _ := json.Marshal(journal{Files: []journalFile{{"x-1.mur.zip", true}}})
			return os.WriteFile(dir+journalName, data, 0o644)
		}},
		{"backup", "replaced", true, func(dir string) error { return os.WriteFile(dir+".old.x-1.sha256", nil, 0o644) }},
		{"temporary", "unfinished", true, func(dir string) error { return os.WriteFile(dir+".x-1.sha256.0011223344556677.tmp", nil, 0o644) }},
		{"no hash", "x-1.mur.zip is there without x-1.sha256", false, func(dir string) error { return os.Remove(dir + "x-1.sha256") }},
		{"no archive", "x-1.sha256 is there without x-1.mur.zip", false, func(dir string) error { return os.Remove(dir + "x-1.mur.zip") }},
		{"broken journal", "write.json", false, func(dir string) error { return os.WriteFile(dir+journalName, []byte("{"), 0o644) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, dir := folder(t)
			if torn, err := s.Torn(ctx); err != nil || torn != nil {
				t.Fatalf("an absent store: %v, %v", torn, err)
			}
			data := skill(t, "x", "1", "text")
			put(t, s, "local/x@1", host, data)
			if err := tc.spoil(dir + "/local/x/1/"); err != nil {
				t.Fatal(err)
			}
			torn, err := s.Torn(ctx)
			if tc.reason == "" {
				if err != nil || torn != nil {
					t.Errorf("got %v, %v", torn, err)
				}
				return
			}
			if err != nil || len(torn) != 1 || torn[0].Recoverable != tc.recoverable || !strings.Contains(torn[0].Reason, tc.reason) {
				t.Fatalf("got %+v, %v", torn, err)
			}
			if !tc.recoverable {
				return
			}
			if err := s.Recover(ctx, torn[0].Ref); err != nil {
				t.Fatal(err)
			}
			if torn, err := s.Torn(ctx); err != nil || torn != nil {
				t.Errorf("afterwards %v, %v", torn, err)
			}
			if f, err := s.Resolve(ctx, ref("local/x@1"), host); err != nil || string(f.Bytes) != string(data) {
				t.Errorf("afterwards it is not what it was: %v", err)
			}
		})
	}
}

// A writer at work leaves nothing torn.
func TestTornWaitsForNobody(t *testing.T) {
	s, dir := folder(t)
	put(t, s, "local/x@1", host, skill(t, "x", "1", "text"))
	root, err := s.open(false)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, lock, err := lockVersion(ctx, root, ref("local/x@1"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if err := os.WriteFile(dir+"/local/x/1/"+journalName, []byte(`{"files":[{"name":"x-1.sha256","existed":true}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if torn, err := s.Torn(ctx); err != nil || torn != nil {
		t.Errorf("got %v, %v", torn, err)
	}
}
