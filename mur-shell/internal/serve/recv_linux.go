package serve

import "golang.org/x/sys/unix"

// noSignal makes a send to a client that has gone an error and nothing else.
const noSignal = unix.MSG_NOSIGNAL

// recvmsg reads once; descriptors that come with it are close-on-exec.
func recvmsg(fd int, buf, oob []byte) (n, oobn int, err error) {
	n, oobn, _, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
	return n, oobn, err
}
