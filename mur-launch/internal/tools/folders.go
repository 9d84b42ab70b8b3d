package tools

import (
	"os"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Folders are the session's held roots.
type Folders struct{ Work, Runtime, Records, Home *workfs.Root }

// Open opens the directories of a grant for one call; CloseDirs ends them. A
// scope that is missing is made (MAN-76); one that can not be used is an error
// and is never widened (TOL-99). A state store was made at staging.
func (f Folders) Open(g Grant) ([]wasmhost.Dir, error) {
	var dirs []wasmhost.Dir
	if g.Scope != "" {
		root, err := osRoot(f.Work, g.Scope, f.Work.MakeSub)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, wasmhost.Dir{Guest: ".", Root: root})
	}
	if g.State != "" {
		root, err := osRoot(f.Home, g.State, f.Home.Sub)
		if err != nil {
			CloseDirs(dirs)
			return nil, err
		}
		dirs = append(dirs, wasmhost.Dir{Guest: "state", Root: root})
	}
	return dirs, nil
}

// osRoot opens the folder rel beneath held, or held itself for ".".
func osRoot(held *workfs.Root, rel string, sub func(string) (*workfs.Root, error)) (*os.Root, error) {
	if rel == "." {
		return held.OSRoot()
	}
	r, err := sub(rel)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.OSRoot()
}

// CloseDirs closes what Open opened.
func CloseDirs(dirs []wasmhost.Dir) {
	for _, d := range dirs {
		d.Root.Close()
	}
}
