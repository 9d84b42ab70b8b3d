package launch

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Input is a caller's file that is put into the work folder before anything is
// instantiated (SES-256): Rel is its place there, File where it comes from.
type Input struct{ Rel, File string }

// ParseInput reads <rel>=<file>. The error is one of usage.
func ParseInput(s string) (Input, error) {
	rel, file, found := strings.Cut(s, "=")
	if !found || rel == "" || file == "" {
		return Input{}, diag.Usagef("--input %s is not <path in the work folder>=<file>", diag.Quote(s))
	}
	return Input{Rel: rel, File: file}, nil
}

// place writes the caller's files through the held work folder, making missing
// parents. A link at or on the way to a place is E-RUN-103.
func (l *launching) place(inputs []Input) error {
	for _, in := range inputs {
		file := in.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(l.env.Dir, file)
		}
		if err := l.placeOne(in.Rel, file); err != nil {
			return workfs.Fault(err, "cannot put "+file+" into the work folder")
		}
	}
	return nil
}

func (l *launching) placeOne(rel, file string) error {
	src, err := os.Open(file)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := l.held.Work.Create(rel, workfs.PublicFile)
	if err != nil {
		return err
	}
	defer dst.Abort()
	if _, err := io.Copy(dst, src); err != nil {
		return err
	}
	return dst.Commit()
}
