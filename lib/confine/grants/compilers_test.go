package grants

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/policy"
)

// driver answers -print-prog-name= like a compiler; the other methods are those
// of fakeHost.
type driver struct {
	fakeHost
	helpers map[string]string
}

func (d driver) Ask(_ context.Context, program string, args ...string) (string, error) {
	if program == "/usr/bin/mute" {
		return "", errors.New("signal: killed")
	}
	return d.helpers[strings.TrimPrefix(args[0], "-print-prog-name=")] + "\n", nil
}

// CON-167, DIA-148, DIA-165
func TestCompilersThatCanNotStartTheirHelpers(t *testing.T) {
	h := driver{
		fakeHost{real: map[string]string{"/lib/gcc/cc1": "/usr/lib/gcc/cc1", "/bin/as": "/usr/bin/as", "/bin/ld": "/usr/bin/ld", "/lib/gcc/collect2": "/usr/lib/gcc/collect2"}},
		map[string]string{"cc1": "/lib/gcc/cc1", "cc1plus": "cc1plus", "as": "as", "ld": "ld", "collect2": "/lib/gcc/collect2"},
	}
	f := Found{Exec: []confine.ExecGrant{
		{Entry: "gcc", Paths: []string{"/usr/bin/gcc"}, Closure: []string{"/usr/bin/gcc"}},
		{Entry: "cc"}, // not installed
		{Entry: "g++", Paths: []string{"/usr/bin/mute"}},
		{Entry: "as", Paths: []string{"/usr/bin/as"}, Closure: []string{"/usr/bin/as"}},
	}}
	r := Request{Path: "/none:/bin"}
	list := func(p policy.Policy) string {
		var out []string
		for _, w := range CompilerWarnings(context.Background(), r, f, p, h) {
			name, _ := w.Names["helper"].(string)
			out = append(out, string(w.Code)+" "+name)
		}
		return strings.Join(out, ", ")
	}
	if got, want := list(policy.Policy{}), "W-SEC-012 cc1, W-SEC-012 ld, W-SEC-012 collect2, W-SEC-029 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	granted := policy.Policy{InterpreterRuntime: []policy.InterpreterRuntime{{Binary: "gcc", Dirs: []policy.RuntimeDir{{Path: "/usr/lib/gcc"}}}}}
	if got, want := list(granted), "W-SEC-012 ld, W-SEC-029 "; got != want {
		t.Errorf("with its directory granted: %q, want %q", got, want)
	}
}
