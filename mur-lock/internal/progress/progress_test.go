package progress

import (
	"bytes"
	"strings"
	"testing"
)

// ART-196: a line on a terminal, nothing elsewhere; no name reaches the terminal
// with what a terminal acts on.
func TestLine(t *testing.T) {
	var buf bytes.Buffer
	if l := On(&buf); l != nil || l.Report() != nil {
		t.Error("a buffer is no terminal")
	}
	On(&buf).Clear()
	l := &Line{w: &buf, width: 60, items: map[string]item{}}
	report := l.Report()
	report("a.mur.zip", 5, 5)
	report("b\x1b[2J\n.mur.zip", 1<<20, 4<<20)
	if got := l.text(); got != "1 of 2 done, 1.0 MiB  b[2J.mur.zip 25%" {
		t.Errorf("%q", got)
	}
	report(strings.Repeat("c", 200), 1, -1)
	if got := l.text(); len(got) > 59 {
		t.Errorf("%d columns", len(got))
	}
	l.Clear()
	if out := buf.String(); strings.Count(out, "\n") != 0 || strings.Contains(out, "\x1b[2J") || !strings.HasSuffix(out, "\r\x1b[K") {
		t.Errorf("%q", out)
	}
	if l.text() != "0 of 0 done, 0 B  " {
		t.Errorf("%q", l.text())
	}
}
