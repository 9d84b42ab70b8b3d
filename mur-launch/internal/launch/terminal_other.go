//go:build !linux

package launch

import "golang.org/x/sys/unix"

const ioctlGetTermios = unix.TIOCGETA
