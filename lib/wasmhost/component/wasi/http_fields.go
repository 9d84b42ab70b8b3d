package wasi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

var typeFields = wasmtime.NewResourceType()

// headerLine is one entry of fields; the name is as the guest wrote it.
type headerLine struct{ name, value string }

func (h headerLine) size() int { return len(h.name) + len(h.value) + 32 }

// fields is a set of headers or trailers. Those that belong to a request, a
// response or trailers are immutable views of its lines.
type fields struct {
	in        *Instance
	lines     []headerLine
	size      int // counted against the instance; a view counts nothing
	immutable bool
}

// forbiddenHeaders are for the host to set, or end at the next hop (RFC 9110
// section 7.6.1).
var forbiddenHeaders = map[string]bool{"connection": true, "keep-alive": true, "proxy-authenticate": true, "proxy-authorization": true,
	"proxy-connection": true, "transfer-encoding": true, "upgrade": true, "host": true, "http2-settings": true}

// isToken reports whether s is a token of RFC 9110 section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// headerError names the case of header-error for a line, "" when it is fine.
func headerError(name, value string) string {
	if !isToken(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return "invalid-syntax"
	}
	if forbiddenHeaders[strings.ToLower(name)] {
		return "forbidden"
	}
	return ""
}

// add appends a line. Too many bytes end the guest: header-error has no case
// for it.
func (f *fields) add(h headerLine) error {
	if f.size+h.size() > maxFieldsSize || f.in.fields+h.size() > maxFieldsTotal {
		return trapf("headers of more than %d bytes, or %d in all", maxFieldsSize, maxFieldsTotal)
	}
	f.lines = append(f.lines, h)
	f.size += h.size()
	f.in.fields += h.size()
	return nil
}

func (f *fields) delete(name string) {
	f.lines = slices.DeleteFunc(f.lines, func(h headerLine) bool {
		if !strings.EqualFold(h.name, name) {
			return false
		}
		f.size -= h.size()
		f.in.fields -= h.size()
		return true
	})
}

// Close gives the bytes back.
func (f *fields) Close() error {
	f.in.fields -= f.size
	f.size, f.lines = 0, nil
	return nil
}

// view shows lines that something else owns.
func (in *Instance) view(lines []headerLine) *fields {
	return &fields{in: in, lines: lines, immutable: true}
}

// headerLines flattens an http.Header in the order of names, which are in lower
// case for the guest; ok is false when it is too large to show.
func headerLines(h http.Header) (lines []headerLine, ok bool) {
	size := 0
	for name, values := range h {
		for _, v := range values {
			l := headerLine{strings.ToLower(name), v}
			size += l.size()
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b headerLine) int { return strings.Compare(a.name, b.name) })
	return lines, size <= maxFieldsSize
}

func headerResult(problem string) val {
	if problem != "" {
		return wasmtime.Err(variant{Name: problem})
	}
	return wasmtime.Ok(nil)
}

func fieldsFuncs() funcs {
	// change adapts a function that changes the set; the name is the first argument.
	change := func(f func(h *fields, name string, a []val) (string, error)) wasmtime.Func {
		return method(func(c *call, h *fields, a []val) (val, error) {
			name := a[0].(string)
			if h.immutable {
				return headerResult("immutable"), nil
			}
			if problem := headerError(name, ""); problem != "" {
				return headerResult(problem), nil
			}
			problem, err := f(h, name, a[1:])
			return headerResult(problem), err
		})
	}
	return funcs{
		"[constructor]fields": func(c *call, a []val) (val, error) {
			return c.Own(typeFields, &fields{in: instance(c)}), nil
		},
		"[static]fields.from-list": func(c *call, a []val) (val, error) {
			f := &fields{in: instance(c)}
			entries, _ := a[0].(list)
			for _, e := range entries {
				t := e.(tuple)
				h := headerLine{t[0].(string), string(wasmtime.Bytes(t[1]))}
				if problem := headerError(h.name, h.value); problem != "" {
					return headerResult(problem), f.Close()
				}
				if err := f.add(h); err != nil {
					return nil, err
				}
			}
			return wasmtime.Ok(c.Own(typeFields, f)), nil
		},
		"[method]fields.get": method(func(c *call, f *fields, a []val) (val, error) {
			l := list{}
			for _, h := range f.lines {
				if strings.EqualFold(h.name, a[0].(string)) {
					l = append(l, []byte(h.value))
				}
			}
			return l, nil
		}),
		"[method]fields.has": method(func(c *call, f *fields, a []val) (val, error) {
			return slices.ContainsFunc(f.lines, func(h headerLine) bool { return strings.EqualFold(h.name, a[0].(string)) }), nil
		}),
		"[method]fields.entries": method(func(c *call, f *fields, a []val) (val, error) {
			l := list{}
			for _, h := range f.lines {
				l = append(l, tuple{h.name, []byte(h.value)})
			}
			return l, nil
		}),
		"[method]fields.clone": method(func(c *call, f *fields, a []val) (val, error) {
			n := &fields{in: f.in}
			for _, h := range f.lines {
				if err := n.add(h); err != nil {
					return nil, err
				}
			}
			return c.Own(typeFields, n), nil
		}),
		"[method]fields.append": change(func(f *fields, name string, a []val) (string, error) {
			h := headerLine{name, string(wasmtime.Bytes(a[0]))}
			if problem := headerError(name, h.value); problem != "" {
				return problem, nil
			}
			return "", f.add(h)
		}),
		"[method]fields.delete": change(func(f *fields, name string, a []val) (string, error) {
			f.delete(name)
			return "", nil
		}),
		"[method]fields.set": change(func(f *fields, name string, a []val) (string, error) {
			values, _ := a[0].(list)
			for _, v := range values {
				if problem := headerError(name, string(wasmtime.Bytes(v))); problem != "" {
					return problem, nil
				}
			}
			f.delete(name)
			for _, v := range values {
				if err := f.add(headerLine{name, string(wasmtime.Bytes(v))}); err != nil {
					return "", err
				}
			}
			return "", nil
		}),
	}
}
