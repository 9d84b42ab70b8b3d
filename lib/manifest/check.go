package manifest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/policy"
)

// This file holds the checks that belong to stage time (session.md section 3.2)
// and need nothing but the manifest. mur-stage calls each at its step, mur-doctor
// all of them.

// Locate adds file, line and column to a refusal about a manifest key that was
// raised by package policy, which knows keys and no places. Other errors pass
// unchanged.
func (c *Capsule) Locate(err error) error {
	var e *diag.Error
	if errors.As(err, &e) && e.Subject != nil && e.Subject.Kind == diag.ManifestKey && e.Subject.File == "" {
		e.About(c.Subject(e.Subject.Name))
	}
	return err
}

// CheckSegment is E-CAP-011 for a name that is no path segment; key is the
// manifest key or the flag it came from (SES-8, MAN-199).
func CheckSegment(key, name string) error {
	if err := names.CheckSegment(name); err != nil {
		return diag.Errorf("E-CAP-011", "%s: %s is no name for one folder: it %w", key, diag.Quote(name), err).
			In("check").Name("key", key).Name("value", name)
	}
	return nil
}

// CheckRecordStore judges context.record_store while the record is on.
func (c *Capsule) CheckRecordStore() error {
	if !c.Context.Record {
		return nil
	}
	err := CheckSegment("context.record_store", c.Context.RecordStore)
	var e *diag.Error
	if errors.As(err, &e) {
		e.About(c.Subject("context.record_store"))
	}
	return err
}

// CheckEnv refuses capabilities.env.allow names that no guest may see
// (E-CAP-016).
func (c *Capsule) CheckEnv() error {
	if c.Capabilities == nil || c.Capabilities.Env == nil {
		return nil
	}
	return c.Locate(policy.CheckEnv(c.Capabilities.Env.Allow, c.envRules()))
}

func (c *Capsule) envRules() policy.EnvRules {
	var r policy.EnvRules
	if c.Capabilities != nil && c.Capabilities.Shell != nil {
		r.Strip = c.Capabilities.Shell.StripEnv
	}
	return r
}

// CheckStateStores judges every store an entry would open (E-CAP-009), creating
// none.
func (c *Capsule) CheckStateStores() error {
	for i := range c.Artifacts {
		e := c.Artifacts[i].Policy(false)
		if e.Capabilities == nil || e.Capabilities.State == nil {
			continue
		}
		if _, err := policy.StoreName(e, c.Name); err != nil {
			return c.Locate(err)
		}
	}
	return nil
}

// Lifetimes of peer files in seconds (MAN-231).
const (
	DefaultPeerTTLSecs = 3600
	MaxStayingTTLSecs  = 900
)

// PeerTTLSecs is the resolved max_ttl of exports.peer_files, 0 without the
// export. A capsule that stays after its task must declare one of at most
// MaxStayingTTLSecs; otherwise E-CAP-008.
func (c *Capsule) PeerTTLSecs(life Lifecycle) (int64, error) {
	p := c.Exports.PeerFiles
	if p == nil {
		return 0, nil
	}
	declared, value := "none", any("none")
	if p.MaxTTLSecs != nil {
		if life.AfterTask != AfterSleep || *p.MaxTTLSecs <= MaxStayingTTLSecs {
			return *p.MaxTTLSecs, nil
		}
		declared, value = fmt.Sprintf("%d seconds", *p.MaxTTLSecs), *p.MaxTTLSecs
	} else if life.AfterTask != AfterSleep {
		return DefaultPeerTTLSecs, nil
	}
	return 0, diag.Errorf("E-CAP-008",
		"exports.peer_files.max_ttl: with lifecycle.after_task: sleep a lifetime of at most %d seconds is required; declared is %s",
		MaxStayingTTLSecs, declared).
		In("check").About(c.Subject("exports.peer_files.max_ttl")).
		Name("declared", value).Name("ceiling", MaxStayingTTLSecs)
}

// CheckStagedRuntime refuses staged_runtime grants below a sealed floor with
// E-CAP-004, naming every binary (MAN-121).
func (c *Capsule) CheckStagedRuntime(floor policy.Class) error {
	if c.Capabilities == nil || c.Capabilities.Shell == nil || len(c.Capabilities.Shell.StagedRuntime) == 0 || floor == policy.Sealed {
		return nil
	}
	var binaries []string
	for _, s := range c.Capabilities.Shell.StagedRuntime {
		binaries = append(binaries, s.Binary)
	}
	all := strings.Join(binaries, ", ")
	return diag.Errorf("E-CAP-004", "capabilities.shell.staged_runtime: the floor is %s and a staged runtime exists under sealed alone: %s", floor, all).
		Hint("raise capabilities.containment to sealed, or grant interpreter_runtime instead").
		In("check").About(c.Subject("capabilities.shell.staged_runtime")).
		Name("binaries", all).Name("floor", floor.String())
}

// VersionWarning is the plain warning of a mur_version that is not the running
// one (MAN-38).
func (c *Capsule) VersionWarning(running string) (diag.Warning, bool) {
	if c.MurVersion == "" || c.MurVersion == running {
		return diag.Warning{}, false
	}
	return c.about("mur_version", diag.Warningf("", "manifest", "mur_version asks for %s and this is %s",
		diag.Quote(c.MurVersion), diag.Quote(running))), true
}
