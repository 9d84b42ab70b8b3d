package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
)

// example is a block of commands of the guide with what it prints and its status.
type example struct {
	commands, output string
	status           int
}

var block = regexp.MustCompile("(?s)```(sh|output|status)\n(.*?)```")

func examples(t *testing.T, text string) []example {
	t.Helper()
	var out []example
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] == "sh":
			out = append(out, example{commands: m[2]})
		case len(out) == 0:
			t.Fatalf("an output before any command: %q", m[2])
		case m[1] == "output":
			out[len(out)-1].output = m[2]
		default:
			n, err := strconv.Atoi(strings.TrimSpace(m[2]))
			if err != nil {
				t.Fatal(err)
			}
			out[len(out)-1].status = n
		}
	}
	return out
}

// The commands of the guide print what it says they print; ... stands for
// anything.
func TestGuide(t *testing.T) {
	needs(t, policy.Scoped)
	text, err := os.ReadFile("../../../docs/guides/confine-a-command.md")
	if err != nil {
		t.Fatal(err)
	}
	shell, _ := built(t)
	base, work := workshop(t, nil)
	for _, e := range examples(t, string(text)) {
		for _, tool := range []string{"git", "gcc", "curl"} {
			if _, err := exec.LookPath(tool); err != nil && strings.Contains(e.commands, "-- "+tool) {
				t.Logf("no program %s: not run: %s", tool, e.commands)
				e.commands = ""
			}
		}
		if e.commands == "" {
			continue
		}
		cmd := exec.Command("sh", "-c", e.commands)
		cmd.Dir = work
		cmd.Env = []string{"PATH=" + filepath.Dir(shell) + ":/usr/bin:/bin", "HOME=" + base, "MURMUR_HOME=" + filepath.Join(base, "home")}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		// A host without delegated cgroups says so in one line.
		said := regexp.MustCompile(`(?m)^warning\[W-SEC-010\].*\n`).ReplaceAllString(string(out), "")
		pattern := strings.ReplaceAll(regexp.QuoteMeta(e.output), `\.\.\.`, `(?s:.*)`)
		if !regexp.MustCompile(`^` + pattern + `$`).MatchString(said) {
			t.Errorf("%s\nprints\n%s\nand not\n%s", e.commands, said, e.output)
		}
		if status := cmd.ProcessState.ExitCode(); status != e.status {
			t.Errorf("%s\nends with %d, not %d", e.commands, status, e.status)
		}
	}
}
