// Package guests is where a session's guests come from: the engines of this
// build, compiled forms, archives and files, each only when it is asked for.
//
// It promises that bytes are handed out only when they have the hash the staged
// document records, read once and never again by path. It never compiles by
// itself and never trusts a form because of where it lies.
package guests

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"sync"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/component"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Source serves one session. It is safe for concurrent use.
type Source struct {
	doc   *session.Document
	forms *store.Compiled

	mu      sync.Mutex
	engines map[string]wasmhost.Engine
}

// NewSource makes a Source. Close it after the guests it led to.
func NewSource(doc *session.Document, home workfs.Home) *Source {
	return &Source{
		doc: doc, forms: store.OpenCompiled(home, doc.Directories.Work.Path), engines: map[string]wasmhost.Engine{},
	}
}

// Close ends the engines that were started.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, e := range s.engines {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}

// Engine returns the engine of an implementation and starts it at the first
// call.
func (s *Source) Engine(implementation string) (wasmhost.Engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.engines[implementation]; e != nil {
		return e, nil
	}
	e, err := start(implementation)
	if err != nil {
		return nil, err
	}
	s.engines[implementation] = e
	return e, nil
}

func start(implementation string) (wasmhost.Engine, error) {
	if implementation == session.ImplCore {
		return core.New()
	}
	return component.New()
}

// Form opens a compiled form when it is this user's and has both the hash recorded
// beside it and the document's (ART-134).
func (s *Source) Form(source string, c *session.Compiled) (*os.File, bool) {
	form, sum, ok := s.forms.Open(source, c.Fingerprint)
	if ok && sum != c.SHA256 {
		form.Close()
		return nil, false
	}
	return form, ok
}

// Archive returns the bytes of an entry of an archive.
func (s *Source) Archive(f *session.File, entry string) ([]byte, error) {
	data, err := s.File(f)
	if err != nil {
		return nil, err
	}
	a, err := artifact.Open(data, artifact.Limits{EntryBytes: uint64(max(s.doc.Stores.DecompressionCeiling, 0))})
	if err != nil {
		return nil, artifact.Fault(f.Path, err)
	}
	code, err := a.Read(entry)
	if err != nil {
		return nil, artifact.Fault(f.Path, err)
	}
	return code, nil
}

// File returns the bytes of a file that has the recorded hash.
func (s *Source) File(f *session.File) ([]byte, error) {
	data, err := workfs.ReadFile(f.Path, f.Bytes+1)
	if err != nil {
		return nil, workfs.Fault(err, "cannot read a staged file")
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, diag.Errorf("E-STG-102", "%s is not what was staged: its hash was %s and is %x", f.Path, f.SHA256, sum).
			Hint("stage the capsule again").Name("path", f.Path).Name("expected", f.SHA256).Name("found", hex.EncodeToString(sum[:]))
	}
	return data, nil
}
