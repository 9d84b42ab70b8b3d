package model

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
)

const key = "sk-abcdef-0123456789"

// room is a provider, a config file with a key, and a gateway between.
type room struct {
	t       *testing.T
	server  *httptest.Server
	config  string
	secrets mask.Set
	changes []Change
	cred    *Credential
	got     []*http.Request
	bodies  []string
	answer  func(w http.ResponseWriter, r *http.Request)
}

func newRoom(t *testing.T, tls bool) (*room, *Gateway) {
	r := &room{t: t, config: filepath.Join(t.TempDir(), "config.yaml"), answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }}
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.got, r.bodies = append(r.got, req), append(r.bodies, string(body))
		r.answer(w, req)
	})
	gateway := session.Gateway{Auth: session.GatewayAuth{Header: "Authorization", Value: "Bearer {key}"}}
	if tls {
		r.server = httptest.NewTLSServer(handler)
	} else {
		r.server = httptest.NewServer(handler)
	}
	t.Cleanup(r.server.Close)
	gateway.Endpoint = r.server.URL + "/api"
	r.set(key)
	ref := session.CredentialRef{Name: "K", Source: session.FromConfig, Rereadable: true, File: r.config}
	var err error
	if r.cred, err = NewCredential(ref, nil, "", &r.secrets, func(c Change) { r.changes = append(r.changes, c) }); err != nil {
		t.Fatal(err)
	}
	trust := r.server.Client().Transport.(*http.Transport).TLSClientConfig
	g, err := NewGateway(gateway, r.cred, &r.secrets, trust)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return r, g
}

func (r *room) set(key string) {
	r.t.Helper()
	if err := os.WriteFile(r.config, fmt.Appendf(nil, "credentials: {K: %q}\n", key), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func request(t *testing.T, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// AGT-132 to AGT-134, AGT-138, MAN-269
func TestGatewayRewritesAndKeys(t *testing.T) {
	for _, tls := range []bool{false, true} {
		r, g := newRoom(t, tls)
		var seen []int
		http := g.Before(nil, nil, func(s int) { seen = append(seen, s) })
		req := request(t, "http://127.0.0.1:9/api/v1/messages?q=1", "body")
		req.Header.Set("authorization", "mine")
		req.Header.Add("Authorization", "mine too")
		req.Header.Set("Accept-Encoding", "gzip")
		req.Header.Set("X-Other", "kept")
		req.Header.Set("X-Murmur-Origin", "forged")
		req.Host = "evil.example"
		resp, err := http.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		got := r.got[0]
		if string(text) != "ok" || got.URL.String() != "/api/v1/messages?q=1" || r.bodies[0] != "body" || got.ContentLength != 4 {
			t.Errorf("sent %s %s %d, got %q", got.URL, r.bodies[0], got.ContentLength, text)
		}
		if a := got.Header.Values("Authorization"); !slices.Equal(a, []string{"Bearer " + key}) {
			t.Errorf("key header %q", a)
		}
		if got.Header.Get("X-Other") != "kept" || got.Header.Get("X-Murmur-Origin") != "" || got.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("headers %v", got.Header)
		}
		if got.Host != strings.SplitN(r.server.URL, "//", 2)[1] {
			t.Errorf("host %s", got.Host)
		}
		if !slices.Equal(seen, []int{200}) {
			t.Errorf("statuses %v", seen)
		}
		if req.Header.Get("X-Murmur-Origin") == "" || req.URL.Host != "127.0.0.1:9" || strings.Contains(fmt.Sprint(req.Header), key) {
			t.Error("the guest's request was changed")
		}
	}
}

type plainHTTP func(*http.Request) (*http.Response, error)

func (f plainHTTP) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// AGT-133, AGT-135, AGT-136: only the exact authority, only over http, only while
// the call is open.
func TestGatewayServesItsAuthorityAlone(t *testing.T) {
	r, g := newRoom(t, false)
	var passed []string
	base := plainHTTP(func(req *http.Request) (*http.Response, error) {
		passed = append(passed, req.URL.String()+req.Header.Get("Authorization"))
		return nil, errors.New("plain")
	})
	open := true
	http := g.Before(base, func() bool { return open }, nil)
	for _, url := range []string{"https://127.0.0.1:9/x", "http://127.0.0.1/x", "http://127.0.0.1:90/x", "http://localhost:9/x", r.server.URL + "/x"} {
		if _, err := http.RoundTrip(request(t, url, "")); err == nil || err.Error() != "plain" {
			t.Errorf("%s: %v", url, err)
		}
	}
	if len(passed) != 5 || strings.Contains(strings.Join(passed, ""), key) || len(r.got) != 0 {
		t.Errorf("passed on %q, the provider got %d", passed, len(r.got))
	}
	open = false
	if _, err := http.RoundTrip(request(t, "http://127.0.0.1:9/x", "")); !errors.Is(err, wasmhost.ErrDenied) || len(r.got) != 0 {
		t.Errorf("outside a call: %v", err)
	}
	if _, err := g.Before(nil, nil, nil).RoundTrip(request(t, "http://other.example/", "")); !errors.Is(err, wasmhost.ErrDenied) {
		t.Errorf("without rules: %v", err)
	}
	r.answer = func(w httpWriter, req *httpRequest) {
		w.Header().Set("Location", "http://other.example/")
		w.WriteHeader(302)
	}
	if resp, err := g.Before(nil, nil, nil).RoundTrip(request(t, "http://127.0.0.1:9/x", "")); err != nil || resp.StatusCode != 302 {
		t.Errorf("a redirect: %v %v", resp, err)
	}
}

type (
	httpWriter  = http.ResponseWriter
	httpRequest = http.Request
)

// AGT-139, AGT-140, AGT-145, AGT-146, TRC-50, DIA-105
func TestRejectedKeys(t *testing.T) {
	for _, c := range []struct {
		name     string
		rotate   string // what the key becomes while the first answer is under way
		accepts  string
		status   int
		sent     int
		changes  []Change
		rejected string
	}{
		{"accepted", "", key, 200, 1, nil, ""},
		{"unchanged", "", "none", 401, 1, []Change{{Change: "rejected"}}, "it was read again and was the same"},
		{"changed and accepted", "new-key-value", "new-key-value", 200, 2, []Change{{Change: "rotated", Trigger: "rejection"}}, ""},
		{"changed and refused", "new-key-value", "none", 401, 2, []Change{{Change: "rotated", Trigger: "rejection"}, {Change: "rejected", Retried: true}}, "the key that was read again was refused too"},
		{"gone", "-", "none", 401, 1, []Change{{Change: "unreadable", Reason: "missing"}, {Change: "rejected"}}, "it was read again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, g := newRoom(t, false)
			r.answer = func(w http.ResponseWriter, req *http.Request) {
				switch c.rotate {
				case "":
				case "-":
					os.Remove(r.config)
				default:
					r.set(c.rotate)
				}
				if req.Header.Get("Authorization") != "Bearer "+c.accepts {
					w.WriteHeader(401)
				}
			}
			resp, err := g.Before(nil, nil, nil).RoundTrip(request(t, "http://127.0.0.1:9/x", "the same bytes"))
			if err != nil || resp.StatusCode != c.status || len(r.got) != c.sent {
				t.Fatalf("%v %v after %d requests", resp, err, len(r.got))
			}
			for _, b := range r.bodies {
				if b != "the same bytes" {
					t.Errorf("sent %q", b)
				}
			}
			if !slices.Equal(r.changes, c.changes) {
				t.Errorf("changes %+v", r.changes)
			}
			why := r.cred.Rejection()
			if (why != nil) != (c.rejected != "") || why != nil && (why.Code != "E-RUN-027" || !strings.Contains(why.Message, c.rejected) || !strings.Contains(why.Message, "credentials.K of "+r.config)) {
				t.Errorf("rejection %v", why)
			}
			if why == nil {
				return
			}
			// An answer that is no 401 takes the rejection back.
			r.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
			if _, err := g.Before(nil, nil, nil).RoundTrip(request(t, "http://127.0.0.1:9/x", "")); err != nil || r.cred.Rejection() != nil {
				t.Errorf("%v, still %v", err, r.cred.Rejection())
			}
		})
	}
}

// AGT-145, AGT-146: the file is read before every request; a fault is told once
// for each state it is in.
func TestKeysAreReadAgain(t *testing.T) {
	r, _ := newRoom(t, false)
	if r.cred.Current() != key {
		t.Fatal("the key is another")
	}
	r.set("second-key-value")
	if got := r.cred.Current(); got != "second-key-value" {
		t.Errorf("the key is %q", got)
	}
	os.WriteFile(r.config, []byte("credentials: [\n"), 0o600)
	for range 3 {
		if got := r.cred.Current(); got != "second-key-value" {
			t.Errorf("the key is %q", got)
		}
	}
	os.WriteFile(r.config, []byte("credentials: {K: ''}\n"), 0o600)
	r.cred.Current()
	os.WriteFile(r.config, []byte("credentials: {}\n"), 0o600)
	r.cred.Current()
	r.set("third-key-value")
	r.cred.Current()
	want := []Change{{Change: "rotated", Trigger: "file_changed"}, {Change: "unreadable", Reason: "unparseable"},
		{Change: "unreadable", Reason: "empty_entry"}, {Change: "unreadable", Reason: "no_entry"}, {Change: "rotated", Trigger: "file_changed"}}
	if !slices.Equal(r.changes, want) {
		t.Errorf("changes %+v", r.changes)
	}
	for _, k := range []string{key, "second-key-value", "third-key-value"} {
		if r.secrets.Text(k) != mask.Mark {
			t.Errorf("%s is no secret any more", k)
		}
	}
}

// AGT-142, AGT-143, MAN-96
func TestWhereKeysComeFrom(t *testing.T) {
	dir := t.TempDir()
	text := []byte("artifacts:\n  - gateway: {api_key: literal-key-value}\n")
	file := filepath.Join(dir, "murmur.yaml")
	os.WriteFile(file, text, 0o600)
	sum := sha256.Sum256(text)
	at := func(source, pointer string) session.CredentialRef {
		return session.CredentialRef{Name: "K", Source: source, File: file, Pointer: pointer}
	}
	for _, c := range []struct {
		name  string
		ref   session.CredentialRef
		sum   string
		value string
		says  string
	}{
		{"environment", at(session.FromEnvironment, ""), "", "env-key-value", ""},
		{"literal", at(session.FromManifest, "/artifacts/0/gateway/api_key"), hex.EncodeToString(sum[:]), "literal-key-value", ""},
		{"another manifest", at(session.FromManifest, "/artifacts/0/gateway/api_key"), "00", "", "was changed since it was staged"},
		{"no such place", at(session.FromManifest, "/x"), hex.EncodeToString(sum[:]), "", file},
		{"a controller's", at(session.FromController, ""), "", "", "takes no keys from a controller"},
		{"no config", session.CredentialRef{Name: "K", Source: session.FromConfig, File: dir + "/none"}, "", "", "credentials.K of "},
		{"unset", session.CredentialRef{Name: "OTHER", Source: session.FromEnvironment}, "", "", "in the variable OTHER"},
	} {
		var secrets mask.Set
		got, err := NewCredential(c.ref, []string{"K=old", "K=env-key-value"}, c.sum, &secrets, func(Change) {})
		if c.says == "" {
			if err != nil || got.Current() != c.value || secrets.Text(c.value) != mask.Mark {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if diag.CodeOf(err) != "E-MAN-003" || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "key-value") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// AGT-3: what the provider says of the key does not reach the guest.
func TestAnswersAreMasked(t *testing.T) {
	r, g := newRoom(t, false)
	body := "you sent " + key + " or " + base64.StdEncoding.EncodeToString([]byte("Bearer "+key)) + " and that was it"
	r.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Echo", "Bearer "+key)
		for i := range len(body) {
			io.WriteString(w, body[i:i+1])
			w.(http.Flusher).Flush()
		}
	}
	resp, err := g.Before(nil, nil, nil).RoundTrip(request(t, "http://127.0.0.1:9/x", ""))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	_ = resp.Header.Write(&all)
	io.Copy(&all, resp.Body)
	if text := all.String(); strings.Contains(text, key) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("Bearer " + key))[12:30]) || !strings.Contains(text, " and that was it") {
		t.Errorf("the guest reads %s", text)
	}
	r.server.Close()
	if _, err := g.Before(nil, nil, nil).RoundTrip(request(t, "http://127.0.0.1:9/"+key, "")); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
}

// MAN-92, AGT-134: keyless sends no key header, the guest's own neither.
func TestKeyless(t *testing.T) {
	r, _ := newRoom(t, false)
	g, err := NewGateway(session.Gateway{Endpoint: r.server.URL, Auth: session.GatewayAuth{Header: "X-Key", Value: "{key}"}}, nil, &r.secrets, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	req := request(t, "http://127.0.0.1:9/x", "b")
	req.Header.Set("x-key", "mine")
	if _, err := g.Before(nil, nil, nil).RoundTrip(req); err != nil || r.got[0].Header.Get("X-Key") != "" || r.bodies[0] != "b" {
		t.Errorf("%v, sent %v", err, r.got)
	}
	for _, bad := range []string{"://", "nowhere", "http://h:port"} {
		if _, err := NewGateway(session.Gateway{Endpoint: bad}, nil, &r.secrets, nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
