//go:build !wasip1

// Command wasm-tools runs the wasm-tools program, which is itself WebAssembly,
// so that a C guest becomes a component on a machine with nothing but clang and
// Go. The program comes out of a Go module (go.bytecodealliance.org) in the
// module cache; it sees the file system under the paths given to it.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

const module = "go.bytecodealliance.org@v0.7.0"

func main() {
	err := run(context.Background(), os.Args[1:])
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(int(exit.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, "wasm-tools:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	program, err := program()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	_, err = rt.InstantiateWithConfig(ctx, program, wazero.NewModuleConfig().
		WithArgs(append([]string{"wasm-tools"}, args...)...).
		WithStdin(os.Stdin).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithFSConfig(wazero.NewFSConfig().WithDirMount(dir, "/")))
	return err
}

// program unpacks the wasm file out of the Go module that carries it.
func program() ([]byte, error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download %s: %w", module, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, err
	}
	packed, err := os.ReadFile(filepath.Join(m.Dir, "internal", "wasmtools", "wasm-tools.wasm.gz"))
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
