package wasip1

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// fdFdstatGet writes a fdstat: type, flags, what may be done with the descriptor,
// and with what is opened beneath it.
func fdFdstatGet(h *Host, m memory, a args) Errno {
	out, ok := m.at(a.u32(1), fdstatSize)
	if !ok {
		return EFAULT
	}
	d := h.fds.get(a.u32(0))
	if d == nil {
		return EBADF
	}
	kind, rights, inherited := byte(typeRegular), uint64(fileRights), uint64(0)
	switch {
	case d.stream():
		kind, rights = typeStream, streamRights
	case d.isDir:
		kind, rights, inherited = typeDirectory, dirRights, dirRights|fileRights
	}
	clear(out)
	out[0] = kind
	if d.append {
		out[2] = flagAppend
	}
	binary.LittleEndian.PutUint64(out[8:], rights)
	binary.LittleEndian.PutUint64(out[16:], inherited)
	return 0
}

// fdFdstatSetFlags changes whether writes append, as fcntl(2) does. Nothing here
// ever blocks, so there is nothing to be made non-blocking.
func fdFdstatSetFlags(h *Host, _ memory, a args) Errno {
	flags := a.flags(1)
	d, errno := h.file(a.u32(0))
	switch {
	case errno != 0:
		return errno
	case flags&^(flagAppend|flagNonblock) != 0:
		return EINVAL
	case d.isDir:
		return EISDIR
	case flags&flagNonblock != 0:
		return ENOSYS
	case d.stream():
		return 0
	}
	err := control(d.f, func(fd int) error {
		now, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		if now &^= unix.O_APPEND; flags&flagAppend != 0 {
			now |= unix.O_APPEND
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, now)
		return err
	})
	if err == nil {
		d.append = flags&flagAppend != 0
	}
	return errnoOf(err)
}

// fdFdstatSetRights is not served: preview 1 gave rights up.
func fdFdstatSetRights(h *Host, _ memory, a args) Errno {
	if h.fds.get(a.u32(0)) == nil {
		return EBADF
	}
	return ENOSYS
}

// granted is the directory a guest found opened under that number.
func (h *Host) granted(fd uint32) (*Dir, Errno) {
	if d := h.fds.get(fd); d != nil && d.granted {
		return d.dir, 0
	}
	return nil, EBADF
}

func fdPrestatGet(h *Host, m memory, a args) Errno {
	dir, errno := h.granted(a.u32(0))
	if errno != 0 {
		return errno
	}
	// A prestat is a kind, of which there is one, and the length of the name.
	return m.putU64(a.u32(1), uint64(len(dir.Guest))<<32)
}

func fdPrestatDirName(h *Host, m memory, a args) Errno {
	dir, errno := h.granted(a.u32(0))
	if errno != 0 {
		return errno
	}
	out, ok := m.at(a.u32(1), uint64(a.u32(2)))
	switch {
	case !ok:
		return EFAULT
	case len(out) < len(dir.Guest):
		return ENAMETOOLONG
	}
	copy(out, dir.Guest)
	return 0
}

func fdClose(h *Host, _ memory, a args) Errno {
	if h.fds.get(a.u32(0)) == nil {
		return EBADF
	}
	return errnoOf(h.fds.close(a.u32(0)))
}

func fdRenumber(h *Host, _ memory, a args) Errno { return h.fds.renumber(a.u32(0), a.u32(1)) }
