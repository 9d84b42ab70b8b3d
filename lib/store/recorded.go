package store

import (
	"os"
	"strings"

	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Recorded reports whether a form is there that Open may hand out, and the hash
// recorded for it, without reading the form's bytes: mur-stage, which runs no
// code, names the form and mur-launch verifies it when it loads it (ART-134). It
// refreshes the form's time of use.
func (c *Compiled) Recorded(sha256, fingerprint string) (formSHA256 string, ok bool) {
	if c == nil || !formNameable(sha256, fingerprint) {
		return "", false
	}
	dir, err := c.home.OpenExisting(compiledDir, workfs.Options{Plain: true})
	if err != nil {
		return "", false
	}
	defer dir.Close()
	name := FormName(sha256, fingerprint)
	st, err := dir.Stat(name)
	if err != nil || !st.IsRegular() || st.Size == 0 || st.Size > maxForm || int(st.UID) != os.Geteuid() || st.Mode.Perm()&0o022 != 0 {
		return "", false
	}
	recorded, ok := readOwned(dir, hashName(name), 4096)
	formSHA256 = strings.TrimSpace(string(recorded))
	if !ok || !lockfile.IsHash(formSHA256) {
		return "", false
	}
	_ = dir.Touch(name)
	return formSHA256, true
}

// Path is where a form lies, or would.
func (c *Compiled) Path(sha256, fingerprint string) string {
	return c.home.Join(compiledDir + "/" + FormName(sha256, fingerprint))
}

// noteSuffix ends the name of a note.
const noteSuffix = ".note.json"

func noteName(form string) string { return strings.TrimSuffix(form, formSuffix) + noteSuffix }

// Note returns what SaveNote noted beside a form. Whoever can write it can write
// the form, so it is worth as much: it is handed out only when this user alone
// can have written it.
func (c *Compiled) Note(sha256, fingerprint string) ([]byte, bool) {
	if c == nil || !formNameable(sha256, fingerprint) {
		return nil, false
	}
	dir, err := c.home.OpenExisting(compiledDir, workfs.Options{Plain: true})
	if err != nil {
		return nil, false
	}
	defer dir.Close()
	return readOwned(dir, noteName(FormName(sha256, fingerprint)), maxNote)
}

// maxNote is the largest note that is read.
const maxNote = 1 << 16

// SaveNote keeps what its caller found out about the bytes a form was compiled
// from, and goes when the form goes. A note that can not be kept is no fault.
func (c *Compiled) SaveNote(sha256, fingerprint string, note []byte) {
	if c == nil || !formNameable(sha256, fingerprint) || len(note) > maxNote {
		return
	}
	dir, err := c.home.OpenExisting(compiledDir, workfs.Options{Plain: true})
	if err != nil {
		return
	}
	defer dir.Close()
	_ = dir.WriteFile(noteName(FormName(sha256, fingerprint)), note)
}
