package workfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrTooLarge is wrapped by the error of ReadFile for a file above its limit.
var ErrTooLarge = errors.New("file is too large")

// Open opens the regular file rel for reading.
func (r *Root) Open(rel string) (*os.File, error) {
	dir, name, err := r.parent(rel, false)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	// Looking first keeps a device from noticing that it was opened; asFile
	// looks again at what was opened.
	exists, err := r.expectFile("open", dir, name, rel)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, &fs.PathError{Op: "open", Path: r.Join(rel), Err: unix.ENOENT}
	}
	fd, err := retry(func() (int, error) { return unix.Openat(dir, name, unix.O_RDONLY|openFile, 0) })
	if err != nil {
		return nil, r.explain("open", dir, name, rel, err)
	}
	return r.asFile("open", fd, rel)
}

// ReadFile returns the bytes of the regular file rel, of at most limit bytes;
// more is an error that wraps ErrTooLarge. A limit of 0 or less is none.
func (r *Root) ReadFile(rel string, limit int64) ([]byte, error) {
	f, err := r.Open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

// sizeOf is the size of a file as far as it is worth believing.
func sizeOf(f *os.File) int64 {
	fi, err := f.Stat()
	if err != nil {
		return 0
	}
	return min(max(fi.Size(), 0), 64<<20)
}

func readAll(f *os.File, limit int64) ([]byte, error) {
	var src io.Reader = f
	if limit > 0 {
		src = io.LimitReader(f, limit+1)
	}
	// The size is no promise, only where to begin.
	buf := bytes.NewBuffer(make([]byte, 0, sizeOf(f)+bytes.MinRead))
	_, err := buf.ReadFrom(src)
	if err != nil {
		return nil, err
	}
	data := buf.Bytes()
	if limit > 0 && int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)}
	}
	return data, nil
}

// Entry is one name in a directory, as it is itself: a link is a link.
type Entry struct {
	Name string
	Mode fs.FileMode // type and permission bits
	Size int64
	// ModTime is in nanoseconds since 1970.
	ModTime int64
	UID     uint32
	Dev     uint64
	Ino     uint64
}

// IsRegular reports whether the entry is a regular file.
func (e Entry) IsRegular() bool { return e.Mode.IsRegular() }

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Mode.IsDir() }

// Stat describes rel without following it; "." is the root itself. Meeting a
// link as the last component is no refusal: the entry says what it is.
func (r *Root) Stat(rel string) (Entry, error) {
	var st unix.Stat_t
	if rel == "." {
		if err := unix.Fstat(r.fd(), &st); err != nil {
			return Entry{}, &fs.PathError{Op: "stat", Path: r.path, Err: err}
		}
		return entryOf(".", &st), nil
	}
	dir, name, err := r.parent(rel, false)
	if err != nil {
		return Entry{}, err
	}
	defer unix.Close(dir)
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Entry{}, &fs.PathError{Op: "stat", Path: r.Join(rel), Err: err}
	}
	return entryOf(name, &st), nil
}

// List returns the entries of the directory rel in byte order of their names;
// "." is the root itself. Names that vanish meanwhile are left out.
func (r *Root) List(rel string) ([]Entry, error) {
	var segs []string
	if rel != "." {
		var err error
		if segs, err = split(rel); err != nil {
			return nil, err
		}
	}
	fd, err := r.walk(segs, false, 0)
	if err != nil {
		return nil, err
	}
	names, err := namesOf(fd, r.Join(rel))
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	defer unix.Close(fd)
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		var st unix.Stat_t
		switch err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
		case nil:
			entries = append(entries, entryOf(name, &st))
		case unix.ENOENT:
		default:
			return nil, &fs.PathError{Op: "stat", Path: r.Join(rel) + "/" + name, Err: err}
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// namesOf lists the names in an open directory through a fresh description of
// it, so the offset of fd does not matter and fd stays open.
func namesOf(fd int, path string) ([]string, error) {
	again, err := retry(func() (int, error) { return unix.Openat(fd, ".", openDir, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(again), path)
	defer f.Close()
	return f.Readdirnames(-1)
}

func entryOf(name string, st *unix.Stat_t) Entry {
	mode := fs.FileMode(st.Mode & 0o777)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	return Entry{
		Name: name, Mode: mode, Size: st.Size, ModTime: st.Mtim.Nano(),
		UID: st.Uid, Dev: uint64(st.Dev), Ino: st.Ino,
	}
}

func identityOf(fi fs.FileInfo) (dev, ino uint64) {
	if st, ok := fi.Sys().(*syscallStat); ok {
		return uint64(st.Dev), st.Ino
	}
	return 0, 0
}
