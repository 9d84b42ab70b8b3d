//go:build !race

// Compiling a guest with net/http takes minutes under the race detector; the
// host functions behind it are tested with it in lib/wasmhost/core.

package guesthttp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/core"
	"github.com/mur-capsules/mur/lib/wasmhost/outbound"
)

// compile builds testdata/guest with the Go tool chain.
func compile(t *testing.T) wasmhost.Guest {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-o", out, "./testdata/guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-buildvcs=false")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := core.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	g, err := engine.Compile(t.Context(), wasm, wasmhost.Tool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

type do map[string]any

func input(d do) wasmhost.ToolInput {
	b, _ := json.Marshal(d)
	s := string(b)
	return wasmhost.ToolInput{Data: &s}
}

func run(t *testing.T, g wasmhost.Guest, in *wasmhost.Instance, d do) string {
	t.Helper()
	res, err := g.RunTool(t.Context(), in, input(d))
	switch {
	case err != nil:
		t.Fatalf("%v: %v", d, err)
	case res.Status == wasmhost.Passed:
		return *res.Data
	}
	return "failed: " + *res.Summary
}

// WIT-41, WIT-42, CON-266
func TestHTTP(t *testing.T) {
	slow := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Test", "yes")
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
		case "/slow":
			select {
			case <-slow:
			case <-r.Context().Done():
			}
		case "/drip":
			fmt.Fprint(w, "begun")
			w.(http.Flusher).Flush()
			select {
			case <-slow:
			case <-r.Context().Done():
			}
		case "/post":
			b := new(bytes.Buffer)
			b.ReadFrom(r.Body)
			fmt.Fprint(w, r.Method, " ", b, " ", r.Header["X-Own"], r.Header["X-Murmur-Task-Origin"])
		default:
			fmt.Fprint(w, "hello")
		}
	}))
	defer srv.Close()
	defer close(slow)
	rule, err := policy.ParseRule(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := outbound.New(policy.Rules{rule}, outbound.Options{})
	defer client.Close()
	g := compile(t)
	in := &wasmhost.Instance{Name: "try", Limits: wasmhost.Limits{Deadline: 20 * time.Second}, HTTP: client}
	for _, tt := range []struct {
		d    do
		want string
	}{
		{do{"do": "get", "url": srv.URL + "/"}, "200 yes hello"},
		{do{"do": "post", "url": srv.URL + "/post", "text": "body", "args": []string{"X-Own", "1", "X-Murmur-Task-Origin", "user"}}, "POST body [1] []"},
		{do{"do": "timeout", "url": srv.URL + "/slow", "n": 50}, "timed out"},
		{do{"do": "open17", "url": srv.URL + "/"}, "16 too large: 16 responses are open already"},
	} {
		if got := run(t, g, in, tt.d); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.d, got, tt.want)
		}
	}
	for _, url := range []string{srv.URL + "/moved", "http://127.0.0.1:1/", strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), strings.Replace(srv.URL, "http:", "https:", 1)} {
		if got := run(t, g, in, do{"do": "get", "url": url}); strings.Count(got, "denied by policy") != 1 {
			t.Errorf("%s: %q", url, got)
		}
	}
	in.HTTP = nil
	if got := run(t, g, in, do{"do": "get", "url": srv.URL}); strings.Count(got, "denied by policy") != 1 {
		t.Errorf("without a network: %q", got)
	}
	in.HTTP = client
	in.Limits.Deadline = 200 * time.Millisecond
	for _, path := range []string{"/slow", "/drip"} {
		start := time.Now()
		_, err := g.RunTool(t.Context(), in, input(do{"do": "get", "url": srv.URL + path}))
		var f *wasmhost.Fault
		if !errors.As(err, &f) || f.Cause != wasmhost.DeadlinePassed || time.Since(start) > 2*time.Second {
			t.Errorf("%s: %v after %v", path, err, time.Since(start))
		}
	}
}
