// Package page makes one HTML page of a session: a timeline, the tokens of each
// turn, every event with its input and output, search, all of it usable with
// the keyboard and in dark and light.
//
// The page is one file that loads nothing: its policy allows its own script and
// style by their hashes and nothing else. What a trace says reaches the page as
// data and is shown as text only.
package page

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/trace"

	"github.com/mur-capsules/mur/mur-trace/internal/record"
	"github.com/mur-capsules/mur/mur-trace/internal/render"
)

var (
	//go:embed page.html
	html string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

var frame = template.Must(template.New("page").Parse(html))

// fact is one number of the head.
type fact struct {
	Name, Value string
	Bad         bool
}

// content is what the frame is filled with.
type content struct {
	Title, Capsule, SessionID, Status string
	Facts                             []fact
	Style                             template.CSS
	Script                            template.JS
	StyleHash, ScriptHash             template.HTMLAttr
}

// Write writes the page of a session. The events go through one by one: memory
// does not grow with them.
func Write(w io.Writer, r *record.Record) error {
	var b bytes.Buffer
	if err := frame.Execute(&b, fill(r)); err != nil {
		return err
	}
	head, tail, _ := bytes.Cut(b.Bytes(), []byte("@@DATA@@"))
	out := bufio.NewWriterSize(w, 64<<10)
	out.Write(head) // a failed write is told by Flush
	data(out, r)
	out.Write(tail)
	return out.Flush()
}

func fill(r *record.Record) content {
	c := content{Title: r.ID, SessionID: r.ID, Status: r.Metrics.ExitStatus, Style: template.CSS(style), Script: template.JS(script),
		StyleHash: hash(style), ScriptHash: hash(script)}
	s := r.Start()
	if s != nil {
		c.Capsule = s.CapsuleName + " " + s.CapsuleVersion
		c.Title = c.Capsule + " " + r.ID
	}
	c.Facts = facts(r, s)
	return c
}

func hash(text string) template.HTMLAttr {
	sum := sha256.Sum256([]byte(text))
	return template.HTMLAttr("sha256-" + base64.StdEncoding.EncodeToString(sum[:]))
}

func facts(r *record.Record, s *trace.SessionStart) []fact {
	m := r.Metrics
	out := []fact{
		{Name: "began", Value: time.UnixMilli(r.StartedAt).UTC().Format("2006-01-02 15:04:05 UTC")},
		{Name: "took", Value: render.Millis(m.DurationMS)},
	}
	if s != nil {
		if s.Model != nil {
			out = append(out, fact{Name: "model", Value: *s.Model})
		}
		out = append(out, fact{Name: "containment", Value: s.ContainmentDeclared + " → " + s.ContainmentAchieved})
	}
	refused := m.DeniedCalls + m.ProtectedPathRefused + m.SpendRefusals
	return append(out,
		fact{Name: "turns", Value: render.Count(m.Turns)},
		fact{Name: "tokens", Value: render.Count(m.InputTokens) + " in, " + render.Count(m.OutputTokens) + " out"},
		fact{Name: "tool calls", Value: render.Count(m.ToolCalls) + " (" + render.Percent(m.ToolSuccessRate) + " ok)"},
		fact{Name: "commands", Value: render.Count(m.ShellCalls) + " (" + strconv.FormatInt(m.ShellFailed, 10) + " failed)"},
		fact{Name: "refused", Value: render.Count(refused), Bad: refused > 0},
		fact{Name: "redundant", Value: render.Count(m.RedundantCalls)},
	)
}

// left are the members that the page has no use for.
var left = map[string]bool{"session_id": true, "prev_hash": true, "message_ids": true, "message_shas": true}

// data writes the events as JSON that can stand in a script element: "<", which
// occurs in strings only, is written as an escape.
func data(w *bufio.Writer, r *record.Record) {
	capture := "meta"
	if s := r.Start(); s != nil && s.Capture != "" {
		capture = string(s.Capture)
	}
	head, _ := json.Marshal(map[string]string{"id": r.ID, "capture": capture})
	w.WriteString(`{"session":`)
	w.Write(head)
	w.WriteString(`,"events":[`)
	first := true
	for number, l := range r.Events() {
		if !first {
			w.WriteByte(',')
		}
		first = false
		w.WriteString(`{"line":` + strconv.FormatInt(number, 10))
		for name, v := range l.All() {
			if left[name] {
				continue
			}
			key, _ := json.Marshal(name) // escapes < itself
			w.WriteByte(',')
			w.Write(key)
			w.WriteByte(':')
			w.WriteString(strings.ReplaceAll(string(v), "<", `\u003c`))
		}
		w.WriteByte('}')
	}
	w.WriteString("]}")
}
