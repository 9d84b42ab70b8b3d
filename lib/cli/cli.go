// Package cli is what the six commands share at their edge: streams as fields,
// common flags, version, signals, and how a diagnostic reaches standard error.
// It and the main packages are the only places that know urfave/cli.
package cli

import (
	"io"
	"time"
)

// Env is everything a command takes from its process. Tests build their own.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Args           []string // without the program's name
	Environ        []string // KEY=VALUE
	Dir            string   // working directory, absolute
	Now            func() time.Time
}
