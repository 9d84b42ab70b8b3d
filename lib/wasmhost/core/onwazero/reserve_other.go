//go:build !freebsd

package onwazero

import "golang.org/x/sys/unix"

// noReserve asks that memory which is not used yet is not counted against what the
// machine has (mmap(2)).
const noReserve = unix.MAP_NORESERVE
