package call

import (
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
)

// SHL-157
func TestVariablesOfACall(t *testing.T) {
	rules := policy.EnvRules{Strip: []policy.Pattern{"MY_*"}}
	env := Environment([]string{"PATH=/bin", "GIT_DIR=host"}, nil, []string{"GIT_DIR"}, rules, Folders{Work: "/w", Home: "/h", Tmp: "/t"}, [2]string{"GIT_DIR", "own"}, [2]string{"MY_X", "1"})
	if !slices.Contains(env, "GIT_DIR=own") || !slices.Contains(env, "PATH=/bin") || slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(s, "MY_") }) {
		t.Errorf("%q", env)
	}
	for name, says := range map[string]string{
		"GIT_DIR": "", "LANG": "", "GITHUB_TOKEN": "backstop", "MY_X": "strip_env", "PATH": "the session's", "HOME": "the session's",
		"LD_PRELOAD": "the session's", "MURMUR_SPAWNER": "the session's", "": "no variable's name", "A=B": "no variable's name",
	} {
		err := CheckOwn([][2]string{{"LANG", "C"}, {name, "v"}}, rules)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", name, err, says)
		}
	}
}
