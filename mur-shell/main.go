// Command mur-shell runs commands under a policy: resolve, check, confine, run,
// report. Inside a session one mur-shell serve runs every command of mur-launch;
// mur-shell run does the same for one command, from flags or a policy file.
package main

import (
	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine/box"
	"github.com/mur-capsules/mur/lib/confine/holder"
	"github.com/mur-capsules/mur/mur-shell/internal/app"
)

func main() {
	// The internal forms come first: a composed root's init, and the holder. The
	// worker has taken over before main.
	box.Init()
	holder.Main()
	cli.Main(app.Run)
}
