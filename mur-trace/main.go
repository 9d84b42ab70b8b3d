// Command mur-trace shows, compares, filters and verifies the traces sessions
// leave behind.
package main

import (
	"github.com/mur-capsules/mur/lib/cli"

	"github.com/mur-capsules/mur/mur-trace/internal/app"
)

func main() { cli.Main(app.Run) }
