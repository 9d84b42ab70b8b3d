package wasip1

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
)

// Errno is an error number of WASI preview 1; zero is success.
type Errno uint16

// The numbers, in their order.
const (
	ESUCCESS Errno = iota
	E2BIG
	EACCES
	EADDRINUSE
	EADDRNOTAVAIL
	EAFNOSUPPORT
	EAGAIN
	EALREADY
	EBADF
	EBADMSG
	EBUSY
	ECANCELED
	ECHILD
	ECONNABORTED
	ECONNREFUSED
	ECONNRESET
	EDEADLK
	EDESTADDRREQ
	EDOM
	EDQUOT
	EEXIST
	EFAULT
	EFBIG
	EHOSTUNREACH
	EIDRM
	EILSEQ
	EINPROGRESS
	EINTR
	EINVAL
	EIO
	EISCONN
	EISDIR
	ELOOP
	EMFILE
	EMLINK
	EMSGSIZE
	EMULTIHOP
	ENAMETOOLONG
	ENETDOWN
	ENETRESET
	ENETUNREACH
	ENFILE
	ENOBUFS
	ENODEV
	ENOENT
	ENOEXEC
	ENOLCK
	ENOLINK
	ENOMEM
	ENOMSG
	ENOPROTOOPT
	ENOSPC
	ENOSYS
	ENOTCONN
	ENOTDIR
	ENOTEMPTY
	ENOTRECOVERABLE
	ENOTSOCK
	ENOTSUP
	ENOTTY
	ENXIO
	EOVERFLOW
	EOWNERDEAD
	EPERM
	EPIPE
	EPROTO
	EPROTONOSUPPORT
	EPROTOTYPE
	ERANGE
	EROFS
	ESPIPE
	ESRCH
	ESTALE
	ETIMEDOUT
	ETXTBSY
	EXDEV
	ENOTCAPABLE
)

// names are the names of the numbers, in their order.
var names = strings.Fields(`
ESUCCESS E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF
EBADMSG EBUSY ECANCELED ECHILD ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ
EDOM EDQUOT EEXIST EFAULT EFBIG EHOSTUNREACH EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO
EISCONN EISDIR ELOOP EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENETDOWN ENETRESET
ENETUNREACH ENFILE ENOBUFS ENODEV ENOENT ENOEXEC ENOLCK ENOLINK ENOMEM ENOMSG
ENOPROTOOPT ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTRECOVERABLE ENOTSOCK ENOTSUP
ENOTTY ENXIO EOVERFLOW EOWNERDEAD EPERM EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE
EROFS ESPIPE ESRCH ESTALE ETIMEDOUT ETXTBSY EXDEV ENOTCAPABLE`)

func (e Errno) String() string {
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("errno %d", uint16(e))
}

// Error makes an Errno an error, so that it passes through functions of package os.
func (e Errno) Error() string { return e.String() }

// hostErrnos are the numbers of the system that have one of the same meaning.
var hostErrnos = map[syscall.Errno]Errno{
	syscall.E2BIG:           E2BIG,
	syscall.EACCES:          EACCES,
	syscall.EADDRINUSE:      EADDRINUSE,
	syscall.EADDRNOTAVAIL:   EADDRNOTAVAIL,
	syscall.EAFNOSUPPORT:    EAFNOSUPPORT,
	syscall.EAGAIN:          EAGAIN,
	syscall.EALREADY:        EALREADY,
	syscall.EBADF:           EBADF,
	syscall.EBADMSG:         EBADMSG,
	syscall.EBUSY:           EBUSY,
	syscall.ECANCELED:       ECANCELED,
	syscall.ECHILD:          ECHILD,
	syscall.ECONNABORTED:    ECONNABORTED,
	syscall.ECONNREFUSED:    ECONNREFUSED,
	syscall.ECONNRESET:      ECONNRESET,
	syscall.EDEADLK:         EDEADLK,
	syscall.EDESTADDRREQ:    EDESTADDRREQ,
	syscall.EDOM:            EDOM,
	syscall.EDQUOT:          EDQUOT,
	syscall.EEXIST:          EEXIST,
	syscall.EFAULT:          EFAULT,
	syscall.EFBIG:           EFBIG,
	syscall.EHOSTUNREACH:    EHOSTUNREACH,
	syscall.EIDRM:           EIDRM,
	syscall.EILSEQ:          EILSEQ,
	syscall.EINPROGRESS:     EINPROGRESS,
	syscall.EINTR:           EINTR,
	syscall.EINVAL:          EINVAL,
	syscall.EIO:             EIO,
	syscall.EISCONN:         EISCONN,
	syscall.EISDIR:          EISDIR,
	syscall.ELOOP:           ELOOP,
	syscall.EMFILE:          EMFILE,
	syscall.EMLINK:          EMLINK,
	syscall.EMSGSIZE:        EMSGSIZE,
	syscall.EMULTIHOP:       EMULTIHOP,
	syscall.ENAMETOOLONG:    ENAMETOOLONG,
	syscall.ENETDOWN:        ENETDOWN,
	syscall.ENETRESET:       ENETRESET,
	syscall.ENETUNREACH:     ENETUNREACH,
	syscall.ENFILE:          ENFILE,
	syscall.ENOBUFS:         ENOBUFS,
	syscall.ENODEV:          ENODEV,
	syscall.ENOENT:          ENOENT,
	syscall.ENOEXEC:         ENOEXEC,
	syscall.ENOLCK:          ENOLCK,
	syscall.ENOLINK:         ENOLINK,
	syscall.ENOMEM:          ENOMEM,
	syscall.ENOMSG:          ENOMSG,
	syscall.ENOPROTOOPT:     ENOPROTOOPT,
	syscall.ENOSPC:          ENOSPC,
	syscall.ENOSYS:          ENOSYS,
	syscall.ENOTCONN:        ENOTCONN,
	syscall.ENOTDIR:         ENOTDIR,
	syscall.ENOTEMPTY:       ENOTEMPTY,
	syscall.ENOTRECOVERABLE: ENOTRECOVERABLE,
	syscall.ENOTSOCK:        ENOTSOCK,
	syscall.EOPNOTSUPP:      ENOTSUP,
	syscall.ENOTTY:          ENOTTY,
	syscall.ENXIO:           ENXIO,
	syscall.EOVERFLOW:       EOVERFLOW,
	syscall.EOWNERDEAD:      EOWNERDEAD,
	syscall.EPERM:           EPERM,
	syscall.EPIPE:           EPIPE,
	syscall.EPROTO:          EPROTO,
	syscall.EPROTONOSUPPORT: EPROTONOSUPPORT,
	syscall.EPROTOTYPE:      EPROTOTYPE,
	syscall.ERANGE:          ERANGE,
	syscall.EROFS:           EROFS,
	syscall.ESPIPE:          ESPIPE,
	syscall.ESRCH:           ESRCH,
	syscall.ESTALE:          ESTALE,
	syscall.ETIMEDOUT:       ETIMEDOUT,
	syscall.ETXTBSY:         ETXTBSY,
	syscall.EXDEV:           EXDEV,
}

// errnoOf finds the number for an error of package os, of the system or of a
// stream; what has none is EIO.
func errnoOf(err error) Errno {
	if err == nil || errors.Is(err, io.EOF) {
		return 0
	}
	var own Errno
	if errors.As(err, &own) {
		return own
	}
	var host syscall.Errno
	if errors.As(err, &host) {
		if e, ok := hostErrnos[host]; ok {
			return e
		}
		return EIO
	}
	switch {
	case errors.Is(err, fs.ErrClosed):
		return EBADF
	case errors.Is(err, fs.ErrInvalid):
		return EINVAL
	case errors.Is(err, fs.ErrNotExist):
		return ENOENT
	case errors.Is(err, fs.ErrExist):
		return EEXIST
	// What is left of os.Root's errors is its refusal to leave the directory,
	// which has no value to compare with.
	case strings.Contains(err.Error(), "escapes"):
		return EPERM
	}
	return EIO
}
