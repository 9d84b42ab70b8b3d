package grants

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/confine/closure"
	"github.com/mur-capsules/mur/lib/policy"
)

// family is a program that comes with others which it starts by itself, and says
// where they are: git's own commands, the tools of Go, what a compiler driver
// passes its work on to (CON-288).
type family struct {
	name     func() *regexp.Regexp // of the allowed program's file
	compiler bool                  // its programs are granted only where the request says so
	members  func(ctx context.Context, h Host, program string) (programs, reads []string)
}

// pattern is a regular expression compiled when it is first asked: every start of
// a program would pay for it otherwise.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// maxMembers bounds the programs of one family.
const maxMembers = 64

var families = []family{
	{pattern(`^git$`), false, gitFamily},
	{pattern(`^go(\d+(\.\d+)*)?$`), false, goFamily},
	{pattern(`^([a-z0-9_]+-)*(cc|gcc|g\+\+|c\+\+|clang|clang\+\+)(-\d+(\.\d+)*)?$`), true, compilerFamily},
}

// gitFamily are the programs of git's own directory, its templates, and the
// host's configuration, which git reads or does not work.
func gitFamily(ctx context.Context, h Host, program string) (programs, reads []string) {
	dir, err := h.Ask(ctx, program, "--exec-path")
	if err != nil {
		return nil, nil
	}
	dir = strings.TrimSpace(dir)
	return h.Programs(dir), []string{"/etc/gitconfig", "/usr/share/git-core/templates", dir}
}

// goFamily are the tools of a Go installation and its sources.
func goFamily(ctx context.Context, h Host, program string) (programs, reads []string) {
	text, err := h.Ask(ctx, program, "env", "GOROOT", "GOTOOLDIR")
	root, tools, two := strings.Cut(strings.TrimSpace(text), "\n")
	if err != nil || !two {
		return nil, nil
	}
	programs = append(h.Programs(filepath.Join(root, "bin")), h.Programs(tools)...)
	return programs, []string{root, "/etc/mime.types"}
}

// compilerFamily are what a driver starts, and the directories of its headers and
// libraries.
func compilerFamily(ctx context.Context, h Host, program string) (programs, reads []string) {
	names := []string{"cc1", "cc1plus", "collect2", "lto-wrapper", "as", "ld"}
	files := []string{"crt1.o", "crtbegin.o", "libgcc.a", "libstdc++.so", "include"}
	answers := make([]string, len(names)+len(files))
	var wg sync.WaitGroup
	for i, flag := range append(prefixed("-print-prog-name=", names), prefixed("-print-file-name=", files)...) {
		wg.Go(func() {
			if text, err := h.Ask(ctx, program, flag); err == nil {
				answers[i] = strings.TrimSpace(text)
			}
		})
	}
	wg.Wait()
	for _, a := range answers[:len(names)] {
		for _, dir := range []string{"", "/usr/local/bin", "/usr/bin", "/bin"} {
			if p := filepath.Join(dir, a); a != "" && (dir == "") == filepath.IsAbs(a) {
				if real, isDir, ok := h.Real(p); ok && !isDir {
					programs = append(programs, real)
					break
				}
			}
		}
	}
	reads = []string{"/usr/include", "/usr/local/include"}
	for _, a := range answers[len(names):] {
		if filepath.IsAbs(a) {
			reads = append(reads, filepath.Dir(filepath.Clean(a)))
		}
	}
	return programs, reads
}

func prefixed(prefix string, words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = prefix + w
	}
	return out
}

// relatives finds an allowed program's family: the files its programs need to
// start, and what may be read for them.
func relatives(ctx context.Context, r Request, h Host, p closure.Program) (files []string, reads []policy.DerivedRuntime) {
	program := p.Paths[0]
	i := slices.IndexFunc(families, func(f family) bool { return f.name().MatchString(filepath.Base(program)) })
	if i < 0 {
		return nil, nil
	}
	programs, dirs := families[i].members(ctx, h, program)
	if families[i].compiler && !r.Compilers {
		programs = nil
	}
	programs = slices.DeleteFunc(programs, func(f string) bool { return !grantable(r, f) })
	for _, m := range closure.Find(programs[:min(len(programs), maxMembers)], "") {
		files = append(files, m.Closure...)
	}
	for _, d := range dirs {
		real, _, ok := h.Real(d)
		g := policy.DerivedRuntime{Binary: p.Entry, Dir: real}
		if ok && grantable(r, real) && real != "/usr/lib" && !slices.Contains(reads, g) {
			reads = append(reads, g)
		}
	}
	return files, reads
}
