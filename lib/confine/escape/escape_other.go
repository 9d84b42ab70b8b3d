//go:build !linux

package escape

import (
	"context"
	"fmt"
)

// Run can try nothing on another system.
func Run(context.Context, Options) ([]Finding, error) {
	return nil, fmt.Errorf("%w: only Linux confines commands", ErrNotReached)
}
