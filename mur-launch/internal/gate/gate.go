// Package gate refuses calls that name a path of capabilities.filesystem.read_only
// as one they write (TOL-87, CON section 15), and says so in the same words
// whoever makes the call: an agent's turn or a script capsule.
//
// It promises that only what was refused is withheld, that a refusal names the
// path, the entry and the word or key that carried it, and that a session without
// read-only paths is asked nothing. It permits nothing: what a call may do is the
// document's. What commands say is looked at by mur-shell.
package gate

import (
	"fmt"
	"path/filepath"

	"github.com/mur-capsules/mur/lib/confine/readonly"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/toolschema"
	"github.com/mur-capsules/mur/lib/trace"
)

// Gate is that of one session. It is safe for concurrent use; nil lets everything
// pass.
type Gate struct {
	work    string
	checker *readonly.Checker
	tools   map[string]toolschema.Annotations
}

// New makes the gate of a session, nil when nothing is protected.
func New(d *session.Document) *Gate {
	if len(d.ProtectedPaths) == 0 {
		return nil
	}
	var entries []string
	for _, p := range d.ProtectedPaths {
		entries = append(entries, p.Relative)
	}
	g := &Gate{work: d.Directories.Work.Path, tools: map[string]toolschema.Annotations{}}
	g.checker = readonly.New(g.work, entries, deepest)
	for tool, a := range d.ToolAnnotations {
		g.tools[tool] = toolschema.Annotations{Destinations: a.Destinations, Opaque: a.Opaque, Templates: a.Templates}
	}
	return g
}

// deepest resolves the links of the part of a path that exists.
func deepest(path string) string {
	rest := ""
	for p := path; ; p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if p == filepath.Dir(p) {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// Denied is a refused call: its line of the trace, which lacks the turn and the
// id of the call, and what the caller reads.
type Denied struct {
	Line trace.ProtectedPathDenied
	Text string
}

func (d *Denied) Error() string { return d.Text }

// Tool checks the input of a guest's or a native tool's call; nil lets it pass.
func (g *Gate) Tool(tool, input string) *Denied {
	if g == nil {
		return nil
	}
	hit := g.checker.Input(input, g.tools[tool])
	if hit == nil {
		return nil
	}
	return g.denied("tool", tool, hit.Path, hit.Entry, hit.Via)
}

// Command is the refusal of a command that mur-shell found to name a protected
// path; binary is what it would have run.
func (g *Gate) Command(binary, path, entry, via string) *Denied {
	return g.denied("shell", binary, path, entry, via)
}

func (g *Gate) denied(call, target, path, entry, via string) *Denied {
	text := fmt.Sprintf("%s was not called: %s lies under %s, which capabilities.filesystem.read_only protects, and %s names it as what is written. The same call will be refused again.",
		target, path, entry, via)
	return &Denied{Text: text, Line: trace.ProtectedPathDenied{
		Call: call, Target: target, Path: g.relative(path), Rule: entry, Signal: via, Reason: text,
	}}
}

// relative is a path as the trace has it: relative to the work folder, where it
// lies in it.
func (g *Gate) relative(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.work, path)
	}
	if rel, err := filepath.Rel(g.work, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
