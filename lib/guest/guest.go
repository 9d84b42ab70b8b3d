// Package guest is for people who write tools and script capsules in plain Go.
// Their program is an ordinary main package, built with
//
//	GOOS=wasip1 GOARCH=wasm go build -o payload.wasm
//
// and talks to the runtime through murmur:core@0.1.0, which this package wraps:
//
//	func main() {
//		guest.Tool(func(in guest.Input) guest.Result {
//			return guest.Passed("hello " + in.Text())
//		})
//	}
//
// Files, environment, clocks and random numbers are those of package os, time
// and crypto/rand: the work folder is "/", the store, when granted, "/state".
// HTTP is in package guesthttp, which a net/http client can be given.
//
// The package also builds on the host, so that tools and their tests can be
// vetted and run there; functions that need the runtime then answer
// ErrUnavailable.
package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Status is a tool's verdict on its own call.
type Status string

// The values of Status.
const (
	StatusPassed Status = "passed" // it did what it was asked
	StatusFailed Status = "failed" // it could not: the model is told why
	StatusError  Status = "error"  // it is broken or was called wrongly
)

// Input is what a tool is called with. Data is usually the JSON text of the
// tool's arguments; nil means none was given.
type Input struct {
	Data    *string `json:"data"`
	LogPath *string `json:"log_path"`
}

// Text returns Data, or "" when there is none.
func (in Input) Text() string {
	if in.Data == nil {
		return ""
	}
	return *in.Data
}

// Decode reads Data as JSON into v.
func (in Input) Decode(v any) error {
	if in.Data == nil {
		return errors.New("the call has no data")
	}
	return json.Unmarshal([]byte(*in.Data), v)
}

// Result is what a tool answers. Status is required; nil members are absent.
type Result struct {
	Status    Status      `json:"status"`
	Summary   *string     `json:"summary,omitempty"`
	Data      *string     `json:"data,omitempty"`
	DataPath  *string     `json:"data_path,omitempty"`
	Truncated bool        `json:"truncated,omitempty"`
	Metadata  [][2]string `json:"metadata,omitempty"`
}

// Text returns Data, or "" when there is none.
func (r Result) Text() string {
	if r.Data == nil {
		return ""
	}
	return *r.Data
}

// Passed is a result with data.
func Passed(data string) Result { return Result{Status: StatusPassed, Data: &data} }

// Failed is a result that says why the call could not be done.
func Failed(format string, args ...any) Result {
	s := fmt.Sprintf(format, args...)
	return Result{Status: StatusFailed, Summary: &s}
}

// Tool runs a tool command: it reads the input, calls run, writes the result
// and exits. It is the whole of main. A panic of run ends the program with
// status 2, as always in Go, and the runtime reports the end of its output.
func Tool(run func(Input) Result) {
	if err := serve(os.Stdin, os.Stdout, run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(stdin io.Reader, stdout io.Writer, run func(Input) Result) error {
	var in Input
	if err := json.NewDecoder(stdin).Decode(&in); err != nil {
		return fmt.Errorf("the input is not a tool-input object: %w", err)
	}
	return json.NewEncoder(stdout).Encode(run(in))
}

// Capsule runs a script capsule: an error is printed and makes it exit with
// status 1. It is the whole of main.
func Capsule(run func() error) {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
