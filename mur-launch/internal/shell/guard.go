package shell

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/workfs"
)

// GuardInterval is how often the size guard walks (CON-193).
const GuardInterval = 10 * time.Second

// Guard watches the size of the work folder (CON-192). The first measurement above
// the limit latches; deleting files changes nothing after it.
type Guard struct {
	work  *workfs.Root
	limit int64
	note  func(string)
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
}

// Watch starts a guard over a held work folder. Breached is told once, with what
// was measured; note takes what could not be read, each walk's first fault.
func Watch(work *workfs.Root, limit int64, every time.Duration, note func(string), breached func(found int64, err error)) *Guard {
	g := &Guard{work: work, limit: limit, note: note, stop: make(chan struct{}), done: make(chan struct{})}
	go g.run(every, breached)
	return g
}

func (g *Guard) run(every time.Duration, breached func(int64, error)) {
	defer close(g.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	noted := ""
	for {
		select {
		case <-g.stop:
			return
		case <-tick.C:
		}
		w := walk{stop: g.stop}
		w.dir(int(g.work.File().Fd()), ".", ".")
		if text := fmt.Sprint(w.fault); w.fault != nil && text != noted {
			noted = text
			g.note("the size of the work folder leaves out what can not be read: " + text)
		}
		if w.total > g.limit {
			err := confine.Oversize(g.work.Path(), w.total, g.limit)
			g.note(err.Message)
			breached(w.total, err)
			return
		}
	}
}

// Stop ends the guard and waits for it.
func (g *Guard) Stop() {
	g.once.Do(func() { close(g.stop) })
	<-g.done
}

// walk adds the sizes of files beneath a directory. It follows no link.
type walk struct {
	stop  chan struct{}
	total int64
	fault error // the first
}

// dir adds what is in the directory name of parent; at is its path for messages.
func (w *walk) dir(parent int, name, at string) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		w.note(at, err)
		return
	}
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	for {
		select {
		case <-w.stop:
			return
		default:
		}
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			switch {
			case e.IsDir():
				w.dir(fd, e.Name(), at+"/"+e.Name())
			case e.Type().IsRegular():
				var st unix.Stat_t
				if err := unix.Fstatat(fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
					w.total += st.Size
				} else {
					w.note(at+"/"+e.Name(), err)
				}
			}
		}
		if err != nil || len(entries) == 0 {
			return // the end, or what can not be read further
		}
	}
}

func (w *walk) note(at string, err error) {
	if w.fault == nil && !errors.Is(err, unix.ENOENT) {
		w.fault = fmt.Errorf("%s: %w", at, err)
	}
}
