package spend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/workfs"
)

// Dir is the ledger's directory beneath the murmur home.
const Dir = "spend"

const (
	lockName = ".lock"
	suffix   = ".jsonl"
	keepDays = 30
	// lockWait bounds the wait for another process, which holds the lock for one
	// read and one write.
	lockWait = 5 * time.Second
)

// Account is whose calls a process admits. Parent and Root are empty but in a
// delegated session (DEL-1806).
type Account struct {
	Session, Parent, Root string
	// Machine and Tree are ceilings in tokens, nil for none.
	Machine, Tree *int64
}

// root is the tree the account belongs to: a session nobody started is the root
// of its own.
func (a Account) root() string {
	if a.Root != "" {
		return a.Root
	}
	return a.Session
}

// Ledger is the machine's account of a day, one file of lines that processes
// share (DEL-1802 to DEL-1804). It is for one goroutine: a Meter's.
type Ledger struct {
	dir     *workfs.Root
	account Account
	now     func() time.Time

	day  string // of the file that is read
	read int64  // bytes of it that were counted
	torn bool   // its last line has no end
	sums sums
}

// entry is one line. A line with Admitted opens the call of its session and
// counts for both amounts until the line that closes it, which has the same Call
// and counts in its place.
type entry struct {
	TS       int64  `json:"ts"` // Unix milliseconds
	Session  string `json:"session_id"`
	Input    int64  `json:"input_tokens"`
	Output   int64  `json:"output_tokens"`
	Call     int64  `json:"call,omitempty"`
	Admitted bool   `json:"admitted,omitempty"`
	Parent   string `json:"parent_session_id,omitempty"`
	Root     string `json:"root_session_id,omitempty"`
}

// sums are a day's totals.
type sums struct {
	machine int64
	trees   map[string]int64
	open    map[string]int64 // by session and call: what an open admission counts
}

func newSums() sums { return sums{trees: map[string]int64{}, open: map[string]int64{}} }

func (s *sums) add(e entry) {
	tree := e.Root
	if tree == "" {
		tree = e.Session
	}
	count := func(n int64) { s.machine += n; s.trees[tree] += n }
	key := fmt.Sprintf("%s %d", e.Session, e.Call)
	tokens := max(e.Input, 0) + max(e.Output, 0)
	if e.Admitted {
		s.open[key] = tokens
	} else if held, ok := s.open[key]; ok {
		count(-held)
		delete(s.open, key)
	}
	count(tokens)
}

// Open opens the machine's ledger and removes files older than 30 days. An error
// means that the ledger can not be used.
func Open(home workfs.Home, account Account, now func() time.Time) (*Ledger, error) {
	dir, err := home.Open(Dir, workfs.Options{Plain: true, Ephemeral: true})
	if err != nil {
		return nil, err
	}
	l := &Ledger{dir: dir, account: account, now: now, sums: newSums()}
	if err := l.prove(); err != nil {
		dir.Close()
		return nil, err
	}
	l.sweep()
	return l, nil
}

// Close releases the directory.
func (l *Ledger) Close() error { return l.dir.Close() }

// Path is the ledger's directory.
func (l *Ledger) Path() string { return l.dir.Path() }

// prove takes the lock, reads the day and makes its file.
func (l *Ledger) prove() error {
	lock, err := l.lock(context.Background())
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := l.catchUp(); err != nil {
		return err
	}
	f, err := l.dir.Append(l.day + suffix)
	if err != nil {
		return err
	}
	return f.Close()
}

func (l *Ledger) lock(ctx context.Context) (*workfs.Lock, error) {
	ctx, stop := context.WithTimeout(ctx, lockWait)
	defer stop()
	return l.dir.Lock(ctx, lockName)
}

// sweep removes what is too old; failing to is no fault.
func (l *Ledger) sweep() {
	oldest := l.now().UTC().AddDate(0, 0, -keepDays).Format(time.DateOnly)
	entries, err := l.dir.List(".")
	if err != nil {
		return
	}
	for _, e := range entries {
		day, ok := strings.CutSuffix(e.Name, suffix)
		if _, err := time.Parse(time.DateOnly, day); ok && err == nil && day < oldest {
			_ = l.dir.Remove(e.Name)
		}
	}
}

// catchUp counts what was appended to today's file since the last time. A last
// line without its end is being written, or its writer died: it is not counted
// and looked at again.
func (l *Ledger) catchUp() error {
	l.torn = false
	if day := l.now().UTC().Format(time.DateOnly); day != l.day {
		l.day, l.read, l.sums = day, 0, newSums()
	}
	f, err := l.dir.Open(l.day + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(l.read, io.SeekStart); err != nil {
		return err
	}
	fresh, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	for {
		line, rest, ok := bytes.Cut(fresh, []byte("\n"))
		if !ok {
			l.torn = len(fresh) > 0
			return nil
		}
		l.read += int64(len(line)) + 1
		fresh = rest
		var e entry
		if json.Unmarshal(line, &e) == nil && e.Session != "" {
			l.sums.add(e)
		}
	}
}

// reserve admits a call under the lock, so that no other process admits one in
// between. An error means that the ledger could not be asked or written: the last
// totals decided then, and other processes do not see the call.
func (l *Ledger) reserve(ctx context.Context, call, input, output int64) (day string, _ *Refusal, _ error) {
	lock, err := l.lock(ctx)
	if err == nil {
		defer lock.Unlock()
		err = l.catchUp()
	}
	if r := l.over(input + output); r != nil {
		return "", r, nil
	}
	e := l.entry(call, input, output)
	if err == nil {
		e.Admitted = true
		err = l.append(l.day, e)
	}
	if err != nil {
		e.Admitted = false
		l.sums.add(e) // for this process at least
		return "", nil, err
	}
	return l.day, nil, l.catchUp()
}

// over is the ceiling that so many more tokens would go over.
func (l *Ledger) over(requested int64) *Refusal {
	for _, c := range []struct {
		limit   string
		ceiling *int64
		used    int64
	}{
		{Machine, l.account.Machine, l.sums.machine},
		{Tree, l.account.Tree, l.sums.trees[l.account.root()]},
	} {
		if c.ceiling != nil && c.used+requested > *c.ceiling {
			return &Refusal{Limit: c.limit, Ceiling: *c.ceiling, Used: c.used, Requested: requested}
		}
	}
	return nil
}

// settle closes an admission in the file of the day that admitted it.
func (l *Ledger) settle(day string, call, input, output int64) error {
	if err := l.append(day, l.entry(call, input, output)); err != nil {
		return err
	}
	return l.catchUp()
}

func (l *Ledger) entry(call, input, output int64) entry {
	return entry{
		TS: l.now().UnixMilli(), Session: l.account.Session, Input: input, Output: output, Call: call,
		Parent: l.account.Parent, Root: l.account.Root,
	}
}

// append writes one line in one write, behind the end of a line that a dead
// writer may have left open.
func (l *Ledger) append(day string, e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := l.dir.Append(day + suffix)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if l.torn && day == l.day {
		line = append([]byte("\n"), line...)
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}
