package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	// Form returns the bytes of a compiled form that may be loaded, or false.
	Form(c *session.Compiled) ([]byte, bool)
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

// Artifact returns the guest of a declared tool.
func (g *Guests) Artifact(ctx context.Context, a *session.Artifact) (wasmhost.Guest, error) {
	return g.load(ctx, a.Name, a.Implementation, wasmhost.Tool, a.Compiled, a.Payload.SHA256, func() ([]byte, error) {
		return g.source.Archive(a.Archive, a.Payload.Entry)
	})
}

// Capsule returns the guest of a script capsule.
func (g *Guests) Capsule(ctx context.Context, c *session.Capsule) (wasmhost.Guest, error) {
	read, sum := func() ([]byte, error) { return g.source.File(c.Component) }, ""
	if c.Component != nil {
		sum = c.Component.SHA256
	} else {
		sum = c.Payload.SHA256
		read = func() ([]byte, error) { return g.source.Archive(c.Archive, c.Payload.Entry) }
	}
	return g.load(ctx, "", *c.Implementation, wasmhost.Capsule, c.Compiled, sum, read)
}

func (g *Guests) load(ctx context.Context, key, implementation string, kind wasmhost.Kind,
	form *session.Compiled, sum string, wasm func() ([]byte, error)) (wasmhost.Guest, error) {
	g.mu.Lock()
	l := g.loaded[key]
	if l == nil {
		l = &loading{}
		g.loaded[key] = l
	}
	g.mu.Unlock()
	l.once.Do(func() {
		l.guest, l.err = g.make(ctx, implementation, kind, form, sum, wasm)
	})
	return l.guest, l.err
}

// make prefers the compiled form, which is an optimisation: one that can not be
// had or loaded is compiled again from the verified bytes (SES-92, ART-134).
func (g *Guests) make(ctx context.Context, implementation string, kind wasmhost.Kind,
	form *session.Compiled, sum string, wasm func() ([]byte, error)) (wasmhost.Guest, error) {
	engine, err := g.source.Engine(implementation)
	if err != nil {
		return nil, err
	}
	if form != nil && form.Fingerprint == engine.Info().Fingerprint {
		if code, ok := g.source.Form(form); ok {
			if guest, err := engine.Load(ctx, code, kind); err == nil {
				return guest, nil
			}
		}
	}
	code, err := wasm()
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(code); hex.EncodeToString(got[:]) != sum {
		return nil, diag.Errorf("E-STG-102", "the guest's bytes are not the ones staged: their hash was %s and is %x", sum, got).
			Name("expected", sum).Name("found", hex.EncodeToString(got[:]))
	}
	return engine.Compile(ctx, code, kind)
}
