package closure

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The closure of a real program must hold what the dynamic loader says it loads.
// CON-76, CON-77
func TestClosureIsWhatTheLoaderLoads(t *testing.T) {
	for _, name := range []string{"ls", "sh", "git", "gcc"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Logf("%s is not installed", name)
			continue
		}
		out, err := exec.Command("ldd", path).Output()
		if err != nil {
			t.Skipf("ldd %s: %v", path, err)
		}
		got := Find([]string{name}, os.Getenv("PATH"))[0]
		for line := range strings.Lines(string(out)) {
			fields := strings.Fields(line)
			for _, f := range fields {
				if !strings.HasPrefix(f, "/") {
					continue
				}
				real, err := filepath.EvalSymlinks(f)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(got.Closure, real) {
					t.Errorf("%s: %s is not in the closure %v", name, real, got.Closure)
				}
			}
		}
	}
}

// CON-74, CON-75, CON-78
func TestFind(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	write := func(path, text string, mode os.FileMode) {
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(a+"/tool", "#!/bin/sh\n", 0o755)
	write(b+"/tool", "data", 0o755)
	write(a+"/plain", "data", 0o644)
	if err := os.Symlink(a+"/tool", b+"/linked"); err != nil {
		t.Fatal(err)
	}
	path := a + ":relative:" + b
	sh, ok := executable("/bin/sh")
	if !ok {
		t.Skip("no /bin/sh")
	}

	got := Find([]string{"tool", "plain", "linked", "missing"}, path)
	if !slices.Equal(got[0].Paths, []string{a + "/tool", b + "/tool"}) || got[0].Interpreter != "/bin/sh" || slices.Contains(got[0].Closure, sh) {
		t.Errorf("tool: %+v", got[0])
	}
	if len(got[1].Paths) != 0 || len(got[1].Closure) != 0 {
		t.Errorf("plain: %+v", got[1])
	}
	if !slices.Equal(got[2].Paths, []string{a + "/tool"}) {
		t.Errorf("linked: %+v", got[2])
	}
	if got[3].Paths == nil || len(got[3].Paths) != 0 {
		t.Errorf("missing: %+v", got[3])
	}
	with := Find([]string{"tool", "/bin/sh"}, path)
	if !slices.Contains(with[0].Closure, sh) || len(with[0].Closure) < 3 {
		t.Errorf("tool beside its interpreter: %+v", with[0])
	}
}

// CON-43
func TestScriptInterpreter(t *testing.T) {
	env := "/usr/bin/env"
	sh := onUsualPath("sh")
	for line, want := range map[string]string{
		"#!/bin/sh\nrest":               "/bin/sh",
		"#! /opt/x/python3 -u\r\n":      "/opt/x/python3",
		"#!" + env + " sh\n":            sh,
		"#!" + env + " -S A=1 sh -e\n":  sh,
		"#!" + env + " -Ssh -e\n":       sh,
		"#!" + env + " nosuchprogram\n": "nosuchprogram",
		"#!" + env + "\n":               env,
		"no script":                     "",
		"":                              "",
		"#!\n":                          "",
	} {
		// The file is cut where the section reader of needs cuts it.
		if got := scriptInterpreter(strings.NewReader(line[:min(len(line), shebangLimit)])); got != want && runtime.GOOS == "linux" {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func FuzzScriptInterpreter(f *testing.F) {
	f.Add("#!/bin/sh\n")
	f.Add("#!/usr/bin/env -S A=1 sh\n")
	f.Fuzz(func(t *testing.T, line string) {
		got := scriptInterpreter(strings.NewReader(line))
		if got != "" && !strings.HasPrefix(line, "#!") {
			t.Errorf("%q has the interpreter %q", line, got)
		}
	})
}
