package bundle

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/lockfile"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/store"
	"github.com/mur-capsules/mur/lib/store/layout"
	"github.com/mur-capsules/mur/lib/workfs"
)

var options = Options{Limits: artifact.LimitsOf(nil), Host: "linux-x86_64"}

const capsule = `name: demo
version: 1.0.0
artifacts:
  - {name: ana/style, version: 1.0.0, runtime: skill}
  - {name: local/own, runtime: skill, source: skills/own}
`

func skill(t testing.TB, name, version, text string) *store.Item {
	t.Helper()
	p := artifact.Plan{Name: name, Version: version, Files: []artifact.File{
		{Name: "murmur.yaml", Data: []byte("name: " + name + "\nversion: " + version + "\nruntime: skill\n")},
		{Name: "skill.md", Data: []byte(text)},
	}}
	data, err := p.Build(options.Limits)
	if err != nil {
		t.Fatal(err)
	}
	it, err := store.NewItem(data, artifact.Ref{Full: names.Full{Scope: "ana"}}, "", options.Limits, name)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func parts(t testing.TB) Parts {
	it := skill(t, "style", "1.0.0", "Be brief.")
	return Parts{
		Manifest: []byte(capsule),
		Lock:     lockfile.Lock{Entries: []lockfile.Entry{store.Pin(it.Ref, it.SHA256, it.Manifest.Kind, "")}},
		Files:    []File{{"skills/own/SKILL.md", []byte("Mine.")}, {"capsule.wasm", []byte("\x00asm\x01\x00\x00\x00")}},
		Items:    []*store.Item{it},
	}
}

func made(t testing.TB) *Bundle {
	t.Helper()
	b, err := Make(parts(t), options)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ART-206, ART-208, ART-210: what is made is what is read, in the same bytes
// whatever order its parts came in.
func TestRoundTrip(t *testing.T) {
	b := made(t)
	p := parts(t)
	p.Files[0], p.Files[1] = p.Files[1], p.Files[0]
	other, err := Make(p, options)
	if err != nil || other.Digest != b.Digest {
		t.Fatalf("%v, %s and %s", err, b.Digest, other.Digest)
	}
	data, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(data, "x", options)
	if err != nil || back.Digest != b.Digest || back.Name != "demo" || back.Version != "1.0.0" || len(back.Items) != 1 || len(back.Files) != 2 {
		t.Fatalf("%v %+v", err, back)
	}
	if again, _ := back.Encode(); !bytes.Equal(again, data) {
		t.Error("read and written again it has other bytes")
	}
}

// ART-208: every breach is named, and nothing of the bundle is used.
func TestBreaches(t *testing.T) {
	other := skill(t, "style", "1.0.0", "Be long.")
	second := skill(t, "extra", "1.0.0", "x")
	pin := func(it *store.Item) lockfile.Entry { return store.Pin(it.Ref, it.SHA256, it.Manifest.Kind, "") }
	for name, c := range map[string]struct {
		change func(p *Parts)
		says   string
	}{
		"another archive": {func(p *Parts) { p.Items[0] = other }, "its lock pins ana/style@1.0.0 with the hash"},
		"no pin":          {func(p *Parts) { p.Lock.Entries = nil }, "its lock pins 0"},
		"no archive":      {func(p *Parts) { p.Items = nil }, "it holds 0"},
		"more than declared": {func(p *Parts) {
			p.Items = append(p.Items, second)
			p.Lock.Entries = append(p.Lock.Entries, pin(second))
		}, "takes 1 artifacts from stores, its lock pins 2 and it holds 2"},
		"another name":    {func(p *Parts) { p.Items[0] = second; p.Lock.Entries[0] = pin(second) }, "its lock pins ana/extra@1.0.0 where its manifest declares ana/style@1.0.0"},
		"a session's pin": {func(p *Parts) { p.Lock.Entries[0].Origin.Session = "ses_1" }, "a session pulled ana/style@1.0.0"},
		"for platforms": {func(p *Parts) {
			p.Lock.Entries[0].SHA256 = lockfile.Hashes{Platforms: map[string]string{"linux-x86_64": p.Items[0].SHA256}}
		}, "pins ana/style@1.0.0 as something else"},
		"for several platforms": {func(p *Parts) {
			p.Lock.Entries[0].SHA256 = lockfile.Hashes{Platforms: map[string]string{"linux-x86_64": p.Items[0].SHA256, "darwin-aarch64": p.Items[0].SHA256}}
		}, "for several platforms"},
		"a file nobody names":   {func(p *Parts) { p.Files = append(p.Files, File{"notes.txt", nil}) }, `"notes.txt", which its manifest does not name`},
		"a second component":    {func(p *Parts) { p.Files = append(p.Files, File{"b.wasm", nil}) }, "one component"},
		"no component":          {func(p *Parts) { p.Files = p.Files[:1] }, "one component"},
		"no source":             {func(p *Parts) { p.Files = p.Files[1:] }, "the source of local/own"},
		"an unclean path":       {func(p *Parts) { p.Files = append(p.Files, File{"skills/own/x/../skill.md", nil}) }, "not a plain path"},
		"twice but for case":    {func(p *Parts) { p.Files = append(p.Files, File{"Capsule.wasm", nil}) }, "twice, but for case"},
		"a file as a directory": {func(p *Parts) { p.Files = append(p.Files, File{"skills/own/SKILL.md/x", nil}) }, "as a file and as a directory"},
		"a path that climbs":    {func(p *Parts) { p.Files = append(p.Files, File{"../x", nil}) }, "not a plain path"},
		"an absolute path":      {func(p *Parts) { p.Files = append(p.Files, File{"/etc/x", nil}) }, "not a plain path"},
		"the lock's name":       {func(p *Parts) { p.Files = append(p.Files, File{"Murmur.lock", nil}) }, "the bundle's own"},
		"the store":             {func(p *Parts) { p.Files = append(p.Files, File{".murmur/config.yaml", nil}) }, "the bundle's own"},
		"a NUL":                 {func(p *Parts) { p.Files = append(p.Files, File{"a\x00b", nil}) }, "control character"},
		"an unnamed file":       {func(p *Parts) { p.Files = append(p.Files, File{"", nil}) }, "no path of 1 to"},
		"a backslash":           {func(p *Parts) { p.Files = append(p.Files, File{`a\b`, nil}) }, `\`},
		"an endless path":       {func(p *Parts) { p.Files = append(p.Files, File{strings.Repeat("a", 600), nil}) }, "1 to 512"},
		"a tool from a path": {func(p *Parts) {
			p.Manifest = []byte(strings.Replace(capsule, "runtime: skill, source", "runtime: tool, source", 1))
		}, ""},
	} {
		p := parts(t)
		c.change(&p)
		b, err := Make(p, options)
		if err == nil || b != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if c.says != "" && diag.CodeOf(err) != "E-REG-101" {
			t.Errorf("%s: code %q", name, diag.CodeOf(err))
		}
	}
}

// ART-208, DIA-202: layers of other types, orders, titles and annotations.
func TestOddContents(t *testing.T) {
	b := made(t)
	layers := func() []layout.Layer {
		var out []layout.Layer
		for i, d := range b.Content.Manifest.Layers {
			out = append(out, layout.Layer{MediaType: d.MediaType, Title: d.Title(), Data: b.Content.Layer(i)})
		}
		return out
	}
	good := b.Content.Manifest.Annotations
	for name, c := range map[string]struct {
		kind   string
		change func(ls []layout.Layer) []layout.Layer
		notes  map[string]string
		says   string
	}{
		"another type":       {"application/x", func(ls []layout.Layer) []layout.Layer { return ls }, good, `it is a "application/x"`},
		"lock first":         {Type, func(ls []layout.Layer) []layout.Layer { ls[0], ls[1] = ls[1], ls[0]; return ls }, good, "first layers"},
		"file after archive": {Type, func(ls []layout.Layer) []layout.Layer { return append(ls, ls[2]) }, good, "not expected there"},
		"unknown layer": {Type, func(ls []layout.Layer) []layout.Layer {
			return append(ls, layout.Layer{MediaType: "text/plain", Data: nil})
		}, good, "not expected there"},
		"another title":     {Type, func(ls []layout.Layer) []layout.Layer { ls[4].Title = "../../x"; return ls }, good, "it calls the archive"},
		"other annotations": {Type, func(ls []layout.Layer) []layout.Layer { return ls }, map[string]string{layout.TitleKey: "demo", layout.VersionKey: "2"}, "its annotations say"},
	} {
		content, err := layout.New(c.kind, c.change(layers()), c.notes, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(content, nil, "x", options); diag.CodeOf(err) != "E-REG-101" || !strings.Contains(err.Error(), "x ("+content.Digest+") can not be used: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// ART-211, SES-265: kept in a home and laid out, again and again.
func TestShelf(t *testing.T) {
	home, err := workfs.FindHome([]string{"MURMUR_HOME=" + filepath.Join(t.TempDir(), "home")})
	if err != nil {
		t.Fatal(err)
	}
	s, b := ShelfOf(home), made(t)
	if _, err := s.Find(b.Digest, options); diag.CodeOf(err) != "E-REG-001" {
		t.Errorf("in an empty home: %v", err)
	}
	ctx := context.Background()
	if err := s.Put(ctx, b, "oci://x/ana/demo:1.0.0"); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{b.Digest, "oci://x/ana/demo:1.0.0", "oci://y/z@" + b.Digest} {
		if found, err := s.Find(ref, options); err != nil || found.Digest != b.Digest {
			t.Errorf("%s: %v", ref, err)
		}
	}
	for _, ref := range []string{"oci://x/ana/demo:2", "sha256:" + strings.Repeat("0", 64), "../x"} {
		if _, err := s.Find(ref, options); diag.CodeOf(err) != "E-REG-001" {
			t.Errorf("%s: %v", ref, err)
		}
	}
	laid, err := s.Unpack(ctx, b, options)
	if err != nil {
		t.Fatal(err)
	}
	defer laid.Release()
	dir := laid.Dir
	own := filepath.Join(dir, "skills/own/SKILL.md")
	if err := os.WriteFile(own, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, ".murmur/artifacts/ana/style/1.0.0/style-1.0.0.mur.zip")
	if err := os.WriteFile(archive, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := s.Unpack(ctx, b, options)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
	if data, _ := os.ReadFile(own); string(data) != "Mine." {
		t.Errorf("got %q", data)
	}
	if data, _ := os.ReadFile(archive); !bytes.Equal(data, b.Items[0].Bytes) {
		t.Error("the archive was not put back")
	}
	// A bundle under another's name is noticed.
	os.Rename(filepath.Join(home.Path(), "bundles", hexOf(b.Digest)+".tar"), filepath.Join(home.Path(), "bundles", strings.Repeat("0", 64)+".tar"))
	if _, err := s.Find("sha256:"+strings.Repeat("0", 64), options); diag.CodeOf(err) != "E-REG-002" {
		t.Errorf("under another's name: %v", err)
	}
}

// A bundle that is read holds exactly what its manifest and lock name.
func FuzzBundle(f *testing.F) {
	data, err := made(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	small := options
	small.Limits.EntryBytes = 1 << 20
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Decode(data, "x", small)
		if err != nil {
			if diag.CodeOf(err) == "" {
				t.Fatalf("an error without a code: %v", err)
			}
			return
		}
		if len(b.Items) != len(b.Lock.Entries) {
			t.Fatal("items and pins differ")
		}
		for i, it := range b.Items {
			if want, _ := b.Lock.Entries[i].SHA256.For(it.Platform); want != it.SHA256 {
				t.Fatalf("%s is not what is pinned", it.Ref)
			}
		}
		for _, file := range b.Files {
			if CheckPath(file.Path) != nil {
				t.Fatalf("path %q", file.Path)
			}
		}
	})
}
