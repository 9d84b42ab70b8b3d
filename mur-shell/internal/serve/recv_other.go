//go:build !linux

package serve

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// noSignal is nothing: the Go runtime takes the signal of a client that has gone
// (os/signal), and the send is an error.
const noSignal = 0

// recvmsg reads once; descriptors that come with it are close-on-exec before any
// program can be started: starting one holds the same lock.
func recvmsg(fd int, buf, oob []byte) (n, oobn int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	n, oobn, _, _, err = unix.Recvmsg(fd, buf, oob, 0)
	if err != nil {
		return n, oobn, err
	}
	msgs, perr := unix.ParseSocketControlMessage(oob[:oobn])
	if perr != nil {
		return n, oobn, nil // the caller, who reads them, finds none either
	}
	for i := range msgs {
		fds, _ := unix.ParseUnixRights(&msgs[i])
		for _, passed := range fds {
			unix.CloseOnExec(passed)
		}
	}
	return n, oobn, nil
}
