//go:build cgo

package component

import (
	"context"
	"fmt"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// WIT-13, WIT-27, WIT-76: a script capsule runs programs where something is
// allowed, and is told so where nothing is.
func TestShellImport(t *testing.T) {
	g := compile(t, fixture(t, "shell.wat"), wasmhost.Capsule)
	seen := ""
	log := "logs/x.l"
	err := g.RunCapsule(context.Background(), &wasmhost.Instance{Imports: wasmhost.Imports{
		Shell: func(_ context.Context, program string, args []string, env [][2]string) (wasmhost.ShellResult, error) {
			seen = fmt.Sprintf("%s %q %q", program, args, env)
			return wasmhost.ShellResult{ExitCode: -7, Stdout: "out", Truncated: true, FullOutputPath: &log}, nil
		},
	}})
	if err != nil || seen != `git ["log" ""] [["A" "b"]]` {
		t.Errorf("%v, ran %s", err, seen)
	}
	if err := g.RunCapsule(context.Background(), &wasmhost.Instance{}); err != nil {
		t.Errorf("without a shell: %v", err)
	}
}
