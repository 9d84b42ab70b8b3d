package tokens

import (
	"math/rand"
	"strings"
	"testing"
	"time"
)

func load(t testing.TB) Counter {
	t.Helper()
	return New(func(name string, err error) {
		if name != CL100K || err != nil {
			t.Errorf("it counts by %s: %v", name, err)
		}
	})
}

// AGT-92. The counts are those of the public implementation of the encoding.
func TestCountIsTheEncodings(t *testing.T) {
	c := load(t)
	for text, want := range map[string]int64{
		"":                      0,
		"hello world":           2,
		"\r\n\t\r\n":            1,
		"'tis```go\n \n":        5,
		"\n    \n\n  x_foo_bar": 6,
		" \u00a0x{\"a\":1}don't   \n\n  x```go\n    \n\n  x":      18,
		"日本語 text 12345 don't WE'VE <|endoftext|>\n\n  tail  ":    19,
		"<|endoftext|><|fim_prefix|><|endofprompt|>":              3,
		`{"content":[{"text":"hi","type":"text"}],"role":"user"}`: 16,
	} {
		if got := c.Count(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
	for _, none := range []Counter{{}, {func() *vocabulary { return nil }}} {
		if got := none.Count("123456789"); got != 2 {
			t.Errorf("without a vocabulary nine bytes are %d tokens", got)
		}
	}
}

// A piece is counted alike in either way.
func TestLongPiecesMergeAlike(t *testing.T) {
	c := load(t)
	r := rand.New(rand.NewSource(1))
	for range 500 {
		b := make([]byte, 2+r.Intn(62))
		for i := range b {
			b[i] = "abcdeeetaoinsr"[r.Intn(14)]
		}
		if short, long := c.vocabulary().tokens(string(b)), c.vocabulary().long(string(b)); short != long && c.vocabulary().rank(string(b)) == none {
			t.Fatalf("%q: %d and %d tokens", b, short, long)
		}
	}
}

// The count of a whole is the sum of its parts when it is cut between a letter
// and what is none: what lets a growing conversation be counted piecemeal.
func TestCountIsAdditiveBehindALetter(t *testing.T) {
	c := load(t)
	r := rand.New(rand.NewSource(2))
	parts := []string{`"x`, "\n\n", "  ", " and", "'s", "é", "12345", "<|endoftext|>", "```", "Ω", "\t", "don't "}
	text := func() string {
		var b strings.Builder
		for range r.Intn(12) {
			b.WriteString(parts[r.Intn(len(parts))])
		}
		return b.String()
	}
	for range 2000 {
		left, right := text()+`},{"content`, `":"`+text()
		if got, want := c.Count(left)+c.Count(right), c.Count(left+right); got != want {
			t.Fatalf("%q and %q: %d, together %d", left, right, got, want)
		}
	}
}

// No text takes quadratic time.
func TestHostileTextIsCounted(t *testing.T) {
	c := load(t)
	begin := time.Now()
	if got := c.Count(strings.Repeat("a", 1<<18)); got != 1<<15 {
		t.Errorf("%d tokens", got)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

func FuzzCount(f *testing.F) {
	c := load(f)
	f.Add("it's \xff\xfe 12 \n")
	f.Fuzz(func(t *testing.T, s string) {
		if n := c.Count(s); n < 0 || n > int64(len(s)) || (n == 0) != (s == "") {
			t.Fatalf("%d tokens of %d bytes", n, len(s))
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	for range b.N {
		f, err := open()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := read(f); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
