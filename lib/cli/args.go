package cli

import (
	"strings"

	ucli "github.com/urfave/cli/v2"
)

// wantsJSON looks for --json before anything is parsed, so that even a usage
// error has the form the caller asked for.
func wantsJSON(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--json", "-json", "--json=true":
			return true
		}
	}
	return false
}

// reorder moves flags before the arguments of the command they belong to, since
// urfave/cli stops looking for flags at the first argument. "--" ends the
// search, and a command with SkipFlagParsing keeps its words as they are.
func reorder(flags []ucli.Flag, cmds []*ucli.Command, args []string) []string {
	takesValue := valueFlags(flags)
	var moved, rest []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(append(moved, rest...), args[i:]...)
		case len(a) > 1 && a[0] == '-':
			moved = append(moved, a)
			name, _, inline := strings.Cut(strings.TrimLeft(a, "-"), "=")
			if !inline && takesValue[name] && i+1 < len(args) {
				i++
				moved = append(moved, args[i])
			}
		default:
			if cmd := lookup(cmds, a); cmd != nil && len(rest) == 0 {
				tail := args[i+1:]
				if !cmd.SkipFlagParsing {
					tail = reorder(cmd.Flags, cmd.Subcommands, tail)
				}
				return append(append(moved, a), tail...)
			}
			rest = append(rest, a)
		}
	}
	return append(moved, rest...)
}

func valueFlags(flags []ucli.Flag) map[string]bool {
	out := map[string]bool{}
	for _, f := range flags {
		if _, isBool := f.(*ucli.BoolFlag); isBool {
			continue
		}
		for _, n := range f.Names() {
			out[n] = true
		}
	}
	return out
}

func lookup(cmds []*ucli.Command, name string) *ucli.Command {
	for _, c := range cmds {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}
