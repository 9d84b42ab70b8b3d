package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Torn is a version of an artifact that is not as a writer leaves it.
type Torn struct {
	Ref    artifact.Ref
	Dir    string
	Reason string
	// Recoverable is true for what a writer that was killed left and Recover
	// puts right; nothing else can be, but by installing the artifact again.
	Recoverable bool
}

// lookTime is how long Torn waits for a writer at work: it leaves nothing torn.
const lookTime = 200 * time.Millisecond

// Torn lists the versions in which a write did not come to its end, and archives
// and hashes without one another. Readers use none of these bytes (ART-53,
// ART-55); the list says why an artifact is not found and what takes up room. It
// changes nothing. An absent store has none.
func (s *Store) Torn(ctx context.Context) ([]Torn, error) {
	var out []Torn
	err := s.each(func(ref artifact.Ref) error {
		ctx, stop := context.WithTimeout(ctx, lookTime)
		defer stop()
		v, err := s.openVersion(ctx, ref)
		if errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
			return nil
		}
		t := Torn{Ref: ref}
		if err != nil {
			t.Reason = err.Error()
			out = append(out, t)
			return nil
		}
		defer v.close()
		t.Dir = v.root.Path()
		if t.Reason, t.Recoverable, err = v.torn(); t.Reason != "" {
			out = append(out, t)
		}
		return err
	})
	if err != nil {
		return out, workfs.Fault(err, fmt.Sprintf("cannot list the %s store", s.label))
	}
	return out, nil
}

// torn says what is wrong with the directory of a version, "" for nothing.
func (v *version) torn() (reason string, recoverable bool, err error) {
	if len(v.journal.Files) > 0 {
		return "a write was interrupted; what was there before it counts", true, nil
	}
	entries, err := v.root.List(".")
	if err != nil {
		return "", false, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name, oldPrefix) {
			return "a write left the files it replaced", true, nil
		}
		files = append(files, e.Name)
	}
	dead, err := v.root.DeadTemporaries(".")
	if err != nil {
		return "", false, err
	}
	if len(dead) > 0 {
		return "a killed write left unfinished files", true, nil
	}
	for _, name := range files {
		for _, pair := range [][2]string{{artifact.Suffix, hashSuffix}, {hashSuffix, artifact.Suffix}} {
			if stem, ok := strings.CutSuffix(name, pair[0]); ok && !slices.Contains(files, stem+pair[1]) {
				return fmt.Sprintf("%s is there without %s, so it counts for nothing", name, stem+pair[1]), false, nil
			}
		}
	}
	return "", false, nil
}

// Recover undoes an interrupted write of one version and removes what killed
// writers left, waiting for a living one until ctx ends. It is what the next
// writer would do.
func (s *Store) Recover(ctx context.Context, ref artifact.Ref) error {
	err := s.recover(ctx, ref)
	return workfs.Fault(err, "cannot recover "+ref.String()+" in the "+s.label+" store")
}

func (s *Store) recover(ctx context.Context, ref artifact.Ref) error {
	root, err := s.open(false)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := root.Sub(versionDir(ref))
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := dir.Lock(ctx, guardName)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return recoverWrite(dir)
}
