package config

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/workfs"
)

// ReadCredential reads one credential from a config file as it is now. The
// error is a *CredentialError. mur-launch calls it before each keyed request and
// after a 401 (MAN-287).
func ReadCredential(path, name string) (manifest.Secret, error) {
	data, err := workfs.ReadFile(path, manifest.MaxBytes+1)
	if err != nil {
		reason := Unreadable
		if errors.Is(err, fs.ErrNotExist) {
			reason = Missing
		}
		return manifest.Secret{}, &CredentialError{File: path, Name: name, Reason: reason, Err: err}
	}
	return FindCredential(path, data, name)
}

// ModeWarning is W-SEC-028 for a file that holds a secret and whose mode lets
// others read or write it (MAN-288). mur-launch prints it once per launch,
// mur-doctor once per path.
func ModeWarning(path string, mode fs.FileMode) (diag.Warning, bool) {
	if mode.Perm()&0o077 == 0 {
		return diag.Warning{}, false
	}
	w := diag.Warningf("W-SEC-028", "config", "%s holds a secret and has mode %04o, so that others can reach it; run: chmod 600 %s", path, mode.Perm(), path)
	w.Subject = &diag.Subject{Kind: diag.Path, Name: path}
	w.Names = map[string]any{"path": path, "mode": fmt.Sprintf("%04o", mode.Perm()), "command": "chmod 600 " + path}
	return w, true
}
