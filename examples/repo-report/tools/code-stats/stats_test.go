package main

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCollect(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	root := fstest.MapFS{
		"a.go":                    file("package a\n\nfunc F() {\n}\n\nfunc (t *T[K]) G(\n\tx int,\n) int {\n\treturn x\n}\n"),
		"sub/b.go":                file("package b\nfunc broken( {"),
		"c.py":                    file("class A:\n    def f(self,\n          x\n    ):\n        return 1\n\n    def g(self): pass\nx = 1\n"),
		"d.rs":                    file("pub async fn run() {\n    if x {\n    }\n}\n"),
		"e.c":                     file("int decl(void);\nstatic int *f(int a,\n  int b) {\n  g(a);\n  return 0;\n}\n"),
		"empty.js":                file(""),
		"notes.txt":               file("no source\n"),
		"bin.go":                  file("\x00\x01"),
		"huge.json":               file(strings.Repeat("x", maxFile+1)),
		".git/x.go":               file("package hidden\n"),
		"vendor/v/v.go":           file("package v\n"),
		"out/report.md":           file("# old report\n"),
		"sub/out/kept.md":         file("# kept\n"),
		"Makefile":                file("all:\n"),
		"node_modules/m/index.js": file("x\n"),
	}
	s, err := Collect(root, Input{Longest: 3})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(s)
	want := `{"files":8,"lines":32,"blank":3,"languages":[` +
		`{"name":"Go","files":2,"lines":12,"blank":2},` +
		`{"name":"Python","files":1,"lines":8,"blank":1},` +
		`{"name":"C","files":1,"lines":6,"blank":0},` +
		`{"name":"Rust","files":1,"lines":4,"blank":0},` +
		`{"name":"Makefile","files":1,"lines":1,"blank":0},` +
		`{"name":"Markdown","files":1,"lines":1,"blank":0},` +
		`{"name":"JavaScript","files":1,"lines":0,"blank":0}],` +
		`"functions":[{"name":"T.G","file":"a.go","line":6,"lines":5},` +
		`{"name":"f","file":"e.c","line":2,"lines":5},` +
		`{"name":"f","file":"c.py","line":2,"lines":4}],"skipped":2}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCollectNoRoot(t *testing.T) {
	if _, err := Collect(fstest.MapFS{}, Input{}); err != nil {
		t.Fatal(err) // an empty folder is fine
	}
	if _, err := Collect(brokenFS{fstest.MapFS{}}, Input{}); err == nil {
		t.Fatal("a folder that can not be read gave a report")
	}
}

// brokenFS is a folder whose listing fails.
type brokenFS struct{ fstest.MapFS }

func (brokenFS) Open(name string) (fs.File, error)          { return nil, fs.ErrPermission }
func (brokenFS) Stat(name string) (fs.FileInfo, error)      { return nil, fs.ErrPermission }
func (brokenFS) ReadDir(name string) ([]fs.DirEntry, error) { return nil, fs.ErrPermission }
