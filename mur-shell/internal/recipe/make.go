package recipe

import (
	"path"
	"strings"
)

// make answers a call that names one target (SHL-132, SHL-133).
func (f *finder) make(args []string) (string, bool) {
	dir, file, target := ".", "", ""
	for i := 0; i < len(args); i++ {
		a := args[i]
		value := func(long string) (string, bool) {
			if v, ok := strings.CutPrefix(a, long); ok {
				return v, true
			}
			return "", false
		}
		switch {
		case (a == "-f" || a == "-C") && i+1 < len(args):
			i++
			if a == "-f" {
				file = args[i]
			} else {
				dir = path.Join(dir, args[i])
			}
		case strings.HasPrefix(a, "--file="), strings.HasPrefix(a, "--makefile="):
			if v, ok := value("--file="); ok {
				file = v
			} else {
				file, _ = value("--makefile=")
			}
		case strings.HasPrefix(a, "--directory="):
			v, _ := value("--directory=")
			dir = path.Join(dir, v)
		case strings.HasPrefix(a, "-") || strings.Contains(a, "=") || target != "":
			return "", false
		default:
			target = a
		}
	}
	if target == "" || path.IsAbs(dir) || path.IsAbs(file) {
		return "", false
	}
	var text string
	var ok bool
	if file != "" {
		text, ok = f.read(path.Join(dir, file))
	} else {
		text, ok = f.first(dir, "GNUmakefile", "makefile", "Makefile")
	}
	if !ok {
		return "", false
	}
	m := makefile{f: f, dir: dir, target: target}
	m.parse(text, 0)
	return strings.Join(m.body, "\n"), m.found == 1 && !m.unclear
}

type makefile struct {
	f       *finder
	dir     string
	target  string
	found   int  // explicit rules with a recipe for the target
	unclear bool // something makes the answer depend on more than the text
	body    []string
}

// parse reads one file. Recipe lines follow their rule, each after a tab; a line
// that ends in a backslash goes on.
func (m *makefile) parse(text string, depth int) {
	if depth > maxDepth {
		m.f.failed = true
		return
	}
	all := lines(text)
	in := false // within the target's rule
	for i := 0; i < len(all); i++ {
		line := all[i]
		for strings.HasSuffix(line, "\\") && i+1 < len(all) {
			i++
			line += "\n" + all[i]
		}
		switch {
		case strings.HasPrefix(line, "\t"):
			if in {
				m.body = append(m.body, strings.TrimPrefix(line, "\t"))
			}
			continue
		case strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "#"):
			continue
		}
		in = false
		words := strings.Fields(line)
		switch words[0] {
		case "include", "-include", "sinclude":
			for _, name := range words[1:] {
				m.include(name, words[0] != "include", depth)
			}
			continue
		case "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif", "define", ".RECIPEPREFIX":
			// What holds depends on what make knows.
			m.unclear = true
			continue
		}
		in = m.rule(line)
	}
}

func (m *makefile) include(name string, optional bool, depth int) {
	if strings.ContainsAny(name, "$*?[%") || path.IsAbs(name) {
		m.unclear = true
		return
	}
	text, ok := m.f.read(path.Join(m.dir, name))
	switch {
	case ok:
		m.parse(text, depth+1)
	case !optional:
		m.unclear = true
	}
}

// rule reads a line that is no recipe: it tells whether recipe lines that follow
// are the target's.
func (m *makefile) rule(line string) bool {
	colon := strings.Index(line, ":")
	equals := strings.Index(line, "=")
	if colon < 0 || equals >= 0 && equals <= colon+2 && (equals < colon || line[colon:equals+1] == ":=" || line[colon:equals+1] == "::=") {
		return false // an assignment, or nothing we know
	}
	left, right := line[:colon], strings.TrimPrefix(line[colon+1:], ":")
	names := strings.Fields(left)
	for _, n := range names {
		if strings.ContainsAny(n, "$") || n == "%" || strings.Contains(n, "%") && matches(n, m.target) {
			m.unclear = true
		}
	}
	for _, n := range names {
		if n != m.target {
			continue
		}
		if strings.Contains(right, "=") && !strings.Contains(right, ";") {
			return false // a variable of the target's own
		}
		m.found++
		if prerequisites, inline, ok := strings.Cut(right, ";"); ok {
			m.body = append(m.body, strings.TrimSpace(inline))
			right = prerequisites
		}
		if strings.ContainsAny(right, "%") {
			m.unclear = true
		}
		return true
	}
	return false
}

// matches tells whether a pattern rule's target stands for a name.
func matches(pattern, name string) bool {
	before, after, _ := strings.Cut(pattern, "%")
	return len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
