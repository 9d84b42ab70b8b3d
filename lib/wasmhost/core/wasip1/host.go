package wasip1

import (
	"context"
	"io"
	"os"
	"time"
)

// Config is what one instance is shown.
type Config struct {
	Args []string // without NUL; the first is the program's name
	Env  []string // NAME=value, without NUL
	// The streams. A nil Stdin is at its end, a nil Stdout or Stderr takes and drops
	// everything. Stdin never blocks. A writer that may block stops waiting when the
	// Context of the Host ends. What a stream panics with passes through Func.Call.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Dirs are the directories a guest finds opened, from descriptor 3 on.
	Dirs []Dir
}

// Dir is a directory a guest finds opened.
type Dir struct {
	Guest string   // its path for the guest: "/", "/state"
	Root  *os.Root // stays the caller's, who closes it after the Host
	// Hidden is the name of an entry of the directory itself that the guest does not
	// see (WIT-59); empty for none. What of Dirs has that path for the guest lies over
	// it: a path through the name leads there.
	Hidden string

	over *Dir // what lies over Hidden
}

// Host is the state of one instance. One goroutine at a time uses it.
type Host struct {
	// Context bounds every wait. When it is over, each function ends the guest. The
	// caller sets it before the guest runs, and may replace it between two calls.
	Context context.Context

	args, env []string
	zero      time.Time // of the monotonic clock
	fds       descriptors
	end       error // why the running function ends the guest
}

// New makes the state of an instance that has done nothing yet.
func New(c Config) *Host {
	h := &Host{args: c.Args, env: c.Env, zero: time.Now()}
	h.fds.preopen(c)
	return h
}

// Close closes what the guest left open. Functions may no longer be called.
func (h *Host) Close() { h.fds.closeAll() }
