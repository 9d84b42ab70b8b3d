package recipe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// SHL-129 to SHL-135, SHL-P28
func TestFind(t *testing.T) {
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"Makefile": "X := 1\nall: a b\n\tcc $(X) \\\n\t  more\n\techo done\nclean: ; rm -f x\ntwice:\n\t1\ntwice:\n\t2\n# c: d\nt: X = 5\nt:\n\tuse\n" +
			"%.o: %.c\n\tcc\nplain.o:\n\tq\ninclude sub.mk\n-include none.mk\n",
		"sub.mk":          "subbed: ## help\n\tsub\n",
		"var/Makefile":    "$(T):\n\tx\nok:\n\ty\n",
		"cond/Makefile":   "ifdef X\nok:\n\ty\nendif\n",
		"missing.mk":      "include nowhere.mk\nok:\n\ty\n",
		"other.mk":        "ok:\n\tother\n",
		"justfile":        "set shell := ['bash']\nimport 'more.just'\nalias b := build\n@build target='x': dep\n    cargo build \\\n      --x\n    echo {{target}}\n\ndep:\n\tdep\n",
		"more.just":       "more:\n  yes\n",
		"package.json":    `{"scripts": {"test": "jest", "build": "b", "prebuild": "p", "lint": "l", "postlint": "q"}}`,
		"bad/Makefile":    "ok:\n\t\xff\n",
		"long/Makefile":   "ok:\n\t" + strings.Repeat("x", maxBody+1) + "\n",
		"huge/Makefile":   "ok:\n\t" + strings.Repeat("x", maxFile) + "\n",
		"loop/Makefile":   "include loop/Makefile\nok:\n\tx\n",
		"dir/GNUmakefile": "ok:\n\tgnu\n",
		"dir/Makefile":    "ok:\n\tnot\n",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	for i := range 40 {
		tree[fmt.Sprintf("many/%d.mk", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf("include %d.mk\n", i+1)), Mode: 0o644}
	}
	const none = "\x00"
	for _, tc := range []struct{ call, want string }{
		{"make all", "cc $(X) \\\n\t  more\necho done"},
		{"make clean", "rm -f x"},
		{"make t", "use"},
		{"make subbed", "sub"},
		{"make plain.o", none}, // the pattern rule may add to it
		{"make twice", none},
		{"make nothing", none},
		{"make", none},
		{"make all clean", none},
		{"make all X=2", none},
		{"make -j4 all", none},
		{"make -C dir ok", "gnu"},
		{"make --directory=dir ok", "gnu"},
		{"make -f other.mk ok", "other"},
		{"make --file=other.mk ok", "other"},
		{"make --makefile=other.mk ok", "other"},
		{"make -C .. ok", none},
		{"make -f /etc/passwd ok", none},
		{"make -C var ok", none},
		{"make -C cond ok", none},
		{"make -f missing.mk ok", none},
		{"make -C bad ok", none},
		{"make -C long ok", none},
		{"make -C huge ok", none},
		{"make -C loop ok", none},
		{"make -C many -f 0.mk ok", none},
		{"just build", "cargo build \\\n  --x\necho {{target}}"},
		{"just more", "yes"},
		{"just dep", "dep"},
		{"just b", none},
		{"just a::b", none},
		{"just --justfile more.just more", "yes"},
		{"just -d . build", "cargo build \\\n  --x\necho {{target}}"},
		{"just", none},
		{"npm run test", "jest"},
		{"npm run-script test", "jest"},
		{"npm run build", none},
		{"npm run lint", none},
		{"npm test", none},
		{"npm run test -- x", none},
		{"bash all", none},
		{"/usr/bin/make all", none},
	} {
		words := strings.Fields(tc.call)
		got, ok := Find(tree, words[0], words[1:])
		if !ok {
			got = none
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.call, got, tc.want)
		}
	}
}

// SHL-131, SHL-P28
func TestALinkOutOfTheWorkFolderIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "Makefile")
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outside, []byte("ok:\n\tsecret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../Makefile", filepath.Join(work, "Makefile")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if got, ok := Find(Folder{root}, "make", []string{"ok"}); ok {
		t.Errorf("read through the link: %q", got)
	}
	if err := os.Remove(filepath.Join(work, "Makefile")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "Makefile"), []byte("ok:\n\tmine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(work, "GNUmakefile"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, ok := Find(Folder{root}, "make", []string{"ok"}); ok {
		t.Errorf("a pipe was read: %q", got)
	}
	if err := os.Remove(filepath.Join(work, "GNUmakefile")); err != nil {
		t.Fatal(err)
	}
	if got, ok := Find(Folder{root}, "make", []string{"ok"}); !ok || got != "mine" {
		t.Errorf("got %q, %v", got, ok)
	}
}
