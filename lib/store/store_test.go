package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/workfs"
)

var (
	ctx    = context.Background()
	limits = artifact.Limits{EntryBytes: 1 << 20}
)

const host = "linux-x86_64"

func ref(s string) artifact.Ref {
	r, err := artifact.ParseRef(s)
	if err != nil {
		panic(err)
	}
	return r
}

// pack builds an archive with the given manifest and files.
func pack(t *testing.T, text string, files ...artifact.File) []byte {
	t.Helper()
	p := artifact.Plan{Files: append([]artifact.File{{Name: "murmur.yaml", Data: []byte(text)}}, files...)}
	data, err := p.Build(limits)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func skill(t *testing.T, name, version, text string) []byte {
	return pack(t, fmt.Sprintf("name: %s\nversion: '%s'\nruntime: skill\ntags: [a, b]\ndescription: d\n", name, version),
		artifact.File{Name: "skill.md", Data: []byte(text)})
}

func native(t *testing.T, name, version, program string) []byte {
	return pack(t, fmt.Sprintf("name: %s\nversion: '%s'\nruntime: tool\nimplementation: native\n", name, version),
		artifact.File{Name: "bin/" + name, Data: []byte(program), Executable: true})
}

func put(t *testing.T, s *Store, r, platform string, data []byte) *Item {
	t.Helper()
	it, err := NewItem(data, ref(r), platform, limits, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, it, true); err != nil {
		t.Fatal(err)
	}
	return it
}

func folder(t *testing.T) (*Store, string) {
	dir := t.TempDir() + "/artifacts"
	return Folder("project", dir, limits), dir
}

// ART-47, ART-50, ART-51, ART-70
func TestLayout(t *testing.T) {
	s, dir := folder(t)
	data := skill(t, "x", "1.10", "# hi")
	put(t, s, "ana/x@1.10", host, data)
	base := dir + "/ana/x/1.10/x-1.10"
	if got, _ := os.ReadFile(base + ".mur.zip"); !bytes.Equal(got, data) {
		t.Error("the archive is not its bytes")
	}
	if got, _ := os.ReadFile(base + ".sha256"); strings.TrimSpace(string(got)) != artifact.Hash(data) {
		t.Errorf("hash file: %q", got)
	}
	meta, _ := os.ReadFile(base + ".meta.json")
	const want = `{"meta":{"name":"x","version":"1.10","runtime":"static","artifact_runtime":"skill","platforms":[],"description":"d","tags":["a","b"]}}` + "\n"
	if string(meta) != want {
		t.Errorf("meta: %s", meta)
	}
	put(t, s, "ana/n@1", "linux-aarch64", native(t, "n", "1", "x"))
	meta, err := os.ReadFile(dir + "/ana/n/1/n-1-linux-aarch64.meta.json")
	if err != nil || !strings.Contains(string(meta), `"platforms":[["linux","aarch64"]],"description":null,"tags":[]`) {
		t.Errorf("%v %s", err, meta)
	}
	if left, _ := filepath.Glob(dir + "/*/*/*/.*"); len(left) != 2 { // the two guards
		t.Errorf("left behind: %v", left)
	}
	f, err := s.Resolve(ctx, ref("ana/x@1.10"), host)
	if err != nil || !bytes.Equal(f.Bytes, data) || f.SHA256 != artifact.Hash(data) || f.Store != "project" || f.Path != base+".mur.zip" || f.Platform != "" {
		t.Errorf("%+v %v", f, err)
	}
}

// ART-51: contracts come from the bytes.
func TestMetaOfAComponent(t *testing.T) {
	s, dir := folder(t)
	wasm := "\x00asm\x0d\x00\x01\x00" + "\x0b\x0f\x01\x00\x09a:b/c@1.0\x05\x00\x00"
	put(t, s, "local/c@1", host, pack(t, "name: c\nversion: '1'\nruntime: tool\n", artifact.File{Name: "c.wasm", Data: []byte(wasm)}))
	meta, _ := os.ReadFile(dir + "/local/c/1/c-1.meta.json")
	if !strings.Contains(string(meta), `"wit_contracts":{"exports":["a:b/c@1.0"],"imports":[]}`) {
		t.Errorf("%s", meta)
	}
	rows, err := s.List(ctx)
	if err != nil || len(rows) != 1 || !rows[0].HasContract("a:b/") || rows[0].HasContract("b") {
		t.Errorf("%+v %v", rows, err)
	}
	put(t, s, "local/c@1", host, pack(t, "name: c\nversion: '1'\nruntime: tool\n", artifact.File{Name: "c.wasm", Data: []byte("no component")}))
	if meta, _ := os.ReadFile(dir + "/local/c/1/c-1.meta.json"); strings.Contains(string(meta), "wit_contracts") {
		t.Errorf("%s", meta)
	}
}

// ART-6, ART-11, ART-46
func TestItemsThatAreRefused(t *testing.T) {
	good := skill(t, "x", "1", "# hi")
	for name, c := range map[string]struct {
		data       []byte
		want       artifact.Ref
		code, says string
	}{
		"other name":      {good, ref("local/y@1"), "E-IO-003", `name "x", not "y"`},
		"other version":   {good, ref("local/x@2"), "E-IO-003", `version "1", not "2"`},
		"no archive":      {[]byte("hello"), ref("local/x@1"), "E-IO-003", "no zip file"},
		"no manifest":     {func() []byte { p := artifact.Plan{}; b, _ := p.Build(limits); return b }(), ref("local/x@1"), "E-IO-003", "murmur.yaml"},
		"reserved":        {skill(t, "x", "Latest", ""), artifact.Ref{Full: names.Full{Scope: "local"}}, "E-REG-004", "Latest"},
		"version is path": {skill(t, "x", "../../y", ""), artifact.Ref{Full: names.Full{Scope: "local"}}, "E-IO-003", "version"},
		"name is path":    {skill(t, "../x", "1", ""), artifact.Ref{Full: names.Full{Scope: "local"}}, "E-IO-003", "name"},
	} {
		_, err := NewItem(c.data, c.want, host, limits, "it")
		if diag.CodeOf(err) != diag.Code(c.code) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s %q", name, err, c.code, c.says)
		}
	}
}

// ART-54
func TestPublishingNeverOverwrites(t *testing.T) {
	s, dir := folder(t)
	put(t, s, "local/x@1", host, skill(t, "x", "1", "old"))
	it, _ := NewItem(skill(t, "x", "1", "new"), ref("local/x@1"), host, limits, "x")
	for _, gone := range []string{"", ".sha256", ".mur.zip"} {
		if gone != "" {
			os.WriteFile(dir+"/local/x/1/x-1.mur.zip", []byte("z"), 0o644)
			os.WriteFile(dir+"/local/x/1/x-1.sha256", []byte("h"), 0o644)
			os.Remove(dir + "/local/x/1/x-1" + gone)
		}
		if _, err := s.Put(ctx, it, false); diag.CodeOf(err) != "E-REG-003" || !strings.Contains(err.Error(), "local/x@1") {
			t.Errorf("without %q: %v", gone, err)
		}
	}
	if _, err := s.Put(ctx, it, true); err != nil {
		t.Error(err)
	}
	if f, err := s.Resolve(ctx, it.Ref, host); err != nil || f.SHA256 != it.SHA256 {
		t.Errorf("%v", err)
	}
}

// ART-55, ART-71
func TestResolve(t *testing.T) {
	s, dir := folder(t)
	var nf *NotFoundError
	if _, err := s.Resolve(ctx, ref("local/x@1"), host); !errors.As(err, &nf) {
		t.Errorf("an absent store: %v", err)
	}
	tagged := put(t, s, "local/n@1", host, native(t, "n", "1", "tagged"))
	if f, err := s.Resolve(ctx, tagged.Ref, host); err != nil || f.Platform != host {
		t.Errorf("%v", err)
	}
	_, err := s.Resolve(ctx, tagged.Ref, "darwin-aarch64")
	if !errors.As(err, &nf) || !strings.Contains(err.Error(), host) {
		t.Errorf("another platform's: %v", err)
	}
	untagged := put(t, s, "local/n@1", "", native(t, "n", "1", "untagged"))
	if f, err := s.Resolve(ctx, tagged.Ref, "darwin-aarch64"); err != nil || f.SHA256 != untagged.SHA256 || f.Platform != "" {
		t.Errorf("untagged: %v", err)
	}
	if f, err := s.Resolve(ctx, tagged.Ref, host); err != nil || f.SHA256 != tagged.SHA256 {
		t.Errorf("tagged first: %v", err)
	}
	// Half a pair is none: the untagged one answers.
	os.Remove(dir + "/local/n/1/n-1-" + host + ".sha256")
	if f, err := s.Resolve(ctx, tagged.Ref, host); err != nil || f.SHA256 != untagged.SHA256 {
		t.Errorf("half a pair: %v", err)
	}
	hash := dir + "/local/n/1/n-1.sha256"
	for name, c := range map[string]struct{ hash, code string }{
		"white space": {" \n" + untagged.SHA256 + "\t\n", ""},
		"empty":       {" \n", "E-IO-003"},
		"other":       {strings.Repeat("0", 64), "E-REG-002"},
		"upper case":  {strings.ToUpper(untagged.SHA256), "E-REG-002"},
	} {
		os.WriteFile(hash, []byte(c.hash), 0o644)
		_, err := s.Resolve(ctx, tagged.Ref, host)
		if string(diag.CodeOf(err)) != c.code || (c.code == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), "local/n@1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	os.WriteFile(hash, []byte(untagged.SHA256), 0o644)
	zip := dir + "/local/n/1/n-1.mur.zip"
	os.WriteFile(zip, []byte("changed"), 0o644)
	if _, err := s.Resolve(ctx, tagged.Ref, host); diag.CodeOf(err) != "E-REG-002" || !strings.Contains(err.Error(), untagged.SHA256) {
		t.Errorf("changed bytes: %v", err)
	}
	os.WriteFile(hash, []byte(artifact.Hash([]byte("changed"))), 0o644)
	if _, err := s.Resolve(ctx, tagged.Ref, host); diag.CodeOf(err) != "E-IO-003" {
		t.Errorf("no archive: %v", err)
	}
	// A link in place of an archive is not read.
	os.Rename(zip, dir+"/elsewhere")
	os.Symlink(dir+"/elsewhere", zip)
	if _, err := s.Resolve(ctx, tagged.Ref, host); diag.CodeOf(err) != "E-IO-003" || !errors.Is(err, workfs.ErrRefused) {
		t.Errorf("a link: %v", err)
	}
	if ok, _ := s.Has(ctx, tagged.Ref, host); ok {
		t.Error("Has counts a link")
	}
}

// ART-56: not-found falls through, nothing else does.
func TestChain(t *testing.T) {
	a, adir := folder(t)
	b := Folder("global", t.TempDir(), limits)
	c := Chain{a, b}
	_, err := c.Resolve(ctx, ref("local/x@1"), host)
	if diag.CodeOf(err) != "E-REG-001" || strings.Count(err.Error(), "\n") != 2 || !strings.Contains(err.Error(), "local/x@1") {
		t.Errorf("nowhere: %v", err)
	}
	put(t, b, "local/x@1", host, skill(t, "x", "1", "global"))
	if f, err := c.Resolve(ctx, ref("local/x@1"), host); err != nil || f.Store != "global" {
		t.Errorf("falling through: %v", err)
	}
	put(t, a, "local/x@1", host, skill(t, "x", "1", "project"))
	if f, err := c.Resolve(ctx, ref("local/x@1"), host); err != nil || f.Store != "project" {
		t.Errorf("first wins: %v", err)
	}
	os.WriteFile(adir+"/local/x/1/x-1.mur.zip", []byte("broken"), 0o644)
	if _, err := c.Resolve(ctx, ref("local/x@1"), host); diag.CodeOf(err) != "E-REG-002" {
		t.Errorf("a broken first store: %v", err)
	}
	if ok, err := c.Has(ctx, ref("local/x@1"), host); !ok || err != nil {
		t.Errorf("Has: %v %v", ok, err)
	}
	if ok, err := c.Has(ctx, ref("local/x@2"), host); ok || err != nil {
		t.Errorf("Has: %v %v", ok, err)
	}
}

// ART-49: the global store is private.
func TestGlobalStoreModes(t *testing.T) {
	base := t.TempDir()
	home, err := workfs.FindHome([]string{"HOME=" + base})
	if err != nil {
		t.Fatal(err)
	}
	s := OfHome(home, limits)
	put(t, s, "local/x@1", host, skill(t, "x", "1", "t"))
	filepath.Walk(base+"/.murmur", func(p string, fi os.FileInfo, err error) error {
		if err != nil || fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o (%v)", p, fi.Mode().Perm(), err)
		}
		return nil
	})
	if f, err := s.Resolve(ctx, ref("local/x@1"), host); err != nil || f.Store != "global" {
		t.Error(err)
	}
}

// ART-52, ART-58
func TestList(t *testing.T) {
	s, dir := folder(t)
	if rows, err := s.List(ctx); err != nil || len(rows) != 0 {
		t.Errorf("absent: %v %v", rows, err)
	}
	for _, v := range []string{"1.10.0", "1.9.0", "1.9.0-rc.1"} {
		put(t, s, "local/x@"+v, host, skill(t, "x", v, "t"))
	}
	put(t, s, "ana/z@1", host, native(t, "z", "1", "p"))
	put(t, s, "local/gone@1", host, skill(t, "gone", "1", "t"))
	os.Remove(dir + "/local/gone/1/gone-1.sha256")
	os.Remove(dir + "/local/x/1.9.0/x-1.9.0.meta.json")
	os.MkdirAll(dir+"/Bad_Scope/x/1", 0o755)
	os.MkdirAll(dir+"/local/x/.hidden", 0o755)
	os.WriteFile(dir+"/stray", nil, 0o644)
	rows, err := s.List(ctx)
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s:%s:%s", r.Ref, r.Meta.Kind, strings.Join(r.Platforms, ",")))
	}
	want := "ana/z@1:native:linux-x86_64 local/x@1.9.0-rc.1:static: local/x@1.9.0:static: local/x@1.10.0:static:"
	if err != nil || strings.Join(got, " ") != want {
		t.Errorf("%v\n got %s\nwant %s", err, strings.Join(got, " "), want)
	}
	// One that can not be read hides no other.
	put(t, s, "local/odd@1", host, skill(t, "odd", "1", "t"))
	os.WriteFile(dir+"/local/odd/1/odd-1.sha256", make([]byte, 5000), 0o644)
	if again, err := s.List(ctx); diag.CodeOf(err) != "E-IO-003" || !strings.Contains(err.Error(), "cannot read local/odd@1 in the project store") || len(again) != len(rows) {
		t.Errorf("%d rows, %v", len(again), err)
	}
	vs, err := s.Versions(ctx, names.Full{Scope: "local", Name: "x"}, host)
	if err != nil || strings.Join(vs, " ") != "1.9.0-rc.1 1.9.0 1.10.0" {
		t.Errorf("%v %v", vs, err)
	}
	if vs, err := s.Versions(ctx, names.Full{Scope: "ana", Name: "z"}, "darwin-aarch64"); err != nil || len(vs) != 0 {
		t.Errorf("%v %v", vs, err)
	}
}

// ART-194
func TestCompareVersions(t *testing.T) {
	order := []string{"alpha", "beta", "0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "v1.0.1", "1.2", "1.10", "2", "99999999999999999999", "100000000000000000000"}
	for i, a := range order {
		for j, b := range order {
			got := CompareVersions(a, b)
			if got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("CompareVersions(%s, %s) = %d", a, b, got)
			}
		}
	}
}

// ART-72, ART-80, ART-81, ART-86, ART-108, ART-109
func TestPins(t *testing.T) {
	h := strings.Repeat("a", 64)
	any := Pin(ref("local/x@1"), h, manifest.WASM, host)
	if any.SHA256.Any != h || any.SHA256.Platforms != nil || any.Origin != lockfile.Operator {
		t.Errorf("%+v", any)
	}
	nat := Pin(ref("local/n@1"), h, manifest.Native, host)
	if nat.SHA256.Any != "" || nat.SHA256.Platforms[host] != h {
		t.Errorf("%+v", nat)
	}
	l := lockfile.Lock{Entries: []lockfile.Entry{any, nat}}
	if _, err := CheckVersion(l, ref("local/x@1")); err != nil {
		t.Error(err)
	}
	for r, says := range map[string]string{"local/x@2": "pins local/x at 1, and 2", "local/y@1": "no entry for local/y@1"} {
		if _, err := CheckVersion(l, ref(r)); diag.CodeOf(err) != "E-RUN-003" || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", r, err)
		}
	}
	if err := CheckHash(any, h, "anything"); err != nil {
		t.Error(err)
	}
	if err := CheckHash(any, strings.Repeat("b", 64), host); diag.CodeOf(err) != "E-REG-002" || !strings.Contains(err.Error(), h) {
		t.Error(err)
	}
	if err := CheckHash(nat, h, "darwin-aarch64"); diag.CodeOf(err) != "E-RUN-003" || !strings.Contains(err.Error(), host) {
		t.Error(err)
	}
}

// ART-53, ART-195: readers never meet half a write, writers take turns.
func TestParallelReadersAndWriters(t *testing.T) {
	s, dir := folder(t)
	var items []*Item
	for i := range 4 {
		it, err := NewItem(skill(t, "x", "1", strings.Repeat(fmt.Sprint(i), 1000)), ref("local/x@1"), host, limits, "x")
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	if _, err := s.Put(ctx, items[0], true); err != nil {
		t.Fatal(err)
	}
	var wg, readers sync.WaitGroup
	stop := make(chan struct{})
	for _, it := range items {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 5 {
				if _, err := s.Put(ctx, it, true); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for range 2 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for {
				if _, err := s.Resolve(ctx, ref("local/x@1"), host); err != nil {
					t.Errorf("a reader met %v", err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	wg.Wait()
	close(stop)
	readers.Wait()
	if left, _ := os.ReadDir(dir + "/local/x/1"); len(left) != 4 {
		t.Errorf("left behind: %v", left)
	}
}

// ART-53, ART-195: a write that stopped at any point is seen as not begun, and the next
// writer clears it away. The states are those between the steps of writeAll.
func TestInterruptedWrites(t *testing.T) {
	old, new := skill(t, "x", "1", "old"), skill(t, "x", "1", "new")
	for _, existed := range []bool{true, false} {
		for moved := 0; moved <= 3; moved++ {
			for renamed := 0; renamed <= 3; renamed++ {
				if existed && renamed > 0 && moved < 3 || !existed && moved > 0 {
					continue
				}
				s, dir := folder(t)
				vdir := dir + "/local/x/1/"
				if existed {
					put(t, s, "local/x@1", host, old)
				} else {
					os.MkdirAll(vdir, 0o755)
				}
				var j journal
				for i, suffix := range []string{".mur.zip", ".sha256", ".meta.json"} {
					name := "x-1" + suffix
					j.Files = append(j.Files, journalFile{name, existed})
					if existed && i < moved {
						os.Rename(vdir+name, vdir+".old."+name)
					}
					if i < renamed {
						os.WriteFile(vdir+name, new, 0o644)
					} else {
						os.WriteFile(vdir+"."+name+".0011223344556677.tmp", new, 0o644)
					}
				}
				data, _ := json.Marshal(j)
				os.WriteFile(vdir+journalName, data, 0o644)
				what := fmt.Sprintf("existed %v, %d moved, %d renamed", existed, moved, renamed)
				f, err := s.Resolve(ctx, ref("local/x@1"), host)
				if existed && (err != nil || !bytes.Equal(f.Bytes, old)) || !existed && err == nil {
					t.Errorf("%s: a reader got %v", what, err)
				}
				if ok, _ := s.Has(ctx, ref("local/x@1"), host); ok != existed {
					t.Errorf("%s: Has is %v", what, ok)
				}
				it, _ := NewItem(new, ref("local/x@1"), host, limits, "x")
				_, err = s.Put(ctx, it, false)
				if existed != (diag.CodeOf(err) == "E-REG-003") {
					t.Errorf("%s: publishing gave %v", what, err)
				}
				f, err = s.Resolve(ctx, ref("local/x@1"), host)
				if err != nil || existed && !bytes.Equal(f.Bytes, old) || !existed && !bytes.Equal(f.Bytes, new) {
					t.Errorf("%s: afterwards %v", what, err)
				}
				if left, _ := os.ReadDir(vdir); len(left) != 4 { // with the guard
					t.Errorf("%s: left behind %v", what, left)
				}
			}
		}
	}
}

func TestFindProject(t *testing.T) {
	base := t.TempDir()
	os.MkdirAll(base+"/p/a/b", 0o755)
	os.WriteFile(base+"/p/murmur.yaml", nil, 0o644)
	os.Mkdir(base+"/p/a/murmur.yaml", 0o755) // a directory is no manifest
	if root, ok := FindProject(base + "/p/a/b"); !ok || root != base+"/p" {
		t.Errorf("%q %v", root, ok)
	}
	if root, ok := FindProject("/"); ok {
		t.Errorf("found %q", root)
	}
}
