package conformance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/outbound"
)

// serve answers hello, a redirect, and two paths that wait for release.
func serve(t testing.TB, release chan struct{}) *httptest.Server {
	t.Helper()
	wait := func(r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			wait(r)
		case "/drip":
			fmt.Fprint(w, "begun")
			w.(http.Flusher).Flush()
			wait(r)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "begun")
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/query":
			fmt.Fprint(w, r.Method, " ", r.URL.RawQuery, " ", r.Host)
		case "/large":
			fmt.Fprint(w, strings.Repeat("0123456789", 5000))
		default:
			fmt.Fprint(w, "hello")
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// allow is a client that may reach what the entries say.
func allow(t testing.TB, entries ...string) wasmhost.HTTP {
	t.Helper()
	var rules policy.Rules
	for _, e := range entries {
		r, err := policy.ParseRule(e)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	c := outbound.New(rules, outbound.Options{})
	t.Cleanup(c.Close)
	return c
}

// WIT-41, CON-266, CON-211, CON-212
func TestHTTP(t *testing.T) {
	srv := serve(t, nil)
	address := strings.TrimPrefix(srv.URL, "http://")
	port := address[strings.LastIndex(address, ":"):]
	gone := httptest.NewServer(nil)
	gone.Close()
	onEach(t, func(t *testing.T, h *host) {
		in := instance(func(in *wasmhost.Instance) { in.HTTP = allow(t, srv.URL, gone.URL, "nowhere.invalid") })
		for url, want := range map[string]string{
			srv.URL:                   "200 hello",
			srv.URL + "/query?a=b&c":  "200 GET a=b&c " + address,
			srv.URL + "/large":        "200 " + strings.Repeat("0123456789", 5000),
			srv.URL + "/cut":          "failed: transport",
			gone.URL:                  "failed: transport",
			"http://nowhere.invalid":  "failed: transport",
			"http://127.0.0.1:1/":     "failed: denied", // another port
			"http://localhost" + port: "failed: denied", // another name
			"http://127.0.0.2" + port: "failed: denied", // another host
			"https://" + address:      "failed: denied", // another scheme
		} {
			if got := h.call(t, in, "get "+url); got != want {
				t.Errorf("%s: %.60q, want %.60q", url, got, want)
			}
		}
		if got := h.call(t, in, "get "+srv.URL+"/moved"); !strings.HasPrefix(got, "302 ") {
			t.Errorf("a redirect: %q", got)
		}
		in.HTTP = nil
		if got := h.call(t, in, "get "+srv.URL); got != "failed: denied" {
			t.Errorf("without a network: %q", got)
		}
	})
}
