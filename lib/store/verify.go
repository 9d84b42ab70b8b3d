package store

import (
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
)

// Pin is the lock entry for an artifact as it was resolved: one hash for a WASM
// or static payload, the platform's own for a native one (ART-80, ART-81).
// platform is the tag that was asked for; the origin is the operator's.
func Pin(ref artifact.Ref, sha256 string, kind manifest.Kind, platform string) lockfile.Entry {
	e := lockfile.Entry{Name: ref.Full, Version: ref.Version, Origin: lockfile.Operator}
	if kind == manifest.Native {
		e.SHA256.Platforms = map[string]string{platform: sha256}
	} else {
		e.SHA256.Any = sha256
	}
	return e
}

// CheckVersion compares a requested version with the pin of its name before any
// store is asked (ART-108, ART-109). The error is E-RUN-003 naming both, or that
// there is no pin.
func CheckVersion(l lockfile.Lock, ref artifact.Ref) (lockfile.Entry, error) {
	pin, ok := l.Find(ref.Full)
	subject := diag.Subject{Kind: diag.LockEntry, Name: ref.Full.String()}
	if !ok {
		return pin, diag.Errorf("E-RUN-003", "murmur.lock has no entry for %s", ref).
			Hint("pin it: mur-lock install %s", ref).
			About(subject).Name("entry", ref.Full.String()).Name("reason", "no entry")
	}
	if pin.Version != ref.Version {
		return pin, diag.Errorf("E-RUN-003", "murmur.lock pins %s at %s, and %s is asked for", ref.Full, pin.Version, ref.Version).
			Hint("if the change is meant: mur-lock install %s, after mur-lock unpin %s", ref, ref.Full).
			About(subject).Name("entry", ref.Full.String()).Name("requested", ref.Version).Name("pinned", pin.Version)
	}
	return pin, nil
}

// CheckHash compares resolved bytes with the pin: E-REG-002 when they differ
// (ART-72), E-RUN-003 when the pin has hashes for other platforms alone (ART-86).
func CheckHash(pin lockfile.Entry, sha256, platform string) error {
	subject := diag.Subject{Kind: diag.LockEntry, Name: pin.Name.String()}
	want, ok := pin.SHA256.For(platform)
	if !ok {
		return diag.Errorf("E-RUN-003", "murmur.lock pins %s for %s, not for this host (%s)", pin.Ref(), strings.Join(pin.SHA256.Tags(), ", "), platform).
			Hint("pin it for this host: mur-lock install %s", pin.Ref()).
			About(subject).Name("entry", pin.Name.String()).Name("platforms", strings.Join(pin.SHA256.Tags(), ", "))
	}
	if want != sha256 {
		return diag.Errorf("E-REG-002", "%s: the stored bytes do not have the hash murmur.lock pins: expected %s, actual %s", pin.Ref(), want, sha256).
			Hint("put the pinned bytes back with mur-lock install %s, or accept the new ones with mur-lock pin --update %s", pin.Ref(), pin.Ref()).
			About(subject).Name("name@version", pin.Ref()).Name("record", lockfile.FileName).
			Name("expected", want).Name("actual", sha256)
	}
	return nil
}

// Use is how a capsule's manifest uses an artifact.
type Use struct {
	Role         policy.Role
	Gateway      bool // the entry has a gateway
	SystemPrompt bool // inference.system_prompt_artifact names it
}

// CheckOrigin is E-RUN-043 for a pin that a session wrote and whose artifact is
// used as anything but a tool or skill without a gateway (ART-119).
func CheckOrigin(pin lockfile.Entry, use Use) error {
	if !pin.Origin.IsRuntime() {
		return nil
	}
	misuse := ""
	switch {
	case use.Role == policy.Hook:
		misuse = "runtime: hook"
	case use.Role == policy.Driver:
		misuse = "runtime: driver"
	case use.Gateway:
		misuse = "gateway:"
	case use.SystemPrompt:
		misuse = "inference.system_prompt_artifact"
	default:
		return nil
	}
	return diag.Errorf("E-RUN-043", "%s was pulled by session %s and may not be used with %s", pin.Ref(), pin.Origin.Session, misuse).
		Hint("if you trust it, adopt it: mur-lock pin %s", pin.Ref()).
		About(diag.Subject{Kind: diag.LockEntry, Name: pin.Name.String()}).
		Name("name@version", pin.Ref()).Name("session", pin.Origin.Session).Name("use", misuse)
}

// UntaggedWarning is W-REG-001 for a native payload that was resolved from a file
// without a platform tag (ART-57).
func UntaggedWarning(ref artifact.Ref) diag.Warning {
	w := diag.Warningf("W-REG-001", "artifact", "%s is a native program and its stored file names no platform; reinstall it: mur-lock install %s", ref, ref)
	subject := ref.Subject()
	w.Subject = &subject
	w.Names = map[string]any{"name@version": ref.String(), "command": "mur-lock install " + ref.String()}
	return w
}
