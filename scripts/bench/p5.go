package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
)

// warmPipeline is P5: mur-stage | mur-launch of the example, warm, whole
// pipeline, against the bare engines loading the same forms and running the same
// guests in this process, with no checks, no records and no trace.
func warmPipeline(ctx context.Context, w *workshop) ([]Row, error) {
	manifest, err := w.example(ctx)
	if err != nil {
		return nil, err
	}
	pipeline := func() error {
		doc, err := w.stage(ctx, manifest)
		if err != nil {
			return err
		}
		out, err := w.output(ctx, doc, w.bin("mur-launch"))
		if err != nil {
			return err
		}
		var end struct{ Ending string }
		if err := json.Unmarshal(out, &end); err != nil || end.Ending != "ok" {
			return fmt.Errorf("mur-launch printed %q: %w", out, err)
		}
		return nil
	}
	if err := pipeline(); err != nil {
		return nil, err
	}
	whole, err := median(21, pipeline)
	if err != nil {
		return nil, err
	}
	source, err := w.source()
	if err != nil {
		return nil, err
	}
	b, err := newBareExample(ctx, filepath.Dir(manifest), source)
	if err != nil {
		return nil, err
	}
	defer b.close()
	bare, err := median(21, func() error { return b.run(ctx) })
	if err != nil {
		return nil, err
	}
	peer, r := ratio(whole, bare)
	return []Row{{ID: "P5", What: "mur-stage | mur-launch of the example, warm", Value: whole, Unit: "ms", Peer: "bare engines, same forms, one process", PeerValue: peer, Ratio: r, Goal: "printed"}}, nil
}

// bareExample runs the example's guests on the engines alone.
type bareExample struct {
	core      wasmhost.Engine
	component wasmhost.Engine
	dir       string
	forms     map[string]string // their paths in dir
	skill     string
	work      *os.Root
}

func newBareExample(ctx context.Context, dir, work string) (*bareExample, error) {
	c, err := component.New()
	if err != nil {
		return nil, err
	}
	cores, err := core.New()
	if err != nil {
		return nil, err
	}
	b := &bareExample{core: cores, component: c, forms: map[string]string{}}
	if b.dir, err = os.MkdirTemp("", "mur-bench-forms-"); err != nil {
		return nil, err
	}
	for name, g := range map[string]struct {
		path   string
		engine wasmhost.Engine
		kind   wasmhost.Kind
	}{
		"capsule":    {filepath.Join(dir, "capsule.wasm"), b.core, wasmhost.Capsule},
		"code-stats": {filepath.Join(dir, "build", "code-stats-0.1.0.mur.zip"), b.core, wasmhost.Tool},
		"todo-scan":  {filepath.Join(dir, "build", "todo-scan-0.1.0.mur.zip"), b.component, wasmhost.Tool},
	} {
		wasm, err := payload(g.path)
		if err != nil {
			return nil, err
		}
		guest, err := g.engine.Compile(ctx, wasm, g.kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		form, err := guest.Form()
		if err != nil {
			return nil, err
		}
		b.forms[name] = filepath.Join(b.dir, name)
		if err := os.WriteFile(b.forms[name], form, 0o600); err != nil {
			return nil, err
		}
		_ = guest.Close()
	}
	text, err := os.ReadFile(filepath.Join(dir, "skills", "report-style", "SKILL.md"))
	if err != nil {
		return nil, err
	}
	b.skill = string(text)
	b.work, err = os.OpenRoot(work)
	return b, err
}

// payload reads a guest: a file of its own, or the component of an archive.
func payload(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || filepath.Ext(path) == ".wasm" {
		return data, err
	}
	a, err := artifact.Open(data, artifact.LimitsOf(nil))
	if err != nil {
		return nil, err
	}
	_, wasm, err := a.Component(path)
	return wasm, err
}

func (b *bareExample) run(ctx context.Context) error {
	dirs := []wasmhost.Dir{{Guest: ".", Root: b.work}}
	invoke := func(ctx context.Context, name string, in wasmhost.ToolInput) (wasmhost.ToolResult, error) {
		form, ok := b.forms[name]
		if !ok {
			return wasmhost.ToolResult{Status: wasmhost.Passed, Data: &b.skill}, nil
		}
		e := b.core
		if name == "todo-scan" {
			e = b.component
		}
		g, err := load(ctx, e, form, wasmhost.Tool)
		if err != nil {
			return wasmhost.ToolResult{}, err
		}
		defer g.Close()
		return g.RunTool(ctx, &wasmhost.Instance{Name: name, Dirs: dirs}, in)
	}
	g, err := load(ctx, b.core, b.forms["capsule"], wasmhost.Capsule)
	if err != nil {
		return err
	}
	defer g.Close()
	return g.RunCapsule(ctx, &wasmhost.Instance{Name: "repo-report", Dirs: dirs, Stdout: io.Discard, Stderr: io.Discard, Imports: wasmhost.Imports{Invoke: invoke}})
}

func load(ctx context.Context, e wasmhost.Engine, path string, kind wasmhost.Kind) (wasmhost.Guest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return e.Load(ctx, f, kind)
}

func (b *bareExample) close() {
	_ = os.RemoveAll(b.dir)
	_ = b.core.Close()
	_ = b.component.Close()
	_ = b.work.Close()
}
