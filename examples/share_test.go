package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/murtest/registry"
)

// TestShareACapsule does what docs/guides/share-a-capsule.md says, with a registry
// on loopback. The offline block runs with the registry stopped and, where a
// network namespace can be made, in one without a network.
// ART-196, ART-206, ART-211, ART-217, SES-265
func TestShareACapsule(t *testing.T) {
	if why := registry.Missing(); why != "" {
		t.Skip(why)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "share-a-capsule.md"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := registry.Start(t.TempDir(), registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	g := &guide{t: t, dir: t.TempDir(), env: append(commands(t, root), "REGISTRY="+r.Host)}
	for _, b := range blocks(string(text)) {
		if b.info == "sh offline" {
			r.Stop()
			b.text = alone(t, b.text)
			g.do(b)
			if err := r.Again(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		g.do(b)
	}
	if g.commands < 20 || !strings.Contains(g.all, "bundle             sha256:") || !strings.Contains(g.all, "error[E-REG-102]: local/greeter@1.0.0 ") {
		t.Errorf("%d commands printed\n%s", g.commands, g.all)
	}
}

// alone is a shell text that runs another without a network, or the other itself
// where there can be no network namespace.
func alone(t *testing.T, text string) string {
	for _, unshare := range []string{"unshare --net", "unshare --user --map-root-user --net"} {
		if exec.Command("sh", "-c", unshare+" true").Run() == nil {
			return unshare + " sh -eu -c '" + text + "'\n"
		}
	}
	t.Log("no network namespace can be made here: the registry is stopped, and that is all")
	return text
}
