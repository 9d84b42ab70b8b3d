package shell

import "encoding/json"

// event is any line of mur-shell, read as far as it has members that each answer may
// have; decode reads the rest.
type event struct {
	Event   string `json:"event"`
	ID      string `json:"id"`
	Version string `json:"version"` // of ready
	raw     json.RawMessage
}
