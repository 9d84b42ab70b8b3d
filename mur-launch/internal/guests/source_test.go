package guests

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/workfs"
)

func newSource(t *testing.T) (*Source, workfs.Home) {
	t.Helper()
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + filepath.Join(t.TempDir(), "home")})
	if err != nil {
		t.Fatal(err)
	}
	doc := &session.Document{}
	doc.Stores.DecompressionCeiling = 1 << 20
	doc.Directories.Work.Path = t.TempDir()
	s := NewSource(doc, home)
	t.Cleanup(func() { s.Close() })
	return s, home
}

// SES-81, ART-73, ART-74
func TestFileHasTheStagedHash(t *testing.T) {
	s, _ := newSource(t)
	path := filepath.Join(t.TempDir(), "guest.wasm")
	if err := os.WriteFile(path, []byte("guest"), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := s.File(&session.File{Path: path, SHA256: artifact.Hash([]byte("guest")), Bytes: 5}); err != nil || string(b) != "guest" {
		t.Errorf("got %q, %v", b, err)
	}
	for name, f := range map[string]session.File{
		"another hash": {Path: path, SHA256: artifact.Hash([]byte("guesT")), Bytes: 5},
		"it grew":      {Path: path, SHA256: artifact.Hash([]byte("gues")), Bytes: 4},
	} {
		if b, err := s.File(&f); diag.CodeOf(err) != "E-STG-102" || b != nil {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
	}
	if _, err := s.File(&session.File{Path: path + "x", Bytes: 5}); diag.CodeOf(err) != "E-IO-001" {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := s.Archive(&session.File{Path: path, SHA256: artifact.Hash([]byte("guest")), Bytes: 5}, "x.wasm"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no archive: %v", err)
	}
}

// ART-128, ART-131, ART-134, SES-92
func TestFormHasBothHashes(t *testing.T) {
	s, home := newSource(t)
	source := artifact.Hash([]byte("source"))
	sum, ok := store.OpenCompiled(home, "").Save(source, "engine-1", []byte("native code"))
	if !ok {
		t.Fatal("the form was not stored")
	}
	good := session.Compiled{SHA256: sum, Fingerprint: "engine-1"}
	f, ok := s.Form(source, &good)
	if !ok {
		t.Fatal("the form was refused")
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "native code" {
		t.Errorf("got %q, %v", b, err)
	}
	for name, c := range map[string]struct {
		source string
		form   session.Compiled
	}{
		"another hash in the document": {source, session.Compiled{SHA256: artifact.Hash([]byte("x")), Fingerprint: "engine-1"}},
		"another engine":               {source, session.Compiled{SHA256: sum, Fingerprint: "engine-2"}},
		"another source":               {artifact.Hash([]byte("x")), good},
	} {
		if f, ok := s.Form(c.source, &c.form); ok {
			f.Close()
			t.Errorf("%s: got a form", name)
		}
	}
	inside := &session.Document{}
	inside.Directories.Work.Path = filepath.Dir(home.Path())
	if _, ok := NewSource(inside, home).Form(source, &good); ok {
		t.Error("a form was taken out of the work folder")
	}
}

// WIT-66, WIT-68
func TestEngineIsStartedOnce(t *testing.T) {
	s, _ := newSource(t)
	a, err := s.Engine(session.ImplCore)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.Engine(session.ImplCore); err != nil || a != b {
		t.Errorf("a second engine: %v", err)
	}
}
