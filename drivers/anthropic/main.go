// Command anthropic is a driver: it answers the agent loop by way of the
// Anthropic Messages API. request.go and answer.go are the translation, pure and
// tested on the host; package upstream does the rest.
package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/mur-capsules/mur/drivers/upstream"
)

func main() { upstream.Main(&driver{}, os.Getenv) }

// config is what inference.driver.config may hold.
type config struct {
	upstream.Config
	// Thinking is sent as it is: {"type":"enabled","budget_tokens":2048}.
	Thinking json.RawMessage `json:"thinking"`
	// Cache marks what the provider should keep for the next call; true
	// without it.
	Cache *bool `json:"cache"`
}

type driver struct{ cfg config }

func (d *driver) Config() any { return &d.cfg }

// URL adds the path of the API to gateway.endpoint, with or without /v1.
func (d *driver) URL(endpoint string) string {
	return strings.TrimSuffix(endpoint, "/v1") + "/v1/messages"
}

func (d *driver) Headers() [][2]string { return [][2]string{{"anthropic-version", "2023-06-01"}} }
