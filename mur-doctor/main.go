// Command mur-doctor says what this host can do and what is wrong with a
// project. It creates and downloads nothing, and repairs only what
// --fix lets it.
package main

import (
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/mur-doctor/internal/app"
)

func main() { cli.Main(app.Run) }
