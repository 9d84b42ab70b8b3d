package verify

import (
	"strings"

	"github.com/mur-capsules/mur/lib/diag"

	"github.com/mur-capsules/mur/mur-trace/internal/render"
)

// Err is E-TRC-101 for a record that was changed, nil for any other.
func (r Result) Err() error {
	if r.Verdict != Changed {
		return nil
	}
	key := "none"
	if r.KeyID != nil {
		key = *r.KeyID
	}
	s := r.Problem()
	if s == nil { // only bodies
		return diag.Errorf("E-TRC-101", "%s: stored bodies were changed: %s (key %s)", r.RecordsDir, tokens(r.Blobs.Bad), key).
			About(diag.Subject{Kind: diag.Session, Name: r.SessionID}).
			Name("stream", "blobs").Name("key_id", key).Name("verdict", string(Changed))
	}
	d := diag.Errorf("E-TRC-101", "%s/%s was changed: %s (key %s)", r.RecordsDir, s.Stream, *s.Reason, key).
		Name("stream", s.Stream).Name("key_id", key).Name("verdict", string(Changed))
	sub := diag.Subject{Kind: diag.TraceLine, Name: s.Stream, File: r.RecordsDir + "/" + s.Stream}
	if s.FirstBadLine != nil {
		sub.Line = int(*s.FirstBadLine)
		d.Name("first_bad_line", *s.FirstBadLine)
	}
	return d.About(sub)
}

// Text prints the result for people.
func Text(t *render.Text, r Result) error {
	t.Section("Record %s", render.Clean(r.RecordsDir))
	t.Field("session", render.Or(&r.SessionID))
	t.Field("key", render.Or(r.KeyID))
	t.Field("verdict", mark(t, r.Verdict))
	var rows [][]string
	for _, s := range r.Streams {
		bad := ""
		if s.FirstBadLine != nil {
			bad = render.Count(*s.FirstBadLine)
			if s.FirstBadByte != nil {
				bad += " (byte " + render.Count(*s.FirstBadByte) + ")"
			}
		}
		rows = append(rows, []string{s.Stream, string(s.Verdict), render.Count(s.Lines), render.CountOf(s.SealedLines), bad, render.Or(s.Reason)})
	}
	t.Section("Streams")
	t.Table([]string{"stream", "verdict", ">lines", ">sealed", "first bad line", "why"}, rows)
	for _, s := range r.Streams {
		for i, n := range s.TornLines {
			t.Printf("  %s: line %s (byte %s) was torn\n", s.Stream, render.Count(n), render.Count(s.TornOffsets[i]))
		}
	}
	if b := r.Blobs; b != nil {
		t.Section("Bodies")
		t.Printf("  %d checked, %d changed, %d missing\n", b.Checked, len(b.Bad), len(b.Missing))
		if len(b.Bad) > 0 {
			t.Printf("  %s %s\n", t.Bad("changed:"), render.Clean(strings.Join(b.Bad, " ")))
		}
		if len(b.Missing) > 0 {
			t.Printf("  missing: %s\n", render.Clean(tokens(b.Missing)))
		}
	}
	if r.Invariants != nil {
		t.Section("Invariants")
		for _, i := range r.Invariants {
			state := t.Good("holds")
			if !i.Holds {
				state = t.Bad("fails") + "  " + render.Or(i.Detail)
			}
			t.Printf("  %s %s\n", render.Pad(i.Name, 26), state)
		}
	}
	return t.Close()
}

func mark(t *render.Text, v Verdict) string {
	if v == Verified {
		return t.Good(string(v))
	}
	return t.Bad(string(v))
}
