// Command guest is the capsule and the tool of the tests: it does the steps it
// is given, a capsule those of the file steps.json in its work folder, a tool
// the one it is called with.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/guest"
)

// step is one thing to do; which fields count depends on Do.
type step struct {
	Do   string   `json:"do"`
	Name string   `json:"name"`
	Text string   `json:"text"`
	N    int      `json:"n"`
	Args []string `json:"args"`
	Env  []string `json:"env"`
}

// get fetches a URL; web.go replaces it in guests built with the tag web, since
// net/http makes a guest three times as large.
var get = func(string) (string, error) { return "", errors.New("this guest was built without the tag web") }

func main() {
	if len(os.Args) > 1 && os.Args[1] == "tool-run" {
		guest.Tool(func(in guest.Input) guest.Result {
			var s step
			if err := in.Decode(&s); err != nil {
				return guest.Failed("%v", err)
			}
			out, err := s.run()
			if err != nil {
				return guest.Failed("%v", err)
			}
			return guest.Passed(out)
		})
	}
	guest.Capsule(func() error {
		text, err := os.ReadFile("steps.json")
		if err != nil {
			return err
		}
		var steps []step
		if err := json.Unmarshal(text, &steps); err != nil {
			return err
		}
		for _, s := range steps {
			out, err := s.run()
			if err != nil {
				out = strings.TrimSpace(out + " error: " + err.Error())
			}
			fmt.Printf("%s: %s\n", s.Do, out)
		}
		return nil
	})
}

func (s step) run() (string, error) {
	switch s.Do {
	case "print":
		return s.Text, nil
	case "stderr":
		_, err := fmt.Fprint(os.Stderr, s.Text)
		return "", err
	case "invoke":
		r, err := guest.InvokeText(s.Name, s.Text)
		if err != nil {
			return fmt.Sprintf("denied=%v", errors.Is(err, guest.ErrDenied)), err
		}
		out, err := json.Marshal(r)
		return string(out), err
	case "run": // a program with Args and Env
		c, err := guest.Run(s.Name, s.Args, s.Env...)
		if err != nil {
			return fmt.Sprintf("denied=%v unavailable=%v", errors.Is(err, guest.ErrDenied), errors.Is(err, guest.ErrUnavailable)), err
		}
		out, err := json.Marshal(c)
		return string(out), err
	case "list":
		list, err := guest.Artifacts()
		return fmt.Sprint(list), err
	case "env":
		return strings.Join(os.Environ(), "\n"), nil
	case "read":
		text, err := os.ReadFile(s.Name)
		return string(text), err
	case "write":
		return "", os.WriteFile(s.Name, []byte(s.Text), 0o644)
	case "link":
		return "", os.Symlink(s.Text, s.Name)
	case "get":
		return get(s.Text)
	case "exit":
		os.Exit(s.N)
	case "panic":
		panic(s.Text)
	case "spin":
		for {
		}
	case "sleep":
		time.Sleep(time.Duration(s.N) * time.Millisecond)
		return "", nil
	case "alloc":
		var keep [][]byte
		for range s.N {
			keep = append(keep, make([]byte, 1<<20))
		}
		return fmt.Sprint(len(keep)), nil
	case "flood": // N MiB of output that is no result
		for range s.N {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
		os.Exit(0)
	case "bytes": // a result whose text is not UTF-8
		fmt.Print("{\"status\":\"passed\",\"data\":\"a\xff\xfeb\"}")
		os.Exit(0)
	case "raw":
		fmt.Print(s.Text)
		os.Exit(0)
	}
	return "", fmt.Errorf("no step is called %q", s.Do)
}
