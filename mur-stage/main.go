// Command mur-stage checks a capsule, verifies what it is made of, lays out its
// session and prints it as one JSON document for mur-launch.
package main

import (
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/mur-stage/internal/app"
)

func main() { cli.Main(app.Run) }
