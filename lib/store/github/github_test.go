package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store/source"
)

// api speaks as much of GitHub's REST API as releases need.
type api struct {
	*httptest.Server
	releases map[string][]string // tag: asset names; "latest" names another's tag
	latest   string
	assets   map[string]string // name: bytes
	digests  map[string]string // name: digest reported, where one is
	answer   http.HandlerFunc  // instead of everything, when set
	asked    []string
	tokens   []string
}

func newAPI(t *testing.T) *api {
	a := &api{releases: map[string][]string{}, assets: map[string]string{}, digests: map[string]string{}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *api) repo() *Repo {
	return &Repo{Client: &Client{API: a.URL, Limits: artifact.LimitsOf(nil)}, Name: "ours", Owner: "Ana", Repo: "tools", Token: "sk-token"}
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.asked = append(a.asked, r.URL.Path)
	a.tokens = append(a.tokens, r.Header.Get("Authorization"))
	if a.answer != nil {
		a.answer(w, r)
		return
	}
	const base = "/repos/Ana/tools"
	switch path := strings.TrimPrefix(r.URL.Path, base); {
	case path == "":
		fmt.Fprint(w, `{"id": 7, "owner": {"login": "Ana", "id": 4711}}`)
	case path == "/releases/latest" && a.latest != "":
		a.release(w, a.latest)
	case strings.HasPrefix(path, "/releases/tags/"):
		a.release(w, strings.TrimPrefix(path, "/releases/tags/"))
	case strings.HasPrefix(path, "/releases/assets/"):
		if r.Header.Get("Accept") != "application/octet-stream" {
			http.Error(w, "not so", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, a.assets[strings.TrimPrefix(path, "/releases/assets/")])
	default:
		http.NotFound(w, r)
	}
}

func (a *api) release(w http.ResponseWriter, tag string) {
	files, ok := a.releases[tag]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message": "Not Found"}`)
		return
	}
	out := release{TagName: tag}
	for _, f := range files {
		out.Assets = append(out.Assets, asset{Name: f, Size: int64(len(a.assets[f])), URL: a.URL + "/repos/Ana/tools/releases/assets/" + f, Digest: a.digests[f]})
	}
	json.NewEncoder(w).Encode(out)
}

func want(version string) source.Want {
	return source.Want{Name: names.Full{Scope: "ana", Name: "scan"}, Version: version, Platform: "linux-x86_64"}
}

// ART-61, ART-64, ART-65: where a version is looked for, and in which order.
func TestFetch(t *testing.T) {
	for name, c := range map[string]struct {
		releases map[string][]string
		latest   string
		got      string // asset, "" for absent
	}{
		"under its version":         {map[string][]string{"1.2.0": {"x", "scan-1.2.0.mur.zip"}}, "", "scan-1.2.0.mur.zip"},
		"under v":                   {map[string][]string{"v1.2.0": {"scan-1.2.0.mur.zip"}}, "", "scan-1.2.0.mur.zip"},
		"in the newest":             {map[string][]string{"2.0": {"scan-1.2.0.mur.zip"}}, "2.0", "scan-1.2.0.mur.zip"},
		"the platform's before any": {map[string][]string{"1.2.0": {"scan-1.2.0.mur.zip", "scan-1.2.0-linux-x86_64.mur.zip"}}, "", "scan-1.2.0-linux-x86_64.mur.zip"},
		"not another platform's":    {map[string][]string{"1.2.0": {"scan-1.2.0-darwin-x86_64.mur.zip"}}, "", ""},
		"not another version":       {map[string][]string{"1.2.0": {"scan-1.2.1.mur.zip"}, "2": {"scan-1.3.mur.zip"}}, "2", ""},
		"nothing":                   {nil, "", ""},
	} {
		a := newAPI(t)
		a.releases, a.latest = c.releases, c.latest
		for _, files := range c.releases {
			for _, f := range files {
				a.assets[f] = "the bytes of " + f
			}
		}
		got, err := a.repo().Fetch(context.Background(), want("1.2.0"), nil)
		var absent *source.AbsentError
		if c.got == "" {
			if !errors.As(err, &absent) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || string(got.Bytes) != "the bytes of "+c.got || got.Scope != "ana" || got.OwnerID != "github:4711" || got.SHA256 != artifact.Hash(got.Bytes) {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
}

// ART-61: the newest there is for this platform.
func TestNewest(t *testing.T) {
	a := newAPI(t)
	a.latest = "r1"
	a.releases["r1"] = []string{"scan-1.9.0.mur.zip", "scan-1.10.0-linux-x86_64.mur.zip", "scan-2.0.0-darwin-aarch64.mur.zip", "scan-9.mur.tar", "other-9.0.0.mur.zip", "scan-.mur.zip"}
	if v, err := a.repo().Newest(context.Background(), want("").Name, "linux-x86_64"); err != nil || v != "1.10.0" {
		t.Errorf("%q, %v", v, err)
	}
}

// ART-12: every archive of a release that this platform can use.
func TestRelease(t *testing.T) {
	a := newAPI(t)
	a.releases["v1"] = []string{"scan-1.mur.zip", "tool-1-linux-x86_64.mur.zip", "tool-1-darwin-x86_64.mur.zip", "notes.txt"}
	all, err := a.repo().Release(context.Background(), "v1", "linux-x86_64", nil)
	if err != nil || len(all) != 2 || all[0].From != "github:Ana/tools/scan-1.mur.zip" || all[1].Platform != "linux-x86_64" {
		t.Errorf("%v, %+v", err, all)
	}
	a.releases["v2"] = []string{"notes.txt"}
	for _, tag := range []string{"v2", "v3"} {
		if _, err := a.repo().Release(context.Background(), tag, "linux-x86_64", nil); diag.CodeOf(err) != "E-REG-001" {
			t.Errorf("%s: %v", tag, err)
		}
	}
	a.answer = func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	if _, err := a.repo().Release(context.Background(), "v1", "linux-x86_64", nil); diag.CodeOf(err) != "E-REG-006" {
		t.Errorf("%v", err)
	}
}

// ART-66: bytes that are not those GitHub knows.
func TestDigest(t *testing.T) {
	a := newAPI(t)
	a.releases["1.2.0"] = []string{"scan-1.2.0.mur.zip"}
	a.assets["scan-1.2.0.mur.zip"] = "x"
	a.digests["scan-1.2.0.mur.zip"] = "sha256:" + artifact.Hash([]byte("x"))
	if _, err := a.repo().Fetch(context.Background(), want("1.2.0"), nil); err != nil {
		t.Error(err)
	}
	a.assets["scan-1.2.0.mur.zip"] = "y"
	if _, err := a.repo().Fetch(context.Background(), want("1.2.0"), nil); diag.CodeOf(err) != "E-REG-002" {
		t.Errorf("%v", err)
	}
	small := a.repo()
	small.Client.Limits.EntryBytes = 0
	a.assets["scan-1.2.0.mur.zip"] = strings.Repeat("x", int(small.Client.Limits.ArchiveBytes())+1)
	if _, err := small.Fetch(context.Background(), want("1.2.0"), nil); err == nil || !errors.Is(err, source.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
}

// ART-60, ART-62: failures to answer, in words that name what is to know.
func TestNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"rate limit": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset", "1733000000")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message": "API rate limit exceeded for 192.0.2.1."}`)
		}, "rate limit (HTTP 403: API rate limit exceeded for 192.0.2.1.); it ends at 2024-11-30T20:53:20Z"},
		"secondary limit": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "try again after 60 s"},
		"refusal":  {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "it refuses (HTTP 401: Unauthorized)"},
		"nonsense": {func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>") }, "can not be read"},
		"endless":  {func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, maxAnswer+10)) }, "more than"},
		"redirect in the clear": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/x", http.StatusFound)
		}, "plain HTTP"},
	} {
		a := newAPI(t)
		a.answer = c.answer
		_, err := a.repo().Fetch(context.Background(), want("1.2.0"), nil)
		var absent *source.AbsentError
		if err == nil || errors.As(err, &absent) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "sk-token") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ART-60: the token goes to the API alone.
func TestToken(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "" {
			t.Errorf("another host was sent %q", got)
		}
		fmt.Fprint(w, "bytes")
	}))
	defer elsewhere.Close()
	a := newAPI(t)
	a.answer = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/releases/tags/1.2.0") {
			json.NewEncoder(w).Encode(release{Assets: []asset{{Name: "scan-1.2.0.mur.zip", URL: elsewhere.URL + "/x"}}})
			return
		}
		fmt.Fprint(w, `{"owner": {"id": 1}}`)
	}
	if _, err := a.repo().Fetch(context.Background(), want("1.2.0"), nil); err != nil {
		t.Fatal(err)
	}
	for _, token := range a.tokens {
		if token != "Bearer sk-token" {
			t.Errorf("the API was sent %q", token)
		}
	}
}

func TestParseRepo(t *testing.T) {
	for s, ok := range map[string]bool{"ana/tools": true, "a/b.c_d-e": true, "ana": false, "ana/": false, "/x": false, "a/b/c": false, "-a/b": false, "a/..": false, "a b/c": false, "a/b?x": false} {
		if _, _, err := ParseRepo(s); (err == nil) != ok {
			t.Errorf("%s: %v", s, err)
		}
	}
}
