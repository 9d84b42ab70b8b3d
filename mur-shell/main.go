// Command mur-shell runs commands under a policy: resolve, check, confine, run,
// report. Inside a session one mur-shell serve runs every command of mur-launch;
// mur-shell run does the same for one command, from flags or a policy file.
package main

import (
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/mur-shell/internal/app"
	"github.com/mur-capsules/mur/mur-shell/internal/room"
)

func main() {
	room.Init() // the internal forms come first
	cli.Main(app.Run)
}
