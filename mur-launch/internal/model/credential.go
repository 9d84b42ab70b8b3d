package model

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/config"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
)

// Change is what happened to a credential (TRC-50). It never holds a value.
type Change struct {
	Change  string // rotated, rejected, unreadable
	Trigger string // file_changed, rejection; only rotated
	Retried bool   // only rejected: a key that was read again was refused too
	Reason  string // only unreadable
}

// Credential is one key, as it is now. It is safe for concurrent use.
type Credential struct {
	ref     session.CredentialRef
	secrets *mask.Set
	report  func(Change)

	mu       sync.Mutex
	value    string
	fault    string // why the source could not be read the last time, or empty
	rejected bool   // the provider refused it and has accepted none since
	retried  bool
}

// NewCredential reads a key where the staged document says it is (AGT-143). What
// is gone by now is E-MAN-003. Environ is the host's environment with the .env
// file's variables, manifestSum the hash of the staged manifest. Every value the
// credential ever has is added to secrets; report takes what changes.
func NewCredential(ref session.CredentialRef, environ []string, manifestSum string, secrets *mask.Set, report func(Change)) (*Credential, error) {
	c := &Credential{ref: ref, secrets: secrets, report: report}
	var err error
	switch ref.Source {
	case session.FromConfig:
		c.value, err = c.read()
	case session.FromEnvironment:
		c.value = lookup(environ, ref.Name)
	case session.FromManifest:
		c.value, err = literal(ref, manifestSum)
	default:
		err = fmt.Errorf("this version of mur-launch takes no keys from a controller")
	}
	if err == nil && c.value == "" {
		err = errors.New("it is empty or gone")
	}
	if err != nil {
		return nil, diag.Errorf("E-MAN-003", "the credential %s can not be had any more: %w", Where(ref), err).
			Hint("put it back, or stage the capsule again").In("launch").Name("credential", ref.Name).Name("source", ref.Source)
	}
	secrets.Add(c.value)
	return c, nil
}

// Where says where a key is, without its value.
func Where(ref session.CredentialRef) string {
	switch ref.Source {
	case session.FromConfig:
		return fmt.Sprintf("credentials.%s of %s", ref.Name, ref.File)
	case session.FromEnvironment:
		return "in the variable " + ref.Name
	case session.FromManifest:
		return fmt.Sprintf("in %s at %s", ref.File, ref.Pointer)
	}
	return ref.Name + " of the controller"
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// literal reads a key out of the manifest, which must be the staged one.
func literal(ref session.CredentialRef, sum string) (string, error) {
	data, err := workfs.ReadFile(ref.File, manifest.MaxBytes+1)
	if err != nil {
		return "", err
	}
	if found := sha256.Sum256(data); hex.EncodeToString(found[:]) != sum {
		return "", errors.New("the manifest was changed since it was staged")
	}
	secret, err := manifest.Literal(ref.File, data, ref.Pointer)
	return secret.Reveal(), err
}

// read takes the key from the config file.
func (c *Credential) read() (string, error) {
	secret, err := config.ReadCredential(c.ref.File, c.ref.Name)
	return secret.Reveal(), err
}

// Current is the key for the next request. One from a config file is read anew
// each time (AGT-145); a source that can not be read leaves the last good value
// (AGT-146).
func (c *Credential) Current() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh("file_changed")
	return c.value
}

// Again reads the key once more after the provider refused used. It returns
// false when there is no other one.
func (c *Credential) Again(used string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh("rejection")
	return c.value, c.value != used
}

func (c *Credential) refresh(trigger string) {
	if c.ref.Source != session.FromConfig {
		return
	}
	value, err := c.read()
	if err != nil {
		reason := config.Unreadable
		var ce *config.CredentialError
		if errors.As(err, &ce) {
			reason = ce.Reason
		}
		// Once for each state the file is in, not once for each request.
		if state := reason + fileState(c.ref.File); c.fault != state {
			c.fault = state
			c.report(Change{Change: "unreadable", Reason: reason})
		}
		return
	}
	c.fault = ""
	if value != c.value {
		c.secrets.Add(value)
		c.value = value
		c.report(Change{Change: "rotated", Trigger: trigger})
	}
}

func fileState(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// Judge takes the status the provider answered with; retried tells whether a
// second key was tried. Only 401 is looked at (AGT-139).
func (c *Credential) Judge(status int, retried bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rejected, c.retried = status == 401, retried
	if c.rejected {
		c.report(Change{Change: "rejected", Retried: retried})
	}
}

// Rejection is E-RUN-027 while a rejection is pending, else nil (AGT-140).
func (c *Credential) Rejection() *diag.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.rejected {
		return nil
	}
	tried := "it can not be read again in a running session"
	switch {
	case c.retried:
		tried = "the key that was read again was refused too"
	case c.ref.Rereadable:
		tried = "it was read again and was the same"
	}
	return diag.Errorf("E-RUN-027", "the provider answered 401 to the credential %s; %s", Where(c.ref), tried).
		Hint("put a valid key there and launch again").In("session").
		Name("source", c.ref.Source).Name("credential", c.ref.Name).Name("status", 401).Name("retried", c.retried)
}
