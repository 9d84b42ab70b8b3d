package wasi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

var (
	typeOutgoingRequest = wasmtime.NewResourceType()
	typeRequestOptions  = wasmtime.NewResourceType()
)

// maxUnsent bounds the requests that are made and not yet handed over.
const maxUnsent = 64

// outgoingRequest is a request that the guest puts together.
type outgoingRequest struct {
	in        *Instance
	method    variant
	scheme    option // of a variant
	authority option // of a string
	path      option // of a string
	headers   *fields
	body      *bodyPipe // nil until asked for
}

// Close drops a request that was never sent: its body leads nowhere.
func (r *outgoingRequest) Close() error {
	if r.body != nil {
		r.body.end(errDropped, nil)
	}
	return r.leave()
}

// leave stops counting the request.
func (r *outgoingRequest) leave() error {
	r.in.unsent--
	return r.headers.Close()
}

// contentLength is what the headers declare, -1 when they do not.
func (r *outgoingRequest) contentLength() int64 {
	for _, h := range r.headers.lines {
		if strings.EqualFold(h.name, "content-length") {
			if n, err := strconv.ParseInt(h.value, 10, 64); err == nil && n >= 0 {
				return n
			}
		}
	}
	return -1
}

// methodName is the HTTP name of a method, "" for what no client may send.
func methodName(m variant) string {
	s, other := m.V.(string)
	if !other {
		s = strings.ToUpper(m.Name)
	}
	if !isToken(s) || s == http.MethodConnect { // CONNECT is for proxies
		return ""
	}
	return s
}

// pathParts splits a path with its query into the fields of a url.URL; ok is
// false for what is no path.
func pathParts(s string) (u url.URL, ok bool) {
	if s == "" {
		s = "/"
	}
	raw, query, _ := strings.Cut(s, "?")
	p, err := url.PathUnescape(raw)
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }
	if err != nil || s[0] != '/' && s != "*" || strings.ContainsFunc(s, bad) {
		return u, false
	}
	return url.URL{Path: p, RawPath: raw, RawQuery: query}, true
}

// isAuthority reports whether s is a host with an optional port and no more.
func isAuthority(s string) bool {
	u, err := url.Parse("http://" + s)
	return err == nil && u.Host == s && s != "" && u.Hostname() != "" && u.Path == ""
}

// schemeName is the scheme, https when the guest named none.
func schemeName(o option) string {
	if !o.Some {
		return "https"
	}
	v := o.V.(variant)
	if s, other := v.V.(string); other {
		return strings.ToLower(s)
	}
	return strings.ToLower(v.Name)
}

// build makes the request for the host's HTTP.
func (r *outgoingRequest) build(ctx context.Context) (*http.Request, *httpError) {
	m := methodName(r.method)
	if m == "" {
		return nil, failed("HTTP-request-method-invalid", "no method to send")
	}
	if !r.authority.Some {
		return nil, failed("HTTP-request-URI-invalid", "the request has no authority")
	}
	path := "/"
	if r.path.Some {
		path = r.path.V.(string)
	}
	u, ok := pathParts(path)
	if !ok {
		return nil, failed("HTTP-request-URI-invalid", "the request's path is no path")
	}
	u.Scheme, u.Host = schemeName(r.scheme), r.authority.V.(string)
	req := (&http.Request{Method: m, URL: &u, Host: u.Host, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	for _, h := range r.headers.lines {
		req.Header.Add(h.name, h.value)
	}
	req.Header.Del("Content-Length")
	if r.body != nil {
		req.ContentLength = r.contentLength()
		// Trailers are known only when the body has ended; the reader fills them
		// in. HTTP/2 sends those that a Trailer header announced, HTTP/1.1 all.
		req.Trailer = http.Header{}
		for _, names := range req.Header.Values("Trailer") {
			for n := range strings.SplitSeq(names, ",") {
				if n = strings.TrimSpace(n); headerError(n, "") == "" {
					req.Trailer[http.CanonicalHeaderKey(n)] = nil
				}
			}
		}
		req.Header.Del("Trailer") // net/http writes it from the map
		req.Body = &bodyEnd{r.body, ctx, req}
	}
	return req, nil
}

// requestOptions are the timeouts the guest asks for; an absent one is none,
// for the call's own deadline holds at any rate.
type requestOptions struct{ connect, first, between option }

func timeout(o option) time.Duration {
	if !o.Some {
		return 0
	}
	return max(nanoseconds(o.V), 1)
}

func requestFuncs() funcs {
	m := funcs{
		"[constructor]outgoing-request": func(c *call, a []val) (val, error) {
			in := instance(c)
			if in.unsent >= maxUnsent {
				return nil, trapf("more than %d requests not sent", maxUnsent)
			}
			in.unsent++
			h := wasmtime.Res[*fields](c, a[0])
			h.immutable = true
			return c.Own(typeOutgoingRequest, &outgoingRequest{in: in, method: variant{Name: "get"}, headers: h}), nil
		},
		"[method]outgoing-request.body": method(func(c *call, r *outgoingRequest, a []val) (val, error) {
			if r.body != nil {
				return wasmtime.Err(nil), nil
			}
			r.body = &bodyPipe{}
			return wasmtime.Ok(c.Own(typeOutgoingBody, &outgoingBody{pipe: r.body, declared: r.contentLength()})), nil
		}),
		"[method]outgoing-request.headers": method(func(c *call, r *outgoingRequest, a []val) (val, error) {
			return c.Own(typeFields, r.in.view(r.headers.lines)), nil
		}),
		"[method]outgoing-request.method": method(func(c *call, r *outgoingRequest, a []val) (val, error) { return r.method, nil }),
		"[method]outgoing-request.set-method": method(func(c *call, r *outgoingRequest, a []val) (val, error) {
			if methodName(a[0].(variant)) == "" {
				return wasmtime.Err(nil), nil
			}
			r.method = a[0].(variant)
			return wasmtime.Ok(nil), nil
		}),
		"[constructor]request-options": func(c *call, a []val) (val, error) {
			return c.Own(typeRequestOptions, &requestOptions{}), nil
		},
	}
	for name, p := range map[string]struct {
		at    func(*outgoingRequest) *option
		valid func(val) bool
	}{
		"path-with-query": {func(r *outgoingRequest) *option { return &r.path }, func(v val) bool { _, ok := pathParts(v.(string)); return ok }},
		"authority":       {func(r *outgoingRequest) *option { return &r.authority }, func(v val) bool { return isAuthority(v.(string)) }},
		"scheme":          {func(r *outgoingRequest) *option { return &r.scheme }, func(v val) bool { return isToken(schemeName(option{Some: true, V: v})) }},
	} {
		m["[method]outgoing-request."+name] = method(func(c *call, r *outgoingRequest, a []val) (val, error) { return *p.at(r), nil })
		m["[method]outgoing-request.set-"+name] = method(func(c *call, r *outgoingRequest, a []val) (val, error) {
			o := a[0].(option)
			if o.Some && !p.valid(o.V) {
				return wasmtime.Err(nil), nil
			}
			*p.at(r) = o
			return wasmtime.Ok(nil), nil
		})
	}
	for name, at := range map[string]func(*requestOptions) *option{
		"connect-timeout":       func(r *requestOptions) *option { return &r.connect },
		"first-byte-timeout":    func(r *requestOptions) *option { return &r.first },
		"between-bytes-timeout": func(r *requestOptions) *option { return &r.between },
	} {
		m["[method]request-options."+name] = method(func(c *call, r *requestOptions, a []val) (val, error) { return *at(r), nil })
		m["[method]request-options.set-"+name] = method(func(c *call, r *requestOptions, a []val) (val, error) {
			*at(r) = a[0].(option)
			return wasmtime.Ok(nil), nil
		})
	}
	return m
}
