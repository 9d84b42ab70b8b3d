// Command mur-doctor says what this host can do and what is wrong with a
// project. It creates and downloads nothing, and repairs only what
// --fix lets it.
package main

import (
	"os"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine/escape/attempt"
	"github.com/mur-capsules/mur/mur-doctor/internal/app"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == app.ProbeWord {
		os.Exit(attempt.Main(os.Args[:2], os.Args[2:], os.Stdout))
	}
	cli.Main(app.Run)
}
