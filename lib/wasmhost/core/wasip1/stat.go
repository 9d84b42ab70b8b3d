package wasip1

import (
	"encoding/binary"
	"io/fs"
	"syscall"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost/hostfile"
)

// File types.
const (
	typeUnknown   = 0
	typeBlock     = 1
	typeChar      = 2
	typeDirectory = 3
	typeRegular   = 4
	typeLink      = 7
)

func typeOf(mode fs.FileMode) byte {
	switch {
	case mode.IsRegular():
		return typeRegular
	case mode.IsDir():
		return typeDirectory
	case mode&fs.ModeSymlink != 0:
		return typeLink
	case mode&fs.ModeCharDevice != 0:
		return typeChar
	case mode&fs.ModeDevice != 0:
		return typeBlock
	}
	return typeUnknown // pipes and sockets
}

// typeStream is what standard streams are to a guest: a terminal would be a
// character device, and a regular file could be rewound.
const typeStream = typeBlock

// Layout of a filestat, of a fdstat and of a prestat.
const (
	statSize    = 64
	fdstatSize  = 24
	prestatSize = 8
)

// putStat writes a filestat: device, inode, type, links, size and three stamps.
func putStat(out []byte, fi fs.FileInfo) Errno {
	st, ok := fi.Sys().(*syscall.Stat_t)
	access, change, _ := hostfile.Times(fi)
	if !ok {
		return EIO
	}
	for i, v := range []uint64{
		uint64(st.Dev), st.Ino, uint64(typeOf(fi.Mode())), uint64(st.Nlink), uint64(st.Size),
		uint64(access.UnixNano()), uint64(fi.ModTime().UnixNano()), uint64(change.UnixNano()),
	} {
		binary.LittleEndian.PutUint64(out[8*i:], v)
	}
	return 0
}

// inode is the number of a file.
func inode(fi fs.FileInfo) uint64 {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ino
}

// putStreamStat writes the filestat of a standard stream.
func putStreamStat(out []byte) {
	clear(out[:statSize])
	out[16] = typeStream
	out[24] = 1
}

// Rights, which preview 1 had before it gave them up: they tell how a file is
// opened, and libraries ask what may be done with a descriptor.
const (
	rightDatasync        = 1 << 0
	rightRead            = 1 << 1
	rightSeek            = 1 << 2
	rightSetFlags        = 1 << 3
	rightSync            = 1 << 4
	rightTell            = 1 << 5
	rightWrite           = 1 << 6
	rightAdvise          = 1 << 7
	rightAllocate        = 1 << 8
	rightCreateDirectory = 1 << 9
	rightCreateFile      = 1 << 10
	rightLinkSource      = 1 << 11
	rightLinkTarget      = 1 << 12
	rightOpen            = 1 << 13
	rightReaddir         = 1 << 14
	rightReadlink        = 1 << 15
	rightRenameSource    = 1 << 16
	rightRenameTarget    = 1 << 17
	rightPathStat        = 1 << 18
	rightPathSetSize     = 1 << 19
	rightPathSetTimes    = 1 << 20
	rightStat            = 1 << 21
	rightSetSize         = 1 << 22
	rightSetTimes        = 1 << 23
	rightSymlink         = 1 << 24
	rightRemoveDirectory = 1 << 25
	rightUnlink          = 1 << 26
	rightPoll            = 1 << 27
	fileRights           = rightDatasync | rightRead | rightSeek | rightSetFlags | rightSync | rightTell | rightWrite |
		rightAdvise | rightAllocate | rightStat | rightSetSize | rightSetTimes | rightPoll
	streamRights = fileRights &^ (rightSeek | rightTell)
	dirRights    = rightDatasync | rightSetFlags | rightSync | rightCreateDirectory | rightCreateFile |
		rightLinkSource | rightLinkTarget | rightOpen | rightReaddir | rightReadlink |
		rightRenameSource | rightRenameTarget | rightPathStat | rightPathSetSize | rightPathSetTimes |
		rightStat | rightSetTimes | rightSymlink | rightRemoveDirectory | rightUnlink
)

// stamp is a time of a file to be set: nanoseconds since 1970, or left as it is.
type stamp struct {
	nanos int64
	set   bool
}

// stampsOf reads the times of access and of change, each given, now, or left.
func stampsOf(atim, mtim uint64, flags uint16) (stamps [2]stamp, errno Errno) {
	now := time.Now().UnixNano()
	for i, given := range []uint64{atim, mtim} {
		const set, setNow = 1, 2
		switch flags >> (2 * i) & 3 {
		case set:
			stamps[i] = stamp{int64(given), true}
		case setNow:
			stamps[i] = stamp{now, true}
		case set | setNow:
			return stamps, EINVAL
		}
	}
	return stamps, 0
}

// time makes of a stamp left alone the zero time, which os.Root.Chtimes leaves.
func (s stamp) time() time.Time {
	if !s.set {
		return time.Time{}
	}
	return time.Unix(0, s.nanos)
}
