package artifact

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// item is one entry of a zip file under construction; the zero fields are what
// an honest archive has.
type item struct {
	name, data string
	mode       uint32 // Unix mode; 0: made on a system without
	store      bool
	localName  string // when it differs from name
	size       int64  // declared when not 0
	crc        uint32 // declared when not 0
	flags      uint16
	localFlags uint16 // added to flags in the local header
	method     uint16 // when not 0
	descriptor bool
	sameAs     string // shares the local header of this earlier entry
}

// build writes a zip file byte by byte, so that every lie can be told.
func build(items ...item) []byte {
	var out, dir bytes.Buffer
	le := binary.LittleEndian
	offsets := map[string]int{}
	for _, it := range items {
		method, comp := uint16(methodStore), []byte(it.data)
		if !it.store {
			method = methodDeflate
			var b bytes.Buffer
			w, _ := flate.NewWriter(&b, flate.BestCompression)
			w.Write([]byte(it.data))
			w.Close()
			comp = b.Bytes()
		}
		if it.method != 0 {
			method = it.method
		}
		size, crc := uint32(len(it.data)), crc32.ChecksumIEEE([]byte(it.data))
		if it.size != 0 {
			size = uint32(it.size)
		}
		if it.crc != 0 {
			crc = it.crc
		}
		flags := it.flags
		if it.descriptor {
			flags |= flagDescriptor
		}
		local := it.name
		if it.localName != "" {
			local = it.localName
		}
		at, shared := offsets[it.sameAs], it.sameAs != ""
		if !shared {
			at = out.Len()
			offsets[it.name] = at
			h := make([]byte, lenLocal)
			le.PutUint32(h, sigLocal)
			le.PutUint16(h[4:], 20)
			le.PutUint16(h[6:], flags|it.localFlags)
			le.PutUint16(h[8:], method)
			if !it.descriptor {
				le.PutUint32(h[14:], crc)
				le.PutUint32(h[18:], uint32(len(comp)))
				le.PutUint32(h[22:], size)
			}
			le.PutUint16(h[26:], uint16(len(local)))
			out.Write(h)
			out.WriteString(local)
			out.Write(comp)
			if it.descriptor {
				d := make([]byte, 16)
				le.PutUint32(d, sigDesc)
				le.PutUint32(d[4:], crc)
				le.PutUint32(d[8:], uint32(len(comp)))
				le.PutUint32(d[12:], size)
				out.Write(d)
			}
		}
		c := make([]byte, lenCentral)
		le.PutUint32(c, sigCentral)
		if it.mode != 0 {
			le.PutUint16(c[4:], 3<<8|20)
		}
		le.PutUint16(c[6:], 20)
		le.PutUint16(c[8:], flags)
		le.PutUint16(c[10:], method)
		le.PutUint32(c[16:], crc)
		le.PutUint32(c[20:], uint32(len(comp)))
		le.PutUint32(c[24:], size)
		le.PutUint16(c[28:], uint16(len(it.name)))
		le.PutUint32(c[38:], it.mode<<16)
		le.PutUint32(c[42:], uint32(at))
		dir.Write(c)
		dir.WriteString(it.name)
	}
	start := out.Len()
	out.Write(dir.Bytes())
	e := make([]byte, lenEnd)
	le.PutUint32(e, sigEnd)
	le.PutUint16(e[8:], uint16(len(items)))
	le.PutUint16(e[10:], uint16(len(items)))
	le.PutUint32(e[12:], uint32(out.Len()-start))
	le.PutUint32(e[16:], uint32(start))
	out.Write(e)
	return out.Bytes()
}

const manifestText = "name: demo\nversion: 1.0.0\nruntime: tool\n"

var defaults = Limits{EntryBytes: DefaultCeiling}

func mustOpen(t *testing.T, data []byte) *Archive {
	t.Helper()
	a, err := Open(data, defaults)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// patch returns data with the bytes at off from its end record replaced.
func patch(data []byte, off int, b ...byte) []byte {
	out := bytes.Clone(data)
	copy(out[len(out)-lenEnd+off:], b)
	return out
}

// ART-14, ART-17, ART-40, ART-44, ART-46, ART-193: archives that are refused as a whole.
func TestHostileArchivesAreRefused(t *testing.T) {
	untouched(t)
	m := item{name: "murmur.yaml", data: manifestText}
	good := build(m)
	many := make([]item, MaxEntries+1)
	for i := range many {
		many[i] = item{name: "f" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/1000) + string([]byte{byte('0' + i/100%10), byte('0' + i/10%10), byte('0' + i%10)}), store: true}
	}
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"empty file":              {nil, "no zip file"},
		"text":                    {[]byte("hello"), "no zip file"},
		"cut short":               {good[:len(good)-5], "no zip file"},
		"bytes after the end":     {append(bytes.Clone(good), "junk"...), "bytes follow"},
		"bytes before the start":  {append([]byte("#!/bin/sh\n"), good...), "directory"},
		"two end records":         {append(bytes.Clone(good), good...), "directory"},
		"several disks":           {patch(good, 4, 1), "several disks"},
		"count too high":          {patch(good, 8, 2, 0, 2, 0), "cut short or damaged"},
		"count too low":           {patch(build(m, item{name: "a"}), 8, 1, 0, 1, 0), "more entries than it counts"},
		"zip64 count":             {patch(good, 8, 0xff, 0xff, 0xff, 0xff), "65535 entries or more"},
		"a hundred thousand":      {hundredThousand(t), "65535 entries or more"},
		"zip64 size":              {patch(good, 12, 0xff, 0xff, 0xff, 0xff), "ZIP64 archive"},
		"directory out of bounds": {patch(good, 16, 0xff, 0xff, 0xff, 0x7f), "directory"},
		"doubled name":            {build(m, m), "two entries named"},
		"doubled by slash":        {build(m, item{name: "/murmur.yaml", data: "x"}), "two entries named"},
		"doubled by backslash":    {build(m, item{name: "a/b"}, item{name: `a\b`}), "two entries named"},
		"file and directory":      {build(m, item{name: "a"}, item{name: "a/"}), "two entries named"},
		"skill twins":             {build(m, item{name: "skill.md"}, item{name: "SKILL.md"}), "two skill texts: SKILL.md, skill.md"},
		"link":                    {build(m, item{name: "l", data: "/etc/passwd", mode: 0o120777}), "is a link"},
		"fifo":                    {build(m, item{name: "l", mode: 0o010644}), "special file"},
		"device":                  {build(m, item{name: "l", mode: 0o020644}), "special file"},
		"socket":                  {build(m, item{name: "l", mode: 0o140644}), "special file"},
		"directory with contents": {build(m, item{name: "d/", data: "x"}), "directory with contents"},
		"NUL in a name":           {build(m, item{name: "a\x00.wasm"}), "control character"},
		"newline in a name":       {build(m, item{name: "a\nb"}), "control character"},
		"name is not UTF-8":       {build(m, item{name: "a\xff"}), "not UTF-8"},
		"no name":                 {build(m, item{}), "no name"},
		"encrypted":               {build(m, item{name: "a", flags: flagEncrypted}), "is encrypted"},
		"strongly encrypted":      {build(m, item{name: "a", flags: flagStrong}), "is encrypted"},
		"encrypted locally":       {build(m, item{name: "a", localFlags: flagEncrypted}), "disagrees"},
		"unknown method":          {build(m, item{name: "a", method: 12}), "method 12"},
		"local name differs":      {build(m, item{name: "a", localName: "b"}), "disagrees"},
		"local name is longer":    {build(m, item{name: "a", localName: "a.wasm", store: true}), "disagrees"},
		"entries overlap":         {build(m, item{name: "a", data: "x"}, item{name: "b", data: "x", localName: "a", sameAs: "a"}), "disagrees"},
		"too many entries":        {build(many...), "more than 10000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(c.data, defaults)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want %q", err, c.says)
			}
			coded := Fault("local/demo@1.0.0", err)
			if diag.CodeOf(coded) != "E-IO-003" || !strings.Contains(coded.Error(), "local/demo@1.0.0") {
				t.Errorf("as a diagnostic: %v", coded)
			}
		})
	}
}

// hundredThousand is an archive with so many entries as zip tools write it.
func hundredThousand(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 100_000 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("f%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ART-193: each field the two headers share is compared.
func TestLocalHeadersThatDisagree(t *testing.T) {
	good := build(item{name: "murmur.yaml", data: manifestText})
	for name, off := range map[string]int{"flags": 6, "method": 8, "crc": 14, "compressed": 18, "size": 22, "name length": 26} {
		bad := bytes.Clone(good)
		bad[off] ^= 1
		if name == "method" {
			bad[off] = 0
		}
		if _, err := Open(bad, defaults); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	// Identical headers at one offset: the entries overlap although they agree.
	one := build(item{name: "a", data: "x"}, item{name: "a", data: "x", sameAs: "a"})
	if _, err := Open(one, defaults); err == nil {
		t.Error("two directory entries for one place accepted")
	}
	// A descriptor that disagrees with the directory.
	d := build(item{name: "a", data: "hello", descriptor: true})
	i := bytes.Index(d, []byte{0x50, 0x4b, 7, 8})
	d[i+4] ^= 1
	if _, err := Open(d, defaults); err == nil {
		t.Error("a lying descriptor accepted")
	}
}

// ART-193: an overlap that no header contradicts: a stored entry whose data is the next
// entry.
func TestNestedEntriesAreRefused(t *testing.T) {
	inner := build(item{name: "b", data: "payload", store: true})
	localLen := lenLocal + 1 + len("payload")
	data := build(item{name: "a", data: string(inner[:localLen]), store: true}, item{name: "b", data: "payload", store: true})
	// Point b at the copy inside a, and drop the honest one's use.
	at := bytes.LastIndex(data[:len(data)-lenEnd], []byte("b"))
	binary.LittleEndian.PutUint32(data[at-4:], uint32(lenLocal+1))
	if _, err := Open(data, defaults); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("got %v", err)
	}
}

// untouched works in an empty directory two levels beneath the test's own and
// wants nothing written in either when the test ends.
func untouched(t *testing.T) {
	top := t.TempDir()
	if err := os.MkdirAll(top+"/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(top + "/a/b")
	t.Cleanup(func() {
		for _, dir := range []string{".", "..", "../.."} {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 1 || len(left) == 1 && dir == "." {
				t.Errorf("written in %s: %v, %v", dir, left, err)
			}
		}
	})
}

// ART-41, ART-45
func TestUnsafeNamesAreAbsent(t *testing.T) {
	untouched(t)
	unsafe := []string{"../up.wasm", "a/../../b.wasm", "a/..", `..\up`, `C:\x.wasm`, "c:x.wasm", "D:/y", "a//b", "./c.wasm", "a/./b"}
	items := []item{{name: "murmur.yaml", data: manifestText}, {name: "ok.wasm", data: "x"}}
	for _, n := range unsafe {
		items = append(items, item{name: n, data: "evil"})
	}
	a := mustOpen(t, build(items...))
	if got := strings.Join(a.Names(), " "); got != "murmur.yaml ok.wasm" {
		t.Errorf("names: %s", got)
	}
	if name, wasm, err := a.Component("x"); err != nil || name != "ok.wasm" || string(wasm) != "x" {
		t.Errorf("component %q, %v", name, err)
	}
	for _, n := range unsafe {
		if a.Has(n) {
			t.Errorf("Has(%q)", n)
		}
		if _, err := a.Read(n); err == nil || !strings.Contains(err.Error(), "unsafe") {
			t.Errorf("Read(%q) = %v", n, err)
		}
	}
}

// ART-19, ART-41: a leading / is stripped for reads and makes no payload.
func TestLeadingSlash(t *testing.T) {
	a := mustOpen(t, build(item{name: "/murmur.yaml", data: manifestText}, item{name: "/tool.wasm", data: "x"}, item{name: "/skill.md", data: "x"}))
	if b, err := a.Manifest(); err != nil || string(b) != manifestText {
		t.Errorf("manifest: %v", err)
	}
	if b, err := a.Read("/tool.wasm"); err != nil || string(b) != "x" {
		t.Errorf("read: %v", err)
	}
	if _, _, err := a.Component("x"); diag.CodeOf(err) != "E-BLD-003" {
		t.Errorf("component: %v", err)
	}
	if _, _, err := a.Skill("x"); diag.CodeOf(err) != "E-IO-003" {
		t.Errorf("skill: %v", err)
	}
}

// ART-42: neither a bomb nor a lie gets past the ceiling.
func TestCeilingAndDeclaredSizes(t *testing.T) {
	zeros := strings.Repeat("\x00", 1<<20)
	small := Limits{EntryBytes: 1000}
	for name, c := range map[string]struct {
		it     item
		limits Limits
		says   string
	}{
		"bomb":                   {item{name: "b", data: zeros}, small, "ceiling of 1000 bytes"},
		"stored, over":           {item{name: "b", data: zeros, store: true}, small, "ceiling of 1000 bytes"},
		"says small":             {item{name: "b", data: zeros, size: 5}, small, "ceiling of 1000 bytes"},
		"says small, under":      {item{name: "b", data: zeros, size: 5}, defaults, "has 1048576 bytes and declares 5"},
		"says huge":              {item{name: "b", data: "x", size: 1 << 31}, defaults, "has 1 bytes and declares"},
		"zero ceiling":           {item{name: "b", data: "x"}, Limits{}, "ceiling of 0 bytes"},
		"wrong checksum":         {item{name: "b", data: "x", crc: 7}, defaults, "checksum"},
		"no deflate stream":      {item{name: "b", data: "\xff\xff\xff", store: true, method: methodDeflate}, defaults, "damaged"},
		"one byte over":          {item{name: "b", data: strings.Repeat("x", 1001)}, small, "ceiling"},
		"descriptor, says small": {item{name: "b", data: zeros, size: 5, descriptor: true}, defaults, "declares 5"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Open(build(c.it), c.limits)
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.Read("b")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `"b"`) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
	a, err := Open(build(item{name: "b", data: strings.Repeat("x", 1000)}), small)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := a.Read("b"); err != nil || len(b) != 1000 {
		t.Errorf("exactly the ceiling: %d, %v", len(b), err)
	}
}

// ART-42
func TestLimitsOf(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want uint64
	}{
		{nil, DefaultCeiling},
		{[]string{CeilingVariable + "=10"}, 10},
		{[]string{CeilingVariable + "=0"}, 0},
		{[]string{CeilingVariable + "=-1"}, DefaultCeiling},
		{[]string{CeilingVariable + "="}, DefaultCeiling},
		{[]string{CeilingVariable + "=1e3"}, DefaultCeiling},
		{[]string{CeilingVariable + "=5", CeilingVariable + "=x"}, DefaultCeiling},
	} {
		if got := LimitsOf(c.env).EntryBytes; got != c.want {
			t.Errorf("%q: %d, want %d", c.env, got, c.want)
		}
	}
}

// ART-14, ART-17, ART-43, ART-46
func TestTextAndManifest(t *testing.T) {
	a := mustOpen(t, build(item{name: "murmur.yaml", data: "\xff\xfe"}, item{name: "SkIlL.Md", data: "# hi"}))
	if _, err := a.Manifest(); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("got %v", err)
	}
	if name, text, err := a.Skill("x"); err != nil || name != "SkIlL.Md" || text != "# hi" {
		t.Errorf("%q %q %v", name, text, err)
	}
	if _, err := mustOpen(t, build()).Manifest(); !errors.Is(err, ErrNoEntry) {
		t.Errorf("got %v", err)
	}
}

// ART-15, ART-16, ART-18, ART-19, ART-20
func TestPayloadChoice(t *testing.T) {
	for _, c := range []struct {
		names  string
		chosen string
		says   string
	}{
		{"a.wasm", "a.wasm", ""},
		{"b.wasm capsule.wasm a.wasm", "capsule.wasm", ""},
		{"b.wasm a.wasm", "", "a.wasm, b.wasm"},
		{"sub/a.wasm", "", "no WASM payload"},
		{"sub/a.wasm b.wasm", "b.wasm", ""},
		{"readme.md", "", "no WASM payload"},
		{"Capsule.wasm x.wasm", "", "Capsule.wasm, x.wasm"},
		{"x.WASM", "", "no WASM payload"},
	} {
		var items []item
		for _, n := range strings.Fields(c.names) {
			items = append(items, item{name: n, data: n})
		}
		name, _, err := mustOpen(t, build(items...)).Component("it")
		if name != c.chosen || (c.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", c.names, name, err)
		}
		if err != nil && diag.CodeOf(err) != "E-BLD-003" {
			t.Errorf("%s: code of %v", c.names, err)
		}
	}
	for _, c := range []struct{ names, want string }{
		{"bin/demo", "bin/demo"},
		{"bin/other", "bin/other"},
		{"bin/other bin/demo", "bin/demo"},
		{"bin/x bin/y", ""},
		{"bin/sub/demo", ""},
		{"demo", ""},
	} {
		if got := ChooseNative("demo", strings.Fields(c.names)); got != c.want {
			t.Errorf("%s: %q, want %q", c.names, got, c.want)
		}
	}
	if _, _, err := mustOpen(t, build()).Native("it", "demo"); diag.CodeOf(err) != "E-IO-003" || !strings.Contains(err.Error(), "bin/demo") {
		t.Errorf("got %v", err)
	}
}

// Whatever Open accepts, archive/zip reads the same from it.
func FuzzArchive(f *testing.F) {
	m := item{name: "murmur.yaml", data: manifestText}
	f.Add(build(m))
	f.Add(build(m, item{name: "a.wasm", data: "\x00asm", store: true}, item{name: "d/"}, item{name: "bin/x", mode: 0o100755}))
	f.Add(build(item{name: "x", data: strings.Repeat("abc", 1000), descriptor: true}))
	f.Add(build(m, m))
	f.Add(build(item{name: "../x"}, item{name: "/y"}, item{name: `C:\z`}))
	f.Fuzz(func(t *testing.T, data []byte) {
		limits := Limits{EntryBytes: 1 << 16}
		a, err := Open(data, limits)
		if err != nil {
			return
		}
		zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
			t.Fatalf("accepted what archive/zip refuses: %v", err)
		}
		if len(zr.File) != len(a.entries) {
			t.Fatalf("%d entries, archive/zip sees %d", len(a.entries), len(zr.File))
		}
		sound := a.Examine(t.Context()) == nil
		for i, zf := range zr.File {
			e := a.entries[i]
			if sound && (e.unsafe != "" || e.rooted) {
				t.Fatalf("entry %q was let in", e.name)
			}
			if zf.Name != e.name {
				t.Fatalf("entry %q, archive/zip sees %q", e.name, zf.Name)
			}
			got, err := e.read(limits.EntryBytes, tooLarge(limits.EntryBytes))
			if err != nil && sound {
				t.Fatalf("entry %q was let in: %v", e.name, err)
			}
			if err != nil {
				continue
			}
			if uint64(len(got)) > limits.EntryBytes {
				t.Fatal("over the ceiling")
			}
			if e.dir {
				continue
			}
			r, err := zf.Open()
			if err != nil {
				t.Fatalf("archive/zip: %v", err)
			}
			var want bytes.Buffer
			if _, err := want.ReadFrom(r); err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("entry %q differs from archive/zip's (%v)", e.name, err)
			}
		}
		for _, n := range a.Names() {
			if strings.HasPrefix(n, "/") || strings.Contains("/"+n+"/", "/../") {
				t.Fatalf("unsafe name %q offered", n)
			}
		}
	})
}
