// Package render forms numbers, times and tables for people (TRC-139, TRC-140)
// and JSON documents for programs (TRC-138, TRC-141). What a trace says never
// reaches a terminal as control characters.
package render

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// None stands for no value.
const None = "—"

// Text writes for people. Errors stick; Close reports them.
type Text struct {
	w      *bufio.Writer
	colour bool
	err    error
	any    bool // something was written
}

// NewText returns a writer for people; colour and lines are used only on a
// terminal and never when plain is set.
func NewText(w io.Writer, plain bool, getenv func(string) string) *Text {
	return &Text{w: bufio.NewWriterSize(w, 32<<10), colour: !plain && IsTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}

// Close writes out what is buffered and returns the first failed write.
func (t *Text) Close() error {
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
	return t.err
}

// Printf writes.
func (t *Text) Printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
		t.any = true
	}
}

// Section begins a section, with an empty line before all but the first.
func (t *Text) Section(format string, args ...any) {
	if t.any {
		t.Printf("\n")
	}
	title := fmt.Sprintf(format, args...)
	if t.colour {
		t.Printf("\x1b[1m%s\x1b[0m \x1b[2m%s\x1b[0m\n", title, strings.Repeat("─", max(0, 60-utf8.RuneCountInString(title))))
		return
	}
	t.Printf("%s\n", title)
}

// Field writes one name and value of a section.
func (t *Text) Field(name, value string) {
	t.Printf("  %s %s\n", t.Dim(Pad(name, 18)), value)
}

// Good, Bad and Dim mark text on a terminal.
func (t *Text) Good(s string) string { return t.mark("32", s) }

// Bad marks a failure.
func (t *Text) Bad(s string) string { return t.mark("31", s) }

// Dim marks what matters less.
func (t *Text) Dim(s string) string { return t.mark("2", s) }

func (t *Text) mark(code, s string) string {
	if !t.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Table writes rows under a heading, columns aligned; a column whose heading
// begins with > is aligned to the right.
func (t *Text) Table(head []string, rows [][]string) {
	width := make([]int, len(head))
	right := make([]bool, len(head))
	for i, h := range head {
		if right[i] = strings.HasPrefix(h, ">"); right[i] {
			head[i] = h[1:]
		}
		width[i] = utf8.RuneCountInString(head[i])
	}
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	line := func(cells []string, mark func(string) string) {
		var b strings.Builder
		for i, c := range cells {
			b.WriteString("  ")
			gap := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			switch {
			case right[i]:
				b.WriteString(gap + c)
			case i == len(cells)-1:
				b.WriteString(c)
			default:
				b.WriteString(c + gap)
			}
		}
		t.Printf("%s\n", mark(strings.TrimRight(b.String(), " ")))
	}
	line(head, t.Dim)
	for _, r := range rows {
		line(r, func(s string) string { return s })
	}
}

// Pad fills s with spaces up to n characters.
func Pad(s string, n int) string {
	if k := n - utf8.RuneCountInString(s); k > 0 {
		return s + strings.Repeat(" ", k)
	}
	return s
}

// Count writes a number with thousands separators.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	neg := strings.HasPrefix(s, "-")
	if neg {
		s = s[1:]
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if neg {
		return "-" + b.String()
	}
	return b.String()
}

// CountOf is Count of a value that may be missing.
func CountOf(n *int64) string {
	if n == nil {
		return None
	}
	return Count(*n)
}

// Millis writes a duration: under 1000 ms as ms, else as seconds with one
// decimal.
func Millis(ms int64) string {
	if ms < 1000 && ms > -1000 {
		return strconv.FormatInt(ms, 10) + "ms"
	}
	return Decimal(float64(ms)/1000) + "s"
}

// MillisOf is Millis of an average that may be missing.
func MillisOf(ms *float64) string {
	if ms == nil {
		return None
	}
	if *ms < 1000 {
		return strconv.FormatFloat(*ms, 'f', 0, 64) + "ms"
	}
	return Decimal(*ms/1000) + "s"
}

// Decimal writes a number with one decimal and thousands separators.
func Decimal(f float64) string {
	s := strconv.FormatFloat(f, 'f', 1, 64)
	whole, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n == 0 {
		return s
	}
	return Count(n) + "." + frac
}

// DecimalOf is Decimal of a value that may be missing.
func DecimalOf(f *float64) string {
	if f == nil {
		return None
	}
	return Decimal(*f)
}

// Percent writes a fraction with one decimal.
func Percent(f *float64) string {
	if f == nil {
		return None
	}
	return strconv.FormatFloat(*f*100, 'f', 1, 64) + "%"
}

// Or writes a text that may be missing.
func Or(s *string) string {
	if s == nil || *s == "" {
		return None
	}
	return Clean(*s)
}

// Clock writes the time of day of Unix milliseconds, in UTC.
func Clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04:05.000") }

// Clean makes text of a trace harmless to a terminal: control characters, and
// those that change the direction of text, are escaped.
func Clean(s string) string {
	harmless := func(r rune) bool {
		return r != utf8.RuneError && (r == ' ' || unicode.IsPrint(r))
	}
	for _, r := range s {
		if !harmless(r) {
			return clean(s, harmless)
		}
	}
	return s
}

func clean(s string, harmless func(rune) bool) string {
	var b strings.Builder
	for _, r := range s {
		if harmless(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// Cut shortens text to n characters, the last of which is then an ellipsis.
func Cut(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	i := 0
	for at := range s {
		if i == n-1 {
			return s[:at] + "…"
		}
		i++
	}
	return s
}

// Excerpt is Cut of Clean, of a text that may be very long.
func Excerpt(s string, n int) string {
	i := 0
	for at := range s {
		if i > n {
			s = s[:at] // what lies behind is cut in any case
			break
		}
		i++
	}
	return Cut(Clean(s), n)
}
