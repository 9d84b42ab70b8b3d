package manifest

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
)

// placeholder is text that stands for a secret instead of being one (MAN-276).
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$\{[A-Z0-9_]+\}$`) })

// ScanSecrets finds literal secrets in a manifest: W-SEC-004 for each, in
// document order, with the dotted path and the first four characters (MAN-276).
// A file that is no YAML gives its E-MAN-002. mur-lock pack calls it.
func ScanSecrets(file string, data []byte) ([]diag.Warning, error) {
	root, e := strictyaml.Read(file, data, dialect)
	if e != nil {
		return nil, e
	}
	if root == nil {
		return nil, nil
	}
	s := scan{file: file, seen: map[*yaml.Node]bool{}}
	s.walk(root, "")
	return s.found, nil
}

type scan struct {
	file  string
	seen  map[*yaml.Node]bool // anchored nodes, each looked at once
	found []diag.Warning
}

func (s *scan) walk(n *yaml.Node, path string) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		n = strictyaml.Resolve(n)
		if s.seen[n] && n.Kind != yaml.ScalarNode {
			return
		}
		s.seen[n] = true
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, c := range n.Content {
			s.walk(c, fmt.Sprintf("%s[%d]", path, i))
		}
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			key, value := strictyaml.Resolve(n.Content[i]), n.Content[i+1]
			below := key.Value
			if path != "" {
				below = path + "." + key.Value
			}
			if secretKey(key.Value) && secretText(strictyaml.Resolve(value)) {
				s.report(below, n.Content[i+1])
			}
			s.walk(value, below)
		}
	}
}

func secretKey(key string) bool {
	key = strings.ToLower(key)
	for _, w := range []string{"api_key", "token", "secret", "password"} {
		if strings.Contains(key, w) {
			return true
		}
	}
	return false
}

func secretText(v *yaml.Node) bool {
	if strictyaml.KindOf(v) != "string" || placeholder().MatchString(v.Value) {
		return false
	}
	return strings.HasPrefix(v.Value, "sk-") || len([]rune(v.Value)) > 8
}

func (s *scan) report(path string, n *yaml.Node) {
	masked := "…"
	if r := []rune(strictyaml.Resolve(n).Value); len(r) > 4 {
		masked = string(r[:4]) + "…"
	}
	w := diag.Warningf("W-SEC-004", "manifest", "%s holds what looks like a secret (%s); everybody who gets the archive can read it", path, masked)
	w.Subject = &diag.Subject{Kind: diag.ManifestKey, Name: path, File: s.file, Line: n.Line, Column: n.Column}
	w.Names = map[string]any{"field": path, "masked": masked}
	s.found = append(s.found, w)
}

// Literal reads one literal credential back from a manifest's bytes by its JSON
// pointer, as a credential reference of the staged-session document gives it
// (SES-89). A pointer that leads to no text is E-MAN-003. mur-launch calls it,
// after it has checked that the bytes are the staged ones (AGT-143).
func Literal(file string, data []byte, pointer string) (Secret, error) {
	root, e := strictyaml.Read(file, data, dialect)
	if e != nil {
		return Secret{}, e
	}
	gone := func() (Secret, error) {
		return Secret{}, diag.Errorf("E-MAN-003", "%s: no credential stands at %s any more", file, pointer).
			About(diag.Subject{Kind: diag.Path, Name: file, File: file}).Name("path", pointer)
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	if root == nil || !ok {
		return gone()
	}
	n := strictyaml.Resolve(root)
	for _, step := range strings.Split(rest, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if n = strictyaml.Child(n, step); n == nil {
			return gone()
		}
	}
	if strictyaml.KindOf(n) != "string" || strings.TrimSpace(n.Value) == "" {
		return gone()
	}
	return NewSecret(strings.TrimSpace(n.Value)), nil
}
