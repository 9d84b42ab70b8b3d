package wasi

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

var (
	typeFuture           = wasmtime.NewResourceType()
	typeIncomingResponse = wasmtime.NewResourceType()
	typeIncomingBody     = wasmtime.NewResourceType()
	typeFutureTrailers   = wasmtime.NewResourceType()
	typeIncomingRequest  = wasmtime.NewResourceType()
	typeOutgoingResponse = wasmtime.NewResourceType()
	typeResponseOutparam = wasmtime.NewResourceType()
)

// future is the future-incoming-response: it holds the exchange until the guest
// takes the response.
type future struct {
	x   *exchange
	got bool
}

func (f *future) ready() <-chan struct{} { return f.x.ready() }

func (f *future) Close() error {
	if !f.got {
		f.x.release()
	}
	return nil
}

// incomingResponse holds the exchange until its body is taken.
type incomingResponse struct {
	x      *exchange
	status uint16
	lines  []headerLine
	taken  bool
}

func (r *incomingResponse) Close() error {
	if !r.taken {
		r.x.release()
	}
	return nil
}

// incomingBody holds the exchange until it is dropped or finished; its stream
// holds it too.
type incomingBody struct {
	x     *exchange
	taken bool
}

func (b *incomingBody) Close() error { b.x.release(); return nil }

// handle sends a request. What the allow rules refuse is told here when there is
// no HTTP at all, else by the future, as HTTP-request-denied.
func handle(c *call, a []val) (val, error) {
	in := instance(c)
	r := wasmtime.Res[*outgoingRequest](c, a[0])
	defer r.leave() //nolint:errcheck // never fails
	var opts requestOptions
	if o := a[1].(option); o.Some {
		opts = *wasmtime.Res[*requestOptions](c, o.V)
	}
	refuse := func(err *httpError) (val, error) {
		if r.body != nil {
			r.body.end(err, nil)
		}
		return wasmtime.Err(err.code), nil
	}
	if in.cfg.HTTP == nil {
		return refuse(failed("HTTP-request-denied", "the guest may send no requests"))
	}
	x, err := in.start(c.Context(), func(ctx context.Context) (*http.Request, *httpError) { return r.build(ctx) }, opts)
	if err != nil {
		return refuse(err)
	}
	return wasmtime.Ok(c.Own(typeFuture, &future{x: x})), nil
}

// getResponse is future-incoming-response.get: option<result<result<response, error-code>>>.
func getResponse(c *call, f *future, _ []val) (val, error) {
	f.x.Lock()
	resp, headers, err, done := f.x.resp, f.x.headers, f.x.err, f.x.done
	f.x.Unlock()
	switch {
	case !done:
		return wasmtime.None, nil
	case f.got:
		return wasmtime.Some(wasmtime.Err(nil)), nil
	}
	f.got = true
	if err != nil {
		f.x.release()
		return wasmtime.Some(wasmtime.Ok(wasmtime.Err(err.code))), nil
	}
	r := &incomingResponse{x: f.x, status: uint16(resp.StatusCode), lines: headers}
	return wasmtime.Some(wasmtime.Ok(wasmtime.Ok(c.Own(typeIncomingResponse, r)))), nil
}

// getTrailers is future-trailers.get: option<result<result<option<trailers>, error-code>>>.
func getTrailers(c *call, t *futureTrailers, _ []val) (val, error) {
	if t.ready() != nil {
		return wasmtime.None, nil
	}
	if t.got {
		return wasmtime.Some(wasmtime.Err(nil)), nil
	}
	t.got = true
	t.x.Lock()
	err := t.x.bodyErr
	t.x.Unlock()
	if err != io.EOF {
		return wasmtime.Some(wasmtime.Ok(wasmtime.Err(httpFailure(t.x.ctx, err).code))), nil
	}
	lines, fits := headerLines(t.x.resp.Trailer)
	switch {
	case !fits:
		return wasmtime.Some(wasmtime.Ok(wasmtime.Err(sized("HTTP-response-trailer-section-size", uint32(maxFieldsSize), "").code))), nil
	case len(lines) == 0:
		return wasmtime.Some(wasmtime.Ok(wasmtime.Ok(wasmtime.None))), nil
	}
	return wasmtime.Some(wasmtime.Ok(wasmtime.Ok(wasmtime.Some(c.Own(typeFields, instance(c).view(lines)))))), nil
}

func httpInterfaces() []wasmtime.Interface {
	m := funcs{
		"http-error-code": func(c *call, a []val) (val, error) {
			if e, ok := wasmtime.Res[error](c, a[0]).(*httpError); ok {
				return wasmtime.Some(e.code), nil
			}
			return wasmtime.None, nil
		},
		"[method]future-incoming-response.subscribe": method(func(c *call, f *future, a []val) (val, error) { return subscribe(c, f), nil }),
		"[method]future-incoming-response.get":       method(getResponse),
		"[method]incoming-response.status":           method(func(c *call, r *incomingResponse, a []val) (val, error) { return r.status, nil }),
		"[method]incoming-response.headers": method(func(c *call, r *incomingResponse, a []val) (val, error) {
			return c.Own(typeFields, instance(c).view(r.lines)), nil
		}),
		"[method]incoming-response.consume": method(func(c *call, r *incomingResponse, a []val) (val, error) {
			if r.taken {
				return wasmtime.Err(nil), nil
			}
			r.taken = true
			return wasmtime.Ok(c.Own(typeIncomingBody, &incomingBody{x: r.x})), nil
		}),
		"[method]incoming-body.stream": method(func(c *call, b *incomingBody, a []val) (val, error) {
			if b.taken {
				return wasmtime.Err(nil), nil
			}
			b.taken = true
			b.x.refs++
			return wasmtime.Ok(c.Own(typeInput, bodyStream{b.x})), nil
		}),
		"[static]incoming-body.finish": func(c *call, a []val) (val, error) {
			return c.Own(typeFutureTrailers, &futureTrailers{x: wasmtime.Res[*incomingBody](c, a[0]).x}), nil
		},
		"[method]future-trailers.subscribe": method(func(c *call, t *futureTrailers, a []val) (val, error) { return subscribe(c, t), nil }),
		"[method]future-trailers.get":       method(getTrailers),
	}
	for _, more := range []funcs{fieldsFuncs(), requestFuncs(), outgoingBodyFuncs(), serverFuncs()} {
		for n, f := range more {
			m[n] = f
		}
	}
	return []wasmtime.Interface{
		{Name: "http/types", Funcs: m, Resources: resources{
			"fields": typeFields, "outgoing-request": typeOutgoingRequest, "request-options": typeRequestOptions,
			"outgoing-body": typeOutgoingBody, "future-incoming-response": typeFuture, "incoming-response": typeIncomingResponse,
			"incoming-body": typeIncomingBody, "future-trailers": typeFutureTrailers,
			"incoming-request": typeIncomingRequest, "outgoing-response": typeOutgoingResponse, "response-outparam": typeResponseOutparam,
		}},
		{Name: "http/outgoing-handler", Funcs: funcs{"handle": handle}},
	}
}

// serverFuncs are the half of wasi:http/types that serves requests. Guests that
// carry it link; no incoming-handler is ever called, so no guest has anything to
// call these with, and a response that a guest makes by itself ends it.
func serverFuncs() funcs {
	refuse := func(*call, []val) (val, error) { return nil, trapf("this host serves no requests") }
	m := funcs{
		"[constructor]outgoing-response":               refuse,
		"[static]response-outparam.set":                refuse,
		"[method]response-outparam.send-informational": refuse,
	}
	for resource, names := range map[string]string{
		"incoming-request":  "method path-with-query scheme authority headers consume",
		"outgoing-response": "set-status-code status-code headers body",
	} {
		for n := range strings.FieldsSeq(names) {
			m["[method]"+resource+"."+n] = refuse
		}
	}
	return m
}
