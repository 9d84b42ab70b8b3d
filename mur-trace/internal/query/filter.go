package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-trace/internal/source"
)

// Filter is one run of `mur-trace filter`.
type Filter struct {
	Expression *Expression
	Prefilter  Prefilter
	Raw        bool // strings without quotes
	Slurp      bool // the expression sees one array of all events
	Out        io.Writer
	Err        io.Writer // run errors and notes
}

// Outcome is what a run came to.
type Outcome struct {
	Errors int  // events the expression failed on
	True   bool // some result was neither null nor false
	Halted bool // the expression ended the run
	Status int  // the status it asked for
}

// batch is a run of events of one file that one worker evaluates.
type batch struct {
	text    []byte // their lines, one after another
	items   []item
	session any
	name    string
	done    chan evaluated
}

type item struct {
	start, end int
	number     int64
}

// evaluated is what a worker made of a batch.
type evaluated struct {
	out, err []byte
	Outcome
	failure error
}

const (
	batchBytes = 128 << 10
	batchItems = 1024
)

// stream is one trace on its way to the output.
type stream struct {
	order chan *batch
	err   error // of reading; set before order is closed
}

// Run filters the traces in order. Files are read and events evaluated on every
// core and printed in the order of the files; memory does not grow with their
// size.
func (f *Filter) Run(ctx context.Context, traces []source.Trace) (Outcome, error) {
	if f.Slurp {
		return f.slurp(ctx, traces)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	work := make(chan *batch)
	var evaluators, readers sync.WaitGroup
	for range workers {
		evaluators.Go(func() {
			for b := range work {
				b.done <- f.evaluate(ctx, b)
			}
		})
	}
	streams := make([]stream, len(traces))
	for i := range streams {
		streams[i].order = make(chan *batch, 2*workers)
	}
	// Files are begun in order, so the one that is printed is always being read.
	var next atomic.Int64
	for range min(workers, len(traces)) {
		readers.Go(func() {
			rd := trace.NewReader(nil)
			for i := next.Add(1) - 1; i < int64(len(traces)); i = next.Add(1) - 1 {
				s := &streams[i]
				if s.err = ctx.Err(); s.err == nil {
					s.err = f.read(ctx, rd, traces[i], work, s.order)
				}
				close(s.order)
			}
		})
	}
	total, err := f.write(streams, cancel)
	readers.Wait()
	close(work)
	evaluators.Wait()
	return total, err
}

// write prints the traces in order. After a halt or a fault it tells the
// readers to stop and only drains.
func (f *Filter) write(streams []stream, stop func()) (Outcome, error) {
	var total Outcome
	var failed error
	for i := range streams {
		for b := range streams[i].order {
			got := <-b.done
			if failed != nil || total.Halted {
				continue
			}
			total.Errors += got.Errors
			total.True = total.True || got.True
			_, _ = f.Err.Write(got.err)
			if _, err := f.Out.Write(got.out); err != nil {
				failed = err
			}
			if failed == nil {
				failed = got.failure
			}
			if got.Halted {
				total.Halted, total.Status = true, got.Status
			}
			if failed != nil || total.Halted {
				stop()
			}
		}
		if failed == nil && !total.Halted && streams[i].err != nil {
			failed = streams[i].err
			stop()
		}
	}
	return total, failed
}

// read cuts one trace into batches.
func (f *Filter) read(ctx context.Context, rd *trace.Reader, t source.Trace, work, order chan<- *batch) error {
	src, err := t.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	rd.Reset(src)
	pre := f.Prefilter.start()
	sessions := map[string]any{}
	var session any
	sessionID := ""
	var malformed []int64
	b := f.batch(t, nil)
	send := func() error {
		if len(b.items) == 0 {
			return nil
		}
		select {
		case order <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
		work <- b // the evaluators outlive the readers
		b = f.batch(t, session)
		return nil
	}
	for rd.Next() {
		if rd.State != trace.Whole {
			if rd.State == trace.Malformed {
				malformed = append(malformed, rd.Number)
			}
			continue
		}
		l := &rd.Line
		if id := l.Get("session_id").Str(); id != sessionID || l.Type() == "session_start" {
			if err := send(); err != nil {
				return err
			}
			sessionID = strings.Clone(id)
			if _, seen := sessions[sessionID]; !seen && l.Type() == "session_start" {
				if sessions[sessionID], err = decode(bytes.Clone(l.Raw())); err != nil {
					return err
				}
			}
			session = sessions[sessionID]
			b.session = session
		}
		if pre.pass(l) && f.Expression.wants(l) {
			start := len(b.text)
			b.text = append(b.text, l.Raw()...)
			b.items = append(b.items, item{start, len(b.text), rd.Number})
		}
		// What a pipe has sent so far is answered before more is waited for.
		if len(b.text) >= batchBytes || len(b.items) >= batchItems || !rd.Buffered() {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if err := send(); err != nil {
		return err
	}
	if err := rd.Err(); err != nil {
		return workfs.Fault(err, "cannot read "+t.Path)
	}
	if len(malformed) > 0 {
		b.done = make(chan evaluated, 1)
		b.done <- evaluated{err: fmt.Appendf(nil, "note: %s\n", Malformed(t, malformed))}
		select {
		case order <- b:
		case <-ctx.Done():
		}
	}
	return nil
}

func (f *Filter) batch(t source.Trace, session any) *batch {
	return &batch{session: session, name: t.Path, done: make(chan evaluated, 1)}
}

func (f *Filter) evaluate(ctx context.Context, b *batch) evaluated {
	var got evaluated
	for _, it := range b.items {
		line := b.text[it.start:it.end]
		if f.Expression.identity {
			got.True = true
			got.out = append(append(got.out, compact(line)...), '\n')
			continue
		}
		input, err := decode(line)
		if err == nil {
			err = f.one(ctx, &got, input, compact(line), b.session, int(it.number-1))
		}
		if done := f.failed(&got, err, b.name+":"+strconv.FormatInt(it.number, 10)); done {
			break
		}
	}
	return got
}

func (f *Filter) one(ctx context.Context, got *evaluated, input any, line []byte, session any, index int) error {
	var bad error
	err := f.Expression.Run(ctx, input, line, session, index, func(r Result) bool {
		got.True = got.True || r.Truthy()
		got.out, bad = r.Append(got.out, f.Raw)
		got.out = append(got.out, '\n')
		return bad == nil
	})
	if bad != nil {
		return bad
	}
	return err
}

// failed keeps an error of a run and reports whether the filter ends.
func (f *Filter) failed(got *evaluated, err error, where string) (done bool) {
	var halt *Halt
	switch {
	case err == nil:
		return false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		got.failure = err
		return true
	case errors.As(err, &halt):
		got.Halted, got.Status = true, halt.Status
		if halt.Value != nil {
			got.err = fmt.Appendf(got.err, "%s\n", halt.Error())
		}
		return true
	}
	got.Errors++
	got.err = fmt.Appendf(got.err, "%s: %s\n", where, err)
	return false
}

func (f *Filter) slurp(ctx context.Context, traces []source.Trace) (Outcome, error) {
	all := []any{}
	var session any
	for _, t := range traces {
		src, err := t.Open()
		if err != nil {
			return Outcome{}, err
		}
		defer src.Close()
		rd := trace.NewReader(src)
		pre := f.Prefilter.start()
		var malformed []int64
		for rd.Next() {
			if rd.State != trace.Whole {
				if rd.State == trace.Malformed {
					malformed = append(malformed, rd.Number)
				}
				continue
			}
			begins := session == nil && rd.Line.Type() == "session_start"
			if passes := pre.pass(&rd.Line); !passes && !begins {
				continue
			} else if v, err := decode(bytes.Clone(rd.Line.Raw())); err != nil {
				return Outcome{}, err
			} else {
				if begins {
					session = v
				}
				if passes {
					all = append(all, v)
				}
			}
		}
		if err := rd.Err(); err != nil {
			return Outcome{}, workfs.Fault(err, "cannot read "+t.Path)
		}
		if len(malformed) > 0 {
			fmt.Fprintf(f.Err, "note: %s\n", Malformed(t, malformed))
		}
	}
	var got evaluated
	f.failed(&got, f.one(ctx, &got, all, nil, session, 0), "the array of events")
	if _, err := f.Out.Write(got.out); err != nil {
		return got.Outcome, err
	}
	_, _ = f.Err.Write(got.err)
	return got.Outcome, got.failure
}

// Malformed names the lines of a trace that were skipped (TRC-88).
func Malformed(t source.Trace, lines []int64) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: skipped %d malformed lines:", t.Path, len(lines))
	for i, n := range lines {
		if i == 20 {
			fmt.Fprintf(&b, " and %d more", len(lines)-i)
			break
		}
		fmt.Fprintf(&b, " %d", n)
	}
	return b.String()
}
