package app_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine/probe"
	"github.com/mur-capsules/mur/lib/murtest/sample"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-stage/internal/app"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mur-stage": func() { cli.Main(app.Run) }})
}

// The scripts say what mur-stage does; each begins with the requirements it
// proves. Beside the usual commands they have:
//
//	wasm FILE core|component|text...   write a guest
//	elf FILE MACHINE                   write the header of a program for an ELF machine
//	publish SCOPE DIR                  pack DIR and put it into the project store
//	document FILE                      check that FILE is a document, and nothing else
//	field FILE PATH VALUE              compare a member of a JSON file
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("MURMUR_HOME", "")
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"bundle": makeBundle, "sign": signAs, "shelve": shelve, "unused": unused, "wasm": writeGuest, "elf": writeHeader, "publish": publish, "document": isDocument, "field": field,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "components":
				_, ok := component.Info()
				return ok, nil
			case "netns":
				return probe.Host().NetNS, nil
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, nil
		},
		RequireExplicitExec: true,
	})
}

// toolComponent is a component that exports murmur:tool/run and traps.
const toolComponent = `(component
  (core module $m
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable)
    (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable))
  (core instance $i (instantiate $m))
  (type $status' (enum "passed" "failed" "error"))
  (export $status "status" (type $status'))
  (type $input' (record (field "data" (option string)) (field "log-path" (option string))))
  (export $input "tool-input" (type $input'))
  (type $result' (record (field "status" $status) (field "summary" (option string)) (field "data" (option string))
    (field "data-path" (option string)) (field "truncated" bool) (field "metadata" (list (tuple string string)))))
  (export $result "tool-result" (type $result'))
  (func $run (param "input" $input) (result $result)
    (canon lift (core func $i "run") (memory $i "memory") (realloc (func $i "realloc"))))
  (instance $out (export "status" (type $status)) (export "tool-input" (type $input)) (export "tool-result" (type $result))
    (export "run" (func $run)))
  (export "murmur:tool/run@VERSION" (instance $out)))`

func writeGuest(ts *testscript.TestScript, neg bool, args []string) {
	var data []byte
	var err error
	switch kind := args[1]; {
	case kind == "core":
		data = sample.CoreGuest
	case strings.HasPrefix(kind, "component"):
		version := "0.1.0"
		if _, v, ok := strings.Cut(kind, "@"); ok {
			version = v
		}
		data, err = component.Wat(strings.ReplaceAll(toolComponent, "VERSION", version))
	default:
		data, err = component.Wat(strings.Join(args[1:], " "))
	}
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, data, 0o644))
}

func writeHeader(ts *testscript.TestScript, neg bool, args []string) {
	machine, err := strconv.ParseUint(args[1], 10, 8)
	ts.Check(err)
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	header[18] = byte(machine)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, header, 0o755))
}

func publish(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(sample.Publish(ts.MkAbs("."), args[0], ts.MkAbs(args[1])))
}

func isDocument(ts *testscript.TestScript, neg bool, args []string) {
	data := ts.ReadFile(args[0])
	d, err := session.Decode([]byte(data), args[0], nil)
	ts.Check(err)
	ts.Check(d.VerifyFiles(context.Background()))
	held, err := d.Hold(&workfs.Latch{})
	ts.Check(err)
	held.Close()
	staged, err := os.ReadFile(filepath.Join(d.Directories.Session.Path, session.DocumentName))
	ts.Check(err)
	if string(staged) != data {
		ts.Fatalf("staged.json is not what was printed")
	}
	ts.Setenv("ID", d.SessionID)
	ts.Setenv("SESSION", d.Directories.Session.Path)
	ts.Setenv("RUNTIME", d.Directories.Runtime.Path)
	ts.Setenv("RECORDS", d.Directories.Records.Path)
	ts.Setenv("WORKDIR", d.Directories.Work.Path)
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for _, key := range strings.Split(args[1], ".") {
		switch at := v.(type) {
		case map[string]any:
			member, ok := at[key]
			if !ok {
				ts.Fatalf("no member %s of %s", key, args[1])
			}
			v = member
		case []any:
			i := strings.IndexByte("0123456789", key[0])
			if i < 0 || i >= len(at) {
				ts.Fatalf("no element %s of %s", key, args[1])
			}
			v = at[i]
		default:
			ts.Fatalf("%s: no member %s", args[1], key)
		}
	}
	text, err := json.Marshal(v)
	ts.Check(err)
	got := string(text)
	if s, ok := v.(string); ok {
		got = s
	}
	if (got == args[2]) == neg {
		ts.Fatalf("%s is %s, want %s (negated: %v)", args[1], got, args[2], neg)
	}
}
