package manifest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/internal/strictyaml"
)

// Redact returns a manifest with [redacted] in place of every literal
// gateway.api_key and otherwise the bytes it was given (SES-245). A value that
// was not quoted is replaced by a quoted one, since a bare [redacted] would be a
// list. It gives an error instead of a copy it can not vouch for: the result is
// read again and must be the same document but for those values. mur-stage calls
// it for the copy in the runtime directory, with a manifest that Parse accepted.
func Redact(data []byte) ([]byte, error) {
	root, e := strictyaml.Read(FileName, data, dialect)
	if e != nil {
		return nil, e
	}
	targets := literalKeys(root)
	if len(targets) == 0 {
		return bytes.Clone(data), nil
	}
	// From the last to the first, so that earlier places stay where they are.
	slices.SortFunc(targets, func(a, b *yaml.Node) int {
		return strictyaml.Compare(strictyaml.PositionOf(b), strictyaml.PositionOf(a))
	})
	out := bytes.Clone(data)
	done := map[*yaml.Node]bool{}
	for _, n := range targets {
		done[n] = true
		next, err := replaceScalar(out, root, n, done)
		if err != nil {
			return nil, err
		}
		out = next
	}
	return out, nil
}

// literalKeys finds the nodes of literal keys, an alias's target once.
func literalKeys(root *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	if root == nil {
		return nil
	}
	entries := strictyaml.Child(strictyaml.Resolve(root), "artifacts")
	if entries == nil || entries.Kind != yaml.SequenceNode {
		return nil
	}
	for _, e := range entries.Content {
		gateway := strictyaml.Child(strictyaml.Resolve(e), "gateway")
		if gateway == nil {
			continue
		}
		key := strictyaml.Child(gateway, "api_key")
		if key == nil || strictyaml.KindOf(key) != "string" || slices.Contains(out, key) {
			continue
		}
		if text := strings.TrimSpace(key.Value); text != "" && !reference().MatchString(text) {
			out = append(out, key)
		}
	}
	return out
}

var errRedact = errors.New("the literal api_key could not be cut out of the manifest text")

// replaceScalar replaces one scalar. Where it begins is known, where it ends is
// tried until the document reads as it should.
func replaceScalar(data []byte, root, n *yaml.Node, done map[*yaml.Node]bool) ([]byte, error) {
	start, ok := offset(data, strictyaml.PositionOf(n))
	if !ok {
		return nil, errRedact
	}
	start = skipProperties(data, start)
	text := `"` + Redacted + `"`
	if start < len(data) && data[start] == '\'' {
		text = `'` + Redacted + `'`
	}
	for _, end := range ends(data, start, n) {
		out := slices.Concat(data[:start], []byte(text), data[end:])
		again, e := strictyaml.Read(FileName, out, dialect)
		if e == nil && again != nil && sameBut(root, again, done) {
			return out, nil
		}
	}
	return nil, errRedact
}

// maxEnds bounds how many ends are tried; each costs a parse.
const maxEnds = 200

// ends proposes where a scalar that begins at start ends, likeliest first.
func ends(data []byte, start int, n *yaml.Node) []int {
	rest := data[start:]
	var out []int
	switch {
	case len(rest) == 0:
		return nil
	case rest[0] == '"':
		for i := 1; i < len(rest); i++ {
			if rest[i] == '\\' {
				i++
			} else if rest[i] == '"' {
				return []int{start + i + 1}
			}
		}
		return nil
	case rest[0] == '\'':
		for i := 1; i < len(rest); i++ {
			if rest[i] != '\'' {
				continue
			}
			if i+1 < len(rest) && rest[i+1] == '\'' {
				i++
				continue
			}
			return []int{start + i + 1}
		}
		return nil
	case bytes.HasPrefix(rest, []byte(n.Value)):
		out = append(out, start+len(n.Value))
	}
	for i, c := range rest {
		if c == '\n' || i == len(rest)-1 {
			end := i
			if c != '\n' {
				end++
			}
			end = len(bytes.TrimRight(rest[:end], " \t\r"))
			if out = append(out, start+end); len(out) >= maxEnds {
				break
			}
		}
	}
	return out
}

// sameBut tells whether b is the document a with [redacted] at the nodes done.
func sameBut(a, b *yaml.Node, done map[*yaml.Node]bool) bool {
	if a.Kind == yaml.AliasNode {
		return b.Kind == yaml.AliasNode && a.Value == b.Value
	}
	if a.Kind != b.Kind || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	if done[a] {
		return b.Value == Redacted && strictyaml.KindOf(b) == "string"
	}
	if a.Value != b.Value || a.ShortTag() != b.ShortTag() {
		return false
	}
	for i := range a.Content {
		if !sameBut(a.Content[i], b.Content[i], done) {
			return false
		}
	}
	return true
}

// offset finds the byte at a line and column as the YAML reader counts them.
func offset(data []byte, at Position) (int, bool) {
	i := 0
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		i = len("\uFEFF")
	}
	for line, column := 1, 1; i < len(data); column++ {
		if line == at.Line && column == at.Column {
			return i, true
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			n++
		}
		switch r {
		case '\n', '\r', '\u0085', '\u2028', '\u2029':
			line, column = line+1, 0
		}
		i += n
	}
	return 0, false
}

// skipProperties steps over an anchor and a tag before a scalar.
func skipProperties(data []byte, i int) int {
	for i < len(data) && (data[i] == '&' || data[i] == '!') {
		for i < len(data) && !strings.ContainsRune(" \t\r\n", rune(data[i])) {
			i++
		}
		for i < len(data) && strings.ContainsRune(" \t\r\n", rune(data[i])) {
			i++
		}
	}
	return i
}
