package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

const key = `sk-T3st/+key"with\odd=chars0123456789`

func set() *Set {
	var s Set
	s.Add("short") // left alone
	s.Add(key)
	s.Add("another-secret-value")
	return &s
}

// leaks are the ways a text may show the key.
func leaks(prefix string) map[string]string {
	quoted, _ := json.Marshal(prefix + key)
	return map[string]string{
		"plain":      prefix + key,
		"base64":     base64.StdEncoding.EncodeToString([]byte(prefix + key + "tail")),
		"base64url":  base64.URLEncoding.EncodeToString([]byte(prefix + key + "tail")),
		"json":       string(quoted),
		"percent":    url.QueryEscape(prefix + key),
		"basic auth": "Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+prefix+key)),
	}
}

// shows tells whether a text still holds a tell-tale part of the key.
func shows(text string) bool {
	if strings.Contains(text, "0123456789") || strings.Contains(text, "T3st") {
		return true
	}
	for shift := range 3 {
		data := append(make([]byte, shift), "with\\odd=chars01"...)
		if strings.Contains(text, base64.RawStdEncoding.EncodeToString(data)[4:16]) {
			return true
		}
	}
	return false
}

// AGT-3, AGT-58, TRC-7
func TestTextIsMaskedInEveryForm(t *testing.T) {
	s := set()
	for _, prefix := range []string{"", "a", "ab", "abc"} {
		for form, text := range leaks(prefix) {
			if got := s.Text("<" + text + ">"); shows(got) || !strings.Contains(got, Mark) {
				t.Errorf("%s behind %q: %s", form, prefix, got)
			}
			if got := string(s.Bytes([]byte(text))); shows(got) {
				t.Errorf("%s behind %q, bytes: %s", form, prefix, got)
			}
		}
	}
	for _, text := range []string{"", "short", "nothing here", key[:len(key)-1]} {
		if got := s.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := (&Set{}).Text(key); got != key {
		t.Errorf("an empty set changed %q", got)
	}
}

func TestStreamsAreMaskedHoweverTheyAreSplit(t *testing.T) {
	s := set()
	r := rand.New(rand.NewSource(3))
	for range 300 {
		var text strings.Builder
		for range 1 + r.Intn(4) {
			text.WriteString(strings.Repeat("s", r.Intn(3)))
			for _, v := range leaks([]string{"", "x", "xy"}[r.Intn(3)]) {
				text.WriteString(v + "\n")
			}
			text.WriteString(key[:r.Intn(len(key))] + " another-secret-value")
		}
		whole := text.String()
		var out bytes.Buffer
		w := s.Writer(&out)
		for rest := whole; rest != ""; {
			n := 1 + r.Intn(min(len(rest), 9))
			if k, err := io.WriteString(w, rest[:n]); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Contains(got, key) || strings.Contains(got, "another-secret-value") || got != s.Text(whole) {
			t.Fatalf("written %q\nwanted %q", got, s.Text(whole))
		}
		read, err := io.ReadAll(s.Reader(io.NopCloser(iotest.OneByteReader(strings.NewReader(whole)))))
		if err != nil || len(read) != len(whole) || strings.Contains(string(read), key) {
			t.Fatalf("read %q, %v", read, err)
		}
	}
}

// A stream waits only for what may become a value.
func TestStreamsFlow(t *testing.T) {
	var out bytes.Buffer
	w := set().Writer(&out)
	io.WriteString(w, "data: hello\n\n")
	if out.String() != "data: hello\n\n" {
		t.Errorf("held back: %q", out.String())
	}
	io.WriteString(w, "sk-T3")
	io.WriteString(w, " no")
	if out.String() != "data: hello\n\nsk-T3 no" {
		t.Errorf("held back: %q", out.String())
	}
	broken := set().Reader(io.NopCloser(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("abc")))))
	if got, err := io.ReadAll(broken); string(got) != "a" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TRC-7: a masked line is still a line.
func TestLineStaysJSON(t *testing.T) {
	s := set()
	s.Add("nvapi-0123456789")
	for _, text := range []string{key, "a\nvapi-0123456789", "nvapi-0123456789\nvapi-0123456789", `\nvapi-0123456789`, "\\" + key} {
		line, _ := json.Marshal(map[string]string{"x": text})
		masked := s.Line(line)
		var back map[string]string
		if err := json.Unmarshal(masked, &back); err != nil || strings.Contains(back["x"], key) || strings.Contains(back["x"], "nvapi-0123456789") {
			t.Errorf("%q became %s: %v", text, masked, err)
		}
	}
}
