package diag

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// quoteLimit is the most characters of quoted input a message shows (DIA-8).
const quoteLimit = 200

// Quote shows a piece of input inside a message: in double quotes, control
// characters escaped, cut at 200 characters with its length stated (DIA-8).
func Quote(s string) string {
	n := utf8.RuneCountInString(s)
	if n <= quoteLimit {
		return fmt.Sprintf("%q", s)
	}
	cut := []rune(s)[:quoteLimit]
	return fmt.Sprintf("%q… (%d characters)", string(cut), n)
}

// Exit statuses common to the commands (DIA section 1.4).
const (
	ExitOK      = 0
	ExitError   = 1
	ExitUsage   = 2
	ExitNoShell = 125 // mur-shell's own failures and usage errors
)

// ExitStatus is the status an error ends a command with: 0 for nil, 2 for a
// UsageError and for E-TRC-102, else 1 (DIA-27 to DIA-29, DIA-185).
func ExitStatus(err error) int {
	var usage *UsageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		return ExitUsage
	case CodeOf(err) == "E-TRC-102": // an expression is a word of the command line
		return ExitUsage
	default:
		return ExitError
	}
}

// Printer writes the diagnostics of one command run to its standard error, as
// text or as JSON lines. It drops what can not be written (DIA-9) and prints
// an identical warning once (DIA-26). It is not safe for concurrent use.
type Printer struct {
	W       io.Writer
	JSON    bool
	Command string
	Session string // set once a session id exists
	Now     func() time.Time

	seen map[string]bool
}

// Error prints err: an *Error with its code, a UsageError without one, and
// anything else as the internal failure E-IO-003 (DIA-37). An error joined from
// several prints each. The status is the one the command will end with.
func (p *Printer) Error(err error, status int) {
	for _, e := range flatten(err) {
		p.one(e, status)
	}
}

func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

func (p *Printer) one(err error, status int) {
	line := record{Level: "error", Message: err.Error(), Exit: &status}
	var usage *UsageError
	var e *Error
	switch {
	case errors.As(err, &e):
		line.Code, line.Hints, line.Phase, line.Subject, line.Names = e.Code, e.Hints, e.Phase, e.Subject, e.Names
	case errors.As(err, &usage):
	default:
		line.Code = "E-IO-003"
	}
	p.write(line)
}

// Warn prints a warning, once for each code and message.
func (p *Printer) Warn(w Warning) {
	key := string(w.Code) + "\x00" + w.Message
	if p.seen[key] {
		return
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[key] = true
	p.write(record{Level: "warning", Code: w.Code, Message: w.Message, Phase: w.Phase, Subject: w.Subject, Names: w.Names})
}

// record is the machine form of DIA-12.
type record struct {
	Level   string         `json:"level"`
	Code    Code           `json:"-"`
	CodeOut *Code          `json:"code"`
	Message string         `json:"message"`
	Hints   []string       `json:"hints"`
	Command string         `json:"command"`
	Phase   string         `json:"phase"`
	Subject *Subject       `json:"subject,omitempty"`
	Names   map[string]any `json:"names,omitempty"`
	Session string         `json:"session,omitempty"`
	Time    int64          `json:"time"`
	Exit    *int           `json:"exit,omitempty"`
}

func (p *Printer) write(r record) {
	if p.JSON {
		_, _ = p.W.Write(p.jsonLine(r))
		return
	}
	_, _ = io.WriteString(p.W, text(r))
}

func (p *Printer) jsonLine(r record) []byte {
	if r.Code != "" {
		r.CodeOut = &r.Code
	}
	if r.Hints == nil {
		r.Hints = []string{}
	}
	if r.Phase == "" {
		r.Phase = p.Command
	}
	r.Command, r.Session = p.Command, p.Session
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	r.Time = now().UnixMilli()
	b, err := json.Marshal(r)
	if err != nil { // Names holds what the doc comment forbids
		r.Names = map[string]any{"names": fmt.Sprint(r.Names)}
		b, _ = json.Marshal(r)
	}
	return append(b, '\n')
}

// text is the form of DIA-1 to DIA-3: continuation lines of an error indented
// by two spaces, a warning on one line.
func text(r record) string {
	head := r.Level
	if r.Code != "" {
		head += "[" + string(r.Code) + "]"
	}
	msg := printable(r.Message)
	if r.Level == "warning" {
		return head + ": " + strings.ReplaceAll(msg, "\n", " ") + "\n"
	}
	out := head + ": " + strings.ReplaceAll(msg, "\n", "\n  ") + "\n"
	for _, h := range r.Hints {
		out += "  hint: " + strings.ReplaceAll(printable(h), "\n", "\n  ") + "\n"
	}
	return out
}

// printable escapes control characters other than line breaks, so that no
// input can move the cursor of a reader's terminal.
func printable(s string) string {
	s = strings.TrimRight(s, "\n")
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }
