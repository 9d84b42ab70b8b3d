package wasi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/outbound"
	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// ruled is a wasmhost.HTTP that allows one scheme and authority.
type ruled struct {
	scheme, host string
	http.RoundTripper
}

func (r ruled) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != r.scheme || req.URL.Host != r.host {
		return nil, fmt.Errorf("%s://%s: %w", req.URL.Scheme, req.URL.Host, wasmhost.ErrDenied)
	}
	return r.RoundTripper.RoundTrip(req)
}

func allow(srv *httptest.Server) wasmhost.HTTP {
	u, _ := url.Parse(srv.URL)
	return ruled{u.Scheme, u.Host, &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
}

// anywhere are rules that allow everything.
type anywhere struct{}

func (anywhere) Allows(string, string, int) bool { return true }

func text(s string) val { return wasmtime.Some(s) }

// request makes an outgoing-request.
func (g *guest) request(method, target string, headers ...string) val {
	g.t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		g.t.Fatal(err)
	}
	l := list{}
	for i := 0; i < len(headers); i += 2 {
		l = append(l, tuple{headers[i], []byte(headers[i+1])})
	}
	r := g.call("types-new-outgoing-request", g.ok("types-fields-from-list", l))
	g.ok("types-outgoing-request-set-method", r, variant{Name: "other", V: method})
	scheme := variant{Name: strings.ToUpper(u.Scheme)}
	if u.Scheme != "http" && u.Scheme != "https" {
		scheme = variant{Name: "other", V: u.Scheme}
	}
	g.ok("types-outgoing-request-set-scheme", r, wasmtime.Some(scheme))
	g.ok("types-outgoing-request-set-authority", r, text(u.Host))
	g.ok("types-outgoing-request-set-path-with-query", r, text(u.RequestURI()))
	return r
}

// response waits for the outcome of handle: the response, or an error-code.
func (g *guest) response(future val) (val, string) {
	g.t.Helper()
	g.call("poll-pollable-block", g.call("types-future-incoming-response-subscribe", future))
	o := g.call("types-future-incoming-response-get", future).(option)
	if !o.Some {
		g.t.Fatal("the future is ready without a result")
	}
	if again := g.call("types-future-incoming-response-get", future).(option); !again.Some || again.V.(result).OK {
		g.t.Errorf("a second get: %v", again)
	}
	inner := o.V.(result).V.(result)
	if !inner.OK {
		return nil, inner.V.(variant).Name
	}
	return inner.V, ""
}

func (g *guest) send(r val, options option) (val, string) {
	g.t.Helper()
	h := g.call("outgoing-handler-handle", r, options).(result)
	if !h.OK {
		return nil, h.V.(variant).Name
	}
	return g.response(h.V)
}

// body reads a response's body to its end or error.
func (g *guest) body(resp val) (string, val) {
	g.t.Helper()
	b := g.ok("types-incoming-response-consume", resp)
	s := g.ok("types-incoming-body-stream", b)
	var all []byte
	for {
		r := g.call("streams-input-stream-blocking-read", s, uint64(Chunk)).(result)
		if !r.OK {
			g.drop("input-stream", s)
			if v := r.V.(variant); v.Name != "closed" {
				code := g.call("types-http-error-code", v.V).(option)
				if !code.Some {
					g.t.Fatal("a body's error without code")
				}
				return string(all), code.V.(variant).Name
			}
			return string(all), b
		}
		all = append(all, listBytes(r.V)...)
	}
}

// serve runs a server whose handlers are let go at the end of the test.
func serve(t testing.TB) *httptest.Server {
	t.Helper()
	end := make(chan struct{})
	pause := func(r *http.Request, d time.Duration) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		case <-end:
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			b, err := io.ReadAll(r.Body)
			w.Header().Set("X-Got", r.Header.Get("X-Put"))
			w.WriteHeader(201)
			fmt.Fprintf(w, "%s %d %v %v %s %s", r.Method, len(b), err, r.Trailer, r.URL.RequestURI(), r.Header.Get("Trailer"))
		case "/trailers":
			w.Header().Set("Trailer", "X-Sum")
			io.WriteString(w, strings.Repeat("b", 100_000))
			w.Header().Set("X-Sum", "42")
		case "/slow":
			pause(r, 3*time.Second)
		case "/drip":
			for range 30 {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
				pause(r, 100*time.Millisecond)
			}
		case "/stall":
			fmt.Fprint(w, "x")
			w.(http.Flusher).Flush()
			pause(r, 3*time.Second)
		case "/endless":
			p := make([]byte, 1<<16)
			for r.Context().Err() == nil {
				n, err := w.Write(p)
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		case "/short":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "short")
		case "/headers":
			for i := range 3000 {
				w.Header().Add(fmt.Sprintf("X-%d", i), strings.Repeat("v", 60))
			}
		case "/redirect":
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		}
	}))
	t.Cleanup(func() { close(end); srv.CloseClientConnections(); srv.Close() })
	return srv
}

var sent atomic.Int64

// WIT-67, CON-266: the rules of wasmhost.HTTP decide, and a refusal is told as
// HTTP-request-denied. WIT-75
func TestRequests(t *testing.T) {
	srv := serve(t)
	g := newGuest(t, Config{HTTP: allow(srv)})
	resp, code := g.send(g.request("GET", srv.URL+"/echo?a=b%20c&d", "x-put", "v"), wasmtime.None)
	if code != "" {
		t.Fatal(code)
	}
	if st := g.call("types-incoming-response-status", resp); st != uint16(201) {
		t.Errorf("status %v", st)
	}
	h := g.call("types-incoming-response-headers", resp)
	if v := g.call("types-fields-get", h, "X-GOT").(list); len(v) != 1 || string(listBytes(v[0])) != "v" {
		t.Errorf("header %v", v)
	}
	if why := g.fails("types-fields-append", h, "a", []byte("b")); why != "immutable" {
		t.Errorf("changing a response's headers: %s", why)
	}
	if s, _ := g.body(resp); s != "GET 0 <nil> map[] /echo?a=b%20c&d " {
		t.Errorf("body %q", s)
	}
	g.fails("types-incoming-response-consume", resp)

	port := srv.URL[strings.LastIndex(srv.URL, ":"):]
	for _, target := range []string{"http://example.com/", "http://127.0.0.1:1/", "https://127.0.0.1" + port + "/", "http://localhost" + port + "/", "ftp://127.0.0.1" + port + "/"} {
		if _, code := g.send(g.request("GET", target), wasmtime.None); code != "HTTP-request-denied" {
			t.Errorf("%s: %q", target, code)
		}
	}
	resp, code = g.send(g.request("GET", srv.URL+"/redirect"), wasmtime.None)
	if code != "" || g.call("types-incoming-response-status", resp) != uint16(302) {
		t.Errorf("a redirect: %v %s", resp, code)
	}
	none := newGuest(t, Config{})
	if _, code := none.send(none.request("GET", srv.URL), wasmtime.None); code != "HTTP-request-denied" {
		t.Errorf("without HTTP: %q", code)
	}
	for target, want := range map[string]string{"/short": "HTTP-response-incomplete", "/headers": "HTTP-response-header-section-size"} {
		resp, code := g.send(g.request("GET", srv.URL+target), wasmtime.None)
		if code == "" {
			_, end := g.body(resp)
			code, _ = end.(string)
		}
		if code != want {
			t.Errorf("%s: %q, want %q", target, code, want)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	g = newGuest(t, Config{HTTP: ruled{"http", addr, &http.Transport{}}})
	if _, code := g.send(g.request("GET", "http://"+addr), wasmtime.None); code != "connection-refused" {
		t.Errorf("nobody listens: %q", code)
	}
}

// WIT-75
func TestBodiesAndTrailers(t *testing.T) {
	srv := serve(t)
	u, _ := url.Parse(srv.URL)
	client := outbound.New(anywhere{}, outbound.Options{}) // as guests have it
	defer client.Close()
	g := newGuest(t, Config{HTTP: ruled{u.Scheme, u.Host, client}})
	for _, n := range []int{0, 1, 70_000, 300_000} {
		r := g.request("POST", srv.URL+"/echo", "trailer", "X-End")
		b := g.ok("types-outgoing-request-body", r)
		g.fails("types-outgoing-request-body", r)
		s := g.ok("types-outgoing-body-write", b)
		g.fails("types-outgoing-body-write", b)
		future := g.ok("outgoing-handler-handle", r, wasmtime.None)
		for p := make([]byte, n); len(p) > 0; p = p[min(len(p), 100_000):] {
			g.ok("streams-output-stream-blocking-write-and-flush", s, p[:min(len(p), 100_000)])
		}
		g.drop("output-stream", s)
		tr := g.ok("types-fields-from-list", list{tuple{"x-end", []byte("done")}, tuple{"x-more", []byte("1")}})
		g.ok("types-outgoing-body-finish", b, wasmtime.Some(tr))
		resp, code := g.response(future)
		if code != "" {
			t.Fatal(n, code)
		}
		if got, _ := g.body(resp); !strings.HasPrefix(got, fmt.Sprintf("POST %d <nil> map[X-End:[done] X-More:[1]] /echo", n)) {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
	// A body that is not what content-length says, or that is dropped, is not sent.
	r := g.request("POST", srv.URL+"/echo", "content-length", "5")
	b := g.ok("types-outgoing-request-body", r)
	future := g.ok("outgoing-handler-handle", r, wasmtime.None)
	if code := g.fails("types-outgoing-body-finish", b, wasmtime.None); code != "HTTP-request-body-size" {
		t.Errorf("short body: %s", code)
	}
	if _, code := g.response(future); code == "" {
		t.Error("the request with the short body went through")
	}
	r = g.request("POST", srv.URL+"/echo")
	b = g.ok("types-outgoing-request-body", r)
	s := g.ok("types-outgoing-body-write", b)
	future = g.ok("outgoing-handler-handle", r, wasmtime.None)
	g.drop("outgoing-body", b)
	if _, code := g.response(future); code == "" {
		t.Error("the request with the dropped body went through")
	}
	if code := g.fails("streams-output-stream-check-write", s); code != "closed" {
		t.Errorf("the dropped body's stream: %s", code)
	}
	// Trailers of a response, after its body and without it.
	for _, read := range []bool{true, false} {
		resp, code := g.send(g.request("GET", srv.URL+"/trailers"), wasmtime.None)
		if code != "" {
			t.Fatal(code)
		}
		var body val
		if read {
			var got string
			if got, body = g.body(resp); len(got) != 100_000 {
				t.Errorf("read %d bytes", len(got))
			}
		} else {
			body = g.ok("types-incoming-response-consume", resp)
		}
		tr := g.call("types-incoming-body-finish", body)
		g.call("poll-pollable-block", g.call("types-future-trailers-subscribe", tr))
		o := g.call("types-future-trailers-get", tr).(option).V.(result).V.(result)
		if !o.OK || !o.V.(option).Some {
			t.Fatalf("trailers: %v", o)
		}
		if v := g.call("types-fields-get", o.V.(option).V, "x-sum").(list); len(v) != 1 || string(listBytes(v[0])) != "42" {
			t.Errorf("trailer: %v", v)
		}
		if again := g.call("types-future-trailers-get", tr).(option); !again.Some || again.V.(result).OK {
			t.Errorf("a second get: %v", again)
		}
	}
}

// WIT-75
func TestTimeouts(t *testing.T) {
	srv := serve(t)
	g := newGuest(t, Config{HTTP: allow(srv)})
	options := func(name string, d time.Duration) option {
		o := g.call("types-new-request-options")
		g.ok("types-request-options-set-"+name, o, wasmtime.Some(uint64(d)))
		if v := g.call("types-request-options-"+name, o).(option); v.V != uint64(d) {
			t.Errorf("%s: %v", name, v)
		}
		return wasmtime.Some(o)
	}
	start := time.Now()
	if _, code := g.send(g.request("GET", srv.URL+"/slow"), options("first-byte-timeout", 50*time.Millisecond)); code != "connection-read-timeout" {
		t.Errorf("first byte: %q", code)
	}
	resp, code := g.send(g.request("GET", srv.URL+"/stall"), options("between-bytes-timeout", 50*time.Millisecond))
	if code != "" {
		t.Fatal(code)
	}
	if got, end := g.body(resp); got != "x" || end != "connection-read-timeout" {
		t.Errorf("between bytes: %q %v", got, end)
	}
	// A connection that never comes: the dial waits for its context.
	hang := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	h := newGuest(t, Config{HTTP: ruled{"http", "nowhere", hang}})
	o := h.call("types-new-request-options")
	h.ok("types-request-options-set-connect-timeout", o, wasmtime.Some(uint64(50*time.Millisecond)))
	if _, code := h.send(h.request("GET", "http://nowhere"), wasmtime.Some(o)); code != "connection-timeout" {
		t.Errorf("connect: %q", code)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("the timeouts took %v", d)
	}
}

// WIT-75
func TestFields(t *testing.T) {
	g := newGuest(t, Config{})
	f := g.ok("types-fields-from-list", list{tuple{"A", []byte("1")}, tuple{"b", []byte("2")}, tuple{"a", []byte("3")}})
	get := func(name string) string {
		var all []string
		for _, v := range g.call("types-fields-get", f, name).(list) {
			all = append(all, string(listBytes(v)))
		}
		return strings.Join(all, ",")
	}
	if get("a") != "1,3" || g.call("types-fields-has", f, "B") != true || g.call("types-fields-has", f, "c") != false {
		t.Error("from-list", get("a"))
	}
	g.ok("types-fields-set", f, "a", list{[]byte("x"), []byte("y")})
	g.ok("types-fields-append", f, "a", []byte("z"))
	clone := g.call("types-fields-clone", f)
	g.ok("types-fields-delete", f, "a")
	if get("a") != "" || get("b") != "2" || len(g.call("types-fields-entries", clone).(list)) != 4 {
		t.Error("set, append, delete, clone")
	}
	for name, want := range map[string]string{"": "invalid-syntax", "a b": "invalid-syntax", "a\n": "invalid-syntax", "é": "invalid-syntax",
		"Host": "forbidden", "connection": "forbidden", "Transfer-Encoding": "forbidden", "proxy-authorization": "forbidden"} {
		for _, call := range []func() string{
			func() string { return g.fails("types-fields-append", f, name, []byte("v")) },
			func() string { return g.fails("types-fields-set", f, name, list{}) },
			func() string { return g.fails("types-fields-from-list", list{tuple{name, []byte("v")}}) },
		} {
			if got := call(); got != want {
				t.Errorf("%q: %s", name, got)
			}
		}
	}
	if why := g.fails("types-fields-append", f, "a", []byte("x\r\ny: z")); why != "invalid-syntax" {
		t.Errorf("a line break: %s", why)
	}
	r := g.call("types-new-outgoing-request", f)
	if why := g.fails("types-fields-append", g.call("types-outgoing-request-headers", r), "a", []byte("b")); why != "immutable" {
		t.Errorf("a request's headers: %s", why)
	}
	for _, bad := range []string{"", "CONNECT", "A B"} {
		g.fails("types-outgoing-request-set-method", r, variant{Name: "other", V: bad})
	}
	for _, bad := range []string{"x y", "/a#b", "a", "/%zz", "/\n"} {
		g.fails("types-outgoing-request-set-path-with-query", r, text(bad))
	}
	for _, bad := range []string{"", "a/b", "u:p@h", "h:x", "h?q", "h#f", "a b"} {
		g.fails("types-outgoing-request-set-authority", r, text(bad))
	}
	g.fails("types-outgoing-request-set-scheme", r, wasmtime.Some(variant{Name: "other", V: "a b"}))
	if got := g.wasi.fields; got == 0 {
		t.Error("nothing is counted")
	}
	g.close()
	if got := g.wasi.fields; got != 0 {
		t.Errorf("%d bytes of headers counted after the end", got)
	}
	if g.wasi.unsent != 0 {
		t.Errorf("%d requests counted after the end", g.wasi.unsent)
	}
}
