package render

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

func none(string) string { return "" }

// TRC-139: colour and lines on a terminal only, and never with --plain.
func TestColourOnATerminalOnly(t *testing.T) {
	terminal, err := os.OpenFile("/dev/null", os.O_WRONLY, 0) // a character device
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	for name, c := range map[string]struct {
		w      io.Writer
		plain  bool
		env    func(string) string
		colour bool
	}{
		"terminal": {terminal, false, none, true},
		"plain":    {terminal, true, none, false},
		"NO_COLOR": {terminal, false, func(k string) string { return map[string]string{"NO_COLOR": "1"}[k] }, false},
		"dumb":     {terminal, false, func(k string) string { return map[string]string{"TERM": "dumb"}[k] }, false},
		"pipe":     {io.Discard, false, none, false},
	} {
		text := NewText(c.w, c.plain, c.env)
		if text.colour != c.colour {
			t.Errorf("%s: %v", name, text.colour)
		}
		var out bytes.Buffer
		text.w.Reset(&out)
		text.Section("Title")
		text.Field("name", text.Bad("x"))
		text.Table([]string{"a", ">b"}, [][]string{{"1", "2"}})
		if err := text.Close(); err != nil {
			t.Fatal(err)
		}
		if got := strings.ContainsAny(out.String(), "\x1b─"); got != c.colour {
			t.Errorf("%s: %q", name, out.String())
		}
	}
}

// TRC-140
func TestForms(t *testing.T) {
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(-1234567): "-1,234,567", CountOf(nil): "—",
		Millis(0): "0ms", Millis(999): "999ms", Millis(1000): "1.0s", Millis(61250): "61.2s", Millis(1234567): "1,234.6s", Millis(-5): "-5ms",
		MillisOf(nil): "—", MillisOf(new(12.4)): "12ms", MillisOf(new(2500.0)): "2.5s",
		Decimal(0.04): "0.0", Decimal(-0.5): "-0.5", Decimal(1234.56): "1,234.6", DecimalOf(nil): "—",
		Percent(nil): "—", Percent(new(2.0 / 3)): "66.7%", Or(nil): "—", Or(new("")): "—", Or(new("x")): "x",
		Clock(1764500000123): "10:53:20.123", Pad("é", 3): "é  ", Pad("long", 2): "long",
		Cut("éééé", 3): "éé…", Cut("abc", 3): "abc", Excerpt(strings.Repeat("x", 500)+"\n", 4): "xxx…", Excerpt("a\nb", 9): `a\nb`,
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a trace says can not steer a terminal.
func TestClean(t *testing.T) {
	for s, want := range map[string]string{
		"plain é 漢": "plain é 漢", "a\x1b[31mb": `a\x1b[31mb`, "\r\n\t": `\r\n\t`, "\u202eabc": `\u202eabc`, "\u200b": `\u200b`, "\xff": `�`, "\u009b": `\u009b`, "\x7f": `\x7f`,
	} {
		if got := Clean(s); got != want {
			t.Errorf("%q is %q, want %q", s, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Excerpt(s, 80) {
			if r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%q lets %U through", s, r)
			}
		}
	})
}
