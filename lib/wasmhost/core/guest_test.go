package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// goGuest builds testdata/guest with the Go tool chain, once.
var goGuest = sync.OnceValues(func() ([]byte, error) { return buildGo("./testdata/guest") })

func buildGo(pkg string, flags ...string) ([]byte, error) {
	out := filepath.Join(testDir, filepath.Base(pkg)+".wasm")
	args := append([]string{"build", "-ldflags=-s -w", "-o", out}, flags...)
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, msg)
	}
	return os.ReadFile(out)
}

func testGuest(t testing.TB, kind wasmhost.Kind) wasmhost.Guest {
	t.Helper()
	g, err := engine.guest(kind)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

type do map[string]any

func input(d do) wasmhost.ToolInput {
	b, _ := json.Marshal(d)
	s := string(b)
	return wasmhost.ToolInput{Data: &s}
}

// run calls the Go guest as a tool and returns its data, or what it said went
// wrong, with "failed: " before it.
func run(t testing.TB, in *wasmhost.Instance, d do) string {
	t.Helper()
	res, err := testGuest(t, wasmhost.Tool).RunTool(context.Background(), in, input(d))
	if err != nil {
		t.Fatalf("%v: %v", d, err)
	}
	if res.Status == wasmhost.Passed {
		return *res.Data
	}
	return "failed: " + *res.Summary
}

// faultOf calls the Go guest and returns its fault.
func faultOf(t testing.TB, ctx context.Context, in *wasmhost.Instance, d do) *wasmhost.Fault {
	t.Helper()
	res, err := testGuest(t, wasmhost.Tool).RunTool(ctx, in, input(d))
	var f *wasmhost.Fault
	if !errors.As(err, &f) {
		t.Fatalf("%v: got %+v, %v; want a fault", d, res, err)
	}
	return f
}

func instance() *wasmhost.Instance {
	return &wasmhost.Instance{Name: "try", Limits: wasmhost.Limits{Deadline: 20 * time.Second}}
}

func workFolder(t testing.TB) (string, wasmhost.Dir) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, wasmhost.Dir{Guest: ".", Root: root}
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
