//go:build cgo

package wasmtime

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A process that keeps its memory from others, as a session with a key does, owns
// its entry in /proc no longer and maps a form all the same.
func TestLoadByAProcessThatIsNotDumpable(t *testing.T) {
	m := compileModule(t, moduleText)
	c := compile(t, memories(1, 1))
	form, err := c.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	loadModule(t, m)
	d, err := engine.Load(formFile(t, form))
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}
