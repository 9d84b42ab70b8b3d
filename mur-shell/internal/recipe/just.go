package recipe

import (
	"path"
	"strings"
)

// just answers a call that names one recipe (SHL-134).
func (f *finder) just(args []string) (string, bool) {
	dir, file, name := ".", "", ""
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case (a == "-f" || a == "--justfile" || a == "-d" || a == "--working-directory") && i+1 < len(args):
			i++
			if a == "-f" || a == "--justfile" {
				file = args[i]
			} else {
				dir = args[i]
			}
		case strings.HasPrefix(a, "--justfile="):
			file = strings.TrimPrefix(a, "--justfile=")
		case strings.HasPrefix(a, "--working-directory="):
			dir = strings.TrimPrefix(a, "--working-directory=")
		case strings.HasPrefix(a, "-") || strings.Contains(a, "::") || strings.Contains(a, "=") || name != "":
			return "", false
		default:
			name = a
		}
	}
	if name == "" || path.IsAbs(dir) || path.IsAbs(file) {
		return "", false
	}
	var text, at string
	ok := false
	if file != "" {
		// A file that is named is looked for from where just was started.
		at = path.Dir(file)
		text, ok = f.read(path.Clean(file))
	} else {
		at = dir
		text, ok = f.first(dir, "justfile", ".justfile", "Justfile", "JUSTFILE")
	}
	if !ok {
		return "", false
	}
	j := justfile{f: f, name: name}
	j.parse(text, at, 0)
	return dedent(j.body), j.found == 1 && !j.unclear
}

type justfile struct {
	f       *finder
	name    string
	found   int
	unclear bool
	body    []string
}

func (j *justfile) parse(text, dir string, depth int) {
	if depth > maxDepth {
		j.f.failed = true
		return
	}
	in := false
	for _, line := range lines(text) {
		if line != "" && (line[0] == ' ' || line[0] == '\t') {
			if in {
				j.body = append(j.body, line)
			}
			continue
		}
		if strings.TrimSpace(line) == "" {
			if in {
				j.body = append(j.body, "")
			}
			continue
		}
		in = false
		words := strings.Fields(line)
		switch {
		case words[0] == "import" || words[0] == "import?":
			j.imported(strings.Join(words[1:], " "), words[0] == "import?", dir, depth)
		case words[0] == "alias" && len(words) > 1 && strings.TrimSuffix(words[1], ":=") == j.name:
			j.unclear = true
		case line[0] == '#' || line[0] == '[' || strings.Contains(line, ":="):
		default:
			in = j.head(line)
		}
	}
}

func (j *justfile) imported(quoted string, optional bool, dir string, depth int) {
	name := strings.Trim(quoted, `'"`)
	if len(name) != len(quoted)-2 || path.IsAbs(name) {
		j.unclear = true
		return
	}
	file := path.Join(dir, name)
	text, ok := j.f.read(file)
	switch {
	case ok:
		j.parse(text, path.Dir(file), depth+1)
	case !optional:
		j.unclear = true
	}
}

// head tells whether a line begins the recipe that is looked for.
func (j *justfile) head(line string) bool {
	before, _, ok := strings.Cut(line, ":")
	words := strings.Fields(before)
	if !ok || len(words) == 0 || strings.TrimPrefix(words[0], "@") != j.name {
		return false
	}
	j.found++
	return true
}

// dedent takes the indentation of the first line off every line.
func dedent(body []string) string {
	for len(body) > 0 && body[len(body)-1] == "" {
		body = body[:len(body)-1]
	}
	if len(body) == 0 {
		return ""
	}
	indent := body[0][:len(body[0])-len(strings.TrimLeft(body[0], " \t"))]
	out := make([]string, len(body))
	for i, l := range body {
		out[i] = strings.TrimPrefix(l, indent)
	}
	return strings.Join(out, "\n")
}
