package core

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	wsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
	"golang.org/x/sys/unix"
)

// rootFile is an open file or directory of a guest.
type rootFile struct {
	wsys.UnimplementedFile
	dir    *rootFS
	f      *os.File
	isDir  bool
	flag   wsys.Oflag
	hidden string // entry left out of a listing
}

func (f *rootFile) Stat() (sys.Stat_t, wsys.Errno) {
	fi, err := f.f.Stat()
	if err != nil {
		return sys.Stat_t{}, errnoOf(err)
	}
	return sys.NewStat_t(fi), 0
}

func (f *rootFile) Dev() (uint64, wsys.Errno) {
	st, errno := f.Stat()
	return st.Dev, errno
}

func (f *rootFile) Ino() (sys.Inode, wsys.Errno) {
	st, errno := f.Stat()
	return st.Ino, errno
}

func (f *rootFile) IsDir() (bool, wsys.Errno) { return f.isDir, 0 }

func (f *rootFile) IsAppend() bool { return f.flag&wsys.O_APPEND != 0 }

// SetAppend changes the flag of the open file, as fcntl(2) does.
func (f *rootFile) SetAppend(enable bool) wsys.Errno {
	errno := f.control(func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		if flags &^= unix.O_APPEND; enable {
			flags |= unix.O_APPEND
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
		return err
	})
	if errno == 0 {
		if f.flag &^= wsys.O_APPEND; enable {
			f.flag |= wsys.O_APPEND
		}
	}
	return errno
}

// read turns "at the end" into nothing read, as WASI has it.
func (f *rootFile) read(read func() (int, error)) (int, wsys.Errno) {
	if f.isDir {
		return 0, wsys.EISDIR
	}
	n, err := read()
	if n > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	return n, errnoOf(err)
}

func (f *rootFile) Read(b []byte) (int, wsys.Errno) {
	return f.read(func() (int, error) { return f.f.Read(b) })
}

func (f *rootFile) Pread(b []byte, off int64) (int, wsys.Errno) {
	if off < 0 {
		return 0, wsys.EINVAL
	}
	return f.read(func() (int, error) { return f.f.ReadAt(b, off) })
}

func (f *rootFile) Write(b []byte) (int, wsys.Errno) {
	n, err := f.f.Write(b)
	return n, errnoOf(err)
}

// Pwrite goes to the system call: os.File refuses it on a file opened to append.
func (f *rootFile) Pwrite(b []byte, off int64) (n int, errno wsys.Errno) {
	if off < 0 {
		return 0, wsys.EINVAL
	}
	errno = f.control(func(fd int) (err error) {
		for n < len(b) && err == nil {
			var k int
			if k, err = unix.Pwrite(fd, b[n:], off+int64(n)); k > 0 {
				n += k
			}
		}
		return err
	})
	return n, errno
}

// position is int64 under another name: go vet takes a method Seek with an int64
// for a broken io.Seeker, and wazero's interface has just that.
type position = int64

// Seek rewinds a directory too.
func (f *rootFile) Seek(offset position, whence int) (int64, wsys.Errno) {
	if f.isDir && (offset != 0 || whence != io.SeekStart) {
		return 0, wsys.EISDIR
	}
	if uint(whence) > io.SeekEnd {
		return 0, wsys.EINVAL
	}
	n, err := f.f.Seek(offset, whence)
	return n, errnoOf(err)
}

// Readdir gives no inode numbers: asking for them would resolve names anew.
func (f *rootFile) Readdir(n int) ([]wsys.Dirent, wsys.Errno) {
	if !f.isDir {
		return nil, wsys.ENOTDIR
	}
	var out []wsys.Dirent
	for {
		// A list shorter than n means the end to the caller, so what is left out
		// of it is made up for.
		entries, err := f.f.ReadDir(max(n-len(out), -1))
		for _, e := range entries {
			if f.hidden == "" || e.Name() != f.hidden {
				out = append(out, wsys.Dirent{Name: e.Name(), Type: e.Type() & fs.ModeType})
			}
		}
		if n <= 0 || len(entries) == 0 || err != nil || len(out) == n {
			return out, errnoOf(err)
		}
	}
}

func (f *rootFile) Truncate(size int64) wsys.Errno {
	if f.isDir {
		return wsys.EISDIR
	}
	return errnoOf(f.f.Truncate(size))
}

func (f *rootFile) Sync() wsys.Errno { return errnoOf(f.f.Sync()) }

func (f *rootFile) Datasync() wsys.Errno {
	return f.control(func(fd int) error { return unix.Fdatasync(fd) })
}

// Utimens is futimens(3): utimensat(2) with a descriptor and no path.
func (f *rootFile) Utimens(atim, mtim int64) wsys.Errno {
	stamp := func(nanos int64) unix.Timespec {
		if nanos == wsys.UTIME_OMIT {
			return unix.Timespec{Nsec: unix.UTIME_OMIT}
		}
		return unix.NsecToTimespec(nanos)
	}
	times := [2]unix.Timespec{stamp(atim), stamp(mtim)}
	return f.control(func(fd int) error {
		_, _, no := syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
		if no != 0 {
			return no
		}
		return nil
	})
}

func (f *rootFile) Close() wsys.Errno {
	f.dir.files.remove(f.f)
	return errnoOf(f.f.Close())
}

// control runs a system call on the open descriptor.
func (f *rootFile) control(op func(fd int) error) wsys.Errno {
	conn, err := f.f.SyscallConn()
	if err != nil {
		return errnoOf(err)
	}
	var opErr error
	if err := conn.Control(func(fd uintptr) { opErr = op(int(fd)) }); err != nil {
		return errnoOf(err)
	}
	return errnoOf(opErr)
}
