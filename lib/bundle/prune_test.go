package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mur-capsules/mur/lib/ids"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

func shelfOf(t *testing.T) (Shelf, workfs.Home) {
	t.Helper()
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + filepath.Join(t.TempDir(), "home")})
	if err != nil {
		t.Fatal(err)
	}
	return ShelfOf(home), home
}

// version is the bundle of made at another version.
func version(t *testing.T, v string) *Bundle {
	t.Helper()
	p := parts(t)
	p.Manifest = []byte(strings.Replace(capsule, "version: 1.0.0", "version: "+v, 1))
	b, err := Make(p, options)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// staged makes the session directory of a staging of b; it returns the directory
// of its records.
func staged(t *testing.T, home workfs.Home, b *Bundle) (*workfs.Root, string) {
	t.Helper()
	dir, err := home.Open(session.SessionsDir+"/"+ids.New(ids.Session), workfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	records := t.TempDir()
	doc, err := json.Marshal(map[string]any{
		"bundle":      map[string]any{"digest": b.Digest},
		"directories": map[string]any{"records": map[string]any{"path": records}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dir.WriteFile(session.DocumentName, doc), dir.WriteFile(session.LockName, nil)); err != nil {
		t.Fatal(err)
	}
	return dir, records
}

// ART-220: what no session uses is listed with its size and freed; what is used,
// staged or still led to is neither.
func TestUnusedAndFree(t *testing.T) {
	ctx := context.Background()
	s, home := shelfOf(t)
	if found, _, err := s.Unused(true); err != nil || found != nil {
		t.Fatalf("of no shelf: %v, %v", found, err)
	}
	one, two := version(t, "1.0.1"), version(t, "1.0.2")
	const at = "oci://x/ana/demo:1"
	for _, b := range []*Bundle{one, two} { // the address leads to the second from then on
		if err := s.Put(ctx, b, at); err != nil {
			t.Fatal(err)
		}
	}
	laid, err := s.Unpack(ctx, two, options)
	if err != nil {
		t.Fatal(err)
	}
	list := func(all bool) string {
		t.Helper()
		found, _, err := s.Unused(all)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, l := range found {
			if l.Bytes == 0 {
				t.Errorf("%s weighs nothing", l.Digest)
			}
			name, version := s.Called(l)
			out = append(out, name+"@"+version+": "+l.Reason)
		}
		return strings.Join(out, "; ")
	}
	const orphan = "demo@1.0.1: no session uses it and no address leads to it"
	if got := list(true); got != orphan {
		t.Errorf("while the second is staged: %s", got)
	}
	if _, kept, err := s.Unused(true); err != nil || len(kept) != 1 || kept[0].Digest != two.Digest || kept[0].Reason != "it is being staged, installed or removed" {
		t.Errorf("kept while the second is staged: %+v, %v", kept, err)
	}
	dir, records := staged(t, home, two)
	laid.Release()
	if _, kept, err := s.Unused(true); err != nil || len(kept) != 1 || kept[0].Reason != "session "+filepath.Base(dir.Path())+" uses it" {
		t.Errorf("kept while a session can be launched: %+v, %v", kept, err)
	}
	if got := list(true); got != orphan {
		t.Errorf("while a session can be launched: %s", got)
	}
	lock, err := dir.TryLock(session.LockName)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(records, session.TraceName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := list(true); got != orphan {
		t.Errorf("while a session runs: %s", got)
	}
	lock.Unlock()
	if got := list(false); !strings.Contains(got, orphan) || !strings.Contains(got, "demo@1.0.2: it was unpacked and no session uses it") {
		t.Errorf("after its end: %s", got)
	}

	// What came into use since it was listed stays.
	found, _, err := s.Unused(true)
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	if laid, err = s.Unpack(ctx, two, options); err != nil {
		t.Fatal(err)
	}
	for _, l := range found {
		if l.Digest == two.Digest {
			if _, err := s.Free(ctx, l); !errors.Is(err, ErrUsed) {
				t.Errorf("while it is staged: %v", err)
			}
			again, _ := staged(t, home, two)
			laid.Release()
			if _, err := s.Free(ctx, l); !errors.Is(err, ErrUsed) {
				t.Errorf("once it was staged: %v", err)
			}
			if err := os.RemoveAll(again.Path()); err != nil {
				t.Fatal(err)
			}
		}
	}

	// Without all the file stays and so does its address.
	free(t, s, false)
	if _, err := s.Find(at, options); err != nil {
		t.Error(err)
	}
	if _, err := s.Find(one.Digest, options); err == nil {
		t.Error("the one no address leads to is still there")
	}
	free(t, s, true)
	if _, err := s.Find(at, options); err == nil {
		t.Error("it is still there")
	}
	if got := list(true); got != "" {
		t.Errorf("left: %s", got)
	}
	var left []string
	filepath.Walk(home.Join(shelfDir), func(path string, fi os.FileInfo, err error) error {
		if err == nil && !fi.IsDir() && fi.Name() != refsGuard {
			left = append(left, path)
		}
		return nil
	})
	if left != nil {
		t.Errorf("left: %v", left)
	}
}

// free frees all that is unused and wants the bytes that were foretold.
func free(t *testing.T, s Shelf, all bool) {
	t.Helper()
	found, _, err := s.Unused(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range found {
		if n, err := s.Free(context.Background(), l); err != nil || n != l.Bytes {
			t.Errorf("%s: freed %d of %d, %v", l.Digest, n, l.Bytes, err)
		}
	}
}

// ART-220: a session whose document can not be read may use anything, so nothing
// is removed.
func TestUnreadableDocument(t *testing.T) {
	ctx := context.Background()
	s, home := shelfOf(t)
	b := made(t)
	if err := s.Put(ctx, b, ""); err != nil {
		t.Fatal(err)
	}
	found, _, err := s.Unused(false)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	dir, _ := staged(t, home, b)
	if err := dir.WriteFile(session.DocumentName, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Unused(false); err == nil {
		t.Error("nobody knows what is used, and something is unused")
	}
	if _, err := s.Free(ctx, found[0]); err == nil {
		t.Error("nobody knows what is used, and it was removed")
	}
	if _, err := s.Find(b.Digest, options); err != nil {
		t.Error(err)
	}
}

// ART-220: stagings and removals at once; what a staging was given stays until its
// session is gone.
func TestFreeBesideStagings(t *testing.T) {
	ctx := context.Background()
	s, home := shelfOf(t)
	b := made(t)
	if err := s.Put(ctx, b, "oci://x/ana/demo:1"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var freed int
	var pruner, stagers sync.WaitGroup
	pruner.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			found, _, err := s.Unused(false)
			if err != nil {
				t.Error(err)
				return
			}
			for _, l := range found {
				n, err := s.Free(ctx, l)
				if err != nil && !errors.Is(err, ErrUsed) {
					t.Error(err)
					return
				}
				freed += int(n)
			}
		}
	})
	whole := func(dir, when string) {
		for _, f := range []string{"murmur.yaml", "capsule.wasm", ".murmur/artifacts/ana/style/1.0.0/style-1.0.0.mur.zip"} {
			if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
	}
	for range 3 {
		stagers.Go(func() {
			for range 15 {
				laid, err := s.Unpack(ctx, b, options)
				if err != nil {
					t.Error(err)
					return
				}
				whole(laid.Dir, "while it is staged")
				dir, _ := staged(t, home, b)
				laid.Release()
				whole(laid.Dir, "once it was staged")
				if err := os.RemoveAll(dir.Path()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stagers.Wait()
	// Nobody stages any more, so one more round frees what is left.
	close(done)
	pruner.Wait()
	found, _, err := s.Unused(false)
	for _, l := range found {
		n, err := s.Free(ctx, l)
		if err != nil {
			t.Error(err)
		}
		freed += int(n)
	}
	if err != nil || freed == 0 {
		t.Errorf("freed %d bytes, %v", freed, err)
	}
	if _, err := s.Find("oci://x/ana/demo:1", options); err != nil {
		t.Error(err)
	}
}
