package grants

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/confine/closure"
)

// askTimeout bounds one question (CON-85).
const askTimeout = 2 * time.Second

// maxAnswer bounds what an interpreter may say.
const maxAnswer = 64 << 10

// Disk is the machine itself.
type Disk struct{}

// Ask implements Host.
func (Disk) Ask(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.WaitDelay = 100 * time.Millisecond
	out := &limited{}
	cmd.Stdout = out
	err := cmd.Run()
	return out.String(), err
}

type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxAnswer - l.Len(); len(p) > room {
		_, _ = l.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

// Real implements Host.
func (Disk) Real(path string) (string, bool, bool) {
	if !filepath.IsAbs(path) {
		return "", false, false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false, false
	}
	st, err := os.Stat(real)
	return real, err == nil && st.IsDir(), err == nil
}

// Targets implements Host.
func (Disk) Targets(dir string) []string {
	var out []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		if filepath.Dir(target) != dir && !slices.Contains(out, target) {
			out = append(out, target)
		}
	}
	return out
}

// Programs implements Host.
func (Disk) Programs(dir string) []string {
	var out []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err != nil || slices.Contains(out, real) {
			continue
		}
		if st, err := os.Stat(real); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			out = append(out, real)
		}
	}
	return out
}

// Libraries implements Host. Only the directory itself is looked at: an
// interpreter's own extension modules, not those somebody installed below.
func (Disk) Libraries(dir string) []string {
	var objects []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".so") {
			objects = append(objects, filepath.Join(dir, e.Name()))
		}
	}
	return closure.Libraries(objects)
}
