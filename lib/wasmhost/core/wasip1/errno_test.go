package wasip1

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A number of the system and the one a guest is told have the same name.
func TestErrnoNames(t *testing.T) {
	seen := map[Errno]bool{}
	for from, to := range hostErrnos {
		if name := unix.ErrnoName(from); name != to.String() && from != syscall.EOPNOTSUPP {
			t.Errorf("%s becomes %v", name, to)
		}
		seen[to] = true
	}
	for e := E2BIG; e < ENOTCAPABLE; e++ {
		if !seen[e] {
			t.Errorf("nothing becomes %v", e)
		}
	}
}

// The number is found however deep it lies in an error.
func TestErrnoOf(t *testing.T) {
	for _, s := range []struct {
		err  error
		want Errno
	}{
		{nil, 0},
		{io.EOF, 0},
		{ENOTCAPABLE, ENOTCAPABLE},
		{fmt.Errorf("wrapped: %w", EMFILE), EMFILE},
		{syscall.ENOENT, ENOENT},
		{syscall.EAGAIN, EAGAIN},
		{syscall.EOPNOTSUPP, ENOTSUP},
		{syscall.ENOTEMPTY, ENOTEMPTY},
		{syscall.Errno(4000), EIO},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, EACCES},
		{&os.LinkError{Op: "link", Old: "x", New: "y", Err: syscall.EXDEV}, EXDEV},
		{os.NewSyscallError("pwrite", syscall.ENOSPC), ENOSPC},
		{os.ErrClosed, EBADF},
		{fs.ErrInvalid, EINVAL},
		{fs.ErrNotExist, ENOENT},
		{fs.ErrExist, EEXIST},
		{errors.New("anything else"), EIO},
	} {
		if got := errnoOf(s.err); got != s.want {
			t.Errorf("%v is %v, want %v", s.err, got, s.want)
		}
	}

	// os.Root has no value for its refusal, so errnoOf goes by its words.
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.Open(".."); errnoOf(err) != EPERM {
		t.Errorf("leaving the directory is %v, %v", err, errnoOf(err))
	}
	root.Close()
	if _, err := root.Open("x"); errnoOf(err) != EBADF {
		t.Errorf("what is closed is %v, %v", err, errnoOf(err))
	}
}

func TestTypes(t *testing.T) {
	for mode, want := range map[fs.FileMode]byte{
		0o644: typeRegular, fs.ModeDir | 0o755: typeDirectory, fs.ModeSymlink: typeLink,
		fs.ModeDevice: typeBlock, fs.ModeDevice | fs.ModeCharDevice: typeChar,
		fs.ModeNamedPipe: typeUnknown, fs.ModeSocket: typeUnknown,
	} {
		if got := typeOf(mode); got != want {
			t.Errorf("%v is %d, want %d", mode, got, want)
		}
	}
}
