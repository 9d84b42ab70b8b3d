package show

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
)

// Selector names one stored body (TRC-151).
type Selector struct {
	Body string // system, tools, response, message:<i>, or a hash or its beginning
	Turn *int64 // for the first four
	Task string // when several turns carry the number (TRC-152)
}

var hexPrefix = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

// Body writes the exact bytes of a stored body. note is told when several turns
// carry the number and the first was taken.
func Body(w io.Writer, r *record.Record, sel Selector, note func(string)) error {
	sha, err := sel.resolve(r, note)
	if err != nil {
		return err
	}
	if r.Trace.RecordsDir == "" {
		return noBody(r, "a trace outside a records directory has no stored bodies")
	}
	f, err := os.Open(filepath.Join(r.Trace.RecordsDir, trace.BlobDir, sha))
	if errors.Is(err, fs.ErrNotExist) {
		return noBody(r, "the body %s was not stored; capture content stores bodies", sha)
	}
	if err != nil {
		return workfs.Fault(err, "cannot read a body")
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

func noBody(r *record.Record, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	return diag.Errorf("E-TRC-001", "%s: no body: %s", r.Trace.Path, what).
		About(diag.Subject{Kind: diag.Session, Name: r.ID, File: r.Trace.Path}).Name("file", r.Trace.Path).Name("line", 0).Name("reason", what)
}

// resolve finds the hash of the body that is meant.
func (sel Selector) resolve(r *record.Record, note func(string)) (string, error) {
	word, index, isMessage := strings.Cut(sel.Body, ":")
	field := map[string]string{"system": "system_sha", "tools": "tools_sha", "response": "response_sha"}[sel.Body]
	if isMessage && word == "message" {
		field = "message_shas"
	}
	if field == "" {
		if sel.Turn != nil || sel.Task != "" {
			return "", noBody(r, "--turn and --task go with system, tools, response and message:<i>, not with a hash")
		}
		return byHash(r, sel.Body)
	}
	if sel.Turn == nil {
		return "", noBody(r, "%s is one turn's: name it with --turn", sel.Body)
	}
	l, err := sel.turn(r, note)
	if err != nil {
		return "", err
	}
	v := l.Get(field)
	if v == nil {
		return "", noBody(r, "turn %d recorded no hashes", *sel.Turn)
	}
	if field != "message_shas" {
		return v.Str(), nil
	}
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 {
		return "", noBody(r, "message:<i> takes a number from 0 up, not %s", diag.Quote(index))
	}
	n := 0
	for m := range v.Elements() {
		if n == i {
			return m.Str(), nil
		}
		n++
	}
	return "", noBody(r, "turn %d has %d messages; there is no message %d", *sel.Turn, n, i)
}

// turn finds the inference line of the turn that is meant.
func (sel Selector) turn(r *record.Record, note func(string)) (*trace.Line, error) {
	found := -1
	several := 0
	for _, at := range r.Index("inference") {
		l := r.At(at)
		if l == nil || l.Get("origin") != nil {
			continue
		}
		task := l.Get("task_id").Str()
		if n, ok := l.Get("turn").Int(); !ok || n != *sel.Turn || sel.Task != "" && !strings.HasSuffix(task, sel.Task) {
			continue
		}
		if several++; found < 0 {
			found = at
		}
	}
	if found < 0 {
		return nil, noBody(r, "there is no turn %d", *sel.Turn)
	}
	l := r.At(found)
	if several > 1 {
		note(fmt.Sprintf("%d turns carry the number %d; this is the first, of task %s; --task names another", several, *sel.Turn, l.Get("task_id").Str()))
	}
	return l, nil
}

// byHash finds the one stored body whose hash begins so.
func byHash(r *record.Record, prefix string) (string, error) {
	if !hexPrefix.MatchString(prefix) {
		return "", noBody(r, "%s is neither system, tools, response, message:<i> nor 8 to 64 hex digits of a hash", diag.Quote(prefix))
	}
	entries, err := os.ReadDir(filepath.Join(r.Trace.RecordsDir, trace.BlobDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", workfs.Fault(err, "cannot list bodies")
	}
	var found []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", noBody(r, "no stored body has the hash %s", prefix)
	}
	return "", noBody(r, "several bodies have hashes that begin with %s: %s", prefix, strings.Join(found, ", "))
}
