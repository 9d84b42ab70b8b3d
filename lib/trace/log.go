package trace

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/workfs"
)

// FileName is the name of a trace in its records directory.
const FileName = "trace.jsonl"

// Options are what a Log needs to know of its session.
type Options struct {
	SessionID string
	Capture   Capture          // "" means Meta
	Now       func() time.Time // nil means time.Now

	// Mask takes the values of secrets out of a line, which stays JSON; nil takes
	// nothing (TRC-7).
	Mask func(line []byte) []byte

	// Survived is told of a write that failed and ended nothing (TRC-82,
	// TRC-83), so that the launch can log it; nil drops it. It may be called
	// from several goroutines.
	Survived func(error)
}

// Log is an open trace.jsonl: the one chain object all writers of a process
// share (TRC-80). It is safe for concurrent use, also beside other processes
// that append to the same file.
type Log struct {
	opt     Options
	records *workfs.Root
	opened  time.Time
	session string // the session node: event_id of session_start, or ""

	mu     sync.Mutex // covers the fields below, prev_hash and the write
	append *os.File
	read   *os.File
	end    tail
	stale  bool // end may not be the file's
	buf    []byte
	sync   func() error // of append
}

// Create makes trace.jsonl, 0600, in a records directory. The error wraps
// fs.ErrExist when there is one already: a session is launched once.
func Create(records *workfs.Root, opt Options) (*Log, error) {
	f, err := records.CreateNew(FileName)
	if err != nil {
		return nil, fmt.Errorf("the trace can not be made: %w", err)
	}
	return newLog(records, f, opt)
}

// Reopen opens another session's trace.jsonl to append what a resume may append
// (TRC-85). The session id and the session node are those of its first line;
// opt.SessionID stands in when that line can not be read.
func Reopen(records *workfs.Root, opt Options) (*Log, error) {
	r, err := records.Open(FileName)
	if err != nil {
		return nil, fmt.Errorf("the trace can not be opened: %w", err)
	}
	head, err := ReadHead(r)
	r.Close()
	if err != nil {
		return nil, err
	}
	f, err := records.Append(FileName)
	if err != nil {
		return nil, fmt.Errorf("the trace can not be opened: %w", err)
	}
	if head != nil {
		opt.SessionID = head.SessionID
	}
	l, err := newLog(records, f, opt)
	if err == nil && head != nil {
		l.session = head.EventID
	}
	return l, err
}

func newLog(records *workfs.Root, f *os.File, opt Options) (*Log, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Capture == "" {
		opt.Capture = Meta
	}
	if opt.Survived == nil {
		opt.Survived = func(error) {}
	}
	r, err := records.Open(FileName)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("the trace can not be opened: %w", err)
	}
	return &Log{opt: opt, records: records, opened: opt.Now(), append: f, read: r, stale: true, sync: f.Sync}, nil
}

// Close closes the file. What was written is in the kernel already.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read.Close()
	return l.append.Close()
}

// event is one line to be written.
type event struct {
	payload    Payload
	parent     string // "" for null
	omitParent bool
	sync       bool // fsync after the write (TRC-81)
}

// write appends one line and returns its event id. The lock, and the flock that
// keeps other processes out, cover finding prev_hash and the write (TRC-80).
func (l *Log) write(e event) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := l.lockFile()
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := l.settleTail(); err != nil {
		return "", err
	}
	h := Header{EventType: e.payload.Type(), EventID: ids.New(ids.Event), SessionID: l.opt.SessionID, Timestamp: l.opt.Now().UnixMilli()}
	if e.parent != "" {
		h.ParentID = &e.parent
	}
	line, err := appendEvent(l.buf[:0], h, e.omitParent, e.payload)
	if err != nil {
		return "", fmt.Errorf("%s: %w", h.EventType, err)
	}
	line = redactHandles(line)
	if l.opt.Mask != nil {
		line = l.opt.Mask(line)
	}
	line = closeLine(line, l.end.prev)
	if cap(line) <= 1<<20 {
		l.buf = line // a rare giant is not kept
	}
	l.stale = true
	if _, err := l.append.Write(line); err != nil {
		return "", fmt.Errorf("the trace can not be written: %w", err)
	}
	l.end = tail{size: l.end.size + int64(len(line)), prev: LineHash(line[:len(line)-1])}
	l.stale = false
	if e.sync {
		if err := l.sync(); err != nil {
			return "", fmt.Errorf("the trace can not be synced: %w", err)
		}
	}
	return h.EventID, nil
}

// lockFile keeps other processes from appending. A file system without flock
// has no other process to keep out.
func (l *Log) lockFile() (unlock func(), err error) {
	fd := int(l.append.Fd())
	for {
		err = unix.Flock(fd, unix.LOCK_EX)
		switch err {
		case nil:
			return func() { _ = unix.Flock(fd, unix.LOCK_UN) }, nil
		case unix.EINTR:
		case unix.ENOSYS, unix.EOPNOTSUPP, unix.ENOLCK:
			return func() {}, nil
		default:
			return nil, &fs.PathError{Op: "flock", Path: l.append.Name(), Err: err}
		}
	}
}

// settleTail makes l.end the file's end again when somebody else wrote, or an
// own write failed, and gives a torn line its newline.
func (l *Log) settleTail() error {
	size, err := l.append.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("the trace can not be read: %w", err)
	}
	if !l.stale && size == l.end.size {
		return nil
	}
	if l.end, err = readTail(l.read, size); err != nil {
		return err
	}
	if l.end.torn {
		if _, err := l.append.Write([]byte{'\n'}); err != nil {
			return fmt.Errorf("the trace can not be written: %w", err)
		}
		l.end.size++
		l.end.torn = false
	}
	l.stale = false
	return nil
}
