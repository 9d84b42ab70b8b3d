// Package landlock limits the file access of a confined worker to the trees a
// plan names, each with exactly the rights of its kind (CON section 7).
//
// What a tree may be used for is a pure table here; RestrictThread carries it
// out for good, on a thread and on every program started from it. Whatever no rule grants is denied with
// EACCES. Landlock does not mediate stat, access, readlink, chmod, chown, utimes
// and extended attributes (CON-71): other mechanisms answer for those.
package landlock

import "github.com/mur-capsules/mur/lib/confine"

// Rule grants rights beneath (or on) what an O_PATH descriptor holds. Paths are
// resolved by whoever opened it, never here (CON-60).
type Rule struct {
	FD     int
	Rights uint64
}

// The numbers of linux/landlock.h: LANDLOCK_ACCESS_FS_* in their order, and
// LANDLOCK_SCOPE_*.
const (
	execute = uint64(1) << iota
	writeFile
	readFile
	readDir
	removeDir
	removeFile
	makeChar
	makeDir
	makeReg
	makeSock
	makeFifo
	makeBlock
	makeSym
	refer
	truncate
	ioctlDev
)

const (
	scopeAbstractSocket = uint64(1) << iota
	scopeSignal
)

const (
	firstVersion = execute | writeFile | readFile | readDir | removeDir | removeFile | makeChar | makeDir | makeReg | makeSock | makeFifo | makeBlock | makeSym
	// onFiles are the rights that mean something on what is no directory; the
	// kernel refuses a rule that holds another one there (CON-62).
	onFiles = execute | writeFile | readFile | truncate | ioctlDev
)

// Ruleset is what a ruleset governs: rights of files, and what of the processes
// outside is out of reach.
type Ruleset struct{ FS, Scoped uint64 }

// Handled is what a ruleset governs at a Landlock ABI: every right of the first
// version, and what newer kernels add (CON-59, CON-68).
func Handled(abi int) Ruleset {
	set := Ruleset{FS: firstVersion}
	if abi >= 2 {
		set.FS |= refer
	}
	if abi >= 3 {
		set.FS |= truncate
	}
	if abi >= 5 {
		set.FS |= ioctlDev
	}
	if abi >= 6 {
		set.Scoped = scopeAbstractSocket | scopeSignal
	}
	return set
}

// Rights are the rights of a tree at a Landlock ABI, for a directory or for
// anything else. workdirExec is the grant of that name and counts in the work
// folder alone. An unknown kind has none.
func Rights(t confine.Tree, abi int, isDir, workdirExec bool) uint64 {
	var r uint64
	switch t {
	case confine.WorkFolder:
		r = writeFile | readFile | readDir | removeDir | removeFile | makeDir | makeReg | makeFifo | makeSym | refer | truncate
		if workdirExec {
			r |= execute
		}
	case confine.RuntimeDir, confine.ReadTree:
		r = readFile | readDir
	case confine.ExecFile, confine.ExecDir:
		r = readFile | execute
	case confine.ExecListDir:
		r = readFile | readDir | execute
	case confine.DeviceRead:
		r = readFile
	case confine.DeviceWrite:
		r = readFile | writeFile | truncate
	case confine.Terminals:
		r = readFile | writeFile | truncate | ioctlDev
	}
	r &= Handled(abi).FS
	if !isDir {
		r &= onFiles
	}
	return r
}
