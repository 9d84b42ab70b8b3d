package wasip1

// lookupFollow makes a function go through a link at the end of a path.
const lookupFollow = 1

// onPath reads the place that most functions of paths begin with, a descriptor and
// a path, and runs op on it.
func onPath(op func(p place) error) function {
	return func(h *Host, m memory, a args) Errno {
		p, errno := h.place(m, a.u32(0), a.u32(1), a.u32(2))
		if errno != 0 {
			return errno
		}
		return errnoOf(op(p))
	}
}

var (
	pathCreateDirectory = onPath(func(p place) error { return p.dir.Root.Mkdir(p.entry(), 0o777) })
	pathRemoveDirectory = onPath(place.rmdir)
	pathUnlinkFile      = onPath(place.unlink)
)

func pathOpen(h *Host, m memory, a args) Errno {
	p, errno := h.place(m, a.u32(0), a.u32(2), a.u32(3))
	if errno != 0 {
		return errno
	}
	// What can be refused is refused before a file is made.
	if _, ok := m.at(a.u32(8), 4); !ok {
		return EFAULT
	}
	if h.fds.full() {
		return EMFILE
	}
	d, err := p.open(request{
		follow: a.u32(1)&lookupFollow != 0, oflags: a.flags(4), rights: a.u64(5), flags: a.flags(7),
	})
	if err != nil {
		return errnoOf(err)
	}
	return m.putU32(a.u32(8), h.fds.add(d))
}

func pathFilestatGet(h *Host, m memory, a args) Errno {
	p, errno := h.place(m, a.u32(0), a.u32(2), a.u32(3))
	if errno != 0 {
		return errno
	}
	out, ok := m.at(a.u32(4), statSize)
	if !ok {
		return EFAULT
	}
	fi, err := p.stat(a.u32(1)&lookupFollow != 0)
	if err != nil {
		return errnoOf(err)
	}
	return putStat(out, fi)
}

func pathFilestatSetTimes(h *Host, m memory, a args) Errno {
	p, errno := h.place(m, a.u32(0), a.u32(2), a.u32(3))
	if errno != 0 {
		return errno
	}
	stamps, errno := stampsOf(a.u64(4), a.u64(5), a.flags(6))
	if errno != 0 {
		return errno
	}
	return errnoOf(p.setTimes(stamps, a.u32(1)&lookupFollow != 0))
}

// twoPlaces reads two places, each a descriptor and a path.
func (h *Host) twoPlaces(m memory, a args) (from, to place, errno Errno) {
	if from, errno = h.place(m, a.u32(0), a.u32(1), a.u32(2)); errno != 0 {
		return from, to, errno
	}
	to, errno = h.place(m, a.u32(3), a.u32(4), a.u32(5))
	return from, to, errno
}

func pathRename(h *Host, m memory, a args) Errno {
	from, to, errno := h.twoPlaces(m, a)
	if errno != 0 {
		return errno
	}
	return errnoOf(from.rename(to))
}

// pathLink links what the path names, as link(2) does; a second name for what a
// link leads to is refused.
func pathLink(h *Host, m memory, a args) Errno {
	if a.u32(1)&lookupFollow != 0 {
		return EINVAL
	}
	// The flags stand between the first descriptor and its path.
	from, to, errno := h.twoPlaces(m, append(args{a[0]}, a[2:]...))
	if errno != 0 {
		return errno
	}
	return errnoOf(from.link(to))
}

func pathSymlink(h *Host, m memory, a args) Errno {
	target, errno := m.text(a.u32(0), a.u32(1))
	if errno != 0 {
		return errno
	}
	p, errno := h.place(m, a.u32(2), a.u32(3), a.u32(4))
	if errno != 0 {
		return errno
	}
	return errnoOf(p.symlink(target))
}

// pathReadlink writes as much of a link as there is room for, as readlink(2) does.
func pathReadlink(h *Host, m memory, a args) Errno {
	p, errno := h.place(m, a.u32(0), a.u32(1), a.u32(2))
	if errno != 0 {
		return errno
	}
	out, ok := m.at(a.u32(3), uint64(a.u32(4)))
	if !ok {
		return EFAULT
	}
	target, err := p.dir.Root.Readlink(p.name)
	if err != nil {
		return errnoOf(err)
	}
	return m.putU32(a.u32(5), uint32(copy(out, target)))
}
