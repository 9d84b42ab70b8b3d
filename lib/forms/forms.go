// Package forms knows the formats of guests this build can run and makes sure
// that a verified guest fits its kind and has a compiled form on disk (ART-114,
// ART-126 to ART-134).
//
// It runs no guest and asks no network. A form that is there is named and not
// read: who loads it verifies it. mur-stage prepares what a session will run,
// mur-lock what it has installed.
package forms

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
)

// The words for the formats of guests, as the staged-session document has them.
const (
	Component = "component"
	Core      = "core"
)

// Format is a kind of guest file and the engine that runs it. What needs no
// engine is asked without one: starting one costs more than everything else a
// warm staging does.
type Format struct {
	Implementation string // Component or Core
	Header         []byte // the first eight bytes of such a file, version included
	Info           wasmhost.EngineInfo
	Missing        bool // this build has no engine for it
	// Check tells from the bytes whether a guest fits its kind.
	Check func(wasm []byte, kind wasmhost.Kind) error
	// Engine starts the engine, or returns the one it started.
	Engine func() (wasmhost.Engine, error)
}

// Formats are formats, each with another header.
type Formats []Format

// Built are the formats of this build: components, and core modules.
func Built() Formats {
	info, ok := component.Info()
	return Formats{
		{
			Implementation: Component, Header: []byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0},
			Info: info, Missing: !ok, Check: component.Check,
			Engine: sync.OnceValues(func() (wasmhost.Engine, error) { return component.New() }),
		},
		{
			Implementation: Core, Header: []byte{0, 'a', 's', 'm', 1, 0, 0, 0},
			Info: core.Info(),
			Check: func(wasm []byte, kind wasmhost.Kind) error {
				_, err := core.Check(wasm, kind)
				return err
			},
			Engine: sync.OnceValues(func() (wasmhost.Engine, error) { return core.New() }),
		},
	}
}

// Of tells what a guest file is by its first bytes (WIT-5, WIT-6). The error is
// a *wasmhost.LoadError.
func (fs Formats) Of(wasm []byte) (Format, error) {
	for _, f := range fs {
		if !bytes.HasPrefix(wasm, f.Header) {
			continue
		}
		if f.Missing {
			return Format{}, &wasmhost.LoadError{Reason: wasmhost.NoEngine}
		}
		return f, nil
	}
	return Format{}, &wasmhost.LoadError{Reason: wasmhost.BadFormat}
}

// Find returns the format of an implementation that this build has an engine
// for, or false.
func (fs Formats) Find(implementation string) (Format, bool) {
	for _, f := range fs {
		if f.Implementation == implementation && !f.Missing {
			return f, true
		}
	}
	return Format{}, false
}

// Source is a guest whose bytes were verified.
type Source struct {
	What  string // the guest's name in a refusal
	Entry string // its name in the archive or directory
	Wasm  []byte
	Hash  string // the one the bytes were verified by (ART-127)
	Kind  wasmhost.Kind
}

// Payload describes the bytes of a guest.
type Payload struct {
	Entry  string `json:"entry"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Form is where a compiled form lies and what it must hash to (ART-134).
type Form struct {
	Path, SHA256, Fingerprint string
}

// Guest is a verified guest: what it is and where its compiled form lies.
type Guest struct {
	Implementation string
	Interface      string
	Payload        Payload
	Form           *Form // nil when none could be kept
	Compiled       bool  // this call compiled it
}

// note is what is kept beside a compiled form about the bytes it came from, so
// that a warm staging need not unpack and read them again.
type note struct {
	Payload Payload         `json:"payload"`
	Kinds   []wasmhost.Kind `json:"kinds"` // the bytes were checked as a guest of these
}

// Noted returns the guest that was compiled from bytes of this hash before, if
// its form is there and it was checked as a guest of the kind.
func (fs Formats) Noted(kept *store.Compiled, hash string, kind wasmhost.Kind) (Guest, bool) {
	for _, f := range fs {
		if f.Missing {
			continue
		}
		data, ok := kept.Note(hash, f.Info.Fingerprint)
		var n note
		if !ok || json.Unmarshal(data, &n) != nil || !slices.Contains(n.Kinds, kind) {
			continue
		}
		if sum, ok := kept.Recorded(hash, f.Info.Fingerprint); ok {
			return Guest{
				Implementation: f.Implementation, Interface: wasmhost.Export(kind), Payload: n.Payload,
				Form: formOf(kept, hash, sum, f.Info.Fingerprint),
			}, true
		}
	}
	return Guest{}, false
}

// Prepare checks that the bytes are a guest of their kind and makes sure that
// they compile: by a compiled form that is there, or by compiling them (ART-114,
// ART-134). The error is wasmhost.Refusal's.
func (fs Formats) Prepare(ctx context.Context, kept *store.Compiled, src Source) (Guest, error) {
	f, g, err := fs.look(src)
	if err != nil {
		return Guest{}, err
	}
	sum, ok := kept.Recorded(src.Hash, f.Info.Fingerprint)
	if !ok {
		form, err := compile(ctx, f, src)
		if err != nil {
			return Guest{}, wasmhost.Refusal(src.What, src.Kind, err)
		}
		g.Compiled = true
		if form == nil {
			return g, nil
		}
		if sum, ok = kept.Save(src.Hash, f.Info.Fingerprint, form); !ok {
			return g, nil
		}
	}
	g.Form = formOf(kept, src.Hash, sum, f.Info.Fingerprint)
	if data, err := json.Marshal(note{g.Payload, []wasmhost.Kind{src.Kind}}); err == nil {
		kept.SaveNote(src.Hash, f.Info.Fingerprint, data)
	}
	return g, nil
}

// Vet tells whether Prepare would take the bytes, without keeping anything or
// spending what compiling them costs. The guest has no form; the error is that of
// Prepare (SES-271).
func (fs Formats) Vet(ctx context.Context, src Source) (Guest, error) {
	f, g, err := fs.look(src)
	if err != nil {
		return Guest{}, err
	}
	engine, err := f.Engine()
	if err == nil {
		err = engine.Vet(ctx, src.Wasm, src.Kind)
	}
	if err != nil {
		return Guest{}, wasmhost.Refusal(src.What, src.Kind, err)
	}
	return g, nil
}

// look tells what the bytes are and checks that they are a guest of their kind.
func (fs Formats) look(src Source) (Format, Guest, error) {
	f, err := fs.Of(src.Wasm)
	if err == nil {
		err = f.Check(src.Wasm, src.Kind)
	}
	if err != nil {
		return Format{}, Guest{}, wasmhost.Refusal(src.What, src.Kind, err)
	}
	return f, Guest{
		Implementation: f.Implementation, Interface: wasmhost.Export(src.Kind),
		Payload: Payload{Entry: src.Entry, SHA256: artifact.Hash(src.Wasm), Bytes: int64(len(src.Wasm))},
	}, nil
}

func formOf(kept *store.Compiled, hash, sum, fingerprint string) *Form {
	return &Form{Path: kept.Path(hash, fingerprint), SHA256: sum, Fingerprint: fingerprint}
}

// compile compiles a guest and returns its form, nil where the engine keeps none.
func compile(ctx context.Context, f Format, src Source) ([]byte, error) {
	engine, err := f.Engine()
	if err != nil {
		return nil, err
	}
	g, err := engine.Compile(ctx, src.Wasm, src.Kind)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	form, err := g.Form()
	if err != nil {
		return nil, nil // who runs it compiles it again
	}
	return form, nil
}
