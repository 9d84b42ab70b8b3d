package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-shell/internal/call"
	"github.com/mur-capsules/mur/mur-shell/internal/proto"
)

// logSpools hold the whole output of a run --json until it is known whether it was
// cut (SHL-63, SHL-140).
type logSpools struct {
	root     *workfs.Root
	out, err *proto.Spool
}

func newLogSpools(records string) (*logSpools, error) {
	root, err := workfs.OpenRoot(filepath.Join(records, "logs"), workfs.Options{Ephemeral: true, Plain: true})
	if err != nil {
		return nil, workfs.Fault(err, "cannot open the folder for logs")
	}
	s := &logSpools{root: root}
	for _, into := range []**proto.Spool{&s.out, &s.err} {
		// A file without a name: whatever happens, nothing is left of it.
		f, err := os.CreateTemp("", "mur-shell-")
		if err != nil {
			s.close()
			return nil, workfs.Fault(err, "cannot spool output")
		}
		_ = os.Remove(f.Name())
		*into = proto.NewSpool(f)
	}
	return s, nil
}

func (s *logSpools) close() {
	s.root.Close()
	for _, p := range []*proto.Spool{s.out, s.err} {
		if p != nil {
			_ = p.Close()
		}
	}
}

// keep writes the log of a call (SHL-64, SHL-65) and returns its path relative to
// the records, or "" when it could not be written (SHL-66).
func (s *logSpools) keep(c call.Call, exitCode int, now time.Time) string {
	name := fmt.Sprintf("shell-%d", now.UnixMilli())
	dir := s.root.Path()
	for i := 0; i < 100; i++ {
		file := name + ".log"
		if i > 0 {
			file = fmt.Sprintf("%s-%d.log", name, i)
		}
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return ""
		}
		err = s.write(f, c, exitCode)
		if cerr := f.Close(); err != nil || cerr != nil {
			return ""
		}
		return filepath.Join("logs", file)
	}
	return ""
}

func (s *logSpools) write(w io.Writer, c call.Call, exitCode int) error {
	if _, err := fmt.Fprintf(w, "Command: %s\nExit code: %d\n\nStdout:\n", strings.Join(append([]string{c.Entry}, c.Args...), " "), exitCode); err != nil {
		return err
	}
	if err := s.out.CopyTo(w); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "\n\nStderr:\n"); err != nil {
		return err
	}
	return s.err.CopyTo(w)
}
