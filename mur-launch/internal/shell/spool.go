package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/shellproto"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
)

// spools take the two streams of one command. They have no name: their bytes are
// gone with the descriptors.
type spools struct{ out, err *os.File }

// newSpools makes them in a directory that commands can not read.
func newSpools(dir *workfs.Root) (*spools, error) {
	s := &spools{}
	var err error
	if s.out, err = nameless(dir); err == nil {
		s.err, err = nameless(dir)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("make a file for a command's output: %w", err)
	}
	return s, nil
}

func (s *spools) close() {
	for _, f := range []*os.File{s.out, s.err} {
		if f != nil {
			f.Close()
		}
	}
}

// writeLog keeps the whole output of a command beneath the records directory and
// returns the file's name relative to it (SHL-64, SHL-65). The values of secrets
// are not in it.
func (s *spools) writeLog(records *workfs.Root, secrets *mask.Set, now time.Time, d shellproto.Done) (string, error) {
	file, name, err := createLog(records, fmt.Sprintf("shell-%d", now.UnixMilli()))
	if err != nil {
		return "", err
	}
	f := secrets.Writer(file)
	_, err = fmt.Fprintf(f, "%s\nExit code: %d\n\nStdout:\n", commandLine(d.Tool, d.Argv), d.ExitCode)
	if err == nil {
		err = copySpool(f, s.out, d.StdoutBytes)
	}
	if err == nil {
		_, err = io.WriteString(f, "\n\nStderr:\n")
	}
	if err == nil {
		err = copySpool(f, s.err, d.StderrBytes)
	}
	return name, errors.Join(err, f.Close(), file.Close())
}

// createLog makes a log of a name of its own; a taken one gets a number.
func createLog(records *workfs.Root, stem string) (*os.File, string, error) {
	for n := 0; ; n++ {
		name := session.LogsDir + "/" + stem + ".log"
		if n > 0 {
			name = fmt.Sprintf("%s/%s-%d.log", session.LogsDir, stem, n)
		}
		f, err := records.CreateNew(name)
		if err == nil {
			return f, name, nil
		}
		if !errors.Is(err, fs.ErrExist) || n == 100 {
			return nil, "", err
		}
	}
}

// copySpool copies what a spool holds of a stream and says what it does not.
func copySpool(to io.Writer, from *os.File, produced int64) error {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(to, from)
	if err == nil && n < produced {
		_, err = fmt.Fprintf(to, "\n[%d further bytes were not kept]", produced-n)
	}
	return err
}

func commandLine(tool string, argv []string) string {
	return "Command: " + strings.Join(append([]string{tool}, argv...), " ")
}
