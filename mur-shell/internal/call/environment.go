package call

import (
	"fmt"
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
// keeps, the variables of the call itself, less what the credential backstop and
// the policy strip, then home and temporary folder. host and the result hold
// KEY=VALUE strings; of doubled names the last counts. The result is sorted, so
// that equal sessions have equal environments.
func Environment(host []string, runtime map[string]string, keep []string, rules policy.EnvRules, f Folders, own ...[2]string) []string {
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
	for _, kv := range own {
		values[kv[0]] = kv[1]
	}
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

// fixedNames are variables no call sets: what its program is found by, where the
// session keeps its files, and what makes a loader run other code (SHL-157).
var fixedNames = []string{"PATH", "HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "PWD"}

// CheckOwn judges the variables a call brings along.
func CheckOwn(own [][2]string, rules policy.EnvRules) error {
	for _, kv := range own {
		name := kv[0]
		switch r, removed := rules.Removes(name); {
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(kv[1], "\x00"):
			return fmt.Errorf("%q is no variable's name, or its value holds NUL", name)
		case removed:
			return fmt.Errorf("the variable %s can not be given to a command: pattern %s of %s removes it", name, r.Pattern, r.List)
		case slices.Contains(fixedNames, name) || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "MURMUR_"):
			return fmt.Errorf("the variable %s is the session's and can not be given to a command", name)
		}
	}
	return nil
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
