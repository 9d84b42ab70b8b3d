package sse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func all(r io.Reader) (string, error) {
	in := NewReader(r)
	var out strings.Builder
	for {
		e, err := in.Next()
		if err == io.EOF {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		fmt.Fprintf(&out, "%s=%q ", e.Name, e.Data)
	}
}

func TestNext(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"\n\n\n":                               "",
		"data: a\n\n":                          `="a" `,
		"data:a\n\ndata:  b\n\n":               `="a" =" b" `,
		"event: x\ndata: a\ndata: b\n\n":       `x="a\nb" `,
		"event: x\n\ndata: a\n\n":              `="a" `, // an event without data is none
		": comment\ndata\nid: 7\nretry: 1\n\n": `="" `,
		"\uFEFFdata: a\n\n":                    `="a" `,
		"data: a":                              `="a" `, // the end may come early
		"event: x\ndata: a\n":                  `x="a" `,
		"data: \u00fc\U0001F680\n\n":           "=\"\u00fc\U0001F680\" ",
		"unknown: a\ndata: b: c\n\n":           `="b: c" `,
	} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			text := strings.ReplaceAll(in, "\n", end)
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
				if got, err := all(r); err != nil || got != want {
					t.Errorf("%q %s: %s, %v, want %s", text, name, got, err, want)
				}
			}
		}
	}
	broken := errors.New("broken")
	if got, err := all(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken))); !errors.Is(err, broken) || got != `="a" ` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := all(io.MultiReader(strings.NewReader("data: "), strings.NewReader(strings.Repeat("x", MaxEvent+1)))); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// However a stream is cut into pieces, its events are the same.
func FuzzNext(f *testing.F) {
	f.Add("event: x\r\ndata: a\r\rdata: \u00fc\n\n: c\n\n")
	f.Add("\uFEFFdata:\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		whole, err := all(strings.NewReader(text))
		bytes, err2 := all(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil || err2 != nil || whole != bytes {
			t.Errorf("%q: %s, %v and %s, %v", text, whole, err, bytes, err2)
		}
	})
}
