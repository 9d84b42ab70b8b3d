package store

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/workfs"
)

// FormState is one file of the compiled forms.
type FormState struct {
	Name        string
	Bytes       int64
	Fingerprint string // of the engine build that can load it
	// Broken says why it would never be loaded, "" for a sound form.
	Broken string
}

// Forms lists the compiled forms and judges each as Load would, without removing
// or touching anything. At most budget bytes are read; forms beyond it are judged
// by owner, mode and recorded hash alone. Files that are no forms are not listed.
func (c *Compiled) Forms(budget int64) ([]FormState, error) {
	dir, err := c.home.OpenExisting(compiledDir, workfs.Options{Plain: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.List(".")
	if err != nil {
		return nil, workfs.Fault(err, "cannot list the compiled forms")
	}
	var out []FormState
	for _, e := range entries {
		if !isFormName(e.Name) {
			continue
		}
		_, fingerprint, _ := strings.Cut(strings.TrimSuffix(e.Name, formSuffix), "-")
		f := FormState{Name: e.Name, Bytes: e.Size, Fingerprint: fingerprint}
		recorded, ok := readOwned(dir, hashName(e.Name), 4096)
		switch {
		case !e.IsRegular():
			f.Broken = "it is no file"
		case int(e.UID) != os.Geteuid():
			f.Broken = "it belongs to another user"
		case e.Mode.Perm()&0o022 != 0:
			f.Broken = "others can write it"
		case !ok:
			f.Broken = "no hash is recorded for it"
		case e.Size <= budget:
			budget -= e.Size
			f.Broken = broken(dir, e.Name, strings.TrimSpace(string(recorded)))
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b FormState) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// broken says what is wrong with the form's bytes, "" when they have the hash.
func broken(dir *workfs.Root, name, hash string) string {
	const unread = "it can not be read, or has a second name"
	form, _, ok := openOwned(dir, name, maxForm)
	if !ok {
		return unread
	}
	defer form.Close()
	switch got, err := hashOf(form); {
	case err != nil:
		return unread
	case got != hash:
		return "its bytes do not have the recorded hash"
	}
	return ""
}

// Drop removes a form that Forms listed, with what belongs to it.
func (c *Compiled) Drop(name string) error {
	if !isFormName(name) {
		return fs.ErrInvalid
	}
	dir, err := c.home.OpenExisting(compiledDir, workfs.Options{Plain: true})
	if err != nil {
		return err
	}
	defer dir.Close()
	removeForm(dir, name)
	if _, err := dir.Stat(name); err == nil {
		return workfs.Fault(&fs.PathError{Op: "remove", Path: dir.Join(name), Err: fs.ErrExist}, "cannot remove a compiled form")
	}
	return nil
}
