package core

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/outbound"
)

// maxHandles is how many responses an instance holds open (WIT-42).
const maxHandles = 16

// httpHandle is one response being read.
type httpHandle struct {
	ctx   context.Context // of the request
	body  io.ReadCloser
	wait  *waitTimer
	ended bool
}

func (h *httpHandle) close() {
	h.wait.cancel(nil)
	h.body.Close()
}

// waitTimer cancels a request when one wait on it takes longer than timeout: for
// the head first, then for each read. A stream may go on for as long as the
// call itself.
type waitTimer struct {
	cancel  context.CancelCauseFunc
	timeout time.Duration
	timer   *time.Timer
}

var errWaited = errors.New("no answer within timeout_ms")

func (w *waitTimer) start() {
	if w.timeout > 0 {
		w.timer = time.AfterFunc(w.timeout, func() { w.cancel(errWaited) })
	}
}

func (w *waitTimer) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// httpRequest is the argument of http_open (WIT-41).
type httpRequest struct {
	Method    string      `json:"method"`
	URL       string      `json:"url"`
	Headers   [][2]string `json:"headers"`
	Body      *string     `json:"body"`
	BodyB64   *string     `json:"body_b64"`
	TimeoutMS *int64      `json:"timeout_ms"`
}

// build checks the request. Its errors name no URL: one may hold a password.
func (q httpRequest) build(ctx context.Context) (*http.Request, error) {
	if q.Body != nil && q.BodyB64 != nil {
		return nil, errors.New("it has both body and body_b64")
	}
	var body []byte
	if q.Body != nil {
		body = []byte(*q.Body)
	}
	if q.BodyB64 != nil {
		var err error
		if body, err = base64.StdEncoding.DecodeString(*q.BodyB64); err != nil {
			return nil, errors.New("body_b64 is not base64")
		}
	}
	u, err := url.Parse(q.URL)
	if err != nil || u.Host == "" {
		return nil, errors.New("url can not be parsed")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("url is neither http nor https")
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, "http://placeholder/", bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("method is not a token")
	}
	req.URL, req.Host = u, ""
	if len(body) == 0 {
		req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, 0
	}
	for _, h := range q.Headers {
		if !validHeader(h[0], h[1]) {
			return nil, errors.New("a header is not one of HTTP")
		}
		req.Header.Add(h[0], h[1])
	}
	outbound.Scrub(req.Header)
	return req, nil
}

// validHeader follows RFC 9110 section 5: a name is a token, a value has no
// control character but the tab.
func validHeader(name, value string) bool {
	if name == "" {
		return false
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func httpOpen(c *call, m memory, a args) int32 {
	var q httpRequest
	if err := object(m, a.u32(0), a.u32(1), &q); err != nil {
		return c.fail(codeInvalid, "%v", err)
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	req, err := q.build(ctx)
	if err != nil {
		cancel(nil)
		return c.fail(codeInvalid, "the request is invalid: %v", err)
	}
	if c.in.HTTP == nil {
		cancel(nil)
		return c.fail(codeDenied, "no request may leave: no network is granted")
	}
	if len(c.handles) >= maxHandles {
		cancel(nil)
		return c.fail(codeTooLarge, "%d responses are open already", maxHandles)
	}
	wait := &waitTimer{cancel: cancel}
	if q.TimeoutMS != nil && *q.TimeoutMS > 0 {
		wait.timeout = time.Duration(min(*q.TimeoutMS, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
	}
	wait.start()
	resp, err := c.in.HTTP.RoundTrip(req)
	wait.stop()
	if err != nil {
		code := c.failHTTP(ctx, err)
		cancel(nil)
		return code
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body would be the connection itself
		resp.Body.Close()
		cancel(nil)
		return c.fail(codeTransport, "the server switched protocols unasked")
	}
	h := &httpHandle{ctx: ctx, body: resp.Body, wait: wait}
	if code := c.fill(headOf(resp)); code < 0 {
		h.close()
		return code
	}
	c.lastID++
	c.handles[c.lastID] = h
	return c.lastID
}

// head is what http_open puts into the slot.
type head struct {
	Status  int         `json:"status"`
	Headers [][2]string `json:"headers"`
}

// headOf lists headers by name, lower-case, as HTTP/2 and components have them.
func headOf(resp *http.Response) head {
	h := head{Status: resp.StatusCode, Headers: [][2]string{}}
	names := make([]string, 0, len(resp.Header))
	for name := range resp.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range resp.Header[name] {
			h.Headers = append(h.Headers, [2]string{strings.ToLower(name), strings.ToValidUTF8(v, "\uFFFD")})
		}
	}
	return h
}

func httpRead(c *call, m memory, a args) int32 {
	h, ok := c.handles[a.i32(0)]
	if !ok {
		return c.fail(codeNotFound, "handle %d is not open", a.i32(0))
	}
	buf, ok := m.read(a.u32(1), a.u32(2))
	if !ok || len(buf) == 0 {
		return c.fail(codeInvalid, "the buffer is empty or outside memory")
	}
	if h.ended {
		return 0
	}
	buf = buf[:min(len(buf), maxOutput)]
	h.wait.start()
	defer h.wait.stop()
	for {
		// The guest waits, so nothing moves its memory while this is filled.
		n, err := h.body.Read(buf)
		switch {
		case n > 0:
			return int32(n)
		case err == io.EOF:
			h.ended = true
			return 0
		case err != nil:
			return c.failHTTP(h.ctx, err)
		}
	}
}

func httpClose(c *call, _ memory, a args) int32 {
	h, ok := c.handles[a.i32(0)]
	if !ok {
		return c.fail(codeNotFound, "handle %d is not open", a.i32(0))
	}
	delete(c.handles, a.i32(0))
	h.close()
	return codeOK
}

// failHTTP tells a refusal, a time-out and a broken exchange apart.
func (c *call) failHTTP(ctx context.Context, err error) int32 {
	var ne net.Error
	switch {
	case errors.Is(err, wasmhost.ErrDenied):
		return c.fail(codeDenied, "%v", err)
	case errors.Is(err, errWaited), errors.Is(context.Cause(ctx), errWaited):
		return c.fail(codeTimeout, "%v", errWaited)
	case errors.As(err, &ne) && ne.Timeout():
		return c.fail(codeTimeout, "%v", err)
	}
	return c.fail(codeTransport, "%v", err)
}
