package core_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
	"github.com/mur-capsules/mur/lib/wasmhost/core/onwazero"
)

var testDir string // holds what one run of the tests builds

// testEngine is an engine with the form of the Go guest and what was loaded of it.
type testEngine struct {
	*core.Engine
	name   string
	path   string // of the form, "" before it is made
	guests map[wasmhost.Kind]wasmhost.Guest
}

// engines are those of this build: the one it uses, and wazero in any case.
// engine is the one under test.
var (
	engines []*testEngine
	engine  *testEngine
)

func TestMain(m *testing.M) {
	code, err := func() (int, error) {
		var err error
		if testDir, err = os.MkdirTemp("", "core-test-"); err != nil {
			return 0, err
		}
		defer os.RemoveAll(testDir)
		for _, start := range []func() (*core.Engine, error){core.New, func() (*core.Engine, error) { return core.NewOn(onwazero.New) }} {
			e, err := start()
			if err != nil {
				return 0, err
			}
			defer e.Close()
			if name := e.Info().Name; len(engines) == 0 || engines[0].name != name {
				engines = append(engines, &testEngine{Engine: e, name: name, guests: map[wasmhost.Kind]wasmhost.Guest{}})
			}
		}
		engine = engines[0]
		defer func() {
			for _, e := range engines {
				for _, g := range e.guests {
					g.Close()
				}
			}
		}()
		return m.Run(), nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// onEach runs a test on every engine (WIT-65).
func onEach(t *testing.T, test func(*testing.T)) {
	defer func() { engine = engines[0] }()
	for _, engine = range engines {
		t.Run(engine.name, test)
	}
}

// benchEach runs a benchmark on every engine.
func benchEach(b *testing.B, bench func(*testing.B)) {
	defer func() { engine = engines[0] }()
	for _, engine = range engines {
		b.Run(engine.name, bench)
	}
}

// goForm is the path of the Go guest's form, which is made once.
func (e *testEngine) goForm() (string, error) {
	if e.path != "" {
		return e.path, nil
	}
	wasm, err := goGuest()
	if err != nil {
		return "", err
	}
	g, err := e.Compile(context.Background(), wasm, wasmhost.Tool)
	if err != nil {
		return "", err
	}
	defer g.Close()
	form, err := g.Form()
	if err != nil {
		return "", err
	}
	path := filepath.Join(testDir, e.name)
	if err := os.WriteFile(path, form, 0o600); err != nil {
		return "", err
	}
	e.path = path
	return path, nil
}

// guest is the Go guest as a guest of the kind, loaded from its form.
func (e *testEngine) guest(kind wasmhost.Kind) (wasmhost.Guest, error) {
	if g := e.guests[kind]; g != nil {
		return g, nil
	}
	g, err := e.loadGo(kind)
	if err == nil {
		e.guests[kind] = g
	}
	return g, err
}

func (e *testEngine) loadGo(kind wasmhost.Kind) (wasmhost.Guest, error) {
	path, err := e.goForm()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return e.Load(context.Background(), f, kind)
}
