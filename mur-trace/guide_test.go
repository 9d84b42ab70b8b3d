package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/murtest"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/trace/tracegen"
	"github.com/mur-capsules/mur/lib/workfs"
)

var block = regexp.MustCompile("(?s)```(sh|output)\n(.*?)```")

// Every command in docs/guides/read-a-trace.md is run, and prints what the page
// says it prints.
func TestGuide(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed: scripts/install-test-deps.sh installs it")
	}
	text, err := os.ReadFile("../docs/guides/read-a-trace.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Dir(murtest.Command(t, "mur-trace"))
	home := murtest.Home(t)
	project := t.TempDir()
	dir := guideRecords(t, home, project)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	questions, blocks := 0, block.FindAllSubmatch(text, -1)
	for i, b := range blocks {
		if string(b[1]) != "sh" {
			continue
		}
		questions++
		command := string(b[2])
		cmd := exec.Command("sh", "-c", "set -e\n"+command)
		cmd.Dir = project
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := runFor(cmd, 30*time.Second); err != nil {
			t.Errorf("%s\n%v\n%s", command, err, out.Bytes())
			continue
		}
		if i+1 == len(blocks) || string(blocks[i+1][1]) != "output" {
			continue
		}
		want := string(blocks[i+1][2])
		got := strings.ReplaceAll(out.String(), dir, "~/.murmur/records/demo")
		if !same(want, got) {
			t.Errorf("%s\nprints\n%s\nand the page says\n%s", command, got, want)
		}
	}
	if questions < 12 {
		t.Errorf("%d commands", questions)
	}
}

func runFor(cmd *exec.Cmd, limit time.Duration) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	kill := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	return cmd.Wait()
}

// same compares line by line; a line "..." stands for any number of lines.
func same(want, got string) bool {
	var pattern strings.Builder
	pattern.WriteString("(?s)^")
	for line := range strings.Lines(want) {
		if line == "...\n" {
			pattern.WriteString("(?:.*\n)?")
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(strings.TrimRight(line, " \n")) + " *\n")
	}
	return regexp.MustCompile(pattern.String() + "$").MatchString(got)
}

// guideRecords makes the two sessions the page speaks of, sealed, as those of
// the project, and returns the directory they lie in.
func guideRecords(t *testing.T, home, project string) string {
	t.Helper()
	project, err := filepath.EvalSymlinks(project)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "records", project)
	mur, err := workfs.FindHome([]string{"MURMUR_HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	key, err := trace.LoadKey(mur)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"before", "after"} {
		script, err := os.ReadFile("testdata/guide/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		id := strings.Fields(string(script))[1]
		records := filepath.Join(dir, id)
		if err := os.MkdirAll(records, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := tracegen.Script(records, string(script)); err != nil {
			t.Fatal(err)
		}
		root, err := workfs.OpenRoot(records, workfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		log, err := trace.Reopen(root, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Seal(key, nil); err != nil {
			t.Fatal(err)
		}
		log.Close()
		root.Close()
	}
	return dir
}
