package serve

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

// SHL-149 to SHL-151, SHL-P33. exec is the command started bare, as the peer.
func BenchmarkExec(b *testing.B) {
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/usr/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	many := func(b *testing.B, doc *session.Document) {
		base := filepath.Dir(doc.Directories.Work.Path)
		for i := range 1000 {
			file := filepath.Join(base, fmt.Sprintf("grant%d", i))
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				b.Fatal(err)
			}
			doc.Policy.TrustStore = append(doc.Policy.TrustStore, file)
		}
	}
	for _, class := range []policy.Class{policy.Unconfined, policy.Scoped, policy.Sealed} {
		for name, grow := range map[string]func(*testing.B, *session.Document){"": func(*testing.B, *session.Document) {}, "-1000-grants": many} {
			if class == policy.Unconfined && name != "" {
				continue
			}
			b.Run(class.String()+name, func(b *testing.B) {
				doc := staged(b, class, 10, "true")
				if class == policy.Unconfined {
					doc.Sandbox.AppliedTier, doc.Sandbox.RunAs = string(confine.TierNone), confine.RunAs{UID: os.Getuid(), GID: os.Getgid(), Access: "self"}
				}
				grow(b, doc)
				begin := time.Now()
				c, _ := serve(b, doc)
				c.answer("")
				ready := time.Since(begin)
				begin = time.Now()
				c.run("true", "x")
				first := time.Since(begin)
				for b.Loop() {
					c.run("true", "x")
				}
				b.ReportMetric(float64(ready.Microseconds())/1000, "ms-ready")
				b.ReportMetric(float64(first.Microseconds())/1000, "ms-first")
			})
		}
	}
}
