package tools

import (
	"math"
	"net/url"
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
		Env:     guestEnv(d, nil, environ),
		Limits:  limits(d.Policy.Limits),
	}
}

// ToolGrant is what one artifact holds: its own grant, or the ceiling when the
// document lowers none for it.
func ToolGrant(d *session.Document, a *session.Artifact, environ []string) (Grant, error) {
	g := CapsuleGrant(d, nil)
	g.Env = guestEnv(d, a, environ)
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
// host is inherited. A is nil for a script capsule's own guest.
func guestEnv(d *session.Document, a *session.Artifact, environ []string) []string {
	own := [][2]string{
		{"MURMUR_CAPSULE_NAME", d.Capsule.Name},
		{"MURMUR_CAPSULE_VERSION", d.Capsule.Version},
		{"MURMUR_SESSION_ID", d.SessionID},
		{"MURMUR_RUNTIME_DIR", d.Directories.Runtime.Path},
		{"MURMUR_RECORDS_DIR", d.Directories.Records.Path},
	}
	own = append(own, inferenceEnv(d, a)...)
	taken := map[string]bool{"MURMUR_ARTIFACT_CONFIG": true, "PWD": true}
	for _, name := range inferenceNames {
		taken[name] = true
	}
	for _, kv := range own {
		taken[kv[0]] = true
	}
	rules := d.Policy.Env()
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
	if a != nil && a.ConfigJSON != nil {
		env = append(env, "MURMUR_ARTIFACT_CONFIG="+*a.ConfigJSON)
	}
	return env
}

// GatewayAuthority is what guests with a gateway send their keyed requests to;
// nothing listens there (AGT-132).
const GatewayAuthority = "127.0.0.1:9"

// inferenceNames can not be supplied by the host, whether they are set or not.
var inferenceNames = []string{
	"MURMUR_CAPSULE_URL", "MURMUR_INFERENCE_TRANSPORT", "MURMUR_INFERENCE_MODEL", "MURMUR_INFERENCE_DRIVER",
	"MURMUR_INFERENCE_DRIVER_CONFIG", "MURMUR_INFERENCE_ENDPOINT", "MURMUR_GATEWAY_ENDPOINT",
}

// inferenceEnv says how an agent's model is asked, and to the guest of an
// artifact with a gateway where that is (AGT-132, AGT-158). No key is in it.
func inferenceEnv(d *session.Document, a *session.Artifact) (env [][2]string) {
	inf := d.Inference
	if inf != nil {
		env = append(env, [2]string{"MURMUR_INFERENCE_TRANSPORT", inf.Transport}, [2]string{"MURMUR_INFERENCE_MODEL", inf.Model})
		if len(inf.Choices) > 0 {
			c := inf.Choices[0]
			env = append(env, [2]string{"MURMUR_INFERENCE_DRIVER", c.Driver})
			if c.ConfigJSON != nil {
				env = append(env, [2]string{"MURMUR_INFERENCE_DRIVER_CONFIG", *c.ConfigJSON})
			}
		}
	}
	if a == nil || a.Gateway == nil {
		return env
	}
	at := "http://" + GatewayAuthority
	if u, err := url.Parse(d.Gateways[*a.Gateway].Endpoint); err == nil {
		at += strings.TrimSuffix(u.EscapedPath(), "/")
	}
	env = append(env, [2]string{"MURMUR_GATEWAY_ENDPOINT", at})
	if inf != nil && len(inf.Choices) > 0 && inf.Choices[0].Driver == a.Name {
		env = append(env, [2]string{"MURMUR_INFERENCE_ENDPOINT", at})
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
