package room

import (
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
)

// guardInterval is how often the size guard walks (CON-193).
const guardInterval = 10 * time.Second

// Guard watches the size of a work folder outside of a session (CON-192). The
// first measurement above the limit latches.
type Guard struct {
	stop   chan struct{}
	done   chan struct{}
	breach chan struct{}
	once   sync.Once
	err    error
}

// Watch starts a guard where the policy has one: in every contained session, and
// in an unconfined one that declares it (CON-28). Stop ends it.
func Watch(work string, p policy.Policy, unconfined bool) *Guard {
	g := &Guard{stop: make(chan struct{}), done: make(chan struct{}), breach: make(chan struct{})}
	if unconfined && p.DeclaredResources.WorkdirMaxBytes == nil {
		close(g.done)
		return g
	}
	go g.run(work, p.Resources.WorkdirMaxBytes)
	return g
}

func (g *Guard) run(work string, limit int64) {
	defer close(g.done)
	tick := time.NewTicker(guardInterval)
	defer tick.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-tick.C:
		}
		if n := g.size(work); n > limit {
			g.err = Oversize(work, n, limit)
			close(g.breach)
			return
		}
	}
}

// size adds the sizes of files without following links; what can not be read is
// skipped, and a walk that is told to stop counts nothing.
func (g *Guard) size(work string) int64 {
	var total int64
	err := filepath.WalkDir(work, func(_ string, e fs.DirEntry, err error) error {
		select {
		case <-g.stop:
			return fs.SkipAll
		default:
		}
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0
	}
	return total
}

// Oversize is the E-RUN-013 of a work folder that has grown too large (CON-194).
func Oversize(work string, found, limit int64) error {
	return diag.Errorf("E-RUN-013", "the work folder holds %d bytes, more than workdir_max_bytes = %d; no further command starts", found, limit).
		In("session").About(diag.Subject{Kind: diag.Path, Name: work}).Name("measured", found).Name("limit", limit).
		Hint("make room, or raise resources.workdir_max_bytes")
}

// Breached is closed when the folder has grown too large.
func (g *Guard) Breached() <-chan struct{} { return g.breach }

// Breach is the error of a folder that has, or nil.
func (g *Guard) Breach() error {
	select {
	case <-g.breach:
		return g.err
	default:
		return nil
	}
}

// Stop ends the guard and waits for it.
func (g *Guard) Stop() {
	g.once.Do(func() { close(g.stop) })
	<-g.done
}
