package wasi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"
)

// readAhead is how much of a response's body one read of the host takes.
const readAhead = 32 << 10

// maxDrain bounds what is read and thrown away to reach the trailers of a body
// that the guest did not read to its end.
const maxDrain = 1 << 20

// exchange is one request under way: the goroutine that sends it, the response
// with its body, the trailers. The guest holds it by one handle at least (the
// future, then the response, then the body and its stream, then the trailers);
// when the last is dropped it is cancelled.
type exchange struct {
	signal
	in      *Instance
	ctx     context.Context
	cancel  context.CancelCauseFunc
	detach  func() bool // from the instance's context
	between time.Duration
	refs    int // touched by host functions only

	// Under the lock.
	resp    *http.Response
	headers []headerLine
	err     *httpError // the request failed
	done    bool       // resp or err is set

	buf     bytes.Buffer // of the body, at most Chunk + readAhead
	reading bool         // a goroutine reads the body
	discard bool         // bytes are thrown away, the guest wants the trailers
	bodyErr error        // io.EOF at the body's end; set once
	gone    bool         // the last handle was dropped
}

// start sends req. It returns an error when too many are under way.
func (in *Instance) start(ctx context.Context, build func(context.Context) (*http.Request, *httpError), o requestOptions) (*exchange, *httpError) {
	in.exchanges = slices.DeleteFunc(in.exchanges, (*exchange).over)
	if len(in.exchanges) >= maxRequests {
		return nil, failed("connection-limit-reached", "too many requests under way")
	}
	x := &exchange{in: in, refs: 1, between: timeout(o.between)}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	req, err := build(x.ctx)
	if err != nil {
		x.cancel(err)
		return nil, err
	}
	x.detach = context.AfterFunc(in.ctx, func() { x.cancel(errDropped) })
	in.exchanges = append(in.exchanges, x)
	watch := &stopwatch{cancel: x.cancel}
	req = req.WithContext(watch.trace(x.ctx, timeout(o.connect), timeout(o.first)))
	in.running.Go(func() {
		resp, err := in.cfg.HTTP.RoundTrip(req)
		watch.set(0, nil)
		x.arrived(resp, err)
	})
	return x, nil
}

// over reports whether the exchange holds nothing any more.
func (x *exchange) over() bool {
	x.Lock()
	defer x.Unlock()
	return x.gone || x.err != nil || x.bodyErr != nil && x.buf.Len() == 0
}

// arrived takes the outcome of RoundTrip.
func (x *exchange) arrived(resp *http.Response, err error) {
	x.Lock()
	defer x.Unlock()
	x.done = true
	defer x.wake()
	if err != nil {
		x.err = httpFailure(x.ctx, err)
		return
	}
	if resp.Body == nil { // only net/http promises one
		resp.Body = http.NoBody
	}
	lines, fits := headerLines(resp.Header)
	switch {
	case x.gone:
		x.err = failed("internal-error", "dropped")
	case !fits:
		x.err = sized("HTTP-response-header-section-size", uint32(maxFieldsSize), "the response's headers are too large")
	case resp.StatusCode == http.StatusSwitchingProtocols: // its body would be a connection
		x.err = failed("HTTP-upgrade-failed", "the server switched protocols unasked")
	default:
		x.resp, x.headers = resp, lines
		return
	}
	resp.Body.Close()
}

// release drops one handle.
func (x *exchange) release() {
	if x.refs--; x.refs > 0 {
		return
	}
	x.detach()
	x.cancel(errDropped)
	x.Lock()
	defer x.Unlock()
	x.gone, x.buf = true, bytes.Buffer{}
	if x.resp != nil && !x.reading && x.bodyErr == nil {
		x.resp.Body.Close()
	}
	x.wake()
}

// ready makes the exchange the source for "the response is here".
func (x *exchange) ready() <-chan struct{} {
	x.Lock()
	defer x.Unlock()
	if x.done {
		return nil
	}
	return x.wait()
}

// startReading starts the goroutine that reads ahead of the guest, once. The lock is held.
func (x *exchange) startReading() {
	if !x.reading && x.bodyErr == nil {
		x.reading = true
		x.in.running.Go(x.readBody)
	}
}

func (x *exchange) readBody() {
	defer x.resp.Body.Close()
	p := make([]byte, readAhead)
	for drained := 0; ; {
		x.Lock()
		for x.buf.Len() >= Chunk && !x.gone && !x.discard {
			ch := x.wait()
			x.Unlock()
			select {
			case <-ch:
			case <-x.ctx.Done():
			}
			x.Lock()
			if x.ctx.Err() != nil {
				break
			}
		}
		x.Unlock()
		n, err := x.readSome(p)
		x.Lock()
		if x.discard || x.gone {
			drained += n
		} else {
			x.buf.Write(p[:n])
		}
		if err == nil && drained > maxDrain {
			err = failed("HTTP-response-incomplete", "too much of the body was left unread before its trailers")
		}
		x.bodyErr = err
		x.wake()
		x.Unlock()
		if err != nil {
			return
		}
	}
}

// readSome reads once, within between-bytes-timeout.
func (x *exchange) readSome(p []byte) (int, error) {
	if x.between > 0 {
		t := time.AfterFunc(x.between, func() { x.cancel(errReadTimeout) })
		defer t.Stop()
	}
	n, err := x.resp.Body.Read(p)
	if err != nil && err != io.EOF {
		err = httpFailure(x.ctx, err)
	}
	return n, err
}

// bodyStream is the input-stream of a response's body.
type bodyStream struct{ x *exchange }

func (s bodyStream) Close() error { s.x.release(); return nil }

func (s bodyStream) ready() <-chan struct{} {
	s.x.Lock()
	defer s.x.Unlock()
	if s.x.buf.Len() > 0 || s.x.bodyErr != nil || s.x.gone {
		return nil
	}
	s.x.startReading()
	return s.x.wait()
}

func (s bodyStream) read(p []byte) (int, error) {
	s.x.Lock()
	defer s.x.Unlock()
	switch {
	case s.x.buf.Len() > 0:
		n, _ := s.x.buf.Read(p)
		s.x.wake() // there is room again
		return n, nil
	case s.x.bodyErr != nil:
		return 0, s.x.bodyErr
	case s.x.gone || s.x.discard:
		return 0, io.EOF
	}
	s.x.startReading()
	return 0, nil
}

// futureTrailers reads the rest of the body to reach what follows it.
type futureTrailers struct {
	x   *exchange
	got bool
}

func (t *futureTrailers) Close() error { t.x.release(); return nil }

func (t *futureTrailers) ready() <-chan struct{} {
	t.x.Lock()
	defer t.x.Unlock()
	if t.x.bodyErr != nil || t.x.gone {
		return nil
	}
	t.x.discard = true
	t.x.buf.Reset()
	t.x.startReading()
	t.x.wake()
	return t.x.wait()
}

// stopwatch enforces connect-timeout and first-byte-timeout: it cancels the
// exchange when the current phase takes too long.
type stopwatch struct {
	mu     sync.Mutex
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// set ends the phase before and starts one of d; 0 is no limit.
func (s *stopwatch) set(d time.Duration, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if d > 0 {
		s.timer = time.AfterFunc(d, func() { s.cancel(cause) })
	}
}

// trace starts the watch and returns the context by which net/http reports its
// phases. Without reports, from an HTTP that is no net/http, first-byte-timeout
// counts from the start, after connect-timeout.
func (s *stopwatch) trace(ctx context.Context, connect, first time.Duration) context.Context {
	if connect == 0 && first == 0 {
		return ctx
	}
	if first > 0 {
		s.set(connect+first, errReadTimeout)
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { s.set(connect, errConnectTimeout) },
		GotConn: func(httptrace.GotConnInfo) { s.set(first, errReadTimeout) },
	})
}
