package proto

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// SpoolLimit is how much of a stream a spool keeps (SHL-68).
const SpoolLimit = 64 << 20

// Spool takes a stream into a file up to a limit and counts what it dropped. Its
// writes never fail: what can not be stored counts as dropped.
type Spool struct {
	f       *os.File
	kept    int64
	dropped int64
}

// NewSpool takes over an empty file.
func NewSpool(f *os.File) *Spool { return &Spool{f: f} }

// Write implements io.Writer.
func (s *Spool) Write(p []byte) (int, error) {
	n := len(p)
	if room := SpoolLimit - s.kept; int64(len(p)) > room {
		p = p[:max(room, 0)]
	}
	w := 0
	if len(p) > 0 {
		w, _ = s.f.Write(p)
	}
	s.kept += int64(w)
	s.dropped += int64(n - w)
	return n, nil
}

// CopyTo copies what was kept, and says how much was not.
func (s *Spool) CopyTo(w io.Writer) error {
	if _, err := io.Copy(w, io.NewSectionReader(s.f, 0, s.kept)); err != nil {
		return err
	}
	if s.dropped == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n[%d further bytes were not kept]\n", s.dropped)
	return err
}

// Dropped is how many bytes were not kept.
func (s *Spool) Dropped() int64 { return s.dropped }

// Close closes the file.
func (s *Spool) Close() error {
	if err := s.f.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Append adds text of the runtime's own, whatever the limit.
func (s *Spool) Append(text string) error {
	_, err := s.f.WriteString(text)
	return err
}
