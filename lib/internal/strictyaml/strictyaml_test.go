package strictyaml

import (
	"strings"
	"testing"
)

// MAN-28
func TestAlignment(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "a", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "acbd", 1},
		{"ca", "abc", 3}, // optimal string alignment: no substring is edited twice
		{"übung", "ubung", 1}, {"alow", "allow", 1}, {"allwo", "allow", 1},
	} {
		if got := alignment([]rune(tt.a), []rune(tt.b)); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := alignment([]rune(tt.b), []rune(tt.a)); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}

// MAN-28
func TestNearest(t *testing.T) {
	for _, tt := range []struct{ key, known, want string }{
		{"alow", "allow strip_env", "allow"},
		{"Allow", "allow", "allow"},
		{"xy", "ab", ""},          // distance 2, at most 1
		{"ac", "ab ad", "ab"},     // a tie goes to the first
		{"ab", "abcd abc", "abc"}, // the nearest wins, not the first
		{"abcd", "abxx", ""},      // 2 > max(1, 4/3)
		{"abcdef", "abcdxx", "abcdef"[:4] + "xx"},
		{"memory", "memory_bytes", ""},
		{"", "a ab", "a"},
	} {
		if got := nearest(tt.key, strings.Fields(tt.known)); got != tt.want {
			t.Errorf("%q among %q: %q, want %q", tt.key, tt.known, got, tt.want)
		}
	}
}

// MAN-15: the bound on text stops what few nodes can still blow up.
func TestTextBomb(t *testing.T) {
	text := "a: &a " + strings.Repeat("x", 500_000) + "\nb: [" + strings.Repeat("*a,", 40) + "]\n"
	if _, err := Read("f", []byte(text), Dialect{Syntax: "E-IO-003"}); err == nil || err.Code != "E-IO-003" || !strings.Contains(err.Message, "bytes of text") {
		t.Errorf("%v", err)
	}
	text = "a: &a " + strings.Repeat("x", 500_000) + "\nb: [" + strings.Repeat("*a,", 30) + "]\n"
	if _, err := Read("f", []byte(text), Dialect{}); err != nil {
		t.Errorf("%v", err)
	}
}

// MAN-15: a bound on nodes, anchors within bounds allowed.
func TestAliases(t *testing.T) {
	root, err := Read("f", []byte("a: &x {p: [1, 2]}\nb: *x\nc: [*x, *x]\n"), Dialect{})
	if err != nil {
		t.Fatal(err)
	}
	got, jerr := JSON(root)
	if want := `{"a":{"p":[1,2]},"b":{"p":[1,2]},"c":[{"p":[1,2]},{"p":[1,2]}]}`; jerr != nil || string(got) != want {
		t.Errorf("%s %v", got, jerr)
	}
	// The root, its key and the list are three nodes.
	if _, err := Read("f", []byte("a: ["+strings.Repeat("1,", maxNodes-3)+"]"), Dialect{}); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := Read("f", []byte("a: ["+strings.Repeat("1,", maxNodes-2)+"]"), Dialect{}); err == nil {
		t.Error("one node too many passes")
	}
	depth := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	if _, err := Read("f", []byte(depth(maxDepth)), Dialect{}); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := Read("f", []byte(depth(maxDepth+1)), Dialect{}); err == nil {
		t.Error("one level too many passes")
	}
}

// The places of syntax faults: the library names a line at most, and one too
// few for its parser's faults.
func TestSyntaxPlaces(t *testing.T) {
	for in, want := range map[string]Position{
		"a: 1\nb: [1\nc: 2\n":        {2, 1},
		"a: 1\n  b: 2\n":             {2, 3},
		"\tx\n":                      {1, 2},
		"a: 1\n- b\n":                {2, 1},
		"a: *b\n":                    {1, 4},
		"a: 1\nbä: [x, *nope]\n":     {2, 9},
		"%FOO\n":                     {1, 1},
		"a: \"x\n":                   {2, 1}, // where the stream ends
		"a: 1\n...\n- x\n":           {3, 1},
		"x: &a 1\ny: *a\nx: 2\n":     {3, 1},
		"k: |\n  text\n bad: [\n":    {3, 2},
		"a: {b: 1, c: {d: 1, d: 2}}": {1, 21},
	} {
		_, err := Read("f", []byte(in), Dialect{Syntax: "E-MAN-002"})
		if err == nil {
			t.Errorf("%q passes", in)
			continue
		}
		if got := (Position{err.Subject.Line, err.Subject.Column}); got != want {
			t.Errorf("%q: %v, want %v (%v)", in, got, want, err)
		}
	}
}
