package launch

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/wasmhost"
	"github.com/mur-capsules/mur/mur-launch/internal/agent"
	"github.com/mur-capsules/mur/mur-launch/internal/mask"
)

// terminal shows an agent's work: the model's text as it comes, when it was
// asked for, and a line for each turn when a person looks on. It is silent
// otherwise.
type terminal struct {
	text     io.WriteCloser // nil when nothing is streamed
	clean    bool           // text is a terminal's: no control characters
	progress io.Writer      // nil without a terminal
	open     bool           // text ended inside a line
	began    time.Time
}

func newTerminal(stream, stderr io.Writer, secrets *mask.Set) *terminal {
	t := &terminal{}
	if stream != nil {
		t.text, t.clean = secrets.Writer(stream), isTerminal(stream)
	}
	if isTerminal(stderr) {
		t.progress = stderr
	}
	return t
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), ioctlGetTermios)
	return err == nil
}

func (t *terminal) Turn(int64) { t.began = time.Now() }

// Chunk shows text. What can not be shown is dropped: a reader that has gone
// ends no session (DIA-9).
func (t *terminal) Chunk(kind wasmhost.ChunkKind, text string) {
	if t.text == nil || kind != wasmhost.TextChunk || text == "" {
		return
	}
	if t.clean {
		text = printable(text)
	}
	_, _ = io.WriteString(t.text, text)
	t.open = !strings.HasSuffix(text, "\n")
}

func (t *terminal) End() { t.line() }

func (t *terminal) Final(text string) {
	t.Chunk(wasmhost.TextChunk, text)
	t.line()
}

// line ends a line of text that was begun.
func (t *terminal) line() {
	if t.open {
		_, _ = io.WriteString(t.text, "\n")
		t.open = false
	}
}

func (t *terminal) Artifact(string, string, string) {}

func (t *terminal) Answered(r agent.TurnReport) {
	if t.progress == nil {
		return
	}
	what := "answer"
	switch {
	case r.Failed:
		what = "failed"
	case len(r.Calls) > 0:
		what = strings.Join(r.Calls, ", ")
	}
	fmt.Fprintf(t.progress, "turn %d: %s (%d tokens in, %d out, %.1f s)\n", r.Turn, printable(what), r.Input, r.Output, time.Since(t.began).Seconds())
}

func (t *terminal) close() {
	t.line()
	if t.text != nil {
		_ = t.text.Close()
	}
}

// printable drops what a terminal would obey (SHL-71).
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}
