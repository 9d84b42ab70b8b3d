// Command replay is a driver that asks nobody: it answers the agent loop from a
// script, or with the responses an earlier session recorded. It is how a capsule
// runs without a network, the same every time. script.go is the work, pure and
// tested on the host.
package main

import (
	"io"
	"os"

	"github.com/mur-capsules/mur/drivers/payload"
	"github.com/mur-capsules/mur/lib/guest"
)

func main() {
	guest.Tool(func(in guest.Input) guest.Result {
		answer := reply(in, os.Getenv, func(path string) ([]byte, error) {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return io.ReadAll(f)
		})
		if answer.StopReason != payload.StopError {
			emit(answer)
		}
		return guest.Passed(answer.JSON())
	})
}

// emit streams an answer for whoever follows; a chunk nobody takes fails nothing.
func emit(a payload.Answer) {
	for _, b := range a.Content {
		switch b.Type {
		case payload.Text:
			_ = guest.EmitText(b.Text)
		case payload.Thinking:
			_ = guest.EmitThinking(b.Text)
		}
	}
}

// reply answers one driver call.
func reply(in guest.Input, getenv func(string) string, open func(string) ([]byte, error)) payload.Answer {
	req, err := payload.Parse(in.Text())
	if err != nil {
		return payload.Errorf("the driver was not called with a request: %v", err)
	}
	script, err := load(getenv, open)
	if err != nil {
		return payload.Errorf("replay: %v", err)
	}
	return script.answer(req)
}
