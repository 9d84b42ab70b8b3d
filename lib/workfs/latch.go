package workfs

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/mur-capsules/mur/lib/diag"
)

// ErrRefused is wrapped by the error of every operation that met a link or a
// special file where a file or directory was expected.
var ErrRefused = errors.New("a link or special file stands there")

// Latch remembers that something beneath a held root was refused (SES-45). A
// set latch stays set: the session fails its current task with the latch's
// error (SES-46). The zero value is ready for use, by many goroutines.
type Latch struct {
	mu    sync.Mutex
	first *diag.Error
}

// Err returns the first refusal as E-RUN-103, or nil.
func (l *Latch) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		return nil
	}
	return l.first
}

// Refuse sets the latch for path, which is what (a link, a socket, ...), and
// returns the error of this refusal.
func (l *Latch) Refuse(path, what string) error {
	err := diag.Errorf("E-RUN-103", "%s: refused: it is %s: %w", path, what, ErrRefused).
		About(diag.Subject{Kind: diag.Path, Name: path}).Name("path", path)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		l.first = err
	}
	return err
}

// Fault gives err, met while doing (such as "cannot read murmur.lock"), its
// code: E-IO-001 for what is not there, E-IO-002 for refused access, E-IO-003
// for anything else. An error that has a code keeps it. Fault(nil, ...) is nil.
func Fault(err error, doing string) error {
	if err == nil {
		return nil
	}
	if diag.CodeOf(err) != "" {
		return err
	}
	code := diag.Code("E-IO-003")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = "E-IO-001"
	case errors.Is(err, fs.ErrPermission):
		code = "E-IO-002"
	}
	e := diag.Errorf(code, "%s: %w", doing, err)
	var pe *fs.PathError
	if errors.As(err, &pe) {
		e = e.About(diag.Subject{Kind: diag.Path, Name: pe.Path}).Name("path", pe.Path).Name("operation", pe.Op)
	}
	return e
}
