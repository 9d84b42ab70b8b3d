package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
	"github.com/mur-capsules/mur/lib/wasmhost/core/onwazero"
)

// host is one engine with the guest in its form.
type host struct {
	name          string // of the form: core or component
	engine        wasmhost.Engine
	tool, capsule wasmhost.Guest
}

var hosts []*host

func TestMain(m *testing.M) {
	code, err := setUp(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func setUp(m *testing.M) (int, error) {
	for _, start := range []func() (*core.Engine, error){core.New, func() (*core.Engine, error) { return core.NewOn(onwazero.New) }} {
		engine, err := start()
		if err != nil {
			return 0, err
		}
		if len(hosts) > 0 && hosts[0].engine.Info().Name == engine.Info().Name {
			continue // a build without cgo has wazero alone
		}
		hosts = append(hosts, &host{name: "core", engine: engine})
	}
	comp, err := component.New()
	var le *wasmhost.LoadError
	switch {
	case err == nil:
		hosts = append(hosts, &host{name: "component", engine: comp})
	case !errors.As(err, &le) || le.Reason != wasmhost.NoEngine:
		return 0, err
	default:
		fmt.Fprintln(os.Stderr, "only the core engine is tested:", err)
	}
	files := map[string][2]string{"core": {"core.wasm", "core.wasm"}, "component": {"tool.wasm", "capsule.wasm"}}
	for _, h := range hosts {
		defer h.engine.Close()
		for i, into := range []*wasmhost.Guest{&h.tool, &h.capsule} {
			wasm, err := os.ReadFile("testdata/" + files[h.name][i])
			if err != nil {
				return 0, err
			}
			if *into, err = h.engine.Compile(context.Background(), wasm, []wasmhost.Kind{wasmhost.Tool, wasmhost.Capsule}[i]); err != nil {
				return 0, fmt.Errorf("%s: %w", h.name, err)
			}
			defer (*into).Close()
		}
	}
	return m.Run(), nil
}

// label tells the hosts apart.
func (h *host) label() string { return h.name + "-on-" + h.engine.Info().Name }

// onEach runs a test on every engine.
func onEach(t *testing.T, f func(t *testing.T, h *host)) {
	for _, h := range hosts {
		t.Run(h.label(), func(t *testing.T) { f(t, h) })
	}
}

// instance makes what a call is given; change may be nil.
func instance(change func(*wasmhost.Instance)) *wasmhost.Instance {
	in := &wasmhost.Instance{Name: "try", Limits: wasmhost.Limits{MemoryBytes: 64 << 20, Deadline: 20 * time.Second}}
	if change != nil {
		change(in)
	}
	return in
}

// call runs one line of the guest. Text is what it answered, with the status
// before it unless that is passed.
func (h *host) call(t testing.TB, in *wasmhost.Instance, line string) string {
	t.Helper()
	res, err := h.tool.RunTool(context.Background(), in, wasmhost.ToolInput{Data: &line})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	text := ""
	if res.Data != nil {
		text = *res.Data
	}
	if res.Status != wasmhost.Passed {
		return string(res.Status) + ": " + text
	}
	return text
}

// fault runs one line that must not return a result.
func (h *host) fault(t testing.TB, ctx context.Context, in *wasmhost.Instance, line string) *wasmhost.Fault {
	t.Helper()
	res, err := h.tool.RunTool(ctx, in, wasmhost.ToolInput{Data: &line})
	var f *wasmhost.Fault
	if !errors.As(err, &f) {
		t.Fatalf("%s: got %+v, %v; want a fault", line, res, err)
	}
	return f
}

// script runs the guest as a script capsule and returns its standard output.
func (h *host) script(in *wasmhost.Instance, line string) (string, error) {
	var out bytes.Buffer
	in.Stdout, in.Env = &out, []string{"DO=" + line}
	err := h.capsule.RunCapsule(context.Background(), in)
	return out.String(), err
}

// folder is a granted directory and its path on the host.
func folder(t testing.TB, name string) (string, wasmhost.Dir) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, wasmhost.Dir{Guest: name, Root: root}
}

// formFile is a file that holds a compiled form.
func formFile(t testing.TB, form []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "form")
	if err := os.WriteFile(path, form, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
