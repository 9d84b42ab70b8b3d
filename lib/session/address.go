package session

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/workfs"
)

// minSuffix is the fewest characters of an id that name a session (SES-10).
const minSuffix = 4

// Address is how a person names a session: a full id, the last characters of
// one, @N for the N-th newest, or a path (SES-10).
type Address struct {
	text string
	nth  int  // from @N, else 0
	path bool // text is a path
}

// ParseAddress reads an address. The error is E-TRC-002: @0, a non-number after
// @, or fewer than four characters (SES-11).
func ParseAddress(s string) (Address, error) {
	switch {
	case s == "":
		return Address{}, noSession(s, "it is empty")
	case strings.Contains(s, "/") || strings.HasSuffix(s, ".jsonl"):
		return Address{text: s, path: true}, nil
	case s[0] == '@':
		n, err := strconv.Atoi(s[1:])
		if err != nil || n < 1 || s[1] == '+' {
			return Address{}, noSession(s, "after @ stands the rank of a session, 1 being the newest")
		}
		return Address{text: s, nth: n}, nil
	case len(s) < minSuffix:
		return Address{}, noSession(s, "an id is named by at least its last 4 characters")
	}
	return Address{text: s}, nil
}

// String returns the address as it was written.
func (a Address) String() string { return a.text }

// Path returns the path an address is, and whether it is one: a trace file or a
// records directory, taken literally.
func (a Address) Path() (string, bool) { return a.text, a.path }

// Find returns the one id among sessions, in any order, that the address names.
// The error is E-TRC-002; when several match it lists them. A path finds
// nothing: see Path.
func (a Address) Find(sessions []string) (string, error) {
	newest := slices.Clone(sessions)
	slices.Sort(newest) // ids of one prefix sort by creation (SES-2)
	slices.Reverse(newest)
	if a.nth > 0 {
		if a.nth > len(newest) {
			return "", noSession(a.text, "there are "+strconv.Itoa(len(newest))+" sessions")
		}
		return newest[a.nth-1], nil
	}
	var found []string
	for _, id := range newest {
		if len(a.text) <= len(id) && strings.EqualFold(id[len(id)-len(a.text):], a.text) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", noSession(a.text, "no session is called so")
	}
	return "", noSession(a.text, "several sessions match: "+strings.Join(found, ", "))
}

func noSession(text, reason string) error {
	return diag.Errorf("E-TRC-002", "no session at %s: %s", diag.Quote(text), reason).
		Hint("name it by its id, at least the last 4 characters of it, @1 for the newest, or a path").
		About(diag.Subject{Kind: diag.Session, Name: text}).Name("address", text).Name("reason", reason)
}

// Record is a session that has records.
type Record struct {
	ID  string
	Dir string // its records directory, absolute
}

// Recorded lists the sessions that have records under a workdir root or under a
// folder beneath it, newest first, so that a project finds what ran over its
// parts. No records at all are an empty list. It changes nothing.
func Recorded(home workfs.Home, workdirRoot string) ([]Record, error) {
	mirror, err := Mirror(workdirRoot)
	if err != nil {
		return nil, err
	}
	dir, err := home.OpenExisting(mirror, workfs.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	found, err := recorded(dir, ".", home.Join(mirror), nil)
	if err != nil {
		return nil, workfs.Fault(err, "cannot list sessions")
	}
	slices.SortFunc(found, func(a, b Record) int { return strings.Compare(b.ID, a.ID) })
	return found, nil
}

// recorded collects the sessions beneath rel; a session's own directory is not
// entered.
func recorded(root *workfs.Root, rel, path string, found []Record) ([]Record, error) {
	entries, err := root.List(rel)
	if err != nil {
		return found, err
	}
	for _, e := range entries {
		switch {
		case !e.IsDir():
		case ids.Check(ids.Session, e.Name) == nil:
			found = append(found, Record{ID: e.Name, Dir: filepath.Join(path, e.Name)})
		default:
			below := e.Name
			if rel != "." {
				below = rel + "/" + e.Name
			}
			if found, err = recorded(root, below, filepath.Join(path, e.Name), found); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}
