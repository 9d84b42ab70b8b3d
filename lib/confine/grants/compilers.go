package grants

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// helpers are the programs a compiler driver starts by itself (CON-167).
var helpers = map[string][]string{
	"cc": {"cc1", "cc1plus", "as", "ld", "collect2"}, "gcc": {"cc1", "cc1plus", "as", "ld", "collect2"},
	"c++": {"cc1plus", "as", "ld", "collect2"}, "g++": {"cc1plus", "as", "ld", "collect2"},
}

// CompilerWarnings are W-SEC-012, one for each program that an allowed compiler
// driver starts and that the session may not execute, and W-SEC-029 for a driver
// that does not say. They are about sessions that are kept to what they may
// execute: scoped and sealed ones. mur-stage and mur-doctor print them.
func CompilerWarnings(ctx context.Context, r Request, f Found, p policy.Policy, h Host) []diag.Warning {
	perEntry := make([][]diag.Warning, len(f.Exec))
	var wg sync.WaitGroup
	for i, e := range f.Exec {
		if len(helpers[e.Entry]) > 0 && len(e.Paths) > 0 {
			wg.Go(func() { perEntry[i] = compiler(ctx, r, f, p, h, e.Entry, e.Paths[0]) })
		}
	}
	wg.Wait()
	return slices.Concat(perEntry...)
}

func compiler(ctx context.Context, r Request, f Found, p policy.Policy, h Host, entry, program string) []diag.Warning {
	var out []diag.Warning
	for _, name := range helpers[entry] {
		answer, err := h.Ask(ctx, program, "-print-prog-name="+name)
		if err != nil {
			w := diag.Warningf("W-SEC-029", "shell", "%s (%s) can not be asked for the programs it starts, so they were not checked: %v", entry, program, err)
			return append(out, placed(w, map[string]any{"entry": entry, "path": program, "error": err.Error(), "helpers": strings.Join(helpers[entry], ", ")}))
		}
		path, found := helperPath(r, h, strings.TrimSpace(answer))
		if !found || executable(f, p, path) {
			continue // what is not installed is no grant's business
		}
		dir := filepath.Dir(path)
		w := diag.Warningf("W-SEC-012", "shell",
			"%s starts %s (%s), which this session may not execute; grant %s with capabilities.shell.interpreter_runtime of %s, or put the program into shell.allow", entry, name, path, dir, entry)
		out = append(out, placed(w, map[string]any{"entry": entry, "helper": name, "path": path, "directory": dir}))
	}
	return out
}

func placed(w diag.Warning, names map[string]any) diag.Warning {
	w.Phase, w.Names = "check", names
	w.Subject = &diag.Subject{Kind: diag.ManifestKey, Name: "capabilities.shell.allow"}
	return w
}

// helperPath is where a driver's answer leads: a path, or a name it looks for on
// PATH.
func helperPath(r Request, h Host, answer string) (string, bool) {
	candidates := []string{answer}
	if !strings.Contains(answer, "/") {
		candidates = nil
		for _, dir := range filepath.SplitList(r.Path) {
			candidates = append(candidates, filepath.Join(dir, answer))
		}
	}
	for _, c := range candidates {
		if real, dir, ok := h.Real(c); ok && !dir {
			return real, true
		}
	}
	return "", false
}

// executable tells whether a session may execute a file: it is in an exec
// closure, or in a directory that is granted with execute.
func executable(f Found, p policy.Policy, path string) bool {
	if slices.ContainsFunc(f.Exec, func(e confine.ExecGrant) bool { return slices.Contains(e.Closure, path) }) {
		return true
	}
	for _, g := range p.StagedRuntime {
		if within(path, g.SourcePath) {
			return true
		}
	}
	for _, g := range p.InterpreterRuntime {
		if slices.ContainsFunc(g.Dirs, func(d policy.RuntimeDir) bool { return within(path, d.Path) }) {
			return true
		}
	}
	return false
}
