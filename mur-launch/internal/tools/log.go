package tools

import (
	"io"
	"sync"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// maxGuestLog bounds what one call adds to a guest's log (WIT-70, WIT-49).
const maxGuestLog = 64 << 10

// guestLog appends what a tool writes to its streams to logs/guest-<name>.log.
// The file is made by the first byte. What is beyond the bound, and what can
// not be written, is dropped: a log never fails a call.
type guestLog struct {
	root *workfs.Root
	name string

	mu   sync.Mutex
	file io.WriteCloser
	left int
	dead bool
}

func newGuestLog(records *workfs.Root, tool string) *guestLog {
	return &guestLog{root: records, name: tool, left: maxGuestLog}
}

// Write takes all of p, always.
func (l *guestLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := p[:min(len(p), l.left)]
	if len(keep) == 0 || l.dead {
		return len(p), nil
	}
	if l.file == nil {
		f, err := l.root.Append(session.LogsDir + "/guest-" + l.name + ".log")
		if err != nil {
			l.dead = true
			return len(p), nil
		}
		l.file = f
	}
	n, err := l.file.Write(keep)
	l.left -= n
	l.dead = err != nil
	return len(p), nil
}

func (l *guestLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
