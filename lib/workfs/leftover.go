package workfs

import (
	"encoding/hex"
	"strings"

	"golang.org/x/sys/unix"
)

// TryLockExisting takes the exclusive lock on the existing file rel, or fails at
// once: with an error that wraps ErrLocked, or fs.ErrNotExist where there is no
// such file. It makes nothing.
func (r *Root) TryLockExisting(rel string) (*Lock, error) { return r.tryLock(rel, unix.LOCK_EX, false) }

// DeadTemporaries lists the temporaries in the directory dir, whatever file they
// were to become, whose writers are dead.
func (r *Root) DeadTemporaries(dir string) ([]string, error) {
	entries, err := r.List(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if e.IsRegular() && isTemporary(e.Name) && r.abandoned(beneath(dir, e.Name)) {
			out = append(out, beneath(dir, e.Name))
		}
	}
	return out, nil
}

// RemoveTemporary removes a temporary unless its writer lives.
func (r *Root) RemoveTemporary(rel string) { r.sweepOne(rel) }

// abandoned tells whether nobody holds the lock of a temporary.
func (r *Root) abandoned(rel string) bool {
	f, err := r.Open(rel)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func beneath(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// isTemporary tells whether a name has the form tempName gives.
func isTemporary(name string) bool {
	base, ok := strings.CutSuffix(name, tempSuffix)
	i := strings.LastIndexByte(base, '.')
	if !ok || !strings.HasPrefix(name, ".") || i < 1 || len(base)-i-1 != 16 {
		return false
	}
	_, err := hex.DecodeString(base[i+1:])
	return err == nil
}
