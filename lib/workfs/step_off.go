//go:build !murcrash

package workfs

// step marks a change of the file system about to happen. It does nothing; a
// build with the tag murcrash ends the process here (step_on.go).
func step(op, rel string) {}
