package main

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/artifact"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mur-lock": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: setupScript,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"mkzip": mkzip,
			"mode":  mode,
			"hide":  hide,

			"replace": replace,

			"mkcomponent": mkcomponent,
			"mkcore":      mkcore,
		},
	})
}

func setupScript(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("MURMUR_HOME", "")
	env.Setenv("HOST", artifact.Host())
	return os.Mkdir(home, 0o755)
}

// mkzip makes a zip file as an ordinary program does: mkzip <zip> <dir> <file>...
func mkzip(ts *testscript.TestScript, neg bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	w := zip.NewWriter(f)
	for _, name := range args[2:] {
		data, err := os.ReadFile(filepath.Join(ts.MkAbs(args[1]), name))
		ts.Check(err)
		e, err := w.Create(name)
		ts.Check(err)
		_, err = e.Write(data)
		ts.Check(err)
	}
	ts.Check(w.Close())
}

// replace changes text in a file: replace <old> <new> <file>; \\n is a line break.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[2])
	data, err := os.ReadFile(path)
	ts.Check(err)
	out := strings.ReplaceAll(string(data), args[0], strings.ReplaceAll(args[1], `\n`, "\n"))
	if out == string(data) {
		ts.Fatalf("%s does not hold %q", args[2], args[0])
	}
	ts.Check(os.WriteFile(path, []byte(out), 0o644))
}

// mkcomponent makes an empty component that exports an instance under a name:
// mkcomponent <path> <name>.
func mkcomponent(ts *testscript.TestScript, neg bool, args []string) {
	export := "\x01\x00" + string(rune(len(args[1]))) + args[1] + "\x05\x00\x00"
	wasm := "\x00asm\x0d\x00\x01\x00\x0b" + string(rune(len(export))) + export
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(wasm), 0o644))
}

// mkcore makes the smallest core module that can be a guest: mkcore <path>.
func mkcore(ts *testscript.TestScript, neg bool, args []string) {
	wasm := "\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x05\x03\x01\x00\x01" +
		"\x07\x13\x02\x06memory\x02\x00\x06_start\x00\x00" + "\x0a\x04\x01\x02\x00\x0b"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(wasm), 0o644))
}

// mode checks permission bits: mode <octal> <path>.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	fi, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	got := fmt.Sprintf("%o", fi.Mode().Perm())
	if (got == args[0]) == neg {
		ts.Fatalf("%s has mode %s", args[1], got)
	}
}

// hide checks that a directory holds nothing whose name begins with a dot, the
// guards of locks aside: no write has left anything behind.
func hide(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(filepath.Walk(ts.MkAbs(args[0]), func(path string, fi os.FileInfo, err error) error {
		name := filepath.Base(path)
		if path == filepath.Join(ts.Getenv("WORK"), ".tmp") {
			return filepath.SkipDir // testscript's own
		}
		if err == nil && strings.HasPrefix(name, ".") && name != ".guard" && name != ".murmur.lock.guard" && name != ".murmur" {
			ts.Fatalf("left behind: %s", path)
		}
		return err
	}))
}
