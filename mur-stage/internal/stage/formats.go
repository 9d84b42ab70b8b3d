package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
)

// Format is a kind of guest file and the engine that runs it. What needs no
// engine is asked without one: starting one costs more than everything else a
// warm staging does.
type Format struct {
	Implementation string // session.ImplComponent or ImplCore
	Header         []byte // the first eight bytes of such a file, version included
	Info           wasmhost.EngineInfo
	Missing        bool // this build has no engine for it
	// Check tells from the bytes whether a guest fits its kind.
	Check func(wasm []byte, kind wasmhost.Kind) error
	// Engine starts the engine, or returns the one it started.
	Engine func() (wasmhost.Engine, error)
}

// Formats are the formats of this build: components, and core modules.
func Formats() []Format {
	info, ok := component.Info()
	return []Format{
		{
			Implementation: session.ImplComponent, Header: []byte{0, 'a', 's', 'm', 0x0d, 0, 1, 0},
			Info: info, Missing: !ok, Check: component.Check,
			Engine: sync.OnceValues(func() (wasmhost.Engine, error) { return component.New() }),
		},
		{
			Implementation: session.ImplCore, Header: []byte{0, 'a', 's', 'm', 1, 0, 0, 0},
			Info: core.New().Info(),
			Check: func(wasm []byte, kind wasmhost.Kind) error {
				_, err := core.Check(wasm, kind)
				return err
			},
			Engine: sync.OnceValues(func() (wasmhost.Engine, error) { return core.New(), nil }),
		},
	}
}

// formatOf tells what a guest file is by its first bytes (WIT-5, WIT-6).
func (s *staging) formatOf(wasm []byte) (Format, error) {
	for _, f := range s.host.Formats {
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

// format returns the format of an implementation, or false.
func (s *staging) format(implementation string) (Format, bool) {
	for _, f := range s.host.Formats {
		if f.Implementation == implementation && !f.Missing {
			return f, true
		}
	}
	return Format{}, false
}

// guest is a verified guest: what it is and where its compiled form lies.
type guest struct {
	implementation string
	iface          string
	payload        session.Payload
	compiled       *session.Compiled // nil when no form could be kept
}

// note is what is kept beside a compiled form about the bytes it came from, so
// that a warm staging need not unpack and read them again.
type note struct {
	Payload session.Payload `json:"payload"`
	Kinds   []wasmhost.Kind `json:"kinds"` // the bytes were checked as a guest of these
}

// noted returns the guest that was compiled from bytes of this hash before, if
// its form is there and it was checked as a guest of the kind.
func (s *staging) noted(hash string, kind wasmhost.Kind) (guest, bool) {
	forms := s.compiledForms()
	for _, f := range s.host.Formats {
		if f.Missing {
			continue
		}
		data, ok := forms.Note(hash, f.Info.Fingerprint)
		var n note
		if !ok || json.Unmarshal(data, &n) != nil || !slices.Contains(n.Kinds, kind) {
			continue
		}
		if sum, ok := forms.Recorded(hash, f.Info.Fingerprint); ok {
			return guest{f.Implementation, wasmhost.Export(kind), n.Payload, formOf(forms, hash, sum, f.Info.Fingerprint)}, true
		}
	}
	return guest{}, false
}

// prepare checks that wasm is a guest of its kind and makes sure that it
// compiles: by a compiled form that is there, which the launch verifies when it
// loads it, or by compiling it (ART-114, ART-134). Hash is the one the bytes were
// verified by, what the guest's name in a refusal, entry its name in the archive.
func (s *staging) prepare(ctx context.Context, what, entry string, wasm []byte, hash string, kind wasmhost.Kind) (guest, error) {
	f, err := s.formatOf(wasm)
	if err == nil {
		err = f.Check(wasm, kind)
	}
	if err != nil {
		return guest{}, wasmhost.Refusal(what, kind, err)
	}
	g := guest{implementation: f.Implementation, iface: wasmhost.Export(kind)}
	g.payload = session.Payload{Entry: entry, SHA256: hashOf(wasm), Bytes: int64(len(wasm))}
	forms := s.compiledForms()
	sum, ok := forms.Recorded(hash, f.Info.Fingerprint)
	if !ok {
		form, err := compile(ctx, f, wasm, kind)
		if err != nil {
			return guest{}, wasmhost.Refusal(what, kind, err)
		}
		if form == nil {
			return g, nil
		}
		if sum, ok = forms.Save(hash, f.Info.Fingerprint, form); !ok {
			return g, nil
		}
	}
	g.compiled = formOf(forms, hash, sum, f.Info.Fingerprint)
	if data, err := json.Marshal(note{g.payload, []wasmhost.Kind{kind}}); err == nil {
		forms.SaveNote(hash, f.Info.Fingerprint, data)
	}
	return g, nil
}

func formOf(forms *store.Compiled, hash, sum, fingerprint string) *session.Compiled {
	return &session.Compiled{Path: forms.Path(hash, fingerprint), SHA256: sum, Fingerprint: fingerprint}
}

// compile compiles a guest and returns its form, nil where the engine keeps none.
func compile(ctx context.Context, f Format, wasm []byte, kind wasmhost.Kind) ([]byte, error) {
	engine, err := f.Engine()
	if err != nil {
		return nil, err
	}
	g, err := engine.Compile(ctx, wasm, kind)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	form, err := g.Form()
	if err != nil {
		return nil, nil // the session compiles it again at launch
	}
	return form, nil
}
