// Command mur-lock packs, publishes, installs, pins and verifies artifacts.
package main

import (
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/mur-lock/internal/app"
)

func main() { cli.Main(app.Run) }
