package model

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/lib/wasmhost/outbound"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
	"github.com/mur-capsules/mur/mur-launch/internal/tools"
)

// maxKeyedBody bounds a request body that is kept so that it can be sent again
// with another key.
const maxKeyedBody = 64 << 20

// Gateway sends an artifact's requests for the gateway's authority to its
// endpoint, with the key (AGT-130 to AGT-139). It is safe for concurrent use.
type Gateway struct {
	endpoint   *url.URL
	auth       session.GatewayAuth
	credential *Credential // nil under keyless
	secrets    *mask.Set
	client     *outbound.Client // under the one rule of the endpoint
}

// NewGateway makes a gateway. Credential nil is a keyless one; tlsConfig nil is
// the host's trust store.
func NewGateway(g session.Gateway, c *Credential, secrets *mask.Set, tlsConfig *tls.Config) (*Gateway, error) {
	u, err := url.Parse(g.Endpoint)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the endpoint %q is no address", g.Endpoint)
	}
	rule, err := endpointRule(u)
	if err != nil {
		return nil, err
	}
	return &Gateway{
		endpoint: u, auth: g.Auth, credential: c, secrets: secrets,
		client: outbound.New(policy.Rules{rule}, outbound.Options{TLS: tlsConfig}),
	}, nil
}

// endpointRule allows the endpoint's scheme, host and port and nothing else.
func endpointRule(u *url.URL) (policy.Rule, error) {
	r := policy.Rule{Scheme: u.Scheme, Host: strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), Port: 443}
	if u.Scheme == "http" {
		r.Port = 80
	}
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil {
			return r, err
		}
		r.Port = n
	}
	return r, nil
}

// Close ends idle connections.
func (g *Gateway) Close() { g.client.Close() }

// errNotAdmitted is a request of a metered gateway outside an admitted call.
var errNotAdmitted = fmt.Errorf("the inference gateway sends nothing without an admission: %w", wasmhost.ErrDenied)

// Before returns the HTTP of a guest that holds the gateway: requests for its
// authority go through it, all others to base, which may be nil. Open tells
// whether the gateway may send now, nil is always; seen takes each status the
// provider answers with, nil drops it.
func (g *Gateway) Before(base wasmhost.HTTP, open func() bool, seen func(int)) wasmhost.HTTP {
	if base == nil {
		base = nowhere
	}
	return &through{gateway: g, base: base, open: open, seen: seen}
}

// nowhere denies every request, and says which entry would allow it.
var nowhere = outbound.New(nil, outbound.Options{})

type through struct {
	gateway *Gateway
	base    wasmhost.HTTP
	open    func() bool
	seen    func(int)
}

func (t *through) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" || req.URL.Host != tools.GatewayAuthority {
		return t.base.RoundTrip(req)
	}
	if t.open != nil && !t.open() {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, errNotAdmitted
	}
	resp, err := t.gateway.send(req)
	if err != nil {
		return nil, errors.New(t.gateway.secrets.Text(err.Error()))
	}
	if t.seen != nil {
		t.seen(resp.StatusCode)
	}
	return t.gateway.masked(resp), nil
}

// masked takes the secrets out of what the provider answers.
func (g *Gateway) masked(resp *http.Response) *http.Response {
	for _, values := range resp.Header {
		for i, v := range values {
			values[i] = g.secrets.Text(v)
		}
	}
	resp.Body = g.secrets.Reader(resp.Body)
	return resp
}

// send rewrites a request, attaches the key and sends it; a refused key is read
// again and, when it has changed, tried once more with the same bytes.
func (g *Gateway) send(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = g.endpoint.Scheme, g.endpoint.Host, ""
	out.Header.Del(g.auth.Header)
	// An answer that is packed could not be looked through for the key.
	out.Header.Set("Accept-Encoding", "identity")
	if g.credential == nil {
		return g.client.RoundTrip(out)
	}
	body, err := keep(req)
	if err != nil {
		return nil, err
	}
	key := g.credential.Current()
	resp, err := g.client.RoundTrip(g.keyed(out, key, body))
	if err != nil {
		return nil, err
	}
	retried := false
	if resp.StatusCode == http.StatusUnauthorized {
		if other, changed := g.credential.Again(key); changed {
			again, err := g.client.RoundTrip(g.keyed(out, other, body))
			drain(resp)
			if err != nil {
				return nil, err
			}
			resp, retried = again, true
		}
	}
	g.credential.Judge(resp.StatusCode, retried)
	return resp, nil
}

// keep reads a request's body.
func keep(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	body, err := io.ReadAll(io.LimitReader(req.Body, maxKeyedBody+1))
	if err == nil && len(body) > maxKeyedBody {
		err = fmt.Errorf("the request's body is larger than %d bytes", maxKeyedBody)
	}
	return body, err
}

// keyed is a request with exactly one header of the key.
func (g *Gateway) keyed(req *http.Request, key string, body []byte) *http.Request {
	out := req.Clone(req.Context())
	out.Header.Set(g.auth.Header, strings.Replace(g.auth.Value, "{key}", key, 1))
	out.Body, out.ContentLength = http.NoBody, int64(len(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if len(body) > 0 {
		out.Body, _ = out.GetBody()
	}
	return out
}

// drain reads a little of an answer that is not used, so that its connection can
// be, and closes it.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}
