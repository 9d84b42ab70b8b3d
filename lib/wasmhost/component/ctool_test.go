//go:build cgo

package component

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// TestCTool runs a guest made by an ordinary tool chain: C library, preview 1
// adapter, our WASI. It sees its folder, its environment and its limits and
// nothing else. WIT-31, WIT-67, WIT-70, CON-265
func TestCTool(t *testing.T) {
	g := compile(t, ctool(t), wasmhost.Tool)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("contents"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, tc := range []struct {
		data, want string
		status     wasmhost.Status
		fault      string
		stderr     string
	}{
		{"hello", "c:hello", wasmhost.Passed, "", ""},
		{"read a.txt", "contents", wasmhost.Passed, "", ""},
		{"read ../a.txt", "../a.txt: ", wasmhost.Failed, "", ""},
		{"read /etc/passwd", "/etc/passwd: ", wasmhost.Failed, "", ""},
		{"env KEY", "value=1", wasmhost.Passed, "", ""},
		{"env HOME", "", wasmhost.Failed, "", ""},
		{"print x", "", wasmhost.Passed, "", "out x\nerr x\n"},
		{"exit 3", "", "", "exited with status 1", ""}, // wasi:cli/exit knows success and failure alone
		{"exit 0", "", "", "exited with status 0", ""},
		{"alloc 4", "", wasmhost.Passed, "", ""},
		{"alloc 40", "", "", "limits.memory_bytes", ""},
	} {
		var stderr bytes.Buffer
		in := &wasmhost.Instance{
			Name: "ctool", Env: []string{"KEY=value=1"}, Dirs: []wasmhost.Dir{{Guest: ".", Root: root}}, Stderr: &stderr,
			Limits: wasmhost.Limits{MemoryBytes: 32 << 20},
		}
		r, err := g.RunTool(context.Background(), in, wasmhost.ToolInput{Data: &tc.data})
		if stderr.String() != tc.stderr {
			t.Errorf("%s: printed %q", tc.data, stderr.String())
		}
		if tc.fault != "" {
			var f *wasmhost.Fault
			if !errors.As(err, &f) || !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("%s: %v", tc.data, err)
			}
			continue
		}
		if err != nil || r.Status != tc.status || !strings.HasPrefix(*r.Data, tc.want) || tc.want == "" && *r.Data != "" {
			t.Errorf("%s: %v %s %q", tc.data, err, r.Status, *r.Data)
		}
	}
}
