package room

import (
	"errors"
	"fmt"

	"github.com/mur-capsules/mur/lib/confine/worker"
)

// Refusal is a connection that was refused, or an allowed one that failed.
type Refusal struct {
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Missing string `json:"missing,omitempty"` // the rule network.allow lacks
	Error   string `json:"error,omitempty"`
	Times   int    `json:"times"`
}

// String says what was refused and which rule is missing.
func (f Refusal) String() string {
	if f.Missing == "" {
		return fmt.Sprintf("network: %s:%d is allowed and could not be reached: %s", f.Host, f.Port, f.Error)
	}
	return fmt.Sprintf("network: a connection to %s:%d was refused; network.allow lacks %s", f.Host, f.Port, f.Missing)
}

// Denied returns the step a namespace failed at, or nil.
func Denied(err error) *worker.StepError {
	var step *worker.StepError
	if errors.As(err, &step) {
		return step
	}
	return nil
}
