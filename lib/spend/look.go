package spend

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/workfs"
)

// Used returns how many tokens the machine has used on the day of now: 0 where
// there is no ledger yet. It creates, locks and removes nothing, so a line that is
// being written may be missing. An error says that the ledger can not be used as
// it is. mur-stage --check and mur-doctor ask it.
func Used(home workfs.Home, now time.Time) (int64, error) {
	dir, err := home.OpenExisting(Dir, workfs.Options{Plain: true})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	if err := unix.Access(dir.Path(), unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		return 0, fmt.Errorf("%s: %w", dir.Path(), err)
	}
	l := &Ledger{dir: dir, now: func() time.Time { return now }, sums: newSums()}
	if err := l.catchUp(); err != nil {
		return 0, err
	}
	for _, name := range []string{lockName, l.day + suffix} {
		st, err := dir.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !st.IsRegular() {
			err = fmt.Errorf("%s: %w", dir.Join(name), workfs.ErrRefused)
		}
		if err == nil {
			err = unix.Access(dir.Join(name), unix.R_OK|unix.W_OK)
		}
		if err != nil {
			return 0, err
		}
	}
	return l.sums.machine, nil
}
