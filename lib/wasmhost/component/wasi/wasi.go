// Package wasi serves WASI preview 2 (0.2.x) to components from Go.
//
// A linker takes Interfaces once and serves every store; what one guest may
// have comes with its store, as an Instance made from a Config. What a Config
// does not give is empty or refused: no variable, no argument, no directory, no
// request. Standard input is always at its end, sockets are always refused
// (WIT-26, WIT-31, WIT-67, WIT-70).
//
// Every call that can wait watches the context of the guest's call and ends the
// guest when it is over (CON-262); only the work of a local disk on one chunk of
// at most 64 KiB, and fsync, are waited for. What a guest can make the host hold
// is bounded: see the limits below.
//
// The package never looks at policy, never opens a path outside the directories
// it was handed, never dials, and never touches the process's own streams,
// environment or working directory.
//
// Bytes cross between guest and host packed into strings when the component was
// passed through Wrap before it was compiled; README.md explains why and how.
package wasi

import (
	"context"
	"crypto/rand"
	"io"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// Version is the WASI version the interfaces are registered under. A component
// that imports another 0.2.x is served the same ones.
const Version = "0.2.12"

// What one guest can make the host hold. Handles are bounded by the store
// (wasmtime.StoreConfig.Handles).
const (
	// Chunk is the most bytes that one stream call moves and that one buffered
	// stream (an HTTP body) holds on either side.
	Chunk = 64 << 10
	// maxFiles bounds the files, directories and listings open at a time (WIT-72).
	maxFiles = 256
	// maxRequests bounds the HTTP exchanges under way at a time, from handle
	// until the response's body is dropped.
	maxRequests = 64
	// maxFieldsSize bounds one set of headers or trailers, counted as the sum of
	// names, values and 32 for each entry.
	maxFieldsSize = 128 << 10
	// maxFieldsTotal bounds all of a guest's header sets together.
	maxFieldsTotal = 8 << 20
	// maxRandom bounds the bytes of one call to wasi:random.
	maxRandom = 1 << 20
)

// Config is what one instance may have.
type Config struct {
	// Args are the command line, the program's name first.
	Args []string
	// Env holds KEY=VALUE strings, exactly what the guest sees; an entry without
	// "=" is a variable with an empty value.
	Env []string
	// Dirs are the granted directories, for reading and writing. They stay the
	// caller's to close, after Instance.Close.
	Dirs []wasmhost.Dir
	// HTTP sends the guest's requests; nil refuses each one.
	HTTP wasmhost.HTTP
	// Stdout and Stderr take what the guest prints; nil drops it. A writer is
	// never called from two goroutines at a time unless both are the same value
	// and one was given up because the call ended during its Write.
	Stdout, Stderr io.Writer
	// Now and Rand replace the wall clock and the source of random bytes, for
	// tests; nil means the real ones.
	Now  func() time.Time
	Rand io.Reader
}

// Holder is implemented by the Data of a store whose guest uses WASI.
type Holder interface{ WASI() *Instance }

// Instance is the WASI side of one store: its Config and what runs for it.
// wasmtime.StoreConfig.Data of the store must be a Holder of it.
type Instance struct {
	cfg            Config
	grants         []*grant
	stdout, stderr *output
	// ctx ends at Close; requests in flight end with it.
	ctx  context.Context
	stop context.CancelFunc
	// running counts the goroutines that serve the store.
	running sync.WaitGroup

	// The counters below are touched only by host functions and destructors,
	// which run on the goroutine that runs the guest.
	files  int
	fields int // bytes
	unsent int // requests made and not sent
	// exchanges are the requests under way, and some that are over.
	exchanges []*exchange
	// scratch holds the bytes of the stream call in progress.
	scratch []byte
}

// New makes the WASI side of one store. Close it after the store.
func New(cfg Config) *Instance {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	in := &Instance{cfg: cfg}
	in.ctx, in.stop = context.WithCancel(context.Background())
	for _, d := range cfg.Dirs {
		in.grants = append(in.grants, &grant{d.Root, d.Guest})
	}
	in.stdout, in.stderr = newOutput(cfg.Stdout), newOutput(cfg.Stderr)
	return in
}

// WASI returns the instance itself, which makes it a Holder.
func (in *Instance) WASI() *Instance { return in }

// Close cancels what still runs for the store and waits until it has ended: no
// goroutine is left, except one inside the Write of a Stdout or Stderr that
// blocked until the call's context was over and has no write deadline to be
// woken by; it ends with that Write. Call it once, after Store.Close.
func (in *Instance) Close() error {
	in.stop()
	in.stdout.close()
	in.stderr.close()
	in.running.Wait()
	return nil
}

// Interfaces returns the interfaces served here; some have functions beside
// those of WASI, which components call that went through Wrap. The functions hold no state: one linker may
// serve any number of stores.
func Interfaces() []wasmtime.Interface {
	var all []wasmtime.Interface
	for _, list := range [][]wasmtime.Interface{
		ioInterfaces(), cliInterfaces(), clockInterfaces(), randomInterfaces(),
		filesystemInterfaces(), socketInterfaces(), httpInterfaces(),
	} {
		for _, i := range list {
			i.Name = "wasi:" + i.Name + "@" + Version
			all = append(all, i)
		}
	}
	return all
}
