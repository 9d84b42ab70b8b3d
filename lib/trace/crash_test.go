package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/workfs"
)

// check walks the chain of a file.
func check(t *testing.T, dir string) ChainCheck {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := CheckChain(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func reopen(t *testing.T, dir string) *Log {
	t.Helper()
	records, err := workfs.OpenRoot(dir, workfs.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { records.Close() })
	l, err := Reopen(records, Options{SessionID: "ses_0190a1b2c3d47000800000000000000f"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TRC-79, TRC-85, TRC-86, TRC-109: a writer killed at every byte of a record.
// The lines before stay whole, what was cut is named with its offset, the next
// line is bound to it, and a cut that lost only the newline lost nothing.
func TestWriterKilledAtEveryByte(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	s.write(TaskStart{TaskID: "tsk_1"})
	path := filepath.Join(s.dir, FileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s.write(ToolCall{ToolName: "t", Status: "ok", Input: Raw(`{"a":"é \" \\ \n"}`)})
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(whole); cut <= len(all); cut++ {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, FileName), all[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		lost := cut > len(whole) && cut < len(all)
		before := check(t, dir)
		if torn := len(before.Bad) == 1 && before.Bad[0].Torn && before.Bad[0].Offset == int64(len(whole)); torn != lost || before.Breaks > 0 {
			t.Fatalf("cut at %d: %+v", cut, before)
		}
		l := reopen(t, dir)
		if l.session != s.own.SessionNode() {
			t.Fatalf("the session node is %q", l.session)
		}
		if l.Appender().Append(ShellLost{Command: Raw(`[]`)}) == "" {
			t.Fatal("dropped")
		}
		after := check(t, dir)
		if after.Breaks > 0 {
			t.Fatalf("cut at %d: %s", cut, after)
		}
		bad := 0
		if lost && cut < len(all)-1 {
			bad = 1
		}
		if len(after.Bad) != bad || bad == 1 && (after.Bad[0].Offset != int64(len(whole)) || after.Bad[0].Bytes != int64(cut-len(whole)) || after.Bad[0].Torn) {
			t.Fatalf("cut at %d: %+v", cut, after)
		}
		got, err := os.ReadFile(filepath.Join(dir, FileName))
		if err != nil || !bytes.HasPrefix(got, all[:cut]) {
			t.Fatalf("cut at %d: what was written is changed (%v)", cut, err)
		}
		l.Close()
	}
}

// TRC-109: several torn writers in a row, runs of NUL bytes as a power failure
// leaves them, and a file without any whole line.
func TestRepairOfAnyTail(t *testing.T) {
	s := newSession(t, Meta)
	s.start(nil)
	path := filepath.Join(s.dir, FileName)
	base, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, tail := range map[string][]byte{
		"nuls":           bytes.Repeat([]byte{0}, 9000),
		"nuls and line":  []byte("\x00\x00\x00\n"),
		"several":        []byte("{\"event_type\":\"a\n{\"b\n\x00\n{\"c"),
		"object":         []byte("{\"event_type\":\"x\"}\n"), // a line without prev_hash
		"empty lines":    []byte("\n\n\n"),
		"half character": []byte("{\"a\":\"\xc3"),
	} {
		for _, start := range [][]byte{base, nil} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, FileName), append(bytes.Clone(start), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			l := reopen(t, dir)
			for range 3 {
				if l.Appender().Append(Delegation{Outcome: "unknown"}) == "" {
					t.Fatalf("%s: dropped", name)
				}
			}
			if c := check(t, dir); c.Breaks > 0 {
				t.Errorf("%s after %d bytes: %s", name, len(start), c)
			}
			got, err := os.ReadFile(filepath.Join(dir, FileName))
			if err != nil || !bytes.HasPrefix(got, append(bytes.Clone(start), tail...)) {
				t.Errorf("%s: what was there is changed (%v)", name, err)
			}
			if start == nil && !bytes.Contains(got, []byte(`"session_id":"ses_0190a1b2c3d47000800000000000000f"`)) {
				t.Errorf("%s: without a readable first line the given session id stands in", name)
			}
			if start == nil && bytes.Contains(got, []byte(`"parent_id"`)) {
				t.Errorf("%s: a parent without a session_start", name)
			}
		}
	}
}

const appenderEnv = "MUR_TEST_APPEND_TO"

// appendForever is a process of the test below: two goroutines append to one
// trace until the process is killed, and say which lines were written.
func appendForever(dir string) {
	records, err := workfs.OpenRoot(dir, workfs.Options{Ephemeral: true})
	if err != nil {
		panic(err)
	}
	l, err := Reopen(records, Options{})
	if err != nil {
		panic(err)
	}
	said := make(chan string)
	big := strings.Repeat("x", 3<<20) // such a write is cut where the kill meets it
	for g := range 2 {
		go func() {
			for n := 0; ; n++ {
				reason := fmt.Sprintf("writer %d of %d, line %d", g, os.Getpid(), n)
				if rand.IntN(8) == 0 {
					reason += big
				}
				said <- l.Appender().Append(HookDispatchError{HookName: reason, Event: "drain", Arm: "timeout"})
			}
		}()
	}
	for id := range said {
		fmt.Println(id)
	}
}

// TRC-78, TRC-79, TRC-80, TRC-109: appenders of several processes killed at
// random, 500 times. No line whose write returned is lost, none is merged with
// another, and the chain covers what was torn.
func TestAppendersKilledAtRandom(t *testing.T) {
	kills, together := 500, 4
	if testing.Short() {
		kills = 40
	}
	s := newSession(t, Meta)
	s.start(nil)
	path := filepath.Join(s.dir, FileName)
	torn, lines := 0, int64(0)
	for done := 0; done < kills; done += together {
		ids := make([][]string, together)
		var wg sync.WaitGroup
		for i := range together {
			wg.Go(func() { ids[i] = oneAppender(t, s.dir) })
		}
		wg.Wait()
		written := map[string]int{}
		for _, list := range ids {
			for _, id := range list {
				written[id] = 0
			}
		}
		countIDs(t, path, written)
		for id, n := range written {
			if n != 1 {
				t.Fatalf("the line %s is in the file %d times", id, n)
			}
		}
		c := check(t, s.dir)
		if c.Breaks > 0 {
			t.Fatal(c)
		}
		// A fresh file keeps the test quick; its first line is the same.
		torn, lines = torn+len(c.Bad), lines+c.Lines
		s = newSession(t, Meta)
		s.start(nil)
		path = filepath.Join(s.dir, FileName)
	}
	t.Logf("%d kills, %d lines, %d torn ones", kills, lines, torn)
	if torn == 0 && !testing.Short() {
		t.Error("no kill met a write: the test proves less than it should")
	}
}

func oneAppender(t *testing.T, dir string) []string {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), appenderEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return nil
	}
	kill := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	var got []string
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if got = append(got, sc.Text()); len(got) == 1 {
			kill.Reset(time.Duration(rand.IntN(12_000)) * time.Microsecond)
		}
	}
	_ = cmd.Wait() // killed
	return got
}

// countIDs counts the whole lines of each event id and fails on a line that
// holds more than one event.
func countIDs(t *testing.T, path string, want map[string]int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := NewReader(f)
	for r.Next() {
		if r.State != Whole {
			continue
		}
		if !json.Valid(r.Line.Raw()) || bytes.Count(r.Line.Raw(), []byte(`"event_type"`)) != 1 {
			t.Fatalf("line %d is merged of several", r.Number)
		}
		want[string([]byte(r.Line.Get("event_id").Str()))]++
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(appenderEnv); dir != "" {
		appendForever(dir)
	}
	os.Exit(m.Run())
}
