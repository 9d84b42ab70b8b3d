package guest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/mur-capsules/mur/lib/guest/internal/murmur"
)

// Request is one HTTP request through the runtime, under the rules of the
// capsule's manifest.
type Request struct {
	Method  string
	URL     string // http or https
	Headers [][2]string
	Body    []byte
	// Timeout bounds the wait for the response head, and then each wait for
	// more of the body; zero waits as long as the call may last.
	Timeout time.Duration
}

// Response is what came back. Headers have lower-case names; Body is read as it
// arrives and must be closed.
type Response struct {
	Status  int
	Headers [][2]string
	Body    io.ReadCloser
}

// Header returns the first value of a header, named in lower case, or "".
func (r *Response) Header(name string) string {
	for _, h := range r.Headers {
		if h[0] == name {
			return h[1]
		}
	}
	return ""
}

// Fetch sends a request and returns when the response head has arrived. A
// refused one fails with ErrDenied. No redirect is followed. It is for guests
// that stay small: package guesthttp gives the same to net/http, which makes a
// guest twice as large.
func Fetch(req Request) (*Response, error) {
	wire := struct {
		Method    string      `json:"method"`
		URL       string      `json:"url"`
		Headers   [][2]string `json:"headers"`
		BodyB64   *string     `json:"body_b64,omitempty"`
		TimeoutMS int64       `json:"timeout_ms,omitempty"`
	}{Method: req.Method, URL: req.URL, Headers: req.Headers, TimeoutMS: req.Timeout.Milliseconds()}
	if wire.Headers == nil {
		wire.Headers = [][2]string{}
	}
	if len(req.Body) > 0 {
		s := base64.StdEncoding.EncodeToString(req.Body)
		wire.BodyB64 = &s
	}
	arg, err := json.Marshal(wire)
	if err != nil {
		return nil, err
	}
	handle := murmur.HTTPOpen(arg)
	if err := murmur.Check(handle); err != nil {
		return nil, err
	}
	var head struct {
		Status  int         `json:"status"`
		Headers [][2]string `json:"headers"`
	}
	if err := json.Unmarshal(murmur.Slot(), &head); err != nil {
		murmur.HTTPClose(handle)
		return nil, err
	}
	return &Response{Status: head.Status, Headers: head.Headers, Body: &body{handle: handle}}, nil
}

var errClosed = errors.New("the response body is closed")

// body reads a response as it arrives.
type body struct {
	handle int32
	closed bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.closed {
		return 0, errClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	n := murmur.HTTPRead(b.handle, p)
	if n == 0 {
		return 0, io.EOF
	}
	return int(max(n, 0)), murmur.Check(n)
}

func (b *body) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	return murmur.Check(murmur.HTTPClose(b.handle))
}
