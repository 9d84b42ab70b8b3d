// Package recipe finds the body of a build recipe that a call of make, just or npm
// names, so that hooks and the trace can see what will run (SHL section 11). It
// never changes what runs and never fails: where it can not tell it says nothing.
// Nothing is expanded and nothing is executed.
package recipe

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// Bounds of SHL-131.
const (
	maxFile  = 256 << 10
	maxBody  = 64 << 10
	maxFiles = 32
	maxDepth = 8
)

// Find returns the body for a direct call of an entry with arguments, or false.
// work is the work folder; it must not follow links out of itself, as os.Root's
// file system does not.
func Find(work fs.FS, entry string, args []string) (string, bool) {
	f := &finder{work: work}
	var body string
	var ok bool
	switch entry {
	case "make":
		body, ok = f.make(args)
	case "just":
		body, ok = f.just(args)
	case "npm":
		body, ok = f.npm(args)
	}
	if !ok || f.failed || len(body) > maxBody {
		return "", false
	}
	return body, true
}

type finder struct {
	work   fs.FS
	files  int
	failed bool // some bound was met: nothing is told
}

// read reads a file of the work folder; false when there is none. Anything but a
// short UTF-8 file ends the search.
func (f *finder) read(name string) (string, bool) {
	if f.failed || !fs.ValidPath(name) {
		f.failed = true
		return "", false
	}
	in, err := f.work.Open(name)
	if err != nil {
		return "", false
	}
	defer in.Close()
	st, err := in.Stat()
	f.files++
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxFile || f.files > maxFiles {
		f.failed = true
		return "", false
	}
	data := make([]byte, st.Size())
	n := 0
	for n < len(data) {
		k, err := in.Read(data[n:])
		n += k
		if err != nil {
			break
		}
	}
	if n < len(data) || !utf8.Valid(data) {
		f.failed = true
		return "", false
	}
	return string(data), true
}

// first reads the first of several names in a directory.
func (f *finder) first(dir string, names ...string) (string, bool) {
	for _, n := range names {
		if text, ok := f.read(path.Join(dir, n)); ok || f.failed {
			return text, ok
		}
	}
	return "", false
}

// npm answers "run SCRIPT" (SHL-135).
func (f *finder) npm(args []string) (string, bool) {
	if len(args) != 2 || args[0] != "run" && args[0] != "run-script" {
		return "", false
	}
	text, ok := f.read("package.json")
	var p struct {
		Scripts map[string]string `json:"scripts"`
	}
	if !ok || json.Unmarshal([]byte(text), &p) != nil {
		return "", false
	}
	_, pre := p.Scripts["pre"+args[1]]
	_, post := p.Scripts["post"+args[1]]
	body, ok := p.Scripts[args[1]]
	return body, ok && !pre && !post
}

// lines splits text without its line ends.
func lines(text string) []string {
	return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
}
