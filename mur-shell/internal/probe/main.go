// Command probe is the program that the tests put into a session to try what the
// escape probes try.
package main

import (
	"os"

	"github.com/mur-capsules/mur/lib/confine/escape/attempt"
)

func main() { os.Exit(attempt.Main(os.Args[:1], os.Args[1:], os.Stdout)) }
