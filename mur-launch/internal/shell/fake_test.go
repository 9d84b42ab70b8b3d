package shell

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/shellproto"
)

// TestMain makes the test program a mur-shell when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		fakeServe()
		return
	}
	os.Exit(m.Run())
}

// fake is a mur-shell that starts nothing: what it answers goes by the tool.
type fake struct {
	c    *net.UnixConn
	mu   sync.Mutex
	kill map[string]chan struct{}
}

func fakeServe() {
	var f shellproto.Facts
	if err := json.NewDecoder(os.NewFile(4, "facts")).Decode(&f); err != nil {
		fmt.Fprintln(os.Stderr, "error[E-STG-101]: the facts can not be read")
		os.Exit(125)
	}
	c, err := net.FileConn(os.NewFile(3, "control"))
	if err != nil {
		os.Exit(125)
	}
	s := &fake{c: c.(*net.UnixConn), kill: map[string]chan struct{}{}}
	version := cli.Version
	switch f.RuntimeEnv["MURMUR_CAPSULE_NAME"] {
	case "old":
		version = "0.0.1"
	case "dead":
		fmt.Fprintln(os.Stderr, "error[E-RUN-014]: the sealed root could not be built")
		fmt.Fprintln(os.Stderr, "  hint: look elsewhere")
		os.Exit(125)
	case "fatal":
		s.say(map[string]any{"event": "fatal", "id": "", "code": "E-RUN-012", "step": "leaf", "errno": 13, "message": "no leaf"})
		os.Exit(125)
	case "mute":
		time.Sleep(time.Minute)
	}
	env := strings.Join(os.Environ(), ",")
	s.say(map[string]any{"event": "ready", "v": 1, "version": version, "pid": os.Getpid()})
	fmt.Fprintln(os.Stderr, "a note")
	s.loop(env)
}

func (s *fake) say(v any) {
	text, _ := json.Marshal(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.c.Write(append(text, '\n'))
}

func (s *fake) loop(env string) {
	var files []*os.File
	r := bufio.NewReader(readFunc(func(p []byte) (int, error) {
		oob := make([]byte, unix.CmsgSpace(4*8))
		n, oobn, _, _, err := s.c.ReadMsgUnix(p, oob)
		msgs, _ := unix.ParseSocketControlMessage(oob[:oobn])
		for i := range msgs {
			fds, _ := unix.ParseUnixRights(&msgs[i])
			for _, fd := range fds {
				files = append(files, os.NewFile(uintptr(fd), "passed"))
			}
		}
		if n == 0 && err == nil {
			err = io.EOF
		}
		return n, err
	}))
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var q shellproto.Request
		if err := json.Unmarshal(line, &q); err != nil {
			return
		}
		switch q.Op {
		case "exec":
			own := files
			files = nil
			s.mu.Lock()
			s.kill[q.ID] = make(chan struct{})
			s.mu.Unlock()
			go s.exec(q, own, env)
		case "native":
			s.say(map[string]any{"event": "done", "id": q.ID, "tool": q.Name, "argv": []string{}, "tool_result": map[string]any{
				"status": "failed", "data": fmt.Sprint(*q.Input.Data, *q.TimeoutSecs), "metadata": map[string]string{"b": "2", "a": "1"}}})
		case "resolve":
			s.say(map[string]any{"event": "resolved", "id": q.ID, "call": "call-1", "binary": "/bin/" + q.Tool, "argv": []string{*q.Data}})
		case "kill":
			s.mu.Lock()
			ch := s.kill[q.Target]
			delete(s.kill, q.Target)
			s.mu.Unlock()
			if ch != nil {
				close(ch)
			}
			s.say(map[string]any{"event": "killed", "id": q.ID, "target": q.Target})
		case "shutdown":
			s.say(map[string]any{"event": "bye", "id": q.ID})
			return
		}
	}
}

func (s *fake) exec(q shellproto.Request, files []*os.File, env string) {
	done := func(exit int, stdout string, n int64) {
		s.say(map[string]any{
			"event": "done", "id": q.ID, "tool": q.Tool, "binary": "/bin/" + q.Tool, "argv": []string{"a", "b"}, "exit_code": exit, "stdout": stdout,
			"stdout_bytes": n, "truncated": n > 16384, "runtime_note": "noted", "tool_result": map[string]any{"status": "passed", "data": "$ " + q.Tool},
		})
	}
	switch q.Tool {
	case "env":
		done(0, env, 1)
	case "big":
		_, _ = files[0].WriteString(strings.Repeat("x", 20000))
		_, _ = files[1].WriteString("faults")
		done(7, "cut", 20005)
	case "stubborn", "polite":
		s.mu.Lock()
		ch := s.kill[q.ID]
		s.mu.Unlock()
		<-ch
		if q.Tool == "polite" {
			done(143, "", 0)
		}
	case "denied":
		s.say(map[string]any{"event": "refused", "id": q.ID, "reason": "not-allowed", "message": "denied is not in shell.allow"})
	case "fatal":
		s.say(map[string]any{"event": "fatal", "id": q.ID, "code": "E-RUN-014", "step": "mount", "message": "no root"})
	case "die":
		os.Exit(3)
	case "babble":
		_, _ = s.c.Write([]byte("not JSON\n"))
	case "slow":
		time.Sleep(30 * time.Millisecond)
		done(0, "slow", 1)
	default:
		done(0, "quick", 1)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
