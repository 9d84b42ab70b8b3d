package store

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Pruning of compiled forms (ART-130, own choice).
const (
	FormLifetime  = 30 * 24 * time.Hour
	PruneInterval = 24 * time.Hour
)

// maxForm is the largest compiled form that is kept.
const maxForm = 2 << 30

const (
	compiledDir = "compiled"
	formSuffix  = ".cwasm"
	pruneStamp  = ".pruned"
)

// Compiled is the directory of compiled forms in the murmur home (ART-126). A
// form is native code that an engine runs as it is, so it is handed out only when
// it is a file this user alone can have written and has the hash recorded when it
// was stored. It is a cache: nothing here is ever an error, what is odd is as
// good as absent. It is safe for concurrent use, and a nil *Compiled holds
// nothing and keeps nothing.
type Compiled struct{ home workfs.Home }

// OpenCompiled returns the compiled forms of a home; it creates nothing. When the
// home is, or lies in, the work folder, whose contents commands write, it returns
// nil (ART-131). workFolder may be empty.
func OpenCompiled(home workfs.Home, workFolder string) *Compiled {
	if workFolder != "" && within(resolved(workFolder), resolved(home.Path())) {
		return nil
	}
	return &Compiled{home: home}
}

// resolved resolves the links of path as far as it exists.
func resolved(path string) string {
	rest := ""
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(r, rest)
		}
		if p == filepath.Dir(p) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// FormName is the file name of a form: the hash its source was verified by and
// the engine's fingerprint (ART-127).
func FormName(sha256, fingerprint string) string { return sha256 + "-" + fingerprint + formSuffix }

// Open returns a form, open at its start for who loads it and closes it, and the
// hash of its contents, which were read through once to verify them and are not
// kept in memory (ART-128). It refreshes the form's time of use. Whatever lies
// under the form's name and may not be loaded is removed.
//
// What was verified is the open file, so nothing that happens to its name matters.
// A write into it in place would matter, to whoever maps it even later than this:
// only this user can, by the file's owner and mode, and Save never does, it
// replaces the file.
func (c *Compiled) Open(sha256, fingerprint string) (form *os.File, formSHA256 string, ok bool) {
	if c == nil || !formNameable(sha256, fingerprint) {
		return nil, "", false
	}
	dir, err := c.home.OpenExisting(compiledDir, workfs.Options{Plain: true})
	if err != nil {
		return nil, "", false
	}
	defer dir.Close()
	name := FormName(sha256, fingerprint)
	form, _, ok = openOwned(dir, name, maxForm)
	if !ok {
		removeForm(dir, name)
		return nil, "", false
	}
	recorded, ok := readOwned(dir, hashName(name), 4096)
	formSHA256, err = hashOf(form)
	if err != nil || !ok || strings.TrimSpace(string(recorded)) != formSHA256 {
		// A writer may be between its two renames; its hash then follows, and the
		// form is written again otherwise.
		form.Close()
		removeForm(dir, name)
		return nil, "", false
	}
	_ = dir.Touch(name)
	return form, formSHA256, true
}

// hashOf reads a file through and goes back to its start.
func hashOf(f *os.File) (string, error) {
	h := sha256.New()
	// Hidden from io.Copy, which would otherwise try to let the kernel copy.
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 128<<10)); err != nil {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Save stores a form and returns the hash of its bytes and whether it is stored
// now (ART-129).
func (c *Compiled) Save(sha256, fingerprint string, form []byte) (formSHA256 string, ok bool) {
	formSHA256 = artifact.Hash(form)
	if c == nil || !formNameable(sha256, fingerprint) || len(form) > maxForm {
		return formSHA256, false
	}
	dir, err := c.home.Open(compiledDir, workfs.Options{Plain: true})
	if err != nil {
		return formSHA256, false
	}
	defer dir.Close()
	name := FormName(sha256, fingerprint)
	// What is odd under the two names is in the way of the renames.
	for _, n := range []string{name, hashName(name)} {
		if st, err := dir.Stat(n); err == nil && !st.IsRegular() {
			_ = dir.RemoveAll(n)
		}
		_ = dir.Sweep(".", n)
	}
	for _, f := range []content{{name, form}, {hashName(name), []byte(formSHA256 + "\n")}} {
		if err := dir.WriteFile(f.name, f.data); err != nil {
			return formSHA256, false
		}
	}
	return formSHA256, true
}

// Discard removes a form that its engine would not load.
func (c *Compiled) Discard(sha256, fingerprint string) {
	if c == nil || !formNameable(sha256, fingerprint) {
		return
	}
	if dir, err := c.home.OpenExisting(compiledDir, workfs.Options{Plain: true}); err == nil {
		removeForm(dir, FormName(sha256, fingerprint))
		dir.Close()
	}
}

// Prune removes the forms that were not used for FormLifetime, at most once in
// PruneInterval (ART-130). mur-stage calls it.
func (c *Compiled) Prune(now time.Time) {
	if c == nil {
		return
	}
	dir, err := c.home.OpenExisting(compiledDir, workfs.Options{Plain: true})
	if err != nil {
		return
	}
	defer dir.Close()
	if st, err := dir.Stat(pruneStamp); err == nil && now.Sub(time.Unix(0, st.ModTime)) < PruneInterval {
		return
	}
	if dir.WriteFile(pruneStamp, nil) != nil {
		return
	}
	entries, err := dir.List(".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if isFormName(e.Name) && e.IsRegular() && now.Sub(time.Unix(0, e.ModTime)) > FormLifetime {
			removeForm(dir, e.Name)
		}
	}
}

func hashName(form string) string { return strings.TrimSuffix(form, formSuffix) + hashSuffix }

func removeForm(dir *workfs.Root, name string) {
	for _, n := range []string{name, hashName(name), noteName(name)} {
		if _, err := dir.Stat(n); err == nil {
			_ = dir.RemoveAll(n)
		}
	}
}

// formNameable reports whether the two parts make a plain file name.
func formNameable(sha256, fingerprint string) bool {
	return lockfile.IsHash(sha256) && fingerprint != "" && len(fingerprint) <= 160 &&
		strings.Trim(fingerprint, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+") == ""
}

func isFormName(name string) bool {
	sha256, fingerprint, ok := strings.Cut(strings.TrimSuffix(name, formSuffix), "-")
	return ok && strings.HasSuffix(name, formSuffix) && formNameable(sha256, fingerprint)
}

// openOwned opens a regular file of this user that nobody else may write.
func openOwned(dir *workfs.Root, name string, limit int64) (f *os.File, size int64, ok bool) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, 0, false
	}
	fi, err := f.Stat()
	if err == nil && fi.Size() <= limit {
		st, known := fi.Sys().(*syscall.Stat_t)
		if known && int(st.Uid) == os.Geteuid() && fi.Mode().Perm()&0o022 == 0 && st.Nlink == 1 {
			return f, fi.Size(), true
		}
	}
	f.Close()
	return nil, 0, false
}

// readOwned reads what openOwned opens.
func readOwned(dir *workfs.Root, name string, limit int64) ([]byte, bool) {
	f, size, ok := openOwned(dir, name, limit)
	if !ok {
		return nil, false
	}
	defer f.Close()
	data := make([]byte, size)
	_, err := io.ReadFull(f, data)
	return data, err == nil
}
