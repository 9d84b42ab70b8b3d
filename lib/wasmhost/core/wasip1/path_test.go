package wasip1

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	g, dir, _ := folders(t)
	for _, name := range []string{"a", "b", "sub/c"} {
		if err := os.MkdirAll(filepath.Dir(dir+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	two := func(name, from string, toFD uint64, to string) Errno {
		p, pn := g.at(first, from)
		q, qn := g.at(second, to)
		switch name {
		case "path_link":
			return g.call(name, work, 0, p, pn, toFD, q, qn)
		case "path_symlink":
			return g.call(name, p, pn, toFD, q, qn)
		}
		return g.call(name, work, p, pn, toFD, q, qn)
	}
	for _, s := range []struct {
		name, from, to string
		want           Errno
	}{
		{"path_create_directory", "new", "", 0},
		{"path_create_directory", "new", "", EEXIST},
		{"path_create_directory", "new/in/", "", 0},
		{"path_create_directory", "none/in", "", ENOENT},
		{"path_create_directory", "a/in", "", ENOTDIR},
		{"path_remove_directory", "new", "", ENOTEMPTY},
		{"path_remove_directory", "new/in/", "", 0},
		{"path_remove_directory", "a", "", ENOTDIR},
		{"path_remove_directory", "none", "", ENOENT},
		{"path_unlink_file", "new", "", EISDIR},
		{"path_unlink_file", "none", "", ENOENT},
		{"path_rename", "a", "moved", 0},
		{"path_rename", "a", "moved", ENOENT},
		{"path_rename", "moved", "b", 0},
		{"path_rename", "new/", "newer/", 0},
		{"path_rename", "b", "newer", EISDIR},
		{"path_rename", "b/", "moved", ENOTDIR},
		{"path_rename", "b", "moved/", ENOTDIR},
		{"path_rename", ".", "moved", EINVAL},
		{"path_rename", "b", "sub/..", EINVAL},
		{"path_rename", "newer", "b", ENOTDIR},
		{"path_rename", "newer", "newer/in", EINVAL},
		{"path_link", "b", "hard", 0},
		{"path_link", "b", "hard", EEXIST},
		{"path_link", "none", "hard2", ENOENT},
		{"path_symlink", "../b", "sub/soft", 0},
		{"path_symlink", "../b", "sub/soft", EEXIST},
		{"path_symlink", "b", "none/soft", ENOENT},
		{"path_symlink", "", "soft", ENOENT},
		{"path_symlink", "b", "soft/", ENOENT},
		{"path_symlink", "b", "sub/", EEXIST},
		{"path_symlink", "b", "b/", EEXIST},
		{"path_unlink_file", "hard", "", 0},
	} {
		got := Errno(0)
		if s.to == "" {
			got = g.onPath(s.name, work, s.from)
		} else {
			got = two(s.name, s.from, work, s.to)
		}
		if got != s.want {
			t.Errorf("%s %s %s: %v, want %v", s.name, s.from, s.to, got, s.want)
		}
	}
	// Another folder is another disk to a guest (WIT-74).
	for _, name := range []string{"path_rename", "path_link"} {
		if got := two(name, "b", state, "b"); got != EXDEV {
			t.Errorf("%s to the store: %v", name, got)
		}
	}
	p, pn := g.at(first, "b")
	q, qn := g.at(second, "hard3")
	g.want(EINVAL, "path_link", work, lookupFollow, p, pn, work, q, qn)

	p, pn = g.at(first, "sub/soft")
	g.want(0, "path_readlink", work, p, pn, area, 100, result)
	if got := string(g.mem[area : area+g.u32(result)]); got != "../b" {
		t.Errorf("the link leads to %q", got)
	}
	g.want(0, "path_readlink", work, p, pn, area, 2, result)
	if g.u32(result) != 2 {
		t.Errorf("%d bytes of a link in 2", g.u32(result))
	}
	p, pn = g.at(first, "b")
	g.want(EINVAL, "path_readlink", work, p, pn, area, 100, result)
	if got := host(t, dir+"/sub/soft"); got != "a" {
		t.Errorf("through the link: %q", got)
	}
}

// WIT-59
func TestHidden(t *testing.T) {
	g, dir, store := folders(t)
	if err := os.MkdirAll(dir+"/sub/state", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/state", 0o755); err != nil {
		t.Fatal(err)
	}
	top := g.mustOpen("sub/..", openDirectory, rightRead, 0)
	// What lies over the name is what a path through it means, and stays where it is.
	for i, p := range []string{"state/", "./state/", "sub/../state/", "state/../state/"} {
		for _, fd := range []uint64{work, top} {
			name := fmt.Sprint("made", i, "by", fd)
			if got := g.onPath("path_create_directory", fd, p+name+"/"); got != 0 {
				t.Errorf("%s: %v", p+name, got)
			}
			if fi, err := os.Stat(store + "/" + name); err != nil || !fi.IsDir() {
				t.Errorf("%s is not in the store: %v", p+name, err)
			}
			if got := g.onPath("path_remove_directory", fd, p+name); got != 0 {
				t.Errorf("%s: %v", p+name, got)
			}
			for _, name := range []string{"path_remove_directory", "path_unlink_file", "path_create_directory"} {
				if got := g.onPath(name, fd, p); got == 0 {
					t.Errorf("%s %s works", name, p)
				}
			}
			a, an := g.at(first, strings.TrimSuffix(p, "/"))
			b, bn := g.at(second, "moved")
			g.want(EXDEV, "path_rename", fd, a, an, work, b, bn)
			g.want(EINVAL, "path_rename", fd, a, an, state, b, bn)
		}
	}
	covered := g.mustOpen("state", openDirectory, rightRead, 0)
	if fd, errno := g.open(covered, "kept", openCreate, readWrite, 0); errno != 0 {
		t.Errorf("beneath what lies over the name: %d, %v", fd, errno)
	}
	if got := g.list(covered, 4096); !slices.Equal(got, []string{".", "..", "kept"}) {
		t.Errorf("what lies over the name lists %q", got)
	}

	alone := newGuest(t, Config{Dirs: []Dir{{Guest: "/", Root: g.h.fds.get(work).dir.Root, Hidden: "state"}}})
	for _, p := range []string{"state", "state/", "./state", "sub/../state", "state/x"} {
		if got := alone.onPath("path_remove_directory", work, p); got != ENOENT {
			t.Errorf("with nothing over it, %s: %v", p, got)
		}
	}
	for _, fd := range []uint64{work, top} {
		if got := g.list(fd, 4096); !slices.Equal(got, []string{".", "..", "sub"}) {
			t.Errorf("descriptor %d lists %q", fd, got)
		}
	}
	sub := g.mustOpen("sub", openDirectory, rightRead, 0)
	if got := g.list(sub, 4096); !slices.Contains(got, "state") {
		t.Errorf("another folder of that name is not seen: %q", got)
	}
	if got := g.onPath("path_remove_directory", sub, "state"); got != 0 {
		t.Errorf("another folder of that name: %v", got)
	}
}
