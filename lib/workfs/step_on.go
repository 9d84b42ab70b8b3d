//go:build murcrash

package workfs

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Programs built with the tag murcrash are for crash tests alone: the process
// kills itself before the change numbered MUR_CRASH_AT, and logs each change to
// the file MUR_CRASH_LOG.
var (
	steps   atomic.Int64
	stepEnd = func() int64 {
		n, err := strconv.ParseInt(os.Getenv("MUR_CRASH_AT"), 10, 64)
		if err != nil {
			return -1
		}
		return n
	}()
)

func step(op, rel string) {
	n := steps.Add(1)
	if name := os.Getenv("MUR_CRASH_LOG"); name != "" {
		if f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintf(f, "%d %s %s\n", n, op, rel)
			f.Close()
		}
	}
	if n == stepEnd {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}
}
