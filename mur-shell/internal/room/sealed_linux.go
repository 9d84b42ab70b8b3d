//go:build linux && cgo

package room

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mur-capsules/mur/lib/confine/box"
	"github.com/mur-capsules/mur/lib/confine/packet"
	"github.com/mur-capsules/mur/lib/confine/worker"
)

// writeIdentity writes the synthetic files of a composed root (CON-146 to
// CON-149).
func (r *Room) writeIdentity() error {
	home := r.cfg.Plan.Folders.Home
	if strings.ContainsAny(home, ":\n") {
		return RootError(fmt.Errorf("write passwd: the home %q holds a colon or a newline", home))
	}
	uid, gid := r.ids()
	for name, text := range map[string]string{
		"passwd":      fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\ncapsule:x:%d:%d:Murmur capsule:%s:/bin/sh\n", uid, gid, home),
		"group":       fmt.Sprintf("root:x:0:\ncapsule:x:%d:\n", gid),
		"resolv.conf": "nameserver 127.0.0.1\n",
		// The host's would lead listed names past the runtime's resolver.
		"hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n",
	} {
		path := filepath.Join(r.cfg.Etc, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return RootError(fmt.Errorf("write %s: %w", name, err))
		}
		if err := os.Chmod(path, 0o644); err != nil { // whatever the umask
			return RootError(fmt.Errorf("write %s: %w", name, err))
		}
	}
	return nil
}

// compose starts a worker in a composed root; started is called with its process
// id while it sets itself up.
func (r *Room) compose(ctx context.Context, n int, doors []*os.File, started func(pid int)) (*worker.Worker, func() error, error) {
	state := filepath.Join(r.cfg.State, fmt.Sprintf("worker-%d", n))
	if err := os.Mkdir(state, 0o711); err != nil {
		return nil, nil, RootError(err)
	}
	mounts, links := box.Layout(r.spec(), box.Disk{})
	p := r.cfg.Plan
	pid := r.cfg.Network.holder.PID()
	c := box.Config{ID: fmt.Sprintf("%s-%d", r.cfg.ID, n), Mounts: mounts, Links: links, State: state, NetNS: fmt.Sprintf("/proc/%d/ns/net", pid), Work: p.Folders.Work, HostProc: r.cfg.Reading.ProcView != "private", Bequeath: r.cfg.Network.Bequeath}
	s := worker.Setup{LandlockABI: p.Landlock, Rules: r.rules, Inside: r.inside, Filter: r.filter, Trees: r.trees, Groups: doors}
	if r.switches() {
		c.UID, c.GID, s.CountOwn = p.RunAs.UID, p.RunAs.GID, true
		if r.idmap != nil {
			c.IDMapNS = fmt.Sprintf("/proc/self/fd/%d", r.idmap.Fd())
		}
	} else {
		c.UserNS = fmt.Sprintf("/proc/%d/ns/user", pid)
		s.User, s.Nested = &worker.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}, true
	}
	conn, theirs, err := packet.Pair()
	if err != nil {
		return nil, nil, err
	}
	b, err := box.Start(ctx, c, theirs)
	theirs.Close()
	if err != nil {
		conn.Close()
		_ = removeSkeleton(state)
		return nil, nil, RootError(err)
	}
	end := func() error {
		err := b.Stop()
		if rerr := removeSkeleton(state); err == nil {
			err = rerr
		}
		return err
	}
	child, err := b.PID()
	if err != nil {
		conn.Close()
		_ = end()
		return nil, nil, RootError(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { started(child) })
	w, err := worker.Attach(ctx, conn, s)
	wg.Wait()
	if err != nil {
		_ = end()
		return nil, nil, RootError(fmt.Errorf("set up the worker: %w", err))
	}
	return w, end, nil
}

// spec is what the composed root holds of this session.
func (r *Room) spec() box.Spec {
	p, pol := r.cfg.Plan, r.cfg.Policy
	self, err := os.Executable()
	if err != nil {
		self = "/proc/self/exe"
	}
	s := box.Spec{
		HostPaths: pol.HostPaths, Runtime: p.Folders.Runtime, ReadOnly: p.Folders.ReadOnly,
		Tmp: p.Folders.Tmp, Home: p.Folders.Home, Work: p.Folders.Work, WorkdirExec: pol.WorkdirExec,
		NoTmp:     !p.OverTmp,
		WorkOwned: p.RunAs.Access == "owner",
		Passwd:    filepath.Join(r.cfg.Etc, "passwd"), Group: filepath.Join(r.cfg.Etc, "group"), Resolv: filepath.Join(r.cfg.Etc, "resolv.conf"), Hosts: filepath.Join(r.cfg.Etc, "hosts"),
		Program: self,
	}
	for _, g := range pol.StagedRuntime {
		s.StagedRuntimes = append(s.StagedRuntimes, g.SourcePath)
	}
	optional := func(path string) {
		// What /etc holds is fixed (CON-145).
		if path = strings.TrimSuffix(path, "/"); !strings.HasPrefix(path, "/etc/") {
			s.Optional = append(s.Optional, path)
		}
	}
	for _, b := range r.cfg.Binds {
		optional(b.Path)
	}
	for _, g := range pol.InterpreterRuntime {
		for _, d := range g.Dirs {
			optional(d.Path)
		}
	}
	for _, g := range pol.DerivedInterpreterRuntime {
		optional(g.Dir)
	}
	for _, t := range pol.TrustStore {
		optional(t)
	}
	return s
}

// removeSkeleton removes the empty directories a root was composed on. They hold
// mount points only; should anything be mounted there still, nothing is touched.
func removeSkeleton(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), " "+dir+"/") {
		return fmt.Errorf("something is mounted beneath %s", dir)
	}
	return os.RemoveAll(dir)
}
