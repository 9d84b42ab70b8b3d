package stage

import (
	"context"

	"github.com/mur-capsules/mur/lib/forms"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

// guest is a verified guest in the words of the document.
type guest struct {
	implementation string
	iface          string
	payload        session.Payload
	compiled       *session.Compiled // nil when no form could be kept
}

func guestOf(g forms.Guest) guest {
	out := guest{implementation: g.Implementation, iface: g.Interface, payload: session.Payload(g.Payload)}
	if g.Form != nil {
		compiled := session.Compiled(*g.Form)
		out.compiled = &compiled
	}
	return out
}

// noted returns the guest that was compiled from bytes of this hash before, if
// its form is there and it was checked as a guest of the kind.
func (s *staging) noted(hash string, kind wasmhost.Kind) (guest, bool) {
	g, ok := s.host.Formats.Noted(s.compiledForms(), hash, kind)
	return guestOf(g), ok
}

// prepare checks that wasm is a guest of its kind and makes sure that it
// compiles; a check takes the engine's word that it would. Hash is the one the bytes
// were verified by, what the guest's name in a refusal, entry its name in the
// archive.
func (s *staging) prepare(ctx context.Context, what, entry string, wasm []byte, hash string, kind wasmhost.Kind) (guest, error) {
	src := forms.Source{What: what, Entry: entry, Wasm: wasm, Hash: hash, Kind: kind}
	if s.check {
		g, err := s.host.Formats.Vet(ctx, src)
		return guestOf(g), err
	}
	g, err := s.host.Formats.Prepare(ctx, s.compiledForms(), src)
	return guestOf(g), err
}
