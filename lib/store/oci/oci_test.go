package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/store/source"
)

var someDigest = "sha256:" + strings.Repeat("0a", 32)

// ART-12, ART-64, ART-201
func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		a    Address
		full string
	}{
		"oci://ghcr.io/ana/scan:1.0.0":                    {Address{"ghcr.io", "ana/scan", "1.0.0", ""}, "ana/scan"},
		"oci://Localhost:5000/team/ana/scan":              {Address{"localhost:5000", "team/ana/scan", "", ""}, "ana/scan"},
		"oci://127.0.0.1:5000/scan:v1_x@" + someDigest:    {Address{"127.0.0.1:5000", "scan", "v1_x", someDigest}, "local/scan"},
		"oci://[::1]:5000/ana/scan@" + someDigest:         {Address{"[::1]:5000", "ana/scan", "", someDigest}, "ana/scan"},
		"oci://a-b.example.com/x.y/ana-b/scan-it:1.0.0-x": {Address{"a-b.example.com", "x.y/ana-b/scan-it", "1.0.0-x", ""}, "ana-b/scan-it"},
	} {
		a, err := Parse(text)
		if err != nil || a != want.a || a.Full().String() != want.full || !strings.EqualFold(a.String(), text) {
			t.Errorf("%s: %+v (%s), %v", text, a, a, err)
		}
	}
	for _, text := range []string{
		"", "ghcr.io/ana/scan", "oci://", "oci://ghcr.io", "oci://ghcr.io/", "oci:///ana/scan", "oci://ghcr.io/Ana/scan", "oci://ghcr.io/ana//scan",
		"oci://ghcr.io/ana/scan:", "oci://ghcr.io/ana/scan:.x", "oci://ghcr.io/ana/scan:a:b", "oci://ghcr.io/ana/scan@", "oci://ghcr.io/ana/scan@sha256:abc",
		"oci://ghcr.io/ana/scan@sha512:" + strings.Repeat("0", 64), "oci://user@ghcr.io/ana/scan", "oci://ghcr.io:x/ana/scan", "oci://ghcr.io/ana/../scan",
		"oci://ghcr.io/ana/scan?x=1", "oci://ghcr.io/a_b/scan", "oci://ghcr.io/builtin/scan", "oci://gh cr.io/ana/scan", "oci://ghcr.io/ana/scan\n",
	} {
		if a, err := Parse(text); diag.CodeOf(err) != "E-IO-003" {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
	}
}

// ART-59, ART-201
func TestParseBase(t *testing.T) {
	for text, want := range map[string]string{
		"ghcr.io/ana": "oci://ghcr.io/ana/scan", "oci://ghcr.io/x/ana/": "oci://ghcr.io/x/ana/scan", "127.0.0.1:5000": "oci://127.0.0.1:5000/scan",
	} {
		b, err := ParseBase(text)
		if err != nil || b.Of("scan").String() != want {
			t.Errorf("%s: %s, %v", text, b.Of("scan"), err)
		}
	}
	for _, text := range []string{"", "ghcr.io/ana:1", "ghcr.io/ana@" + someDigest, "ghcr.io/a_b", "a b/c", "https://ghcr.io/ana"} {
		if b, err := ParseBase(text); diag.CodeOf(err) != "E-IO-003" {
			t.Errorf("%q: %v, %v", text, b, err)
		}
	}
}

// ART-201: tags and versions.
func TestTags(t *testing.T) {
	for _, c := range []struct{ version, platform, tag string }{
		{"1.0.0", "", "1.0.0"}, {"1.0.0+b1", "", "1.0.0_b1"}, {"1.0.0", "linux-x86_64", "1.0.0-linux-x86_64"},
	} {
		tag, err := Tag(c.version, c.platform)
		if err != nil || tag != c.tag {
			t.Errorf("%s: %q, %v", c.version, tag, err)
		}
		if v, ok := versionOf(tag, "linux-x86_64"); !ok || v != c.version {
			t.Errorf("%s is the version %q", tag, v)
		}
	}
	for _, v := range []string{"-x", "a b", strings.Repeat("1", 129), "ä"} {
		if _, err := Tag(v, ""); diag.CodeOf(err) != "E-IO-003" {
			t.Errorf("%q: %v", v, err)
		}
	}
	for _, tag := range []string{"latest", "1.0.0-darwin-x86_64", "stable"} {
		if v, ok := versionOf(tag, "linux-x86_64"); ok {
			t.Errorf("%s is the version %q", tag, v)
		}
	}
}

// ART-203: what may be spoken to without TLS.
func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:5000": true, "127.0.0.1": true, "127.1.2.3:80": true, "[::1]:5000": true, "[::1]": true,
		"example.com": false, "localhost.example.com": false, "10.0.0.1:5000": false, "0.0.0.0": false, "[::]:80": false, "127.0.0.1.example.com": false, "": false,
	} {
		if loopback(host) != want {
			t.Errorf("%s: %v", host, !want)
		}
	}
}

// serve is a client for a registry that answers as it likes.
func serve(t *testing.T, h http.HandlerFunc) (*Client, Address) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return NewClient(Options{}), Address{Registry: strings.TrimPrefix(s.URL, "http://"), Repository: "ana/x", Tag: "1"}
}

func pull(c *Client, a Address) error {
	_, err := c.Pull(context.Background(), a, []string{ArtifactType}, 1<<20, nil)
	return err
}

// ART-62, ART-203, ART-204: registries that lie, loop, redirect or refuse.
func TestOddRegistries(t *testing.T) {
	content, err := Artifact(artifact.Ref{Full: names.Full{Scope: "ana", Name: "x"}, Version: "1"}, "", []byte("an archive"))
	if err != nil {
		t.Fatal(err)
	}
	image := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"` + someDigest + `","size":2},"layers":[]}`)
	manifest := func(raw []byte, then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.Header().Set("Content-Type", layout.ManifestType)
				w.Write(raw)
				return
			}
			then(w, r)
		}
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		code diag.Code
		says string
	}{
		"an image":  {manifest(image, nil), "E-IO-003", "no artifactType"},
		"no layers": {manifest([]byte(`{"schemaVersion":2,"mediaType":"`+layout.ManifestType+`","artifactType":"x"}`), nil), "E-IO-003", "config"},
		"endless manifest": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", layout.ManifestType)
			for range 6 {
				w.Write(make([]byte, 1<<20))
			}
		}, "", ""},
		"endless layer": {manifest(content.Raw, func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			for range 1000 {
				fmt.Fprint(w, "an archive ")
			}
		}), "E-REG-002", "has 11 bytes and not 10"},
		"refused": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) }, "", "it refuses (HTTP 403"},
		"rate limit": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"errors":[{"code":"TOOMANYREQUESTS","message":"for 192.0.2.1"}]}`)
		}, "", "rate limit (HTTP 429"},
		"a password in the middle": {manifest(content.Raw, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}), "", "it asks for a user and a password, and there are none for it: docker login 127.0.0.1:"},
		"a token service in the clear": {manifest(content.Raw, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://example.com/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}), "", "plain HTTP is spoken to loopback addresses alone"},
		"cut short each time": {manifest(content.Raw, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "an ar")
		}), "", "the connection ended in the middle of an answer"},
		"redirect in the clear": {manifest(content.Raw, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/blob?sig=secret", http.StatusTemporaryRedirect)
		}), "", "plain HTTP is spoken to loopback addresses alone"},
	} {
		client, a := serve(t, c.h)
		err := pull(client, a)
		if err == nil || diag.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// shy hangs up on a connection that begins with a TLS greeting.
type shy struct{ net.Listener }

func (l shy) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		first := make([]byte, 1)
		if _, err := io.ReadFull(conn, first); err != nil || first[0] == 0x16 {
			conn.Close()
			continue
		}
		return &begun{conn, first}, nil
	}
}

// begun is a connection of which the first byte was read.
type begun struct {
	net.Conn
	first []byte
}

func (c *begun) Read(p []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// ART-203: on loopback also one that hangs up on a TLS greeting is spoken to
// without.
func TestHangsUpOnTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Listener = shy{s.Listener}
	s.Start()
	t.Cleanup(s.Close)
	a := Address{Registry: strings.TrimPrefix(s.URL, "http://"), Repository: "ana/x", Tag: "1"}
	var absent *source.AbsentError
	if err := pull(NewClient(Options{}), a); !errors.As(err, &absent) {
		t.Errorf("%v", err)
	}
}

// ART-204: at most two repetitions, and then it is over.
func TestRepetitions(t *testing.T) {
	asked := 0
	client, a := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.WriteHeader(http.StatusBadGateway)
	})
	err := pull(client, a)
	var absent *source.AbsentError
	if err == nil || errors.As(err, &absent) || !strings.Contains(err.Error(), "HTTP 502") || asked != 3 {
		t.Errorf("%d times: %v", asked, err)
	}
	if err := Fault(a, err); diag.CodeOf(err) != "E-REG-006" {
		t.Errorf("%v", err)
	}
}

// ART-202: one archive, one digest, everywhere.
func TestArtifact(t *testing.T) {
	ref := artifact.Ref{Full: names.Full{Scope: "ana", Name: "x"}, Version: "1"}
	c, err := Artifact(ref, "linux-x86_64", []byte("an archive"))
	if err != nil {
		t.Fatal(err)
	}
	if l := c.Manifest.Layers; len(l) != 1 || l[0].Digest != "sha256:"+artifact.Hash([]byte("an archive")) || l[0].Title() != "x-1-linux-x86_64.mur.zip" {
		t.Errorf("%+v", l)
	}
	if strings.Contains(string(c.Raw), "created") {
		t.Error("a date is in it")
	}
}
