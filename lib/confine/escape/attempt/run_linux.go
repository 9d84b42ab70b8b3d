package attempt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// requestTime is how long the request is waited for: the outside writes it once
// it has seen which processes there are.
const requestTime = 10 * time.Second

// Main runs the probe program and returns its exit status. self is how the
// program calls itself: its path and the words before args. The words are
//
//	all FILE        try every attempt of a Request, print an Answer a line
//	one OP ARG...   try one, print the answer alone
//	noop            do nothing
func Main(self, args []string, stdout io.Writer) int {
	switch {
	case len(args) == 2 && args[0] == "all":
		return all(self, args[1], stdout)
	case len(args) >= 2 && args[0] == "one":
		fmt.Fprintln(stdout, try(args[1], args[2:]))
		return 0
	case len(args) == 1 && args[0] == "noop":
		return 0
	}
	return 2
}

func all(self []string, file string, stdout io.Writer) int {
	var text []byte
	for end := time.Now().Add(requestTime); ; time.Sleep(2 * time.Millisecond) {
		var err error
		if text, err = os.ReadFile(file); err == nil {
			break
		}
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, "no request:", err)
			return 1
		}
	}
	var r Request
	if err := json.Unmarshal(text, &r); err != nil {
		fmt.Fprintln(os.Stderr, "request:", err)
		return 1
	}
	out := json.NewEncoder(stdout)
	for n, a := range r.Attempts {
		answer := ""
		if o, ok := ops[a.Op]; ok && o.apart {
			answer = apart(self, a)
		} else {
			answer = try(a.Op, a.Args)
		}
		if err := out.Encode(Answer{N: n, Answer: answer}); err != nil {
			return 1
		}
	}
	return 0
}

// apart tries in a process of its own, which the attempt may change or end.
func apart(self []string, a Attempt) string {
	words := append(append(append([]string{}, self[1:]...), "one", a.Op), a.Args...)
	cmd := exec.Command(self[0], words...)
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	if answer := ended(err); answer != "ok" {
		return answer
	}
	return strings.TrimSpace(out.String())
}

// op is an operation. apart: it changes or may end the process that tries it.
type op struct {
	apart bool
	try   func(args []string) string
}

// try runs an operation in this process.
func try(name string, args []string) string {
	o, ok := ops[name]
	if !ok {
		return "no operation " + name
	}
	for i, a := range args {
		for _, v := range []string{"HOME", "TMPDIR"} {
			a = strings.ReplaceAll(a, "%"+v, os.Getenv(v))
		}
		args[i] = a
	}
	return o.try(args)
}

// word is an error as an answer.
func word(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
		return fmt.Sprintf("errno %d", int(errno))
	default:
		return err.Error()
	}
}

// number is the errno of a raw call as an answer.
func number(errno syscall.Errno) string {
	if errno == 0 {
		return "ok"
	}
	return word(errno)
}

// ended is how a child ended as an answer.
func ended(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return word(err)
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return "killed:" + unix.SignalName(s.Signal())
	}
	return fmt.Sprintf("exit %d", exit.ExitCode())
}
