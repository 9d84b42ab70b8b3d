package onwazero

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
)

// form is a compiled guest as one byte string: a line of JSON, the module, and
// the file wazero made of it. wazero keeps compiled code only in a directory,
// under a name it derives from the module and its own version, and needs the
// module beside the code.
type form struct {
	fingerprint string
	file        string // slash-separated, within the cache directory
	wasm, code  []byte
}

type formHead struct {
	Format      string `json:"format"`
	Fingerprint string `json:"fingerprint"`
	File        string `json:"file"`
	Wasm        int    `json:"wasm"`
	Code        int    `json:"code"`
}

const formFormat = "murmur.core-form/1"

func (f *form) pack() []byte {
	head, err := json.Marshal(formHead{formFormat, f.fingerprint, f.file, len(f.wasm), len(f.code)})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return bytes.Join([][]byte{head, {'\n'}, f.wasm, f.code}, nil)
}

// unpackForm splits a form; the parts share its memory.
func unpackForm(b []byte) (*form, error) {
	line, rest, ok := bytes.Cut(b, []byte{'\n'})
	var head formHead
	if !ok || json.Unmarshal(line, &head) != nil || head.Format != formFormat {
		return nil, fmt.Errorf("it is not a compiled form of format %s", formFormat)
	}
	if head.Wasm < 0 || head.Code < 0 || head.Wasm > len(rest) || head.Code != len(rest)-head.Wasm {
		return nil, errors.New("the compiled form is cut off or has bytes left over")
	}
	if !filepath.IsLocal(filepath.FromSlash(head.File)) {
		return nil, fmt.Errorf("the compiled form names a file %q outside its directory", head.File)
	}
	return &form{fingerprint: head.Fingerprint, file: head.File, wasm: rest[:head.Wasm], code: rest[head.Wasm:]}, nil
}

// codeDir is the private directory (mode 0700) through which wazero takes and
// gives compiled code while one guest is built. It exists no longer than that.
// A nil *codeDir is a build without one: the guest runs, but has no form.
type codeDir struct {
	path string
	info fs.FileInfo // of the file a form put there
	file string
}

var errNoForm = errors.New("there is no compiled form: the guest is interpreted here, or no temporary directory could be made")

var errLoaded = errors.New("the guest was itself loaded from a form")

// openCodeDir makes the directory and, for a form, its file.
func openCodeDir(f *form) (*codeDir, error) {
	path, err := os.MkdirTemp("", "mur-core-")
	if err != nil {
		return nil, err
	}
	d := &codeDir{path: path}
	if f == nil {
		return d, nil
	}
	d.file = filepath.Join(path, filepath.FromSlash(f.file))
	if err = os.MkdirAll(filepath.Dir(d.file), 0o700); err == nil {
		err = os.WriteFile(d.file, f.code, 0o600)
	}
	if err == nil {
		d.info, err = os.Lstat(d.file)
	}
	if err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

func (d *codeDir) cache() (wazero.CompilationCache, error) {
	if d == nil {
		return wazero.NewCompilationCache(), nil
	}
	return wazero.NewCompilationCacheWithDir(d.path)
}

// unchanged fails when wazero compiled afresh instead of taking the form's
// code: it then wrote a file of its own, beside or over the form's.
func (d *codeDir) unchanged() error {
	files, err := d.files()
	if err != nil {
		return err
	}
	info, err := os.Lstat(d.file)
	if err != nil || len(files) != 1 || !os.SameFile(info, d.info) {
		return errors.New("the engine did not take the compiled form")
	}
	return nil
}

// collect makes a form of the one file wazero wrote.
func (d *codeDir) collect(fingerprint string, wasm []byte) (*form, error) {
	if d == nil {
		return nil, errNoForm
	}
	files, err := d.files()
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, errNoForm
	}
	code, err := os.ReadFile(filepath.Join(d.path, files[0]))
	if err != nil {
		return nil, err
	}
	return &form{fingerprint: fingerprint, file: filepath.ToSlash(files[0]), wasm: wasm, code: code}, nil
}

func (d *codeDir) files() ([]string, error) {
	var files []string
	err := filepath.WalkDir(d.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(d.path, path)
		files = append(files, rel)
		return err
	})
	return files, err
}

func (d *codeDir) remove() {
	if d != nil {
		// A leftover in the temporary directory is nobody's failure.
		_ = os.RemoveAll(d.path)
	}
}
