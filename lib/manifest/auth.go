package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
)

// UpstreamAuth says how a gateway attaches the key to a request: the header
// Header gets Value, in which {key} stands once (MAN-266).
type UpstreamAuth struct{ Header, Value string }

// KeyMark is what Value holds in place of the key.
const KeyMark = "{key}"

// forbiddenHeaders can not carry a key: they steer the request itself (MAN-266).
var forbiddenHeaders = []string{
	"host", "origin", "referer", "cookie", "connection", "content-length", "content-type", "content-encoding",
	"expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
}

// UpstreamAuth reads upstream_auth. Absent, malformed, or under its former name
// it is E-RUN-025; artifact is name@version for the message. mur-stage calls it
// for an artifact whose entry declares gateway, keyless or not, and for no other
// (MAN-267).
func (a *Artifact) UpstreamAuth(artifact string) (UpstreamAuth, error) {
	fault := func(format string, args ...any) error {
		return diag.Errorf("E-RUN-025", "%s has a gateway and its own manifest "+format, append([]any{artifact}, args...)...).
			About(diag.Subject{Kind: diag.Artifact, Name: artifact}).Name("artifact", artifact)
	}
	if a.top.Has(formerAuth) {
		return UpstreamAuth{}, fault("uses %s, which is now called upstream_auth", formerAuth)
	}
	n := a.top.Node("upstream_auth")
	if n == nil {
		return UpstreamAuth{}, fault("declares no upstream_auth")
	}
	auth, err := readAuth(strictyaml.New("", dialect, strictyaml.Options{}).Open(n, "upstream_auth", []string{"header", "value"}))
	if err != nil {
		return UpstreamAuth{}, fault("declares an upstream_auth that can not be used: %w", err)
	}
	return auth, nil
}

func readAuth(b *block) (UpstreamAuth, error) {
	var out UpstreamAuth
	if b == nil {
		return out, fmt.Errorf("it is no mapping")
	}
	for _, f := range []struct {
		key string
		to  *string
	}{{"header", &out.Header}, {"value", &out.Value}} {
		n := b.Node(f.key)
		if n == nil {
			return out, fmt.Errorf("%s is missing", f.key)
		}
		if k := strictyaml.KindOf(n); k != "string" {
			return out, fmt.Errorf("%s: expected string, found %s", f.key, k)
		}
		*f.to = strictyaml.Resolve(n).Value
	}
	switch {
	case out.Header == "" || strings.IndexFunc(out.Header, notTokenChar) >= 0:
		return out, fmt.Errorf("header %s is no HTTP header name", diag.Quote(out.Header))
	case slices.Contains(forbiddenHeaders, strings.ToLower(out.Header)):
		return out, fmt.Errorf("the header %s can not carry a key", out.Header)
	case strings.Count(out.Value, KeyMark) != 1:
		return out, fmt.Errorf("value holds %s %s, not once", KeyMark, strictyaml.Counted(strings.Count(out.Value, KeyMark), "time"))
	case strings.IndexFunc(out.Value, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0:
		return out, fmt.Errorf("value holds a control character")
	}
	return out, nil
}

// notTokenChar tells characters that a header name may not have (RFC 9110,
// section 5.6.2).
func notTokenChar(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
}
