package wasi

import (
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

var (
	typeTerminalInput  = wasmtime.NewResourceType()
	typeTerminalOutput = wasmtime.NewResourceType()
)

func none(*call, []val) (val, error) { return wasmtime.None, nil }

// cliInterfaces serve wasi:cli. There is no terminal and no initial working
// directory: a path is relative to a granted directory.
func cliInterfaces() []wasmtime.Interface {
	return []wasmtime.Interface{
		{Name: "cli/environment", Funcs: funcs{
			"get-environment": func(c *call, a []val) (val, error) {
				l := list{}
				for _, e := range instance(c).cfg.Env {
					k, v, _ := strings.Cut(e, "=")
					l = append(l, tuple{k, v})
				}
				return l, nil
			},
			"get-arguments": func(c *call, a []val) (val, error) {
				l := list{}
				for _, s := range instance(c).cfg.Args {
					l = append(l, s)
				}
				return l, nil
			},
			"initial-cwd": none,
		}},
		{Name: "cli/exit", Funcs: funcs{
			// exit knows success and failure only.
			"exit": func(c *call, a []val) (val, error) {
				if a[0].(wasmtime.Result).OK {
					return nil, c.Exit(0)
				}
				return nil, c.Exit(1)
			},
			"exit-with-code": func(c *call, a []val) (val, error) { return nil, c.Exit(int(a[0].(uint8))) },
		}},
		{Name: "cli/stdin", Funcs: funcs{"get-stdin": func(c *call, a []val) (val, error) { return c.Own(typeInput, empty{}), nil }}},
		{Name: "cli/stdout", Funcs: funcs{"get-stdout": func(c *call, a []val) (val, error) { return c.Own(typeOutput, instance(c).stdout), nil }}},
		{Name: "cli/stderr", Funcs: funcs{"get-stderr": func(c *call, a []val) (val, error) { return c.Own(typeOutput, instance(c).stderr), nil }}},
		{Name: "cli/terminal-input", Resources: resources{"terminal-input": typeTerminalInput}},
		{Name: "cli/terminal-output", Resources: resources{"terminal-output": typeTerminalOutput}},
		{Name: "cli/terminal-stdin", Funcs: funcs{"get-terminal-stdin": none}},
		{Name: "cli/terminal-stdout", Funcs: funcs{"get-terminal-stdout": none}},
		{Name: "cli/terminal-stderr", Funcs: funcs{"get-terminal-stderr": none}},
	}
}
