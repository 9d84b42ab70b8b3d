package call

import (
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/policy"
)

// hostNames are what a command gets of the host's environment (SHL-46 step 1).
var hostNames = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "CARGO_HOME", "RUSTUP_HOME", "TERM"}

// Folders are what the environment points at.
type Folders struct{ Work, Home, Tmp string }

// Environment builds a command's environment from nothing, in the order of
// SHL-46: names of the host, the session's own variables, the names the policy
// keeps, less what the credential backstop and the policy strip, then home and
// temporary folder. host and the result hold KEY=VALUE strings; of doubled names
// the last counts. The result is sorted, so that equal sessions have equal
// environments.
func Environment(host []string, runtime map[string]string, keep []string, rules policy.EnvRules, f Folders) []string {
	values := map[string]string{}
	take := func(names []string) {
		for _, kv := range host {
			if k, v, ok := strings.Cut(kv, "="); ok && slices.Contains(names, k) {
				values[k] = v
			}
		}
	}
	take(hostNames)
	for k, v := range runtime {
		values[k] = v
	}
	take(keep)
	for k := range values {
		if _, removed := rules.Removes(k); removed {
			delete(values, k)
		}
	}
	values["HOME"], values["USERPROFILE"] = f.Home, f.Home
	values["TMPDIR"], values["TEMP"], values["TMP"] = f.Tmp, f.Tmp, f.Tmp
	values["PWD"] = f.Work
	out := make([]string, 0, len(values))
	for k, v := range values {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// Value is a variable of an environment, "" when it is not there.
func Value(environ []string, name string) string {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
