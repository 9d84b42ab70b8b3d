// Package closure finds the files a program needs to start: the program, its ELF
// interpreter, and the libraries it and they name (CON section 7.2). It reads
// files and runs none of them; mur-stage calls it once for each entry of
// shell.allow, and mur-shell for a policy without a session.
package closure

import (
	"bufio"
	"debug/elf"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// maxFiles bounds the walk of one program (CON-80).
const maxFiles = 512

// Program is what an entry of shell.allow stands for.
type Program struct {
	Entry string
	// Paths are the executable matches, canonical, the first the one that runs;
	// empty when there is none (CON-75).
	Paths []string
	// Closure are the files that get execute and read, canonical and sorted,
	// Paths among them.
	Closure []string
	// Cut says that the walk stopped at its bound, with what was found so far.
	Cut bool
	// Interpreter is the program a #! script names, "" for anything else.
	Interpreter string
}

// Find resolves the entries of an allow list together: a script's interpreter
// adds its closure only if it is itself an entry (CON-78). pathList is the value
// of PATH; a bare name contributes every match on it (CON-74).
func Find(entries []string, pathList string) []Program {
	out := make([]Program, len(entries))
	allowed := map[string]bool{}
	for i, e := range entries {
		out[i] = Program{Entry: e, Paths: matches(e, pathList)}
		for _, p := range out[i].Paths {
			allowed[p] = true
		}
	}
	for i := range out {
		out[i].walk(allowed)
	}
	return out
}

func matches(entry, pathList string) []string {
	if strings.Contains(entry, "/") {
		if p, ok := executable(entry); ok {
			return []string{p}
		}
		return []string{}
	}
	found := []string{}
	for _, dir := range filepath.SplitList(pathList) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if p, ok := executable(filepath.Join(dir, entry)); ok && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found
}

// executable canonicalises a path to a regular file that somebody may execute.
func executable(path string) (string, bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	st, err := os.Stat(real)
	if err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return "", false
	}
	abs, err := filepath.Abs(real)
	return abs, err == nil
}

// walk collects the closure, breadth first, each file once.
func (p *Program) walk(allowed map[string]bool) {
	seen := map[string]bool{}
	queue := slices.Clone(p.Paths)
	for len(queue) > 0 {
		file := queue[0]
		queue = queue[1:]
		if seen[file] {
			continue
		}
		if len(seen) == maxFiles {
			p.Cut = true
			break
		}
		seen[file] = true
		next, interpreter := needs(file)
		queue = append(queue, next...)
		if interpreter != "" {
			p.Interpreter = interpreter
			if real, ok := executable(interpreter); ok && allowed[real] {
				queue = append(queue, real)
			}
		}
	}
	p.Closure = make([]string, 0, len(seen))
	for f := range seen {
		p.Closure = append(p.Closure, f)
	}
	slices.Sort(p.Closure)
}

// needs names what one file needs to start: for an ELF file of this machine its
// interpreter and libraries, for a script the interpreter of its first line,
// for anything else nothing.
func needs(file string) (files []string, interpreter string) {
	f, err := os.Open(file)
	if err != nil {
		return nil, ""
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		return nil, scriptInterpreter(io.NewSectionReader(f, 0, shebangLimit))
	}
	defer e.Close()
	if e.Class != elf.ELFCLASS64 || e.Machine != machine() {
		return nil, ""
	}
	for _, prog := range e.Progs {
		if prog.Type == elf.PT_INTERP {
			if b, err := io.ReadAll(io.LimitReader(prog.Open(), 4096)); err == nil {
				if real, ok := regular(strings.TrimRight(string(b), "\x00")); ok {
					files = append(files, real)
				}
			}
		}
	}
	libs, err := e.ImportedLibraries()
	if err != nil {
		return files, ""
	}
	dirs := searchDirs(e, filepath.Dir(file))
	for _, lib := range libs {
		if real, ok := find(lib, dirs); ok {
			files = append(files, real)
		}
	}
	return files, ""
}

func machine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// searchDirs are the directories of CON-76: those the file names itself, then
// the system's.
func searchDirs(e *elf.File, origin string) []string {
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		values, err := e.DynString(tag)
		if err != nil {
			continue
		}
		for _, v := range values {
			for _, d := range strings.Split(v, ":") {
				d = strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin).Replace(d)
				if filepath.IsAbs(d) {
					dirs = append(dirs, filepath.Clean(d))
				}
			}
		}
	}
	multiarch := "x86_64-linux-gnu"
	if runtime.GOARCH == "arm64" {
		multiarch = "aarch64-linux-gnu"
	}
	for _, d := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64"} {
		dirs = append(dirs, d, filepath.Join(d, multiarch))
	}
	return dirs
}

func find(lib string, dirs []string) (string, bool) {
	if strings.Contains(lib, "/") {
		return regular(lib)
	}
	for _, d := range dirs {
		if real, ok := regular(filepath.Join(d, lib)); ok {
			return real, true
		}
	}
	return "", false
}

func regular(path string) (string, bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(real) {
		return "", false
	}
	st, err := os.Stat(real)
	return real, err == nil && st.Mode().Type() == fs.FileMode(0)
}

// shebangLimit is how much of a script is looked at (CON-43).
const shebangLimit = 512

// scriptInterpreter reads the program a #! line runs. For env it is the program
// env would look for, as a bare name on the usual directories, past -S and
// leading NAME=value words (CON-43).
func scriptInterpreter(r io.Reader) string {
	line, err := bufio.NewReaderSize(r, shebangLimit).ReadString('\n')
	if err != nil && err != io.EOF {
		return ""
	}
	words := strings.Fields(strings.TrimRight(strings.TrimPrefix(line, "#!"), "\r\n"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, w := range words[1:] {
		switch {
		case w == "-S" || w == "--split-string":
		case strings.HasPrefix(w, "-S") && len(w) > 2:
			return onUsualPath(w[2:])
		case strings.HasPrefix(w, "-") || strings.Contains(w, "="):
		default:
			return onUsualPath(w)
		}
	}
	return words[0]
}

func onUsualPath(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, d := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		if _, ok := executable(filepath.Join(d, name)); ok {
			return filepath.Join(d, name)
		}
	}
	return name
}

// Libraries are the files that shared objects need, canonical and sorted, without
// the objects themselves: what an interpreter's extension modules load (CON-79).
func Libraries(objects []string) []string {
	p := Program{Paths: objects}
	p.walk(nil)
	return slices.DeleteFunc(p.Closure, func(f string) bool { return slices.Contains(objects, f) })
}
