package outbound

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/wasmhost"
)

func rules(t testing.TB, entries ...string) policy.Rules {
	t.Helper()
	var rs policy.Rules
	for _, e := range entries {
		r, err := policy.ParseRule(e)
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

// get sends one request through c and returns status and body.
func get(c *Client, url string) (string, error) {
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return "", err
	}
	resp, err := c.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, b), err
}

// MAN-102, CON-211, CON-212, CON-266: scheme, host and port are checked, and a
// refusal names what is missing.
func TestRules(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") }))
	defer srv.Close()
	port := srv.URL[strings.LastIndex(srv.URL, ":")+1:]
	tests := []struct {
		allow string
		url   string
		entry string // "" is allowed
	}{
		{srv.URL, srv.URL, ""},
		{"127.0.0.1", srv.URL, ""},
		{"127.0.0.1:" + port, srv.URL + "/path?query", ""},
		{"127.0.0.1:1", srv.URL, "http://127.0.0.1:" + port},
		{"https://127.0.0.1:" + port, srv.URL, "http://127.0.0.1:" + port},
		{"http://127.0.0.1", srv.URL, "http://127.0.0.1:" + port},
		{"localhost", srv.URL, "http://127.0.0.1:" + port},
		{srv.URL, "http://example.com/secret?token=1", "http://example.com"},
		{srv.URL, "https://EXAMPLE.com./", "https://example.com"},
		{srv.URL, "https://example.com:8443/", "https://example.com:8443"},
		{srv.URL, "http://[::1]:99/", "http://[::1]:99"},
	}
	for _, tt := range tests {
		var told []Refusal
		c := New(rules(t, tt.allow), Options{OnRefusal: func(_ context.Context, r Refusal) { told = append(told, r) }})
		got, err := get(c, tt.url)
		c.Close()
		if tt.entry == "" {
			if err != nil || got != "200 ok" || told != nil {
				t.Errorf("%s to %s: %q, %v, %v", tt.allow, tt.url, got, err, told)
			}
			continue
		}
		var de *DeniedError
		if !errors.As(err, &de) || !errors.Is(err, wasmhost.ErrDenied) || de.Entry != tt.entry || len(told) != 1 || told[0] != de.Refusal {
			t.Errorf("%s to %s: %v, told %v, want entry %s", tt.allow, tt.url, err, told, tt.entry)
			continue
		}
		for _, word := range []string{de.Host, strconv.Itoa(de.Port), de.Scheme, tt.entry} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not name %q", err, word)
			}
		}
		if strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q holds more than the target", err)
		}
	}
	if _, err := get(New(nil, Options{}), srv.URL); !errors.Is(err, wasmhost.ErrDenied) {
		t.Errorf("no rules: %v", err)
	}
}

func TestBadURLs(t *testing.T) {
	c := New(rules(t, "example.com"), Options{})
	for _, u := range []*url.URL{
		{Scheme: "ftp", Host: "example.com"}, {Scheme: "http"}, {Scheme: "http", Host: "example.com:0"},
		{Scheme: "http", Host: "example.com:70000"}, {Scheme: "http", Host: ":80"},
	} {
		if _, err := c.RoundTrip(&http.Request{Method: "GET", URL: u, Header: http.Header{}}); err == nil {
			t.Errorf("%v was sent", u)
		}
	}
}

// WIT-41: no redirect is followed, nothing is unpacked, no proxy is used.
func TestNothingBehindTheGuestsBack(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
		case "/packed":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, "unpacked")
			z.Close()
		default:
			fmt.Fprint(w, r.Header.Get("Accept-Encoding"))
		}
	}))
	defer srv.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	c := New(rules(t, srv.URL), Options{})
	defer c.Close()
	if got, err := get(c, srv.URL+"/moved"); err != nil || !strings.HasPrefix(got, "301 ") {
		t.Errorf("redirect: %q, %v", got, err)
	}
	if got, err := get(c, srv.URL+"/packed"); err != nil || !strings.HasPrefix(got, "200 \x1f\x8b") {
		t.Errorf("gzip: %q, %v", got, err)
	}
	if got, err := get(c, srv.URL); err != nil || got != "200 " {
		t.Errorf("accept-encoding: %q, %v", got, err)
	}
	if c.transport.Proxy != nil {
		t.Error("a proxy function is set")
	}
}

// The address is checked again where it is dialled.
func TestDialIsCheckedAgain(t *testing.T) {
	changing := &flip{left: 1}
	c := New(changing, Options{})
	if _, err := get(c, "http://127.0.0.1:1/"); !errors.Is(err, wasmhost.ErrDenied) || changing.asked != 2 {
		t.Errorf("got %v after %d questions", err, changing.asked)
	}
	// A dial that belongs to no request, or to another one, goes nowhere.
	dial := New(rules(t, "127.0.0.1"), Options{}).transport.DialContext
	if _, err := dial(context.Background(), "tcp", "127.0.0.1:1"); !errors.Is(err, wasmhost.ErrDenied) {
		t.Errorf("no target: %v", err)
	}
	ctx := context.WithValue(context.Background(), targetKey{}, target{scheme: "http", host: "127.0.0.1", port: 1, urlHost: "127.0.0.1"})
	if _, err := dial(ctx, "tcp", "127.0.0.2:1"); !errors.Is(err, wasmhost.ErrDenied) {
		t.Errorf("other target: %v", err)
	}
}

// flip allows as many times as left says.
type flip struct{ left, asked int }

func (f *flip) Allows(string, string, int) bool { f.asked++; f.left--; return f.left >= 0 }

// WIT-41, DEL-108
func TestScrub(t *testing.T) {
	h := http.Header{
		"X-Own": {"1"}, "Authorization": {"Bearer x"}, "Host": {"evil"}, "Connection": {"close, X-Hop"}, "X-Hop": {"1"},
		"Keep-Alive": {"1"}, "Te": {"trailers"}, "Trailer": {"X"}, "Transfer-Encoding": {"chunked"}, "Upgrade": {"h2c"},
		"Proxy-Connection": {"1"}, "Proxy-Authorization": {"1"}, "Content-Length": {"9"},
		"X-Murmur-Task-Origin": {"user"}, "x-murmur-task-trust": {"trusted"}, "X-Murmur": {"kept"},
	}
	Scrub(h)
	if got := slices.Sorted(maps.Keys(h)); !slices.Equal(got, []string{"Authorization", "X-Murmur", "X-Own"}) {
		t.Errorf("left: %v", got)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host, r.Header["X-Murmur-Task-Trust"], r.ContentLength, r.TransferEncoding)
	}))
	defer srv.Close()
	c := New(rules(t, srv.URL), Options{})
	defer c.Close()
	req, err := http.NewRequest("POST", srv.URL, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	req.Header["x-murmur-task-trust"] = []string{"trusted"}
	req.Header.Set("Content-Length", "99")
	resp, err := c.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); string(b) != strings.TrimPrefix(srv.URL, "http://")+"[] 4 []" {
		t.Errorf("the server saw %q", b)
	}
	if req.Host != "evil.example" || req.Header.Get("Content-Length") != "99" {
		t.Error("the request of the caller was changed")
	}
}

func TestTLSAndContext(t *testing.T) {
	block := make(chan struct{})
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			select {
			case <-block:
			case <-r.Context().Done():
			}
		}
		fmt.Fprint(w, "ok")
	}))
	defer srv.Close()
	defer close(block)
	strict := New(rules(t, srv.URL), Options{})
	var ce *tls.CertificateVerificationError
	if _, err := get(strict, srv.URL); !errors.As(err, &ce) {
		t.Errorf("an unknown authority: %v", err)
	}
	strict.Close()
	c := New(rules(t, srv.URL), Options{TLS: srv.Client().Transport.(*http.Transport).TLSClientConfig})
	defer c.Close()
	if got, err := get(c, srv.URL); err != nil || got != "200 ok" {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL+"/slow", nil)
	start := time.Now()
	if _, err := c.RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}
