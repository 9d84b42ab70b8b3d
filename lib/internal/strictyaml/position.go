package strictyaml

import (
	"cmp"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
)

// Position is a place in a file; both count from 1.
type Position struct{ Line, Column int }

// Positions maps dotted paths (artifacts[0].gateway.endpoint) to the place of
// their value in one file.
type Positions struct {
	file string
	kind diag.SubjectKind
	at   map[string]Position
}

// Pos returns where the value of a dotted path stands, or where the nearest
// enclosing block does; the zero Position when nothing of it was written.
func (p *Positions) Pos(path string) Position {
	for {
		if at, ok := p.at[path]; ok || path == "" {
			return at
		}
		path = parentPath(path)
	}
}

// Has tells whether the value of a dotted path was read.
func (p *Positions) Has(path string) bool {
	_, ok := p.at[path]
	return ok
}

// File is the file's name in messages.
func (p *Positions) File() string { return p.file }

// Subject is the key at path with file, line and column, for
// diag.Error.About and diag.Warning.
func (p *Positions) Subject(path string) diag.Subject {
	at := p.Pos(path)
	return diag.Subject{Kind: p.kind, Name: path, File: p.file, Line: at.Line, Column: at.Column}
}

// parentPath cuts the last key or index off a dotted path.
func parentPath(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

// PositionOf is where a node stands.
func PositionOf(n *yaml.Node) Position { return Position{n.Line, n.Column} }

// Compare orders two places of one file.
func Compare(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}
