package component

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component/wasi"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// guest is a compiled component that has passed the checks of its kind.
type guest struct {
	e    *Engine
	c    *wasmtime.Component
	kind wasmhost.Kind
	run  *wasmtime.Index // nil for a hook, which has no single function
	// wrapped guests have instances and memory that are not their own doing.
	wrapped bool
}

func (g *guest) prepare() error {
	w, export := worlds[g.kind], g.Interface()
	if err := checkFuncs(export, g.c.ExportFuncs(export), true); err != nil {
		return err
	}
	for _, n := range w.imports {
		if err := checkFuncs(n, g.c.ImportFuncs(n), false); err != nil {
			return err
		}
	}
	for _, n := range w.types {
		if have := g.c.ImportFuncs(n); len(have) > 0 {
			return &wasmhost.LoadError{Reason: wasmhost.BadImport, Name: n + "#" + slices.Sorted(maps.Keys(have))[0]}
		}
	}
	g.wrapped = wrapped(g.c)
	if g.kind == wasmhost.Hook {
		return nil
	}
	run, err := g.c.Index(export, "run")
	if err != nil {
		return &wasmhost.LoadError{Reason: wasmhost.BadExport, Name: export + "#run", Err: err}
	}
	g.run = run
	return nil
}

// wrapped tells whether c went through wasi.Wrap and was changed there.
func wrapped(c *wasmtime.Component) bool {
	for _, n := range c.Imports() {
		if base, _, _ := strings.Cut(n, "@"); !slices.Contains(wasi.Wrapped, base) {
			continue
		}
		for f := range c.ImportFuncs(n) {
			if wasi.Packed(f) {
				return true
			}
		}
	}
	return false
}

// Interface is the export the guest's kind asks for.
func (g *guest) Interface() string { return wasmhost.Export(g.kind) }

// Form returns native code for Engine.Load.
func (g *guest) Form() ([]byte, error) { return g.c.Serialize() }

// Close frees the code. No call may run.
func (g *guest) Close() error {
	if g.run != nil {
		g.run.Close()
	}
	return g.c.Close()
}

// RunTool calls a tool or driver.
func (g *guest) RunTool(ctx context.Context, in *wasmhost.Instance, input wasmhost.ToolInput) (wasmhost.ToolResult, error) {
	if g.kind != wasmhost.Tool && g.kind != wasmhost.Driver {
		return wasmhost.ToolResult{}, g.wrongKind(wasmhost.Tool)
	}
	out, err := g.call(ctx, in, 1, toolInput(input))
	if err != nil {
		return wasmhost.ToolResult{}, err
	}
	r, ok := toolResultOf(out[0])
	if !ok {
		return wasmhost.ToolResult{}, &wasmhost.Fault{Cause: wasmhost.BadOutput, Err: errors.New("not a tool-result")}
	}
	return r, nil
}

// RunCapsule calls a script capsule. A guest that exits with status 0 has
// succeeded.
func (g *guest) RunCapsule(ctx context.Context, in *wasmhost.Instance) error {
	if g.kind != wasmhost.Capsule {
		return g.wrongKind(wasmhost.Capsule)
	}
	_, err := g.call(ctx, in, 0)
	var f *wasmhost.Fault
	if errors.As(err, &f) && f.Cause == wasmhost.Exited && f.Status == 0 {
		return nil
	}
	return err
}

func (g *guest) wrongKind(want wasmhost.Kind) error {
	return &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: fmt.Errorf("a guest of kind %s is called as a %s", g.kind, want)}
}

// deadline is the cause of a context that ended with a call's own time. Each
// call has its own, so that a tool can tell its deadline from that of the
// capsule which invoked it.
type deadline struct{ after time.Duration }

func (d *deadline) Error() string { return fmt.Sprintf("deadline of %v passed", d.after) }

// call runs the guest's function in a store of its own.
func (g *guest) call(ctx context.Context, in *wasmhost.Instance, results int, args ...wasmtime.Val) ([]wasmtime.Val, error) {
	limits := withDefaults(in.Limits)
	if g.wrapped {
		limits.Instances += wasi.WrapInstances
		limits.MemoryBytes += wasi.WrapMemory
	}
	linker, err := g.e.linkers[g.kind]()
	if err != nil {
		return nil, &wasmhost.Fault{Cause: wasmhost.HostPanic, Err: err}
	}
	over := &deadline{limits.Deadline}
	ctx, stop := context.WithTimeoutCause(ctx, limits.Deadline, over)
	defer stop()
	streams := newStreams(in, g.kind)
	d := &data{in: in, wasi: wasi.New(wasi.Config{
		Args: []string{in.Name}, Env: in.Env, Dirs: in.Dirs, HTTP: in.HTTP,
		Stdout: streams.out, Stderr: streams.err,
	})}
	defer d.wasi.Close()
	s := g.e.wt.NewStore(wasmtime.StoreConfig{
		Data:          d,
		MemoryBytes:   limits.MemoryBytes,
		TableElements: limits.TableElements,
		Instances:     limits.Instances,
	})
	defer s.Close()
	out, err := g.callIn(ctx, s, linker, results, args)
	if err != nil {
		return nil, fault(err, over, streams)
	}
	return out, nil
}

func (g *guest) callIn(ctx context.Context, s *wasmtime.Store, l *wasmtime.Linker, results int, args []wasmtime.Val) ([]wasmtime.Val, error) {
	i, err := l.Instantiate(ctx, s, g.c)
	if err != nil {
		return nil, err
	}
	f, err := i.Func(g.run)
	if err != nil {
		return nil, err
	}
	return f.Call(ctx, results, args...)
}

// withDefaults replaces zeros by the default limits.
func withDefaults(l wasmhost.Limits) wasmhost.Limits {
	d := wasmhost.DefaultLimits()
	if l.MemoryBytes == 0 {
		l.MemoryBytes = d.MemoryBytes
	}
	if l.TableElements == 0 {
		l.TableElements = d.TableElements
	}
	if l.Instances == 0 {
		l.Instances = d.Instances
	}
	if l.Deadline == 0 {
		l.Deadline = d.Deadline
	}
	return l
}
