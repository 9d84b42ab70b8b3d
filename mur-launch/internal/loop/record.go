package loop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-launch/internal/agent"
)

// recordName is the file of a conversation in its directory.
const recordName = "conversation.jsonl"

// maxRecord bounds a conversation that is loaded.
const maxRecord = 256 << 20

// record is the conversation record of one context (AGT section 13). Nothing is
// made before the first message; messages that enter together are written
// together, so that a call and its result are both there or neither. What can
// not be written is reported once, and the task goes on (SES-208).
type record struct {
	home   workfs.Home
	dir    string
	header []byte // the first line of a record that is new, nil for none
	report func(string)

	mu    sync.Mutex
	ready *workfs.Root
	told  bool
	known map[string]bool // ids that are recorded
}

// openRecord returns the record of a context, nil when the session keeps none.
func openRecord(d *session.Document, home workfs.Home, context string, now func() time.Time, report func(string)) *record {
	if !d.Context.Record || d.Context.RecordName == nil {
		return nil
	}
	name := *d.Context.RecordName
	r := &record{home: home, report: report, known: map[string]bool{}}
	if !segment(name) || !segment(context) {
		report(fmt.Sprintf("the conversation is not recorded: %q and %q are not both names of a directory", name, context))
		return nil
	}
	r.dir = "conversations/" + name + "/" + context
	if d.Context.Retain != nil {
		r.header, _ = json.Marshal(struct {
			Type      string          `json:"type"`
			Capsule   string          `json:"capsule"`
			CreatedMS int64           `json:"created_ms"`
			Truncated json.RawMessage `json:"truncated"`
		}{"murmur.conversation", d.Capsule.Name, now().UnixMilli(), json.RawMessage("null")})
	}
	return r
}

// segment tells whether a name is one path segment (SES-8).
func segment(s string) bool {
	return s != "" && s[0] != '.' && len(s) <= 255 && !bytes.ContainsAny([]byte(s), "/\\\x00")
}

// load returns the messages of the record, oldest first (AGT-116, AGT-118).
func (r *record) load() []agent.Message {
	dir, err := r.home.OpenExisting(r.dir, workfs.Options{Plain: true})
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.fault(err)
		}
		return nil
	}
	defer dir.Close()
	text, err := dir.ReadFile(recordName, maxRecord)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.fault(err)
		}
		return nil
	}
	var out []agent.Message
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var head struct {
			Type       string `json:"type"`
			InsertedBy string `json:"inserted_by"`
		}
		_ = json.Unmarshal(line, &head) // what is no object is skipped below
		if head.Type == "murmur.conversation" || head.InsertedBy == "seed-context" {
			continue
		}
		m, ok := agent.ParseLine(line)
		if !ok {
			r.report(fmt.Sprintf("line %d of %s holds no message and is skipped", n, dir.Join(recordName)))
			continue
		}
		if !r.known[m.ID] {
			r.known[m.ID] = true
			out = append(out, m)
		}
	}
	return agent.Paired(out)
}

// Append writes messages that enter the conversation (AGT-114).
func (r *record) Append(messages []agent.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []byte
	var fresh []string
	for _, m := range messages {
		if !r.known[m.ID] {
			lines = append(append(lines, m.Line()...), '\n')
			fresh = append(fresh, m.ID)
		}
	}
	if len(lines) == 0 {
		return
	}
	if err := r.write(lines); err != nil {
		r.fault(err)
		return
	}
	for _, id := range fresh {
		r.known[id] = true
	}
}

func (r *record) write(lines []byte) error {
	if r.ready == nil {
		dir, err := r.home.Open(r.dir, workfs.Options{Plain: true})
		if err != nil {
			return err
		}
		r.ready = dir
	}
	f, err := r.ready.Append(recordName)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Size() == 0 && r.header != nil {
		lines = append(append(bytes.Clone(r.header), '\n'), lines...)
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Close())
}

func (r *record) fault(err error) {
	if !r.told {
		r.told = true
		r.report("the conversation can not be recorded: " + err.Error())
	}
}

func (r *record) close() {
	if r.ready != nil {
		_ = r.ready.Close()
	}
}
