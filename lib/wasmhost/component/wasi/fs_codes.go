package wasi

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost/hostfile"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// errTooManyFiles is this package's own limit; it looks like the kernel's.
var errTooManyFiles error = syscall.EMFILE

// errnoNames are the error-codes of wasi:filesystem by errno(3). The interface
// has no code for too many open files; quota is the nearest.
var errnoNames = map[syscall.Errno]enum{
	syscall.EACCES: "access", syscall.EAGAIN: "would-block", syscall.EALREADY: "already", syscall.EBADF: "bad-descriptor",
	syscall.EBUSY: "busy", syscall.EDEADLK: "deadlock", syscall.EDQUOT: "quota", syscall.EMFILE: "quota", syscall.ENFILE: "quota",
	syscall.EEXIST: "exist", syscall.EFBIG: "file-too-large", syscall.EILSEQ: "illegal-byte-sequence", syscall.EINPROGRESS: "in-progress",
	syscall.EINTR: "interrupted", syscall.EINVAL: "invalid", syscall.EIO: "io", syscall.EISDIR: "is-directory", syscall.ELOOP: "loop",
	syscall.EMLINK: "too-many-links", syscall.EMSGSIZE: "message-size", syscall.ENAMETOOLONG: "name-too-long", syscall.ENODEV: "no-device",
	syscall.ENOENT: "no-entry", syscall.ENOLCK: "no-lock", syscall.ENOMEM: "insufficient-memory", syscall.ENOSPC: "insufficient-space",
	syscall.ENOTDIR: "not-directory", syscall.ENOTEMPTY: "not-empty", syscall.ENOTRECOVERABLE: "not-recoverable",
	syscall.ENOTSUP: "unsupported", syscall.ENOSYS: "unsupported", syscall.ENOTTY: "no-tty", syscall.ENXIO: "no-such-device",
	syscall.EOVERFLOW: "overflow", syscall.EPERM: "not-permitted", syscall.EPIPE: "pipe", syscall.EROFS: "read-only",
	syscall.ESPIPE: "invalid-seek", syscall.ETXTBSY: "text-file-busy", syscall.EXDEV: "cross-device",
}

// errorCode is the error-code for err. A path that would leave its directory is
// not permitted; os.Root says so in words only, which TestEscapes watches.
func errorCode(err error) enum {
	var no syscall.Errno
	switch {
	case errors.As(err, &no):
		if n, ok := errnoNames[no]; ok {
			return n
		}
	case strings.Contains(err.Error(), "path escapes"):
		return "not-permitted"
	case errors.Is(err, fs.ErrInvalid):
		return "invalid"
	case errors.Is(err, fs.ErrNotExist):
		return "no-entry"
	case errors.Is(err, fs.ErrExist):
		return "exist"
	case errors.Is(err, fs.ErrClosed):
		return "bad-descriptor"
	}
	return "io"
}

func fileType(m fs.FileMode) enum {
	switch {
	case m.IsRegular():
		return "regular-file"
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic-link"
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeCharDevice != 0:
		return "character-device"
	case m&fs.ModeDevice != 0:
		return "block-device"
	}
	return "unknown"
}

// statRecord is a descriptor-stat.
func statRecord(fi fs.FileInfo) val {
	st := fi.Sys().(*syscall.Stat_t)
	access, change, _ := hostfile.Times(fi)
	stamp := func(t time.Time) val { return wasmtime.Some(datetime(t)) }
	return record{
		{Name: "type", V: fileType(fi.Mode())},
		{Name: "link-count", V: uint64(st.Nlink)},
		{Name: "size", V: uint64(fi.Size())},
		{Name: "data-access-timestamp", V: stamp(access)},
		{Name: "data-modification-timestamp", V: stamp(fi.ModTime())},
		{Name: "status-change-timestamp", V: stamp(change)},
	}
}

// metadataHash tells files apart: two descriptors have the same hash when they
// are the same object. Guests use it as device and inode number.
func metadataHash(fi fs.FileInfo) val {
	st := fi.Sys().(*syscall.Stat_t)
	h := fnv.New128a()
	h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(st.Dev)), st.Ino))
	sum := h.Sum(nil)
	return record{{Name: "lower", V: binary.BigEndian.Uint64(sum[8:])}, {Name: "upper", V: binary.BigEndian.Uint64(sum[:8])}}
}
