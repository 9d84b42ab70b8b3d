// Package outbound sends the HTTP requests of guests: it is the wasmhost.HTTP
// both engines use.
//
// It promises that a request leaves only when a rule allows its scheme, host
// and port, checked on the URL and once more on the address that is dialled;
// that no redirect is followed, no proxy variable read and no body unpacked
// behind the guest's back; and that headers which belong to the connection or
// to the runtime never come from a guest (WIT-41, DEL-108). It never decides
// what is allowed: rules come from package policy.
package outbound

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// Rules tell whether a request may leave. Scheme is "http" or "https", host is
// lower-case without brackets and without a trailing dot, port is 1 to 65535.
// They are asked from several goroutines.
type Rules interface {
	Allows(scheme, host string, port int) bool
}

// Refusal is a request no rule allows. Entry is the narrowest entry of
// network.allow that would.
type Refusal struct {
	Scheme string
	Host   string
	Port   int
	Entry  string
}

// DeniedError is the error of a refused request. It satisfies
// errors.Is(err, wasmhost.ErrDenied) and never holds a path, a query or a
// header of the request.
type DeniedError struct{ Refusal }

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s to %s port %d is not allowed: no entry of network.allow covers %q",
		e.Scheme, e.Host, e.Port, e.Entry)
}

// Unwrap makes the error satisfy errors.Is(err, wasmhost.ErrDenied).
func (e *DeniedError) Unwrap() error { return wasmhost.ErrDenied }

// Client is a wasmhost.HTTP under one set of rules. It is safe for concurrent
// use and keeps connections alive between calls until Close.
type Client struct {
	rules     Rules
	onRefusal func(context.Context, Refusal)
	transport *http.Transport
}

// Options change what a Client does beyond its rules. The zero value is right
// outside tests.
type Options struct {
	// OnRefusal is told of every refusal before the guest is; it runs in the
	// guest's call and must not block.
	OnRefusal func(context.Context, Refusal)
	// TLS is the configuration for https; nil is the host's trust store.
	TLS *tls.Config
}

// Time and size limits of the transport. The call's own deadline bounds a whole
// request; these keep a dead peer from using it up.
const (
	dialTimeout    = 15 * time.Second // as for commands (CON-223)
	maxHeadBytes   = 1 << 20
	idleTimeout    = 90 * time.Second
	maxIdlePerHost = 4
)

// New makes a Client. Nil rules deny everything.
func New(rules Rules, opt Options) *Client {
	c := &Client{rules: rules, onRefusal: opt.OnRefusal}
	dialer := &net.Dialer{Timeout: dialTimeout}
	c.transport = &http.Transport{
		Proxy:                  nil, // the host's proxy variables are the host's
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        opt.TLS,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeadBytes,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			// The transport dials for a request that already passed; this second
			// look holds even if it should come to dial for another one.
			t, ok := targetOf(ctx)
			if !ok || addr != t.dialAddr() {
				return nil, fmt.Errorf("dialling %s, which is not where the request goes: %w", addr, wasmhost.ErrDenied)
			}
			if r, ok := c.check(t); !ok {
				return nil, &DeniedError{r}
			}
			return dialer.DialContext(ctx, network, addr)
		},
	}
	return c
}

// RoundTrip sends one request of a guest (see wasmhost.HTTP). It does not
// change req.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	t, err := targetFor(req.URL)
	if err != nil {
		return nil, err
	}
	if r, ok := c.check(t); !ok {
		if c.onRefusal != nil {
			c.onRefusal(req.Context(), r)
		}
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, &DeniedError{r}
	}
	out := req.Clone(context.WithValue(req.Context(), targetKey{}, t))
	out.Trailer = req.Trailer // the same map: its values come while the body is sent
	out.Host = ""             // the authority is the URL's, never a header's
	Scrub(out.Header)
	return c.transport.RoundTrip(out)
}

// Close ends idle connections. Requests under way are their contexts' to end.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

func (c *Client) check(t target) (Refusal, bool) {
	if c.rules != nil && c.rules.Allows(t.scheme, t.host, t.port) {
		return Refusal{}, true
	}
	return Refusal{Scheme: t.scheme, Host: t.host, Port: t.port, Entry: t.entry()}, false
}

// target is where a request goes, in the form rules are asked in.
type target struct {
	scheme, host string
	port         int
	urlHost      string // as the transport will spell it when it dials
}

type targetKey struct{}

func targetOf(ctx context.Context) (target, bool) {
	t, ok := ctx.Value(targetKey{}).(target)
	return t, ok
}

func targetFor(u *url.URL) (target, error) {
	t := target{scheme: strings.ToLower(u.Scheme), urlHost: u.Hostname()}
	t.host = strings.TrimSuffix(strings.ToLower(t.urlHost), ".")
	if t.host == "" {
		return target{}, fmt.Errorf("request without a host")
	}
	switch t.scheme {
	case "http":
		t.port = 80
	case "https":
		t.port = 443
	default:
		return target{}, fmt.Errorf("scheme %q is neither http nor https", t.scheme)
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return target{}, fmt.Errorf("port %q is not a number from 1 to 65535", p)
		}
		t.port = int(n)
	}
	return t, nil
}

func (t target) dialAddr() string { return net.JoinHostPort(t.urlHost, strconv.Itoa(t.port)) }

// entry is the entry of network.allow that covers just this target.
func (t target) entry() string {
	host := t.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if t.scheme == "http" && t.port == 80 || t.scheme == "https" && t.port == 443 {
		return t.scheme + "://" + host
	}
	return fmt.Sprintf("%s://%s:%d", t.scheme, host, t.port)
}

var _ wasmhost.HTTP = (*Client)(nil)
