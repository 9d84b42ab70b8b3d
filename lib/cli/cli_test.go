package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"

	"github.com/mur-capsules/mur/lib/diag"
)

func run(t *testing.T, action ucli.ActionFunc, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	env := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut, Args: args, Now: func() time.Time { return time.UnixMilli(7) }}
	app := &ucli.App{
		Name:  "mur-test",
		Flags: []ucli.Flag{JSONFlag()},
		Commands: []*ucli.Command{{
			Name:   "do",
			Flags:  []ucli.Flag{JSONFlag(), &ucli.StringFlag{Name: "name"}},
			Action: action,
		}},
	}
	status = Run(context.Background(), env, app)
	return status, out.String(), errOut.String()
}

// DIA-1, DIA-4, DIA-27, DIA-28, DIA-29, SES-198
func TestRunRendersWhatTheActionReturns(t *testing.T) {
	coded := diag.Errorf("E-IO-001", "no such file /x").Hint("make it")
	for _, tc := range []struct {
		name   string
		err    error
		args   []string
		status int
		stderr string
	}{
		{"success", nil, []string{"do"}, 0, ""},
		{"coded", coded, []string{"do"}, 1, "error[E-IO-001]: no such file /x\n  hint: make it\n"},
		{"wrapped", fmt.Errorf("while reading: %w", coded), []string{"do"}, 1, "error[E-IO-001]: while reading: no such file /x\n  hint: make it\n"},
		{"uncoded", errors.New("odd"), []string{"do"}, 1, "error[E-IO-003]: odd\n"},
		{"usage", diag.Usagef("no"), []string{"do"}, 2, "error: no\n"},
		{"silent exit", Exit(5), []string{"do"}, 5, ""},
		{"reader gone", fmt.Errorf("write: %w", syscall.EPIPE), []string{"do"}, 141, ""},
		{"unknown flag", nil, []string{"do", "--nope"}, 2, "error: flag provided but not defined: -nope; see --help\n"},
		{"unknown command", nil, []string{"dont"}, 2, "error: unknown command \"dont\"; see --help\n"},
		{"no command", nil, nil, 2, "error: a command is needed; see --help\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, stdout, stderr := run(t, func(*ucli.Context) error { return tc.err }, tc.args...)
			if status != tc.status || stderr != tc.stderr || stdout != "" {
				t.Errorf("status %d, stdout %q, stderr %q; want %d, \"\", %q", status, stdout, stderr, tc.status, tc.stderr)
			}
		})
	}
}

// DIA-12 to DIA-21
func TestJSONDiagnostics(t *testing.T) {
	_, _, stderr := run(t, func(*ucli.Context) error {
		return diag.Errorf("E-CAP-002", "bad scope").In("check").Name("scope", "../x").
			About(diag.Subject{Kind: diag.ManifestKey, Name: "capabilities.filesystem.scope", File: "/m/murmur.yaml", Line: 12})
	}, "do", "--json")
	var got map[string]any
	if err := json.Unmarshal([]byte(stderr), &got); err != nil {
		t.Fatalf("%v in %q", err, stderr)
	}
	want := map[string]any{
		"level": "error", "code": "E-CAP-002", "message": "bad scope", "hints": []any{}, "command": "mur-test", "phase": "check",
		"subject": map[string]any{"kind": "manifest_key", "name": "capabilities.filesystem.scope", "file": "/m/murmur.yaml", "line": 12.0},
		"names":   map[string]any{"scope": "../x"}, "time": 7.0, "exit": 1.0,
	}
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}

// DIA-37
func TestPanicIsReported(t *testing.T) {
	status, _, stderr := run(t, func(*ucli.Context) error { panic("boom") }, "do")
	if status != 1 || !strings.HasPrefix(stderr, "error[E-IO-003]: internal failure: boom") || !strings.Contains(stderr, "cli_test.go") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

func TestFlagsMayFollowArguments(t *testing.T) {
	for _, tc := range []struct{ args, want []string }{
		{[]string{"do", "a", "--name", "x", "b"}, []string{"x", "a", "b"}},
		{[]string{"do", "a", "--name=x", "--", "--name", "y"}, []string{"x", "a", "--", "--name", "y"}},
		{[]string{"do", "--", "--name"}, []string{"", "--name"}},
		{[]string{"do", "-", "--name", "x"}, []string{"x", "-"}},
	} {
		var got []string
		run(t, func(c *ucli.Context) error {
			got = append([]string{c.String("name")}, c.Args().Slice()...)
			return nil
		}, tc.args...)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.args, got, tc.want)
		}
	}
}

// The help of a command names the defaults that tell something, and no other, for
// the flags of the program and of each command beneath it. DIA-212
func TestHelpSaysDefaultsThatTell(t *testing.T) {
	flags := func() []ucli.Flag {
		return []ucli.Flag{
			JSONFlag(), &ucli.BoolFlag{Name: "colour", Usage: "in colour", Value: true}, &ucli.StringFlag{Name: "file", Usage: "a `FILE`", Value: "x.yaml"},
			&ucli.IntFlag{Name: "seconds", Usage: "so many `SECONDS`"}, &ucli.Int64Flag{Name: "tokens", Usage: "so many `TOKENS`"}, &ucli.IntFlag{Name: "lines", Usage: "so many `LINES`", Value: 10}, &ucli.IntFlag{Name: "last", Usage: "so `MANY`", DefaultText: "all"},
		}
	}
	for _, args := range [][]string{{"--help"}, {"do", "--help"}, {"do", "it", "--help"}} {
		var out, errOut bytes.Buffer
		app := &ucli.App{Name: "mur-test", Flags: flags(), Commands: []*ucli.Command{{
			Name: "do", Flags: flags(), Subcommands: []*ucli.Command{{Name: "it", Flags: flags()}},
		}}}
		if status := Run(context.Background(), Env{Stdout: &out, Stderr: &errOut, Args: args}, app); status != 0 {
			t.Fatalf("%q: status %d: %s", args, status, errOut.Bytes())
		}
		var said []string
		for line := range strings.Lines(out.String()) {
			if _, rest, ok := strings.Cut(line, "(default: "); ok {
				said = append(said, strings.Fields(line)[0]+" "+strings.TrimSuffix(strings.TrimSpace(rest), ")"))
			}
		}
		want := []string{"--colour true", `--file "x.yaml"`, "--seconds none", "--tokens none", "--lines 10", "--last all"}
		if !slices.Equal(said, want) || !strings.Contains(out.String(), "--json") {
			t.Errorf("%q: the defaults are %q, want %q, in\n%s", args, said, want, out.Bytes())
		}
	}
}

// DIA-207
func TestVersion(t *testing.T) {
	status, stdout, _ := run(t, nil, "--version")
	build := fmt.Sprintf("mur-test %s (%s/%s, %s", Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
	if status != 0 || stdout != build+")\n" {
		t.Errorf("status %d, stdout %q", status, stdout)
	}
	var out bytes.Buffer
	app := &ucli.App{Name: "mur-test", Metadata: map[string]any{Reads: "a/1", Writes: "b/2"}}
	status = Run(context.Background(), Env{Stdout: &out, Args: []string{"--version"}}, app)
	if status != 0 || out.String() != build+", writes b/2, reads a/1)\n" {
		t.Errorf("status %d, stdout %q", status, &out)
	}
}
