package layout

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func sample(t testing.TB) *Content {
	t.Helper()
	c, err := New("application/x.test", []Layer{{"text/plain", "a", []byte("first")}, {"text/plain", "", []byte("second")}},
		map[string]string{TitleKey: "x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func about(t testing.TB, c *Content) *Content {
	t.Helper()
	d := c.Describe()
	a, err := New("application/x.about", []Layer{{"text/plain", "", []byte("signed")}}, nil, &d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func written(t testing.TB, c *Content, more ...*Content) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteTar(&buf, c, more); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// ART-202: the same things have the same digest, and the manifest is what the OCI
// guidance asks for.
func TestManifest(t *testing.T) {
	c := sample(t)
	if again := sample(t); again.Digest != c.Digest || !bytes.Equal(written(t, c), written(t, again)) {
		t.Error("the same content has other bytes")
	}
	want := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/x.test",` +
		`"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2,"data":"e30="},"layers":[`
	if !strings.HasPrefix(string(c.Raw), want) {
		t.Errorf("got %s", c.Raw)
	}
}

func TestRoundTrip(t *testing.T) {
	c := sample(t)
	main, others, err := ReadTar(bytes.NewReader(written(t, c, about(t, c))), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if main.Digest != c.Digest || len(others) != 1 || string(main.Layer(1)) != "second" || string(others[0].Layer(0)) != "signed" {
		t.Errorf("got %+v and %d others", main.Manifest, len(others))
	}
}

// ART-204
func TestManifestsRefused(t *testing.T) {
	good := sample(t).Raw
	change := func(f func(m map[string]any)) []byte {
		var m map[string]any
		json.Unmarshal(good, &m)
		f(m)
		out, _ := json.Marshal(m)
		return out
	}
	layer := func(m map[string]any) map[string]any { return m["layers"].([]any)[0].(map[string]any) }
	for says, raw := range map[string][]byte{
		"not JSON":          []byte("{"),
		"schemaVersion":     change(func(m map[string]any) { m["schemaVersion"] = 1 }),
		"media type":        change(func(m map[string]any) { m["mediaType"] = IndexType }),
		"no artifactType":   change(func(m map[string]any) { delete(m, "artifactType") }),
		"config of type":    change(func(m map[string]any) { m["config"].(map[string]any)["mediaType"] = "application/json" }),
		"no layers":         change(func(m map[string]any) { m["layers"] = []any{} }),
		"lower-case hex":    change(func(m map[string]any) { layer(m)["digest"] = "sha512:00" }),
		"below zero":        change(func(m map[string]any) { layer(m)["size"] = -1 }),
		"no media type":     change(func(m map[string]any) { delete(layer(m), "mediaType") }),
		"the subject":       change(func(m map[string]any) { m["subject"] = map[string]any{"mediaType": "x", "digest": "", "size": 1} }),
		"larger than":       bytes.Repeat([]byte(" "), MaxManifest+1),
		"layers, more than": change(func(m map[string]any) { m["layers"] = make([]any, MaxLayers+1) }),
	} {
		if _, err := ParseManifest(raw); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// What is fetched is verified whoever fetched it, and within the limit.
func TestAssemble(t *testing.T) {
	c := sample(t)
	get := func(i int, d Descriptor) ([]byte, error) { return c.Layer(i), nil }
	if got, err := Assemble(c.Raw, 11, get); err != nil || got.Digest != c.Digest {
		t.Errorf("%v", err)
	}
	if _, err := Assemble(c.Raw, 10, get); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("over the limit: %v", err)
	}
	var mismatch *MismatchError
	_, err := Assemble(c.Raw, 100, func(int, Descriptor) ([]byte, error) { return []byte("FIRST"), nil })
	if !errors.As(err, &mismatch) || mismatch.Expected != Digest([]byte("first")) || mismatch.Actual != Digest([]byte("FIRST")) {
		t.Errorf("other bytes: %v", err)
	}
	_, err = Assemble(c.Raw, 100, func(int, Descriptor) ([]byte, error) { return []byte("firs"), nil })
	if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), "4 bytes and not 5") {
		t.Errorf("short: %v", err)
	}
}

type entry struct {
	h    tar.Header
	data string
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		if e.h.Typeflag == 0 {
			e.h.Typeflag = tar.TypeReg
		}
		e.h.Size, e.h.Mode = int64(len(e.data)), 0o644
		if err := w.WriteHeader(&e.h); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(e.data))
	}
	w.Close()
	return buf.Bytes()
}

// entriesOf are the entries of a written layout.
func entriesOf(t testing.TB, data []byte) []entry {
	t.Helper()
	var out []entry
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if err != nil {
			return out
		}
		var b bytes.Buffer
		b.ReadFrom(r)
		out = append(out, entry{tar.Header{Name: h.Name, Typeflag: h.Typeflag}, b.String()})
	}
}

// ART-208, ART-210: hostile files are refused whole, and what is wrong is named.
func TestTarsRefused(t *testing.T) {
	c := sample(t)
	good := entriesOf(t, written(t, c, about(t, c)))
	with := func(more ...entry) []byte { return tarOf(t, append(append([]entry{}, good...), more...)...) }
	without := func(n int) []byte { return tarOf(t, append(append([]entry{}, good[:n]...), good[n+1:]...)...) }
	changed := func(n int, data string) []byte {
		es := append([]entry{}, good...)
		es[n].data = data
		return tarOf(t, es...)
	}
	other, err := New("application/x.test", []Layer{{"text/plain", "", []byte("other")}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	lost := about(t, other)
	for name, x := range map[string]struct {
		data []byte
		says string
	}{
		"traversal":        {with(entry{tar.Header{Name: "../x"}, "x"}), `"../x" is none of an image layout`},
		"absolute":         {with(entry{tar.Header{Name: "/oci-layout"}, "x"}), "none of an image layout"},
		"nested":           {with(entry{tar.Header{Name: "blobs/sha256/x/" + strings.Repeat("0", 64)}, "x"}), "none of an image layout"},
		"link":             {with(entry{tar.Header{Name: "blobs/sha256/" + strings.Repeat("0", 64), Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, ""}), "no regular file"},
		"hard link":        {with(entry{tar.Header{Name: "blobs/sha256/" + strings.Repeat("0", 64), Typeflag: tar.TypeLink, Linkname: "index.json"}, ""}), "no regular file"},
		"device":           {with(entry{tar.Header{Name: "index.json", Typeflag: tar.TypeChar}, ""}), "no regular file"},
		"twice":            {with(good[2]), "two entries named"},
		"twice by ./":      {with(entry{tar.Header{Name: "./index.json"}, "{}"}), "two entries named"},
		"unnamed blob":     {with(entry{tar.Header{Name: "blobs/sha256/" + strings.TrimPrefix(Digest([]byte("z")), Prefix)}, "z"}), "which no manifest names"},
		"wrong blob":       {with(entry{tar.Header{Name: "blobs/sha256/" + strings.Repeat("0", 64)}, "z"}), "does not have the expected hash"},
		"no layout":        {without(0), "no oci-layout"},
		"no index":         {without(1), "index.json can not be read"},
		"other layout":     {changed(0, `{"imageLayoutVersion":"2.0.0"}`), "version 1.0.0"},
		"odd index":        {changed(1, `{"schemaVersion":3}`), "schemaVersion 3"},
		"empty index":      {changed(1, `{"schemaVersion":2,"manifests":[]}`), "holds no artifact"},
		"missing blob":     {without(2), "it lacks blobs/sha256/"},
		"two artifacts":    {written(t, c, other), "two artifacts"},
		"about another":    {written(t, c, lost), "something about " + other.Digest},
		"not a tar":        {[]byte("hello, I am a text"), "no sound tar file"},
		"truncated":        {written(t, c)[:1700], "unexpected EOF"},
		"bytes after":      {append(written(t, c), "junk"...), "other bytes follow its end"},
		"a tar after":      {append(written(t, c), written(t, other)...), "other bytes follow its end"},
		"endless zeros":    {append(written(t, c), make([]byte, 5<<20)...), "other bytes follow its end"},
		"listed twice":     {written(t, c, c), "twice"},
		"not a manifest":   {changed(1, fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"%s","digest":"%s","size":2}]}`, IndexType, Digest([]byte("z")))), "not a manifest"},
		"digest elsewhere": {changed(1, `{"schemaVersion":2,"manifests":[{"mediaType":"`+ManifestType+`","digest":"sha256:../../x","size":2}]}`), "lower-case hex"},
	} {
		main, _, err := ReadTar(bytes.NewReader(x.data), 1<<20)
		if err == nil || !strings.Contains(err.Error(), x.says) || main != nil {
			t.Errorf("%s: %v, want %q", name, err, x.says)
		}
	}
	if _, _, err := ReadTar(bytes.NewReader(append(written(t, c), make([]byte, 20*512)...)), 1<<20); err != nil {
		t.Errorf("filled up with zeros: %v", err)
	}
	if _, _, err := ReadTar(bytes.NewReader(written(t, c)), 300); err == nil || !strings.Contains(err.Error(), "more than 300 bytes") {
		t.Errorf("over the limit: %v", err)
	}
	// A header that promises more than the limit is refused before it is read.
	big := tar.Header{Name: "index.json", Typeflag: tar.TypeReg, Size: 1 << 40, Mode: 0o644}
	var buf bytes.Buffer
	tar.NewWriter(&buf).WriteHeader(&big)
	if _, _, err := ReadTar(&buf, 1<<20); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a lying size: %v", err)
	}
}

// A file that is read is whole: every layer has the hash its manifest says.
func FuzzReadTar(f *testing.F) {
	c := sample(f)
	f.Add(written(f, c))
	f.Add(written(f, c, about(f, c)))
	f.Add(tarOf(f, entry{tar.Header{Name: "oci-layout"}, string(layoutFile)}, entry{tar.Header{Name: "index.json"}, `{"schemaVersion":2,"manifests":[]}`}))
	f.Fuzz(func(t *testing.T, data []byte) {
		main, others, err := ReadTar(bytes.NewReader(data), 1<<20)
		if err != nil {
			return
		}
		for _, x := range append(others, main) {
			for i, d := range x.Manifest.Layers {
				if err := d.Verify("layer", x.Layer(i)); err != nil {
					t.Fatal(err)
				}
			}
			if Digest(x.Raw) != x.Digest {
				t.Fatal("the digest is not the manifest's")
			}
		}
		var buf bytes.Buffer
		if err := WriteTar(&buf, main, others); err != nil {
			t.Fatal(err)
		}
		again, _, err := ReadTar(&buf, 4<<20)
		if err != nil || again.Digest != main.Digest {
			t.Fatalf("written and read again: %v", err)
		}
	})
}
