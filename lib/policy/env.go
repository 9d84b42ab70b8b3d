package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// Pattern names environment variables: exact, prefix*, *suffix or *middle*,
// case-sensitive; * alone matches every name (SHL-48).
type Pattern string

// ParsePattern checks a pattern. The error says which rule is broken; the
// caller gives it E-MAN-003.
func ParsePattern(s string) (Pattern, error) {
	if s == "" {
		return "", errors.New("is empty")
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(s, "*"), "*")
	if strings.Contains(inner, "*") || s == "**" {
		return "", errors.New("has a * elsewhere than as its first or last character")
	}
	if strings.ContainsAny(s, "=\x00") {
		return "", errors.New("holds = or NUL, which no variable name does")
	}
	return Pattern(s), nil
}

// Match tells whether the pattern matches a variable name.
func (p Pattern) Match(name string) bool {
	s := string(p)
	if s == "*" {
		return true
	}
	core := strings.TrimSuffix(strings.TrimPrefix(s, "*"), "*")
	switch front, back := strings.HasPrefix(s, "*"), strings.HasSuffix(s, "*"); {
	case front && back:
		return strings.Contains(name, core)
	case front:
		return strings.HasSuffix(name, core)
	case back:
		return strings.HasPrefix(name, core)
	default:
		return name == s
	}
}

// Backstop returns the built-in patterns of credentials that no command and no
// guest ever gets (MAN-127). No manifest key exempts a name.
func Backstop() []Pattern {
	return []Pattern{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "HUGGING_FACE_HUB_TOKEN", "NEXUS_API_KEY",
		"AWS_*", "GITHUB_TOKEN", "GH_TOKEN", "DOCKER_*", "KUBECONFIG", "NPM_TOKEN", "PYPI_TOKEN",
		"CARGO_REGISTRY_TOKEN", "*_API_KEY",
	}
}

// EnvRules decide which host variables survive: those neither the backstop nor
// Strip matches. mur-stage judges env.allow with them, mur-shell builds
// environments with them, mur-launch filters what guests see.
type EnvRules struct{ Strip []Pattern }

// The two lists a Removal names.
const (
	BackstopList = "the built-in credential backstop"
	StripList    = "capabilities.shell.strip_env"
)

// Removal says which pattern of which list takes a name away.
type Removal struct {
	Name    string
	Pattern Pattern
	List    string // BackstopList or StripList
}

// Removes tells whether a name is taken away and by what, the backstop first.
func (e EnvRules) Removes(name string) (Removal, bool) {
	for _, p := range Backstop() {
		if p.Match(name) {
			return Removal{name, p, BackstopList}, true
		}
	}
	for _, p := range e.Strip {
		if p.Match(name) {
			return Removal{name, p, StripList}, true
		}
	}
	return Removal{}, false
}

// CheckEnv refuses an env.allow list that names variables the rules remove:
// E-CAP-016, listing each once in declaration order with pattern and list
// (MAN-126). It judges names and never looks at a value.
func CheckEnv(allow []string, rules EnvRules) error {
	var found []string
	seen := map[string]bool{}
	for _, name := range allow {
		if r, removed := rules.Removes(name); removed && !seen[name] {
			seen[name] = true
			found = append(found, fmt.Sprintf("%s (pattern %s of %s)", diag.Quote(name), r.Pattern, r.List))
		}
	}
	if found == nil {
		return nil
	}
	list := strings.Join(found, ", ")
	return diag.Errorf("E-CAP-016", "capabilities.env.allow names what no guest may see: %s", list).
		Hint("drop the name; a key for an artifact's upstream belongs into its gateway.api_key").
		In("check").About(diag.Subject{Kind: diag.ManifestKey, Name: "capabilities.env.allow"}).Name("names", list)
}

// CredentialShaped tells whether a name looks like that of a credential
// (MAN-128).
func CredentialShaped(name string) bool {
	lower := strings.ToLower(name)
	for _, w := range []string{"api_key", "token", "secret", "password"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	segments := strings.FieldsFunc(lower, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
	for _, s := range segments {
		switch s {
		case "key", "keys", "pass", "passwd", "passphrase", "credential", "credentials", "creds", "dsn", "auth", "pat", "cookie":
			return true
		}
	}
	return false
}

// CredentialWarnings are the W-SEC-024 lines of an env.allow list: one for each
// credential-shaped name that the rules let through, in declaration order.
// Sleeps is the resolved lifecycle.after_task being sleep (MAN-128).
func CredentialWarnings(allow []string, rules EnvRules, sleeps bool) []diag.Warning {
	var out []diag.Warning
	seen := map[string]bool{}
	for i, name := range allow {
		if _, removed := rules.Removes(name); removed || seen[name] || !CredentialShaped(name) {
			continue
		}
		seen[name] = true
		w := diag.Warningf("W-SEC-024", "env",
			"capabilities.env.allow hands the variable %s, which looks like a credential, to every guest", diag.Quote(name))
		if sleeps {
			w.Message += "; with lifecycle.after_task: sleep its value outlives the task that launched the session"
		}
		w.Phase = "check"
		w.Subject = &diag.Subject{Kind: diag.ManifestKey, Name: Place{Key: "capabilities.env.allow"}.Index(i).Key}
		w.Names = map[string]any{"name": name}
		out = append(out, w)
	}
	return out
}
