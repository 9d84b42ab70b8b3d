package box

import "os"

// Disk is the host's own file system, for Layout.
type Disk struct{}

// Link implements Host.
func (Disk) Link(path string) (string, bool) {
	target, err := os.Readlink(path)
	return target, err == nil
}

// Exists implements Host.
func (Disk) Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
