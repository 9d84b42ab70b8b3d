package tools

import (
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Grant is all a guest call is given, as plain values (TOL-97 to TOL-105).
type Grant struct {
	// Scope is the folder mounted as ".", relative to the work folder: "." for
	// the whole of it, empty for none.
	Scope string
	// Network are the rules its requests pass; empty denies every one.
	Network policy.Rules
	// State is the directory mounted as "state", relative to the murmur home;
	// empty for none.
	State string
	// Env holds KEY=VALUE strings, all the guest sees.
	Env    []string
	Limits wasmhost.Limits
}

// CapsuleGrant is the ceiling, which a script capsule runs on (SES-120).
func CapsuleGrant(d *session.Document, environ []string) Grant {
	return Grant{
		Scope:   ceilingScope(d),
		Network: d.Policy.NetworkAllow,
		Env:     guestEnv(d, environ, nil),
		Limits:  limits(d.Policy.Limits),
	}
}

// ToolGrant is what one artifact holds: its own grant, or the ceiling when the
// document lowers none for it.
func ToolGrant(d *session.Document, a *session.Artifact, environ []string) (Grant, error) {
	g := CapsuleGrant(d, nil)
	g.Env = guestEnv(d, environ, a.ConfigJSON)
	if a.Grant == nil {
		return g, nil
	}
	g.Network = a.Grant.NetworkAllow
	g.Scope = ""
	if s := a.Grant.FilesystemScope; s != nil {
		g.Scope = filepath.Clean(*s)
	}
	if dir := a.Grant.StateDir; dir != nil {
		rel, inHome := strings.CutPrefix(*dir, d.Directories.MurmurHome.Path+"/")
		if !inHome || !strings.HasPrefix(rel, stateDir+"/") {
			return Grant{}, &outsideHome{*dir}
		}
		g.State = rel
	}
	return g, nil
}

// stateDir holds the durable stores beneath the murmur home.
const stateDir = "state"

type outsideHome struct{ path string }

func (e *outsideHome) Error() string {
	return "the state store " + e.path + " is not beneath the murmur home"
}

func ceilingScope(d *session.Document) string {
	if s := d.Policy.FilesystemScope; s != nil {
		return filepath.Clean(*s)
	}
	return "."
}

func limits(l policy.Limits) wasmhost.Limits {
	return wasmhost.Limits{
		MemoryBytes:   uint64(l.MemoryBytes),
		TableElements: uint32(min(l.TableElements, math.MaxUint32)),
		Instances:     uint32(min(l.Instances, math.MaxUint32)),
		Deadline:      time.Duration(min(l.DeadlineSeconds, int64(math.MaxInt64/time.Second))) * time.Second,
	}
}

// guestEnv is the environment of AGT-158 and AGT-159: the allowed host values
// the credential rules keep, then the runtime's own names, which nothing can
// shadow, and the artifact's configuration last (TOL-104). Nothing else of the
// host is inherited.
func guestEnv(d *session.Document, environ []string, config *string) []string {
	own := [][2]string{
		{"MURMUR_CAPSULE_NAME", d.Capsule.Name},
		{"MURMUR_CAPSULE_VERSION", d.Capsule.Version},
		{"MURMUR_SESSION_ID", d.SessionID},
		{"MURMUR_RUNTIME_DIR", d.Directories.Runtime.Path},
		{"MURMUR_RECORDS_DIR", d.Directories.Records.Path},
	}
	rules := d.Policy.Env()
	taken := map[string]bool{"MURMUR_ARTIFACT_CONFIG": true, "PWD": true}
	for _, kv := range own {
		taken[kv[0]] = true
	}
	var env []string
	for _, name := range d.Policy.EnvAllow {
		if _, removed := rules.Removes(name); removed || taken[name] || name == "" {
			continue
		}
		if value, set := lookupEnv(environ, name); set {
			taken[name] = true
			env = append(env, name+"="+value)
		}
	}
	for _, kv := range own {
		env = append(env, kv[0]+"="+kv[1])
	}
	if config != nil {
		env = append(env, "MURMUR_ARTIFACT_CONFIG="+*config)
	}
	return env
}

// lookupEnv returns the last value of a name.
func lookupEnv(environ []string, name string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, found := strings.CutPrefix(environ[i], name+"="); found {
			return value, true
		}
	}
	return "", false
}
