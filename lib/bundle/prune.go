package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/session/stale"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/workfs"
)

// ErrUsed says that a session, a staging or an installation uses a bundle.
var ErrUsed = errors.New("it is used again")

// Leftover is what a shelf keeps of one bundle that no session uses and that can
// go (ART-220).
type Leftover struct {
	Digest string // "" for files killed writers left unfinished
	Bytes  int64  // of its files
	Reason string // why it can go, or is kept

	all   bool
	files []string // unfinished ones
}

// Unused lists what can go: bundles unpacked for sessions, which stagings unpack
// again; files of bundles no address leads to any more; and what killed programs
// left. With all also the files of bundles an address leads to, which then must be
// installed again before they are staged. It changes nothing. An absent shelf has
// none. kept are those of which something could go and somebody uses them, with who
// that is as the reason.
func (s Shelf) Unused(all bool) (free, kept []Leftover, err error) {
	dir, err := s.home.OpenExisting(shelfDir, s.options())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	used, err := s.used()
	if err != nil {
		return nil, nil, err
	}
	free, kept, err = s.unused(dir, used, all)
	return free, kept, workfs.Fault(err, "cannot look through the murmur home's bundles")
}

func (s Shelf) unused(dir *workfs.Root, used map[string]string, all bool) (free, kept []Leftover, err error) {
	entries, err := dir.List(".")
	if err != nil {
		return nil, nil, err
	}
	leads, err := addresses(dir)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, e := range entries {
		name := e.Name
		for _, suffix := range []string{fileSuffix, guardSuffix, goneSuffix} {
			name = strings.TrimSuffix(name, suffix)
		}
		if layout.IsDigest(layout.Prefix+name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for digest := range leads {
		if !slices.Contains(names, hexOf(digest)) {
			names = append(names, hexOf(digest))
		}
	}
	slices.Sort(names)
	for _, name := range names {
		digest := layout.Prefix + name
		l := Leftover{Digest: digest, all: all}
		parts := s.parts(dir, name, all || len(leads[digest]) == 0)
		for _, p := range parts {
			n, err := weigh(dir, p)
			if err != nil {
				return nil, nil, err
			}
			l.Bytes += n
		}
		if id := used[digest]; id != "" {
			l.Reason = "session " + id + " uses it"
		} else if guarded(dir, name) {
			l.Reason = "it is being staged, installed or removed"
		}
		if l.Reason != "" {
			if len(parts) > 0 {
				kept = append(kept, l)
			}
			continue
		}
		switch {
		case slices.Contains(parts, name+fileSuffix) && len(leads[digest]) > 0:
			l.Reason = "no session uses it"
		case slices.Contains(parts, name+fileSuffix):
			l.Reason = "no session uses it and no address leads to it"
		case slices.Contains(parts, name):
			l.Reason = "it was unpacked and no session uses it"
		case len(parts) > 0:
			l.Reason = "it was not removed to the end"
		case missing(dir, name+fileSuffix):
			l.Reason = "nothing of it is left but what named it"
		default:
			continue
		}
		free = append(free, l)
	}
	dead, err := deadFiles(dir)
	if err == nil && len(dead.files) > 0 {
		free = append(free, dead)
	}
	return free, kept, err
}

// Free removes a leftover and returns how many bytes that freed. It is safe beside
// stagings, installations and sessions: whoever looks finds the file of a bundle
// whole or not at all, and so what was unpacked, also after a killed Free. A bundle
// that came into use meanwhile is ErrUsed and stays.
func (s Shelf) Free(ctx context.Context, l Leftover) (int64, error) {
	dir, err := s.home.OpenExisting(shelfDir, s.options())
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	if l.Digest == "" {
		for _, rel := range l.files {
			dir.RemoveTemporary(rel)
			if !missing(dir, rel) {
				return 0, workfs.Fault(fmt.Errorf("%s could not be removed", dir.Join(rel)), "cannot remove what a killed writer left")
			}
		}
		return l.Bytes, nil
	}
	name := hexOf(l.Digest)
	guard, err := dir.TryLock(name + guardSuffix)
	if errors.Is(err, workfs.ErrLocked) {
		return 0, ErrUsed
	}
	if err != nil {
		return 0, workfs.Fault(err, "cannot remove the bundle "+l.Digest)
	}
	defer guard.Unlock()
	// A staging publishes its document before it lets the guard go.
	used, err := s.used()
	if err != nil {
		return 0, err
	}
	if used[l.Digest] != "" {
		return 0, ErrUsed
	}
	n, err := s.free(ctx, dir, name, l)
	return n, workfs.Fault(err, "cannot remove the bundle "+l.Digest)
}

func (s Shelf) free(ctx context.Context, dir *workfs.Root, name string, l Leftover) (int64, error) {
	leads, err := addresses(dir)
	if err != nil {
		return 0, err
	}
	var freed int64
	for _, p := range s.parts(dir, name, l.all || len(leads[l.Digest]) == 0) {
		n, err := weigh(dir, p)
		if err != nil {
			return freed, err
		}
		from := p
		if p == name {
			// Renamed at once; what a kill leaves of it is no bundle to anybody.
			if from = name + goneSuffix; !missing(dir, from) {
				if err := dir.RemoveAll(from); err != nil {
					return freed, err
				}
			}
			if err := dir.Rename(p, from); err != nil {
				return freed, err
			}
		}
		if err := dir.RemoveAll(from); err != nil {
			return freed, err
		}
		freed += n
	}
	if missing(dir, name+fileSuffix) {
		if err := dropRefs(ctx, dir, l.Digest); err != nil {
			return freed, err
		}
	}
	// Last: whoever waits for it makes it anew.
	err = dir.Remove(name + guardSuffix)
	return freed, err
}

// parts are what is there of a bundle and can go, in the order of removal.
func (s Shelf) parts(dir *workfs.Root, name string, file bool) []string {
	var out []string
	for _, p := range []string{name + goneSuffix, name + fileSuffix, name} {
		if (p != name+fileSuffix || file) && !missing(dir, p) {
			out = append(out, p)
		}
	}
	return out
}

// used are the digests of the bundles that sessions use, with one of the sessions.
func (s Shelf) used() (map[string]string, error) {
	uses, err := stale.Uses(s.home)
	out := map[string]string{}
	for _, u := range uses {
		out[u.Bundle] = u.Session
	}
	return out, err
}

// guarded tells whether somebody stages, installs or removes a bundle.
func guarded(dir *workfs.Root, name string) bool {
	lock, err := dir.TryLockExisting(name + guardSuffix)
	if errors.Is(err, workfs.ErrLocked) {
		return true
	}
	if err == nil {
		lock.Unlock()
	}
	return false
}

// addresses are the files of refs/ by the digest they lead to.
func addresses(dir *workfs.Root) (map[string][]string, error) {
	entries, err := dir.List(refsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, e := range entries {
		if !e.IsRegular() || !layout.IsDigest(layout.Prefix+e.Name) {
			continue
		}
		digest, err := readRef(dir, refsDir+"/"+e.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if digest != "" {
			out[digest] = append(out[digest], refsDir+"/"+e.Name)
		}
	}
	return out, nil
}

// dropRefs removes the addresses that lead to a digest.
func dropRefs(ctx context.Context, dir *workfs.Root, digest string) error {
	guard, err := dir.Lock(ctx, refsGuard)
	if err != nil {
		return err
	}
	defer guard.Unlock()
	leads, err := addresses(dir)
	if err != nil {
		return err
	}
	for _, rel := range leads[digest] {
		if err := dir.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// deadFiles are the unfinished files of killed writers.
func deadFiles(dir *workfs.Root) (Leftover, error) {
	l := Leftover{Reason: "a killed writer left it"}
	for _, where := range []string{".", refsDir} {
		dead, err := dir.DeadTemporaries(where)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return l, err
		}
		for _, rel := range dead {
			n, err := weigh(dir, rel)
			if err != nil {
				return l, err
			}
			l.files = append(l.files, rel)
			l.Bytes += n
		}
	}
	return l, nil
}

func missing(dir *workfs.Root, rel string) bool {
	_, err := dir.Stat(rel)
	return errors.Is(err, fs.ErrNotExist)
}

// weigh adds up the sizes of the files at and beneath rel; what vanishes meanwhile
// weighs nothing.
func weigh(dir *workfs.Root, rel string) (int64, error) {
	e, err := dir.Stat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil || !e.IsDir() {
		return e.Size, err
	}
	entries, err := dir.List(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var sum int64
	for _, e := range entries {
		n, err := weigh(dir, rel+"/"+e.Name)
		if err != nil {
			return sum, err
		}
		sum += n
	}
	return sum, err
}

// Called is the capsule's name and version for people, by whatever is there of it;
// "" where nothing tells them. It may read the bundle's whole file.
func (s Shelf) Called(l Leftover) (name, version string) {
	dir, err := s.home.OpenExisting(shelfDir, s.options())
	if err != nil || l.Digest == "" {
		return "", ""
	}
	defer dir.Close()
	return calledBy(dir, hexOf(l.Digest))
}

func calledBy(dir *workfs.Root, name string) (string, string) {
	for _, at := range []string{name, name + goneSuffix} {
		text, err := dir.ReadFile(at+"/"+manifest.FileName, manifest.MaxBytes)
		if err != nil {
			continue
		}
		if m, _, err := manifest.Parse(manifest.FileName, text, manifest.Options{}); err == nil {
			return m.Name, m.Version
		}
	}
	file, err := dir.Open(name + fileSuffix)
	if err != nil {
		return "", ""
	}
	defer file.Close()
	size, err := file.Stat()
	if err != nil {
		return "", ""
	}
	content, _, err := layout.ReadTar(file, size.Size())
	if err != nil || layout.Prefix+name != content.Digest {
		return "", ""
	}
	return content.Manifest.Annotations[layout.TitleKey], content.Manifest.Annotations[layout.VersionKey]
}
