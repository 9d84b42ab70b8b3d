package strictyaml

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// unknownKey is a key that its block does not know.
type unknownKey struct {
	at    Position
	key   string
	block string   // dotted path, empty at the top level
	known []string // the block's keys in declared order
}

func (u unknownKey) place() string {
	if u.block == "" {
		return "at the top level"
	}
	return "in " + u.block
}

func (u unknownKey) path() string {
	if u.block == "" {
		return u.key
	}
	return u.block + "." + u.key
}

// guess is what is said after the key and its place (MAN-28).
func (u unknownKey) guess() (text, suggestion string) {
	if near := nearest(u.key, u.known); near != "" {
		return "it looks like a misspelling of " + diag.Quote(near), near
	}
	return "a newer version of mur may know it", ""
}

// Finish says what else was found, in document order: the warnings recorded
// with Warn and one for each unknown key. With Options.Strict unknown keys become
// faults instead, after every other fault. It is called once, before Err.
func (d *Decoder) Finish() (warnings []diag.Warning, unknown int) {
	slices.SortStableFunc(d.unknown, func(a, b unknownKey) int { return Compare(a.at, b.at) })
	for _, u := range d.unknown {
		text, suggestion := u.guess()
		d.Artifact = ""
		d.Pos.at[u.path()] = u.at
		if d.opts.Strict {
			d.FaultAt(u.path(), "the key %s %s is unknown; %s", diag.Quote(u.key), u.place(), text).Name("key", u.key)
			continue
		}
		w := diag.Warningf(d.dialect.Unknown, d.dialect.Topic, "the unknown key %s %s was ignored; %s", diag.Quote(u.key), u.place(), text)
		s := d.Pos.Subject(u.path())
		w.Phase, w.Subject = d.dialect.Phase, &s
		w.Names = map[string]any{"key": u.key, "block": u.block}
		if suggestion != "" {
			w.Names["suggestion"] = suggestion
		}
		d.plain = append(d.plain, placed{u.at, w})
	}
	slices.SortStableFunc(d.plain, func(a, b placed) int { return Compare(a.at, b.at) })
	for _, p := range d.plain {
		warnings = append(warnings, p.warning)
	}
	return warnings, len(d.unknown)
}

// Err is the first fault, or all of them joined with Options.All, or nil.
func (d *Decoder) Err() error {
	switch {
	case d.OK():
		return nil
	case !d.opts.All || len(d.faults) == 1:
		return d.faults[0]
	}
	all := make([]error, len(d.faults))
	for i, e := range d.faults {
		all[i] = e
	}
	return errors.Join(all...)
}

// Counted is a number with its noun, "1 key" or "3 keys".
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// nearest returns the known key nearest to key, "" when none is near enough; a
// tie goes to the first (MAN-28).
func nearest(key string, known []string) string {
	best, found := 0, ""
	k := []rune(key)
	for _, candidate := range known {
		c := []rune(candidate)
		limit := max(1, max(len(k), len(c))/3)
		if abs(len(k)-len(c)) > limit {
			continue
		}
		if n := alignment(k, c); n <= limit && (found == "" || n < best) {
			best, found = n, candidate
		}
	}
	return found
}

func abs(n int) int { return max(n, -n) }

// alignment is the optimal string alignment distance: insertion, deletion,
// substitution and transposition of neighbours each cost 1.
func alignment(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// List joins words for a message: a, b or c.
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
