package readonly

import (
	"path"
	"slices"
	"strings"
)

// allArguments are the verbs all of whose arguments are written.
var allArguments = []string{"tee", "rm", "rmdir", "unlink", "shred", "truncate", "mkdir", "touch", "chmod", "chown", "patch"}

// removing are the verbs that take whole trees away.
var removing = []string{"rm", "rmdir", "unlink", "shred"}

// Direct checks a command without a shell: its verb and arguments (CON-247).
func (c *Checker) Direct(program string, args []string) *Hit {
	if c.Idle() {
		return nil
	}
	verb := path.Base(program)
	switch {
	case slices.Contains(allArguments, verb):
		for _, a := range operands(args) {
			if h := c.match(a, verb, slices.Contains(removing, verb)); h != nil {
				return h
			}
		}
	case verb == "mv" || verb == "cp" || verb == "install" || verb == "ln":
		return c.copying(verb, args)
	case verb == "sed":
		return c.sed(args)
	case verb == "dd":
		for _, a := range args {
			if of, ok := strings.CutPrefix(a, "of="); ok {
				return c.match(of, "dd of=", false)
			}
		}
	}
	return nil
}

// operands are the arguments that are no options.
func operands(args []string) []string {
	var out []string
	for i, a := range args {
		switch {
		case a == "--":
			return append(out, args[i+1:]...)
		case len(a) > 1 && a[0] == '-':
		default:
			out = append(out, a)
		}
	}
	return out
}

// copying checks the last argument, or the directory of -t, and what mv takes
// away.
func (c *Checker) copying(verb string, args []string) *Hit {
	target := ""
	var rest []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case (a == "-t" || a == "--target-directory") && i+1 < len(args):
			i++
			target = args[i]
		case strings.HasPrefix(a, "--target-directory="):
			target = strings.TrimPrefix(a, "--target-directory=")
		default:
			rest = append(rest, a)
		}
	}
	names := operands(rest)
	if target == "" && len(names) > 0 {
		target, names = names[len(names)-1], names[:len(names)-1]
	}
	if h := c.match(target, verb, false); h != nil {
		return h
	}
	if verb != "mv" {
		return nil
	}
	for _, n := range names {
		if h := c.match(n, verb, true); h != nil {
			return h
		}
	}
	return nil
}

// sed checks the files of an in-place edit, not the script.
func (c *Checker) sed(args []string) *Hit {
	inPlace, script := false, false
	var names []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			names = append(names, args[i+1:]...)
			i = len(args)
		case a == "-e" || a == "-f" || a == "--expression" || a == "--file":
			script = true
			i++
		case strings.HasPrefix(a, "--expression=") || strings.HasPrefix(a, "--file="):
			script = true
		case a == "--in-place" || strings.HasPrefix(a, "--in-place="):
			inPlace = true
		case strings.HasPrefix(a, "--"):
		case len(a) > 1 && a[0] == '-':
			// Letters may be joined; after i comes the suffix of the copy, after e
			// and f their value.
			for j, letter := range a[1:] {
				if letter == 'i' {
					inPlace = true
					break
				}
				if letter == 'e' || letter == 'f' {
					script = true
					if j == len(a)-2 {
						i++
					}
					break
				}
			}
		default:
			names = append(names, a)
		}
	}
	if !script && len(names) > 0 {
		names = names[1:]
	}
	if !inPlace {
		return nil
	}
	for _, n := range names {
		if h := c.match(n, "sed -i", false); h != nil {
			return h
		}
	}
	return nil
}
