// This guest does what its input asks for, so that one module serves the tests
// of the engine. The input's data is a JSON object {"do": <action>, ...}.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/mur-capsules/mur/lib/guest"
)

type request struct {
	Do   string `json:"do"`
	Path string `json:"path"`
	Text string `json:"text"`
	N    int    `json:"n"`
}

var actions = map[string]func(request) (string, error){
	"echo":  func(r request) (string, error) { return r.Text, nil },
	"args":  func(request) (string, error) { return strings.Join(os.Args, " "), nil },
	"env":   func(request) (string, error) { e := os.Environ(); sort.Strings(e); return strings.Join(e, "\n"), nil },
	"read":  func(r request) (string, error) { b, err := os.ReadFile(r.Path); return string(b), err },
	"write": func(r request) (string, error) { return "", os.WriteFile(r.Path, []byte(r.Text), 0o644) },
	"append": func(r request) (string, error) {
		f, err := os.OpenFile(r.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = io.WriteString(f, r.Text)
		return "", err
	},
	"mkdir":    func(r request) (string, error) { return "", os.Mkdir(r.Path, 0o755) },
	"remove":   func(r request) (string, error) { return "", os.Remove(r.Path) },
	"rename":   func(r request) (string, error) { return "", os.Rename(r.Path, r.Text) },
	"symlink":  func(r request) (string, error) { return "", os.Symlink(r.Text, r.Path) },
	"link":     func(r request) (string, error) { return "", os.Link(r.Text, r.Path) },
	"readlink": func(r request) (string, error) { return os.Readlink(r.Path) },
	"truncate": func(r request) (string, error) { return "", os.Truncate(r.Path, int64(r.N)) },
	"chtimes": func(r request) (string, error) {
		t := time.Unix(int64(r.N), 0)
		return "", os.Chtimes(r.Path, t, t)
	},
	"stat": func(r request) (string, error) {
		fi, err := os.Lstat(r.Path)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %d %d", fi.Mode().Type(), fi.Size(), fi.ModTime().Unix()), nil
	},
	"list": func(r request) (string, error) {
		es, err := os.ReadDir(r.Path)
		var names []string
		for _, e := range es {
			name := e.Name()
			if e.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
		return strings.Join(names, " "), err
	},
	"walk": func(r request) (string, error) {
		n := 0
		err := filepath.WalkDir(r.Path, func(string, os.DirEntry, error) error { n++; return nil })
		return fmt.Sprint(n), err
	},
	"openmany": func(r request) (string, error) {
		for i := range r.N {
			if _, err := os.Open(r.Path); err != nil {
				return fmt.Sprint(i), nil
			}
		}
		return fmt.Sprint(r.N), nil
	},
	"random": func(request) (string, error) {
		b := make([]byte, 16)
		_, err := rand.Read(b)
		return hex.EncodeToString(b), err
	},
	"time": func(request) (string, error) { return fmt.Sprint(time.Now().Unix()), nil },
	"sleep": func(r request) (string, error) {
		time.Sleep(time.Duration(r.N) * time.Millisecond)
		return "slept", nil
	},
	"chunk": func(r request) (string, error) {
		return "", errors.Join(guest.EmitText(r.Text), guest.EmitThinking(r.Text+"?"))
	},
	"ask": func(r request) (string, error) { return guest.RequestInput(r.Text) },
	"invoke": func(r request) (string, error) {
		res, err := guest.InvokeText(r.Path, r.Text)
		b, _ := json.Marshal(res)
		return string(b), err
	},
	"artifacts": func(request) (string, error) { l, err := guest.Artifacts(); return fmt.Sprint(l), err },
	"exit":      func(r request) (string, error) { fmt.Fprint(os.Stderr, r.Text); os.Exit(r.N); return "", nil },
	"print":     func(r request) (string, error) { fmt.Print(r.Text); os.Exit(0); return "", nil },
	"panic":     func(r request) (string, error) { panic(r.Text) },
	"deep":      func(r request) (string, error) { return deep(r.N, r) },
	"spin":      func(request) (string, error) { spin(); return "", nil },
	"flood": func(request) (string, error) {
		b := make([]byte, 1<<20)
		for {
			os.Stdout.Write(b)
		}
	},
	"stderr": func(r request) (string, error) {
		for range r.N {
			fmt.Fprintln(os.Stderr, r.Text)
		}
		return "", nil
	},
	"alloc": func(r request) (string, error) {
		var keep [][]byte
		for range r.N {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			keep = append(keep, b)
		}
		return fmt.Sprint(len(keep)), nil
	},
}

// deep calls itself n times and then the tool that the request names, if any.
func deep(n int, r request) (string, error) {
	if n == 0 {
		if r.Path == "" {
			return "bottom", nil
		}
		res, err := guest.InvokeText(r.Path, r.Text)
		b, _ := json.Marshal(res.Data)
		return string(b), err
	}
	s, err := deep(n-1, r)
	return s + ".", err
}

var sink int

//go:noinline
func spin() {
	for i := 0; ; i++ {
		sink += i
	}
}

func run(in guest.Input) guest.Result {
	var r request
	if err := in.Decode(&r); err != nil {
		return guest.Failed("%v", err)
	}
	act, ok := actions[r.Do]
	if !ok {
		return guest.Failed("no action %q", r.Do)
	}
	out, err := act(r)
	if err != nil {
		return guest.Failed("%v", err)
	}
	return guest.Passed(out)
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "capsule-run" {
		guest.Capsule(func() error {
			res := run(guest.Input{Data: ptr(os.Getenv("DO"))})
			if res.Status != guest.StatusPassed {
				return errors.New(*res.Summary)
			}
			fmt.Print(*res.Data)
			return nil
		})
	}
	guest.Tool(run)
}

func ptr(s string) *string { return &s }
