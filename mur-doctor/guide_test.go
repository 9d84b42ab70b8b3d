package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/murtest"
)

var block = regexp.MustCompile("(?s)```(sh|output)\n(.*?)```")

// Every command in docs/guides/check-a-host.md is run, and prints what the page
// says it prints.
func TestGuide(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed: scripts/install-test-deps.sh installs it")
	}
	text, err := os.ReadFile("../docs/guides/check-a-host.md")
	if err != nil {
		t.Fatal(err)
	}
	murtest.Home(t)
	bin := filepath.Dir(murtest.Command(t, "mur-doctor"))
	murtest.Command(t, "mur-stage")
	murtest.Command(t, "mur-launch")
	project := t.TempDir()
	if err := write(project, map[string]string{"murmur.yaml": "name: report\nversion: '1'\ncapabilities: {env: {allow: [REPORT_API]}}\n", "capsule.wasm": "core"}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	blocks := block.FindAllSubmatch(text, -1)
	commands := 0
	for i, b := range blocks {
		if string(b[1]) != "sh" {
			continue
		}
		commands++
		cmd := exec.CommandContext(ctx, "sh", "-c", string(b[2]))
		cmd.Dir = project
		out, err := cmd.CombinedOutput()
		if i+1 < len(blocks) && string(blocks[i+1][1]) == "output" {
			if want := string(blocks[i+1][2]); string(out) != want || err != nil {
				t.Errorf("%s\n%v, prints\n%s\nand the page says\n%s", b[2], err, out, want)
			}
		} else if len(out) == 0 {
			t.Errorf("%s\n%v, prints nothing", b[2], err)
		}
	}
	if commands < 7 {
		t.Errorf("%d commands", commands)
	}
}
