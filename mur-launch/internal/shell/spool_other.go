//go:build !linux

package shell

import (
	"os"

	"github.com/mur-capsules/mur/lib/workfs"
)

// nameless makes a file in a directory and removes its name.
func nameless(dir *workfs.Root) (*os.File, error) {
	f, err := os.CreateTemp(dir.Path(), ".spool-")
	if err == nil {
		err = os.Remove(f.Name())
	}
	return f, err
}
