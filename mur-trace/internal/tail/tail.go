// Package tail prints the last lines of a trace and follows it (TRC-175 to
// TRC-177). It looks at the file several times a second, whatever file system
// it lies on, and never shows a line before its newline is there.
package tail

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-trace/internal/render"
)

// Options of a tail.
type Options struct {
	Lines  int
	Follow bool
	Keep   bool // do not end with the session
	JSON   bool // lines unchanged

	// Alive reports whether the session may still write: its running record is
	// there. It is asked at most once a second.
	Alive func(sessionID string) bool
	// Every is the time between two looks at the file.
	Every time.Duration
}

// idle is how long after its last line a session that is not alive is waited
// for.
const idle = 5 * time.Second

// Run prints and follows f, a regular file or a pipe. The end of the context
// ends following without an error.
func Run(ctx context.Context, f *os.File, w io.Writer, t *render.Text, opt Options) error {
	p := &printer{w: w, t: t, opt: opt}
	fi, err := f.Stat()
	if err != nil {
		return workfs.Fault(err, "cannot read "+f.Name())
	}
	if !fi.Mode().IsRegular() {
		return p.pipe(f)
	}
	start, err := lastLines(f, fi.Size(), opt.Lines)
	if err != nil {
		return workfs.Fault(err, "cannot read "+f.Name())
	}
	return p.follow(ctx, f, start)
}

type printer struct {
	w       io.Writer
	t       *render.Text
	opt     Options
	line    trace.Line
	session string // of the last line
	ended   bool   // a session_end was printed
}

// lastLines returns where the last n whole lines of f begin.
func lastLines(f io.ReaderAt, size int64, n int) (int64, error) {
	buf := make([]byte, 64<<10)
	newlines := 0
	for end := size; end > 0; {
		k := min(int64(len(buf)), end)
		if _, err := f.ReadAt(buf[:k], end-k); err != nil && err != io.EOF {
			return 0, err
		}
		for i := k - 1; i >= 0; i-- {
			if buf[i] != '\n' {
				continue
			}
			if newlines++; newlines > n {
				return end - k + i + 1, nil
			}
		}
		end -= k
	}
	return 0, nil
}

func (p *printer) follow(ctx context.Context, f *os.File, at int64) error {
	var partial []byte
	buf := make([]byte, 64<<10)
	last := time.Now()
	asked := time.Time{}
	for {
		n, err := f.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return workfs.Fault(err, "cannot read "+f.Name())
		}
		if n > 0 {
			at += int64(n)
			last = time.Now()
			if partial, err = p.take(append(partial, buf[:n]...)); err != nil {
				return err
			}
			continue
		}
		if !p.opt.Follow || p.ended && !p.opt.Keep {
			return nil
		}
		if !p.opt.Keep && time.Since(last) > idle && time.Since(asked) > time.Second {
			asked = time.Now()
			if p.opt.Alive == nil || !p.opt.Alive(p.session) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(p.opt.Every):
		}
	}
}

// take prints the whole lines of b and returns what is left.
func (p *printer) take(b []byte) ([]byte, error) {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return bytes.Clone(b), p.flush()
		}
		if err := p.print(b[:i]); err != nil {
			return nil, err
		}
		b = b[i+1:]
	}
}

// pipe prints the last lines of what a pipe holds to its end, or every line as
// it comes.
func (p *printer) pipe(f *os.File) error {
	rd := trace.NewReader(f)
	var ring [][]byte
	for rd.Next() {
		if rd.State == trace.Torn {
			continue
		}
		if p.opt.Follow {
			if err := errors.Join(p.print(rd.Line.Raw()), p.flush()); err != nil {
				return err
			}
			if p.ended && !p.opt.Keep {
				return nil
			}
			continue
		}
		if ring = append(ring, bytes.Clone(rd.Line.Raw())); len(ring) > p.opt.Lines {
			ring = ring[1:]
		}
	}
	if err := rd.Err(); err != nil {
		return workfs.Fault(err, "cannot read "+f.Name())
	}
	for _, l := range ring {
		if err := p.print(l); err != nil {
			return err
		}
	}
	return p.flush()
}

func (p *printer) flush() error {
	if p.opt.JSON {
		return nil
	}
	return p.t.Close()
}

func (p *printer) print(raw []byte) error {
	whole := p.line.Parse(raw)
	if whole {
		p.session = strings.Clone(p.line.Get("session_id").Str())
		p.ended = p.ended || p.line.Type() == "session_end"
	}
	if p.opt.JSON {
		_, err := p.w.Write(append(bytes.Clone(raw), '\n'))
		return err
	}
	if !whole {
		p.t.Printf("%s\n", p.t.Bad("(malformed line of "+strconv.Itoa(len(raw))+" bytes)"))
		return nil
	}
	p.t.Printf("%s\n", row(p.t, &p.line))
	return nil
}

// skipped are members a row does not repeat: what stands in its own columns,
// hashes, and what is long.
var skipped = map[string]bool{"event_type": true, "event_id": true, "parent_id": true, "session_id": true, "timestamp": true,
	"prev_hash": true, "task_id": true, "turn": true, "effective_grants": true, "message_ids": true, "message_shas": true,
	"system_sha": true, "tools_sha": true, "response_sha": true, "output": true}

// row is one event for people: time of day, type, task suffix, turn, and its
// main fields (TRC-176).
func row(t *render.Text, l *trace.Line) string {
	at, _ := l.Get("timestamp").Int()
	task := l.Get("task_id").Str()
	if len(task) > 4 {
		task = task[len(task)-4:]
	}
	turn := ""
	if n, ok := l.Get("turn").Int(); ok {
		turn = strconv.FormatInt(n, 10)
	}
	var b strings.Builder
	b.WriteString(t.Dim(render.Clock(at)) + "  " + render.Pad(render.Clean(string(l.Type())), 18) + " " +
		render.Pad(render.Clean(task), 5) + render.Pad(turn, 4))
	for name, v := range l.All() {
		if k := v.Kind(); skipped[name] || k == 'n' || k == '{' && name != "input" {
			continue
		}
		s := v.Str()
		if v.Kind() != '"' {
			s = string(v)
		}
		b.WriteString(" " + t.Dim(render.Clean(name)+"=") + render.Excerpt(s, 60))
		if b.Len() > 240 {
			break
		}
	}
	return b.String()
}
