package manifest

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

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

// warning is the W-SEC-019 line of MAN-26 and MAN-27.
func (u unknownKey) warning(file string) diag.Warning {
	text, suggestion := u.guess()
	w := diag.Warningf("W-SEC-019", "manifest", "the unknown key %s %s was ignored; %s", diag.Quote(u.key), u.place(), text)
	w.Phase = "parse"
	w.Subject = &diag.Subject{Kind: diag.ManifestKey, Name: u.path(), File: file, Line: u.at.Line, Column: u.at.Column}
	w.Names = map[string]any{"key": u.key, "block": u.block}
	if suggestion != "" {
		w.Names["suggestion"] = suggestion
	}
	return w
}

// finish orders what was found: plain warnings and unknown keys by their place
// in the file, then the line about a newer mur_version; with Strict the unknown
// keys become faults, after every other fault (MAN-30).
func (d *decoder) finish(murVersion string) []diag.Warning {
	if d.opts.Strict {
		slices.SortStableFunc(d.unknown, func(a, b unknownKey) int { return comparePosition(a.at, b.at) })
		for _, u := range d.unknown {
			d.artifact = ""
			text, _ := u.guess()
			d.pos.at[u.path()] = u.at
			d.faultAt(u.path(), "the key %s %s is unknown; %s", diag.Quote(u.key), u.place(), text).Name("key", u.key)
		}
	} else {
		for _, u := range d.unknown {
			d.plain = append(d.plain, placed{u.at, u.warning(d.pos.file)})
		}
	}
	slices.SortStableFunc(d.plain, func(a, b placed) int { return comparePosition(a.at, b.at) })
	var out []diag.Warning
	for _, p := range d.plain {
		out = append(out, p.warning)
	}
	if n := len(d.unknown); n > 0 && !d.opts.Strict && newer(murVersion, d.opts.Running) {
		w := diag.Warningf("W-SEC-019", "manifest", "mur_version is %s and this is %s: the %s above may belong to the newer version",
			murVersion, d.opts.Running, counted(n, "unknown key"))
		w.Phase = "parse"
		s := d.pos.Subject("mur_version")
		w.Subject = &s
		w.Names = map[string]any{"mur_version": murVersion, "running": d.opts.Running, "count": n}
		out = append(out, w)
	}
	return out
}

func comparePosition(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

var threeNumbers = regexp.MustCompile(`^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$`)

// newer tells whether a is a higher version than b; false unless both are three
// plain numbers (MAN-29).
func newer(a, b string) bool {
	x, y := threeNumbers.FindStringSubmatch(a), threeNumbers.FindStringSubmatch(b)
	if x == nil || y == nil {
		return false
	}
	for i := 1; i <= 3; i++ {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return m > n
		}
	}
	return false
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
