package wasip1

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// WIT-60, WIT-74: no path and no link a guest makes leads out, whatever others have
// put into the folder.
func TestNoPathLeadsOut(t *testing.T) {
	g, dir, _ := folders(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"abs": secret, "rel": rel, "out": outside, "up": "..", "root": "/", "here": ".", "deep/top": "../..", "deep/er/first": "../..",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	deep := g.mustOpen("deep", openDirectory, rightRead, 0)
	paths := []string{
		secret, rel, "abs", "rel", "out/secret", "root" + secret, "deep/../" + rel, "here/../" + rel, "/", "..", "../", "up", "up/.",
		"up/" + filepath.Base(dir) + "/../" + rel, "deep/er/first/../" + rel, "here/..", "here/../..", "deep/top", "deep/top/..", "abs/", "/proc/self/environ",
	}
	opens := []uint64{0, openCreate, openTruncate, openCreate | openTruncate}
	for _, p := range paths {
		for _, oflags := range opens {
			for _, rights := range []uint64{0, rightRead, rightWrite, readWrite} {
				if fd, errno := g.open(work, p, oflags, rights, 0); errno == 0 {
					t.Errorf("open %s, %d, %d: is descriptor %d", p, oflags, rights, fd)
				}
			}
		}
		ptr, n := g.at(first, p)
		if g.call("path_filestat_get", work, lookupFollow, ptr, n, result) == 0 {
			t.Errorf("%s can be looked at", p)
		}
		if g.call("path_filestat_set_times", work, lookupFollow, ptr, n, 1, 1, 5) == 0 {
			t.Errorf("%s can be given times", p)
		}
		for _, name := range []string{"path_create_directory", "path_remove_directory"} {
			if g.onPath(name, work, p) == 0 {
				t.Errorf("%s %s", name, p)
			}
			if g.onPath(name, work, p+"/new") == 0 {
				t.Errorf("%s %s/new", name, p)
			}
		}
		if g.onPath("path_unlink_file", work, p+"/secret") == 0 {
			t.Errorf("%s/secret is taken away", p)
		}
		for _, s := range [][2]string{{p + "/secret", "stolen"}, {"deep", p + "/new"}} {
			a, an := g.at(first, s[0])
			b, bn := g.at(second, s[1])
			if g.call("path_rename", work, a, an, work, b, bn) == 0 || g.call("path_link", work, 0, a, an, work, b, bn) == 0 {
				t.Errorf("%s has become %s", s[0], s[1])
			}
		}
	}
	// The way above a descriptor is closed, also where it stays in the folder.
	for _, p := range []string{"..", "../deep", "er/../..", "er/../../abs", "/deep"} {
		if _, errno := g.open(deep, p, 0, rightRead, 0); errno != EPERM {
			t.Errorf("%s beneath a directory: %v", p, errno)
		}
	}

	link := func(target, at string) Errno {
		a, an := g.at(first, target)
		b, bn := g.at(second, at)
		return g.call("path_symlink", a, an, work, b, bn)
	}
	for _, s := range [][2]string{
		{secret, "new"}, {rel, "new"}, {"..", "new"}, {"../..", "deep/new"}, {"er/../../..", "deep/new"}, {"../x", "here/new"},
		{"./../../x", "deep/new"}, {"er/../x", "deep/new"}, {"../x", "deep/er/first/new"}, {"../x", "deep/er/first/../new"},
		{"../x", "deep/../new"}, {"x", "out/new"}, {"x", "up/new"},
	} {
		if errno := link(s[0], s[1]); errno == 0 {
			t.Errorf("a link to %s is made at %s", s[0], s[1])
		}
	}
	for _, s := range [][2]string{{"deep/er", "in1"}, {"..", "deep/in2"}, {"../../here", "deep/er/in3"}, {"x", "here/in4"}} {
		if errno := link(s[0], s[1]); errno != 0 {
			t.Errorf("no link to %s is made at %s: %v", s[0], s[1], errno)
		}
	}
	// A link that stays inside where it is made is not moved or named so that it leads out.
	for _, name := range []string{"path_rename", "path_link"} {
		for _, to := range []string{"new", "here/new", "deep/new"} {
			a, an := g.at(first, "deep/er/in3")
			b, bn := g.at(second, to)
			args := []uint64{work, a, an, work, b, bn}
			if name == "path_link" {
				args = []uint64{work, 0, a, an, work, b, bn}
			}
			g.want(EPERM, name, args...)
		}
	}

	if got := host(t, secret); got != "canary" {
		t.Errorf("the file outside holds %q", got)
	}
	if es, _ := os.ReadDir(outside); len(es) != 1 {
		t.Errorf("outside there is %v", es)
	}
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if strings.HasPrefix(e.Name(), "new") || e.Name() == "stolen" {
			t.Errorf("there is %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
