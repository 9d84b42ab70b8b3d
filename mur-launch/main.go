// Command mur-launch runs a staged session.
package main

import (
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/mur-launch/internal/app"
)

func main() { cli.Main(app.Run) }
