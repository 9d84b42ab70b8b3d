package launch

import (
	"io"
	"sync"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/workfs"
)

// resultName is where a script capsule's standard output is kept, beneath the
// records directory: the place an agent's answer has (SES-173).
const resultName = "out/result.txt"

// maxResult bounds what is kept of it.
const maxResult = 64 << 20

// resultFile keeps a script capsule's standard output. The file is made by the
// first byte. What is beyond the bound is not kept; a write that fails ends the
// session, since its result is gone.
type resultFile struct {
	records *workfs.Root
	fail    func(error)

	mu   sync.Mutex
	file io.WriteCloser
	size int
	err  error
}

func (r *resultFile) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	keep := p[:min(len(p), maxResult-r.size)]
	if r.err == nil && len(keep) > 0 {
		r.err = r.append(keep)
		if r.err != nil {
			r.fail(diag.Errorf("E-RUN-007", "the capsule's output can not be kept: %w", r.err).
				Name("path", r.records.Join(resultName)))
		}
	}
	if r.err != nil {
		return 0, r.err
	}
	return len(p), nil
}

func (r *resultFile) append(p []byte) error {
	if r.file == nil {
		f, err := r.records.Append(resultName)
		if err != nil {
			return err
		}
		r.file = f
	}
	n, err := r.file.Write(p)
	r.size += n
	return err
}

func (r *resultFile) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// path is where the result lies, "" when nothing was written.
func (r *resultFile) path() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return ""
	}
	return resultName
}

// tee keeps what is written and shows it.
type tee struct{ keep, show io.Writer }

func (t tee) Write(p []byte) (int, error) {
	n, err := t.keep.Write(p)
	_, _ = t.show.Write(p)
	return n, err
}

// dropErrors passes on what can be passed on: a reader that has gone away ends
// no session (DIA-9).
type dropErrors struct{ w io.Writer }

func (d dropErrors) Write(p []byte) (int, error) {
	_, _ = d.w.Write(p)
	return len(p), nil
}
