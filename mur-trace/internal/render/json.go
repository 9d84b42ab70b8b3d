package render

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/mur-capsules/mur/lib/trace"
)

// JSON writes one JSON document piece by piece, so that its parts need not be
// in memory together. Errors stick; Close reports them.
type JSON struct {
	w     *bufio.Writer
	comma bool
	err   error
}

// NewJSON returns a writer of one document.
func NewJSON(w io.Writer) *JSON { return &JSON{w: bufio.NewWriterSize(w, 64<<10)} }

func (j *JSON) put(s string) {
	if j.err == nil {
		_, j.err = j.w.WriteString(s)
	}
}

func (j *JSON) before() {
	if j.comma {
		j.put(",")
	}
	j.comma = false
}

// Open writes { or [.
func (j *JSON) Open(bracket string) {
	j.before()
	j.put(bracket)
}

// Shut writes } or ].
func (j *JSON) Shut(bracket string) {
	j.put(bracket)
	j.comma = true
}

// Key writes a member's name.
func (j *JSON) Key(name string) {
	j.before()
	j.put(`"` + name + `":`)
}

// Value writes any value.
func (j *JSON) Value(v any) {
	j.before()
	enc := json.NewEncoder(trimmed{j})
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && j.err == nil {
		j.err = err
	}
	j.comma = true
}

// Member writes a member.
func (j *JSON) Member(name string, v any) {
	j.Key(name)
	j.Value(v)
}

// Raw writes a value as it stands in a trace; an absent one as otherwise.
func (j *JSON) Raw(v trace.Value, otherwise string) {
	j.before()
	if v == nil {
		j.put(otherwise)
	} else if j.err == nil {
		_, j.err = j.w.Write(v)
	}
	j.comma = true
}

// Close ends the document with a newline.
func (j *JSON) Close() error {
	j.put("\n")
	if j.err == nil {
		j.err = j.w.Flush()
	}
	return j.err
}

// trimmed drops the newline the encoder ends with.
type trimmed struct{ j *JSON }

func (t trimmed) Write(b []byte) (int, error) {
	n := len(b)
	if n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	t.j.put(string(b))
	return n, nil
}
