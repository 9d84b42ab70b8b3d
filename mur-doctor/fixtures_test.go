package main

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/murtest/sample"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/provenance"
	"github.com/mur-capsules/mur/lib/store"
)

// write writes files beneath dir; those that end in .wasm and say "core" are the
// smallest guest.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		data := []byte(text)
		if filepath.Ext(name) == ".wasm" && text == "core" {
			data = sample.CoreGuest
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// one is the artifact that the projects of the tests use.
var one = artifact.Ref{Full: names.Full{Scope: "ana", Name: "one"}, Version: "1.0.0"}

// replace puts another archive in the place of ana/one, made of what is stored, with
// the envelopes that sign it.
func replace(root string, edit func(archive []byte) ([]byte, [][]byte, error)) error {
	ctx, limits := context.Background(), artifact.LimitsOf(nil)
	s := store.OfProject(root, limits)
	found, err := s.Resolve(ctx, one, artifact.Host())
	if err != nil {
		return err
	}
	data, envelopes, err := edit(found.Bytes)
	if err != nil {
		return err
	}
	item, err := store.NewItem(data, one, artifact.Host(), limits, one.String())
	if err != nil {
		return err
	}
	item.Attestations = append(item.Attestations, envelopes...)
	_, err = s.Put(ctx, item, true)
	return err
}

// rename replaces a file of ana/one by copies under other names, which no pack would
// make.
func rename(root, old string, names ...string) error {
	return replace(root, func(archive []byte) ([]byte, [][]byte, error) {
		r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			return nil, nil, err
		}
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, f := range r.File {
			data, err := fs.ReadFile(r, f.Name)
			if err != nil {
				return nil, nil, err
			}
			as := []string{f.Name}
			if f.Name == old {
				as = names
			}
			for _, name := range as {
				into, err := w.Create(name)
				if err == nil {
					_, err = into.Write(data)
				}
				if err != nil {
					return nil, nil, err
				}
			}
		}
		err = w.Close()
		return out.Bytes(), nil, err
	})
}

// signOther signs ana/one as if it had other bytes, with a key that home trusts.
func signOther(root, home string) error {
	return replace(root, func(archive []byte) ([]byte, [][]byte, error) {
		base := filepath.Join(home, "ana")
		if _, err := provenance.MakePair(base); err != nil {
			return nil, nil, err
		}
		key, err := provenance.ReadPrivate(base + ".key")
		if err != nil {
			return nil, nil, err
		}
		envelope, err := provenance.Sign(context.Background(), key, provenance.Subject{Name: one.String(), SHA256: strings.Repeat("0", 64)})
		return archive, [][]byte{envelope}, err
	})
}

// copyFile puts a program into another place, where it can be linked without a copy.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if os.Link(from, to) == nil {
		return
	}
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// writeGuest is the command "wasm FILE", putScript "publish SCOPE DIR".
func writeGuest(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(write(ts.MkAbs("."), map[string]string{args[0]: "core"}))
}

func putScript(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(sample.Publish(ts.MkAbs("."), args[0], ts.MkAbs(args[1])))
}
