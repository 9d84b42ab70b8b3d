//go:build !linux

package attempt

import "io"

// Main is refused: there is nothing to probe on another system.
func Main(_, _ []string, _ io.Writer) int { return 1 }
