package diag

import (
	"errors"
	"strings"
	"testing"
)

// failing is a standard error whose reader has gone.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("gone") }

// DIA-1, DIA-2, DIA-3, DIA-5
func TestTextForm(t *testing.T) {
	var b strings.Builder
	p := &Printer{W: &b}
	p.Error(Errorf("E-RUN-008", "2 artifacts are missing:\nlocal/a@1\nlocal/b@2").Hint("run mur-lock install"), 1)
	p.Warn(Warningf("W-SEC-014", "state", "capsule-wide state\ngrants nothing"))
	p.Warn(Warning{Message: "plain"})
	want := "error[E-RUN-008]: 2 artifacts are missing:\n  local/a@1\n  local/b@2\n  hint: run mur-lock install\n" +
		"warning[W-SEC-014]: capsule-wide state grants nothing\nwarning: plain\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestJoinedErrorsPrintEach(t *testing.T) {
	var b strings.Builder
	p := &Printer{W: &b}
	p.Error(errors.Join(Errorf("E-REG-001", "one"), Errorf("E-REG-002", "two")), 1)
	if want := "error[E-REG-001]: one\nerror[E-REG-002]: two\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// DIA-26
func TestWarningOnce(t *testing.T) {
	var b strings.Builder
	p := &Printer{W: &b}
	for range 3 {
		p.Warn(Warningf("W-SEC-011", "shell", "x"))
	}
	if n := strings.Count(b.String(), "\n"); n != 1 {
		t.Errorf("printed %d times", n)
	}
}

// DIA-8
func TestControlCharactersAreEscaped(t *testing.T) {
	var b strings.Builder
	p := &Printer{W: &b}
	p.Error(Errorf("E-MAN-003", "found \x1b[31m"), 1)
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("escape sequence reached the terminal: %q", b.String())
	}
	long := Quote(strings.Repeat("ä", 300))
	if !strings.HasSuffix(long, "… (300 characters)") || strings.Count(long, "ä") != 200 {
		t.Errorf("long value quoted as %q", long)
	}
}

// DIA-9
func TestUnwritableStderrIsIgnored(t *testing.T) {
	p := &Printer{W: failing{}}
	p.Error(errors.New("x"), 1)
	p.Warn(Warning{Message: "y"})
}

func TestEveryCodeIsWellFormed(t *testing.T) {
	for c := range codes {
		parts := strings.Split(string(c), "-")
		if len(parts) != 3 || (parts[0] != "E" && parts[0] != "W") || len(parts[2]) != 3 || Means(c) == "" {
			t.Errorf("malformed row %s", c)
		}
	}
	if Known("E-XXX-001") {
		t.Error("an unknown code is known")
	}
}
