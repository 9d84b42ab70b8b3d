package project

import (
	"context"
	"fmt"

	"github.com/mur-capsules/mur/lib/lockfile"
)

// Pin writes an entry into the project's lock, a new one in the place the manifest
// has for it (ART-77), and returns what was there. A conflicting entry is E-REG-005
// unless update is set (ART-96, ART-105).
func Pin(ctx context.Context, p *Places, in lockfile.Entry, update bool) (lockfile.Before, error) {
	var before lockfile.Before
	err := lockfile.Update(ctx, p.LockPath(), func(l lockfile.Lock) (lockfile.Lock, error) {
		if c := l.Conflicts(in); c != nil && !update {
			return l, c.Diagnostic()
		}
		var next lockfile.Lock
		next, before = l.Pin(in, p.declared())
		return next, nil
	})
	return before, err
}

// AdoptionLine tells that an operator's pin took over a session's (ART-104).
func AdoptionLine(in lockfile.Entry, before lockfile.Before) string {
	return fmt.Sprintf("adopted %s: its pin was written by session %s", in.Name, before.Origin.Session)
}
