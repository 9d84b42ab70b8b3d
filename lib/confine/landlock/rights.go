// Package landlock limits the file access of a confined worker to the trees a
// plan names, each with exactly the rights of its kind (CON section 7).
//
// What a tree may be used for is a pure table here; RestrictThread carries it
// out for good, on a thread and on every program started from it. Whatever no rule grants is denied with
// EACCES. Landlock does not mediate stat, access, readlink, chmod, chown, utimes
// and extended attributes (CON-71): other mechanisms answer for those.
package landlock

import (
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
)

const (
	execute    = unix.LANDLOCK_ACCESS_FS_EXECUTE
	writeFile  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	readFile   = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir    = unix.LANDLOCK_ACCESS_FS_READ_DIR
	removeDir  = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR
	removeFile = unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	makeChar   = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR
	makeDir    = unix.LANDLOCK_ACCESS_FS_MAKE_DIR
	makeReg    = unix.LANDLOCK_ACCESS_FS_MAKE_REG
	makeSock   = unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	makeFifo   = unix.LANDLOCK_ACCESS_FS_MAKE_FIFO
	makeBlock  = unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	makeSym    = unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	refer      = unix.LANDLOCK_ACCESS_FS_REFER
	truncate   = unix.LANDLOCK_ACCESS_FS_TRUNCATE
	ioctlDev   = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	firstVersion = execute | writeFile | readFile | readDir | removeDir | removeFile | makeChar | makeDir | makeReg | makeSock | makeFifo | makeBlock | makeSym
	// onFiles are the rights that mean something on what is no directory; the
	// kernel refuses a rule that holds another one there (CON-62).
	onFiles = execute | writeFile | readFile | truncate | ioctlDev
)

// Handled is what a ruleset governs at a Landlock ABI: every right of the first
// version, and what newer kernels add (CON-59, CON-68).
func Handled(abi int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: firstVersion}
	if abi >= 2 {
		attr.Handled_access_fs |= refer
	}
	if abi >= 3 {
		attr.Handled_access_fs |= truncate
	}
	if abi >= 5 {
		attr.Handled_access_fs |= ioctlDev
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
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
	r &= Handled(abi).Handled_access_fs
	if !isDir {
		r &= onFiles
	}
	return r
}
