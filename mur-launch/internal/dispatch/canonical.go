package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Canonical rewrites a JSON text so that equal values have equal bytes: members
// in ascending byte order of their names, no insignificant white space, no HTML
// escapes; numbers keep their digits (AGT-49). Of a doubled member the last
// counts.
func Canonical(text []byte) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something stands behind the JSON value")
	}
	return Marshal(v)
}

// Marshal encodes a value built of maps, slices and plain values likewise.
func Marshal(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Text is the JSON form of a string.
func Text(s string) json.RawMessage {
	out, err := Marshal(s)
	if err != nil {
		panic("dispatch: a string does not encode: " + err.Error())
	}
	return out
}
