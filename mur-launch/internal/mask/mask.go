// Package mask takes the values of secrets out of what others may read, by value:
// whatever text, stream or line a secret turns up in, and however it came there.
//
// It promises that a value that was added is found as it is, inside base64 at
// any alignment in both alphabets, escaped for JSON and for an address, and also
// when it is split over several writes. It can not find a value that was
// encrypted, compressed or spelled backwards. Values shorter than MinLen are
// left alone: too much else would look like them.
package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// MinLen is the length of the shortest value that is masked, and of the shortest
// part of a base64 text that counts as one.
const MinLen = 6

// Mark stands where a value stood.
const Mark = "[redacted]"

// Set is the secrets of a session. Values are added as they become known and
// never leave it: a rotated key is a secret still. It is safe for concurrent
// use. The zero value masks nothing.
type Set struct {
	mu       sync.RWMutex
	known    map[string]bool
	patterns []string // longest first
}

// Add makes value a secret.
func (s *Set) Add(value string) {
	if len(value) < MinLen {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[value] {
		return
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[value] = true
	// Readers hold the old list while they use it: it is never changed in place.
	s.patterns = slices.Clone(s.patterns)
	for _, p := range forms(value) {
		if len(p) >= MinLen && !slices.Contains(s.patterns, p) {
			s.patterns = append(s.patterns, p)
		}
	}
	slices.SortFunc(s.patterns, func(a, b string) int { return len(b) - len(a) })
}

// forms are the ways a value may be written.
func forms(value string) []string {
	out := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	if quoted, err := json.Marshal(value); err == nil {
		out = append(out, string(quoted[1:len(quoted)-1]))
	}
	for shift := range 3 {
		data := append(make([]byte, shift), value...)
		// Only what the value alone decides: not what it shares with neighbours.
		from, to := (8*shift+5)/6, 8*len(data)/6
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			out = append(out, alphabet.EncodeToString(data)[from:to])
		}
	}
	return out
}

func (s *Set) list() []string {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.patterns
}

// Text masks a whole text.
func (s *Set) Text(text string) string {
	for _, p := range s.list() {
		if strings.Contains(text, p) {
			text = strings.ReplaceAll(text, p, Mark)
		}
	}
	return text
}

// Bytes masks a whole text; what needs no change is returned as it is.
func (s *Set) Bytes(text []byte) []byte {
	if len(s.list()) == 0 {
		return text
	}
	if masked := s.Text(string(text)); masked != string(text) {
		return []byte(masked)
	}
	return text
}

// Line masks a JSON text, which stays one: a match that begins inside an escape
// is another text and is left alone.
func (s *Set) Line(text []byte) []byte {
	out := text
	for _, p := range s.list() {
		from := 0
		for {
			i := bytes.Index(out[from:], []byte(p))
			if i < 0 {
				break
			}
			at := from + i
			if escaped(out[:at]) {
				from = at + 1
				continue
			}
			out = slices.Concat(out[:at], []byte(Mark), out[at+len(p):])
			from = at + len(Mark)
		}
	}
	return out
}

// escaped tells whether what follows a text belongs to an escape begun in it.
func escaped(before []byte) bool {
	n := len(before)
	for n > 0 && before[n-1] == '\\' {
		n--
	}
	return (len(before)-n)%2 == 1
}

// window finds patterns in a stream.
type window struct {
	set  *Set
	held []byte // the beginning of what may become a pattern
	put  func(pattern string) string
}

// pass takes the next bytes and returns what can go on.
func (w *window) pass(p []byte, last bool) []byte {
	patterns := w.set.list()
	if len(patterns) == 0 && len(w.held) == 0 {
		return p
	}
	text := string(w.held) + string(p)
	for _, s := range patterns {
		if strings.Contains(text, s) {
			text = strings.ReplaceAll(text, s, w.put(s))
		}
	}
	keep := 0
	if !last {
		keep = begun(text, patterns)
	}
	w.held = []byte(text[len(text)-keep:])
	return []byte(text[:len(text)-keep])
}

// begun is the length of the longest end of a text that begins a pattern.
func begun(text string, patterns []string) int {
	longest := 0
	for _, p := range patterns {
		for n := min(len(p)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, p[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// Writer masks a stream. What may be the beginning of a value waits for the next
// write; Close passes it on, and does not close the writer beneath.
func (s *Set) Writer(to io.Writer) io.WriteCloser {
	return &writer{to: to, window: window{set: s, put: func(string) string { return Mark }}}
}

type writer struct {
	mu     sync.Mutex
	to     io.Writer
	window window
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if out := w.window.pass(p, false); len(out) > 0 {
		if _, err := w.to.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if out := w.window.pass(nil, true); len(out) > 0 {
		_, err := w.to.Write(out)
		return err
	}
	return nil
}

// Reader masks a stream that is read. A value gives way to as many asterisks, so
// that a length that was announced stays true.
func (s *Set) Reader(from io.ReadCloser) io.ReadCloser {
	return &reader{from: from, window: window{set: s, put: func(p string) string { return strings.Repeat("*", len(p)) }}}
}

type reader struct {
	from   io.ReadCloser
	window window
	ready  []byte
	err    error
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 && r.err == nil && len(p) > 0 {
		n, err := r.from.Read(p)
		r.err = err
		r.ready = slices.Clone(r.window.pass(p[:n], err != nil))
		if n == 0 && err == nil {
			return 0, nil
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	if len(r.ready) == 0 && r.err != nil && n == 0 {
		return 0, r.err
	}
	return n, nil
}

func (r *reader) Close() error { return r.from.Close() }
