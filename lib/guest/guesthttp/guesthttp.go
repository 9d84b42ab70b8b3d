// Package guesthttp gives guests HTTP through the runtime. It stands beside
// package guest because net/http makes a guest twice as large: only who sends
// requests with it pays. guest.Fetch does the same without.
package guesthttp

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/guest"
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
	out := guest.Request{Method: req.Method, URL: req.URL.String(), Timeout: t.Timeout}
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
		out.Body = body
	}
	in, err := guest.Fetch(out)
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		StatusCode: in.Status,
		Status:     strings.TrimSpace(fmt.Sprintf("%d %s", in.Status, http.StatusText(in.Status))),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: in.Body,
		ContentLength: -1, Request: req,
	}
	for _, h := range in.Headers {
		resp.Header.Add(h[0], h[1])
	}
	return resp, nil
}
