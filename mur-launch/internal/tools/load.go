package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"sync"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Source is where guests come from.
type Source interface {
	// Engine returns the engine for an implementation, component or core. It is
	// started at the first call for it, since a session that runs no component
	// has no use for that engine.
	Engine(implementation string) (wasmhost.Engine, error)
	// Form opens a compiled form that may be loaded, or returns false. Source is
	// the hash of the archive or file the form was compiled from.
	Form(source string, c *session.Compiled) (*os.File, bool)
	// Archive returns the bytes of one entry of an archive.
	Archive(f *session.File, entry string) ([]byte, error)
	// File returns the bytes of a file.
	File(f *session.File) ([]byte, error)
}

// Guests loads each guest once, at its first call, and keeps it for the
// session. It is safe for concurrent use.
type Guests struct {
	source Source

	mu     sync.Mutex
	loaded map[string]*loading
}

type loading struct {
	once  sync.Once
	guest wasmhost.Guest
	err   error
}

// NewGuests makes a loader. Close it after the last call.
func NewGuests(s Source) *Guests {
	return &Guests{source: s, loaded: map[string]*loading{}}
}

// Close frees the code of every guest.
func (g *Guests) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, l := range g.loaded {
		if l.guest != nil {
			errs = append(errs, l.guest.Close())
		}
	}
	return errors.Join(errs...)
}

// Artifact returns the guest of a declared tool or driver.
func (g *Guests) Artifact(ctx context.Context, a *session.Artifact) (wasmhost.Guest, error) {
	return g.load(ctx, a.Name, origin{
		implementation: a.Implementation, kind: kindOf(a),
		form: a.Compiled, source: a.Archive.SHA256, sum: a.Payload.SHA256,
		wasm: func() ([]byte, error) { return g.source.Archive(a.Archive, a.Payload.Entry) },
	})
}

// Capsule returns the guest of a script capsule.
func (g *Guests) Capsule(ctx context.Context, c *session.Capsule) (wasmhost.Guest, error) {
	o := origin{implementation: *c.Implementation, kind: wasmhost.Capsule, form: c.Compiled}
	if c.Component != nil {
		o.source, o.sum = c.Component.SHA256, c.Component.SHA256
		o.wasm = func() ([]byte, error) { return g.source.File(c.Component) }
	} else {
		o.source, o.sum = c.Archive.SHA256, c.Payload.SHA256
		o.wasm = func() ([]byte, error) { return g.source.Archive(c.Archive, c.Payload.Entry) }
	}
	return g.load(ctx, "", o)
}

// origin says where one guest comes from.
type origin struct {
	implementation string
	kind           wasmhost.Kind
	form           *session.Compiled      // nil for none
	source         string                 // hash of the archive or file
	sum            string                 // hash of the guest's own bytes
	wasm           func() ([]byte, error) // these bytes
}

func (g *Guests) load(ctx context.Context, key string, o origin) (wasmhost.Guest, error) {
	g.mu.Lock()
	l := g.loaded[key]
	if l == nil {
		l = &loading{}
		g.loaded[key] = l
	}
	g.mu.Unlock()
	l.once.Do(func() { l.guest, l.err = g.make(ctx, o) })
	return l.guest, l.err
}

// make prefers the compiled form, which is an optimisation: one that can not be
// had or loaded is compiled again from the verified bytes (SES-92, ART-134).
func (g *Guests) make(ctx context.Context, o origin) (wasmhost.Guest, error) {
	engine, err := g.source.Engine(o.implementation)
	if err != nil {
		return nil, err
	}
	if o.form != nil && o.form.Fingerprint == engine.Info().Fingerprint {
		if form, ok := g.source.Form(o.source, o.form); ok {
			guest, err := engine.Load(ctx, form, o.kind)
			form.Close()
			if err == nil {
				return guest, nil
			}
		}
	}
	code, err := o.wasm()
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(code); hex.EncodeToString(got[:]) != o.sum {
		return nil, diag.Errorf("E-STG-102", "the guest's bytes are not the ones staged: their hash was %s and is %x", o.sum, got).
			Name("expected", o.sum).Name("found", hex.EncodeToString(got[:]))
	}
	return engine.Compile(ctx, code, o.kind)
}
