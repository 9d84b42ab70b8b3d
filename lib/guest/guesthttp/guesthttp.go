// Package guesthttp gives guests HTTP through the runtime. It stands beside
// package guest because net/http makes a guest twice as large: only who sends
// requests pays.
package guesthttp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/guest/internal/murmur"
)

// Transport sends requests through the runtime, under the rules of the
// capsule's manifest. It is an http.RoundTripper, so that any net/http client
// can be given it:
//
//	client := &http.Client{Transport: guesthttp.Transport{}}
//
// A refused request fails with guest.ErrDenied. The runtime follows no redirect; the
// client around it does, and each hop is checked anew.
type Transport struct {
	// Timeout bounds the wait for the response head, and then each wait for
	// more of the body; zero waits as long as the call may last.
	Timeout time.Duration
}

// Use makes http.Get and http.DefaultClient go through the runtime.
func Use() { http.DefaultTransport = Transport{} }

// RoundTrip sends one request; the whole body is read before it leaves.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	type request struct {
		Method    string      `json:"method"`
		URL       string      `json:"url"`
		Headers   [][2]string `json:"headers"`
		BodyB64   *string     `json:"body_b64,omitempty"`
		TimeoutMS int64       `json:"timeout_ms,omitempty"`
	}
	out := request{Method: req.Method, URL: req.URL.String(), Headers: [][2]string{}, TimeoutMS: t.Timeout.Milliseconds()}
	for name, values := range req.Header {
		for _, v := range values {
			out.Headers = append(out.Headers, [2]string{name, v})
		}
	}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		if len(body) > 0 {
			s := base64.StdEncoding.EncodeToString(body)
			out.BodyB64 = &s
		}
	}
	arg, err := json.Marshal(out)
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
	resp := &http.Response{
		StatusCode: head.Status,
		Status:     strings.TrimSpace(fmt.Sprintf("%d %s", head.Status, http.StatusText(head.Status))),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: &body{handle: handle},
		ContentLength: -1, Request: req,
	}
	for _, h := range head.Headers {
		resp.Header.Add(h[0], h[1])
	}
	return resp, nil
}

// body reads a response as it arrives.
type body struct {
	handle int32
	closed bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
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
