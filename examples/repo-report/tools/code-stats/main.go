// Command code-stats is a tool that measures the source code in its work folder:
// languages, files, lines and the longest functions, as JSON.
//
// It is an ordinary Go program for GOOS=wasip1; stats.go does the work on any
// file system and is tested on the host.
package main

import (
	"encoding/json"
	"os"

	"github.com/mur-capsules/mur/lib/guest"
)

func main() {
	guest.Tool(func(call guest.Input) guest.Result {
		var in Input
		if call.Data != nil {
			if err := call.Decode(&in); err != nil {
				return guest.Failed("the input is not what input_schema asks for: %v", err)
			}
		}
		stats, err := Collect(os.DirFS("."), in)
		if err != nil {
			return guest.Failed("the work folder can not be read: %v", err)
		}
		data, err := json.Marshal(stats)
		if err != nil {
			return guest.Failed("%v", err)
		}
		result := guest.Passed(string(data))
		// Tells whoever reads the trace that nothing was changed.
		result.Metadata = [][2]string{{"state_effect", "read"}}
		return result
	})
}
