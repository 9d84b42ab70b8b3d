// Package progress shows on a terminal how far downloads have come. On anything
// else it shows nothing.
package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/store/source"
)

// interval is how often the line is drawn.
const interval = 100 * time.Millisecond

// Line is one line of a terminal that is drawn again and again. Its methods may
// be called by several goroutines. A nil Line shows nothing.
type Line struct {
	w     io.Writer
	width int

	mu    sync.Mutex
	order []string
	items map[string]item
	drawn time.Time
	shown bool
}

type item struct{ done, total int64 }

// On returns a line on w when that is a terminal, else nil.
func On(w io.Writer) *Line {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return nil
	}
	return &Line{w: w, width: max(int(size.Col), 40), items: map[string]item{}}
}

// Report is the line as a source's progress, nil for a nil Line.
func (l *Line) Report() source.Progress {
	if l == nil {
		return nil
	}
	return l.report
}

func (l *Line) report(what string, done, total int64) {
	what = plain(what)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.items[what]; !known {
		l.order = append(l.order, what)
	}
	l.items[what] = item{done, total}
	if now := time.Now(); now.Sub(l.drawn) >= interval {
		l.drawn, l.shown = now, true
		fmt.Fprintf(l.w, "\r\x1b[K%s", l.text())
	}
}

// plain takes out what a terminal would act on: names come from registries.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}

// text is what the line says: how many are done, what is under way, how much.
func (l *Line) text() string {
	var finished int
	var bytes int64
	current := ""
	for _, what := range l.order {
		it := l.items[what]
		bytes += it.done
		if it.total >= 0 && it.done >= it.total {
			finished++
		} else if current == "" {
			current = what
			if it.total > 0 {
				current = fmt.Sprintf("%s %d%%", what, 100*it.done/it.total)
			}
		}
	}
	s := []rune(fmt.Sprintf("%d of %d done, %s  %s", finished, len(l.order), Size(bytes), current))
	return string(s[:min(len(s), l.width-1)])
}

// Clear takes the line away.
func (l *Line) Clear() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.shown = false
	}
	l.order = slices.Delete(l.order, 0, len(l.order))
	clear(l.items)
}

// Size words a number of bytes.
func Size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
