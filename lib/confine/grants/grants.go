// Package grants finds what a session's allowed programs need beside what the
// policy says: the files they start from, the directories an interpreter keeps
// its modules in, the host's TLS trust store, and what a composed root must hold
// for them (CON-74 to CON-88, CON-156, CON-166). mur-stage calls Find once for
// each session and mur-shell once for each run without one; both put the answer
// into the policy and the plan, where it is shown.
//
// Everything found is read-only and nothing of it is executable but the exec
// closure, which holds the programs that an allowed one brings along as well
// (CON-288). The package asks programs that the operator allowed where their
// modules and their own programs are, and runs nothing else.
package grants

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/confine/closure"
	"github.com/mur-capsules/mur/lib/policy"
)

// Request is what grants are looked for.
type Request struct {
	Entries []string // shell.allow
	Path    string   // the value of PATH
	Network bool     // network.allow is not empty
	// Compilers: what an allowed compiler driver starts may be executed as well.
	// Sessions name those programs themselves (CON-167).
	Compilers bool
	// Work and Murmur are the work folder and the murmur home, User the user's
	// home, all canonical: what lies in the first two, contains them, or is the
	// third is never granted (CON-86).
	Work, Murmur, User string
}

// Fact says where knowledge about a program came from (CON-87).
type Fact struct{ Binary, Path, Source string }

// Script is an allowed program that is a #! script: what it runs, and where.
type Script struct{ Entry, Path, Interpreter string }

// Found is what a request leads to. No list is nil.
type Found struct {
	Exec       []confine.ExecGrant
	Derived    []policy.DerivedRuntime
	TrustStore []string
	Binds      []confine.Bind // directories of programs outside the fixed trees
	Facts      []Fact
	Scripts    []Script
	Notes      []string // what was cut off, for the log
}

// Host is what Find asks of the machine.
type Host interface {
	// Ask runs a program with the arguments, nothing of the caller's environment
	// and no input, and returns what it printed within two seconds (CON-85).
	Ask(ctx context.Context, program string, args ...string) (string, error)
	// Real resolves a path; dir tells whether it is a directory. ok is false when
	// nothing is there.
	Real(path string) (real string, dir, ok bool)
	// Targets are the places the links of a directory lead to.
	Targets(dir string) []string
	// Programs are the executable files of a directory, canonical, each once.
	Programs(dir string) []string
	// Libraries are the files that the shared objects of a directory need.
	Libraries(dir string) []string
}

// Find looks everything up; the slow parts run side by side.
func Find(ctx context.Context, r Request, h Host) Found {
	f := Found{Exec: []confine.ExecGrant{}, Derived: []policy.DerivedRuntime{}, TrustStore: []string{}, Binds: []confine.Bind{}, Facts: []Fact{}, Scripts: []Script{}, Notes: []string{}}
	var wg sync.WaitGroup
	if r.Network && len(r.Entries) > 0 {
		wg.Go(func() { f.TrustStore = trustStore(h) })
	}
	programs := closure.Find(r.Entries, r.Path)
	derived := make([][]policy.DerivedRuntime, len(programs))
	facts := make([]*Fact, len(programs))
	files := make([][]string, len(programs))
	reads := make([][]policy.DerivedRuntime, len(programs))
	asked := map[string]bool{}
	for i, p := range programs {
		if len(p.Paths) > 0 && !asked[p.Paths[0]] {
			asked[p.Paths[0]] = true
			wg.Go(func() { derived[i], facts[i] = derive(ctx, r, h, p) })
			wg.Go(func() { files[i], reads[i] = relatives(ctx, r, h, p) })
		}
	}
	wg.Wait()
	for i, p := range programs {
		p.Closure = slices.Compact(slices.Sorted(slices.Values(append(p.Closure, files[i]...))))
		f.Exec = append(f.Exec, confine.ExecGrant{Entry: p.Entry, Paths: p.Paths, Closure: p.Closure})
		if p.Cut {
			f.Notes = append(f.Notes, fmt.Sprintf("%s needs more files than are followed; those found so far are granted", p.Entry))
		}
		if p.Interpreter != "" {
			f.Scripts = append(f.Scripts, Script{Entry: p.Entry, Path: p.Paths[0], Interpreter: p.Interpreter})
		}
		for _, file := range p.Closure {
			dir := filepath.Dir(file)
			bind := confine.Bind{Path: dir, Kind: "binary-dir"}
			if !grantable(r, dir) { // a parent of the work folder, say: the file alone
				bind.Path = file
			}
			if !inFixedTree(dir) && grantable(r, bind.Path) && !slices.Contains(f.Binds, bind) {
				f.Binds = append(f.Binds, bind)
			}
		}
	}
	for i := range programs {
		f.Derived = append(append(f.Derived, derived[i]...), reads[i]...)
		if facts[i] != nil {
			f.Facts = append(f.Facts, *facts[i])
		}
	}
	return f
}

// fixedTrees are the runtime trees every composed root has (CON-144).
var fixedTrees = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

func inFixedTree(path string) bool {
	return slices.ContainsFunc(fixedTrees, func(t string) bool { return within(path, t) })
}

// within tells whether path is dir or lies beneath it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// never are directories that are never granted as a whole (CON-86).
var never = []string{"/", "/tmp", "/etc", "/proc", "/sys", "/dev"}

func grantable(r Request, path string) bool {
	if !filepath.IsAbs(path) || slices.Contains(never, path) || path == r.User {
		return false
	}
	for _, own := range []string{r.Work, r.Murmur} {
		if own != "" && (within(path, own) || within(own, path)) {
			return false
		}
	}
	return true
}

// Unreachable are the scripts whose own package tree a composed root would not
// hold: those outside the fixed trees that no grant covers and no grant names
// (CON-42, E-CAP-006).
func Unreachable(f Found, p policy.Policy) []Script {
	var out []Script
	for _, s := range f.Scripts {
		covered := inFixedTree(s.Path)
		for _, g := range p.StagedRuntime {
			covered = covered || within(s.Path, g.SourcePath) || names(g.Binary, s)
		}
		for _, g := range p.InterpreterRuntime {
			covered = covered || names(g.Binary, s)
			for _, d := range g.Dirs {
				covered = covered || within(s.Path, d.Path)
			}
		}
		if !covered {
			out = append(out, s)
		}
	}
	return out
}

func names(binary string, s Script) bool {
	return binary == s.Entry || binary == s.Interpreter || binary == filepath.Base(s.Interpreter)
}
