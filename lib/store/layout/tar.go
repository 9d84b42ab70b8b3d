package layout

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// The files of an OCI image layout.
const (
	layoutName = "oci-layout"
	indexName  = "index.json"
	blobDir    = "blobs/sha256/"
)

var layoutFile = []byte(`{"imageLayoutVersion":"1.0.0"}`)

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []Descriptor `json:"manifests"`
}

// WriteTar writes an image layout that holds main and what is about it. The bytes
// depend on the contents alone: no dates, owners or modes of this machine.
func WriteTar(w io.Writer, main *Content, about []*Content) error {
	ix := index{SchemaVersion: 2, MediaType: IndexType}
	type file struct {
		name string
		data []byte
	}
	var blobs []file
	seen := map[string]bool{}
	blob := func(digest string, data []byte) {
		if !seen[digest] {
			seen[digest] = true
			blobs = append(blobs, file{blobDir + strings.TrimPrefix(digest, Prefix), data})
		}
	}
	for _, c := range append([]*Content{main}, about...) {
		d := c.Describe()
		if c == main {
			d.Annotations = c.Manifest.Annotations
		}
		ix.Manifests = append(ix.Manifests, d)
		blob(c.Digest, c.Raw)
	}
	for _, c := range append([]*Content{main}, about...) {
		for _, digest := range c.Blobs() {
			blob(digest, c.blobs[digest])
		}
	}
	indexed, err := json.Marshal(ix)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(w)
	for _, f := range append([]file{{layoutName, layoutFile}, {indexName, indexed}}, blobs...) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(f.data); err != nil {
			return err
		}
	}
	return tw.Close()
}

// ReadTar reads an image layout from a tar: the one artifact in it that is about
// no other, and those that are about it. It refuses links, special files, names
// that are not a layout's, names used twice, blobs that do not have the hash they
// are called by or that nothing names, and anything a manifest names and the file
// lacks, and bytes after the tar's end; everything is checked before anything is returned. limit bounds the sum
// of all files in bytes, what the headers promise included. The error says what
// is wrong in words that follow the file's name.
func ReadTar(r io.Reader, limit int64) (main *Content, about []*Content, err error) {
	files, err := readFiles(r, limit)
	if err != nil {
		return nil, nil, err
	}
	if err := checkLayout(files[layoutName]); err != nil {
		return nil, nil, err
	}
	var ix index
	if err := json.Unmarshal(files[indexName], &ix); err != nil {
		return nil, nil, fmt.Errorf("its %s can not be read: %w", indexName, err)
	}
	if ix.SchemaVersion != 2 {
		return nil, nil, fmt.Errorf("its %s has schemaVersion %d, not 2", indexName, ix.SchemaVersion)
	}
	named := map[string]bool{layoutName: true, indexName: true}
	seen := map[string]bool{}
	for _, d := range ix.Manifests {
		if seen[d.Digest] {
			return nil, nil, fmt.Errorf("its %s names %q twice", indexName, d.Digest)
		}
		seen[d.Digest] = true
		c, err := assembleFrom(files, named, d, limit)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case c.Manifest.Subject != nil:
			about = append(about, c)
		case main != nil:
			return nil, nil, errors.New("it holds two artifacts; one is expected")
		default:
			main = c
		}
	}
	if main == nil {
		return nil, nil, errors.New("it holds no artifact")
	}
	for _, c := range about {
		if c.Manifest.Subject.Digest != main.Digest {
			return nil, nil, fmt.Errorf("it holds something about %s, which it does not hold", c.Manifest.Subject.Digest)
		}
	}
	for name := range files {
		if !named[name] {
			return nil, nil, fmt.Errorf("it holds %q, which no manifest names", name)
		}
	}
	return main, about, nil
}

func checkLayout(data []byte) error {
	var l struct {
		Version string `json:"imageLayoutVersion"`
	}
	if data == nil {
		return fmt.Errorf("it has no %s; is it an image layout?", layoutName)
	}
	if err := json.Unmarshal(data, &l); err != nil || l.Version != "1.0.0" {
		return fmt.Errorf("its %s has not the version 1.0.0", layoutName)
	}
	return nil
}

func assembleFrom(files map[string][]byte, named map[string]bool, d Descriptor, limit int64) (*Content, error) {
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("its %s: %w", indexName, err)
	}
	if d.MediaType != ManifestType {
		return nil, fmt.Errorf("its %s names something of type %q, not a manifest", indexName, d.MediaType)
	}
	get := func(digest string) ([]byte, error) {
		name := blobDir + strings.TrimPrefix(digest, Prefix)
		data, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("it lacks %s", name)
		}
		named[name] = true
		return data, nil
	}
	raw, err := get(d.Digest)
	if err != nil {
		return nil, err
	}
	if err := d.Verify("its manifest", raw); err != nil {
		return nil, err
	}
	c, err := Assemble(raw, limit, func(i int, l Descriptor) ([]byte, error) { return get(l.Digest) })
	if err != nil {
		return nil, err
	}
	named[blobDir+strings.TrimPrefix(c.Manifest.Config.Digest, Prefix)] = true
	return c, nil
}

// readFiles reads the files of a layout, each named as it must be and each blob
// hashed.
func readFiles(r io.Reader, limit int64) (map[string][]byte, error) {
	files := map[string][]byte{}
	tr := tar.NewReader(r)
	left := limit
	for n := 0; ; n++ {
		h, err := tr.Next()
		if err == io.EOF {
			return files, checkEnd(r)
		}
		if err != nil {
			return nil, fmt.Errorf("it is no sound tar file: %w", err)
		}
		if n > 2*MaxLayers {
			return nil, fmt.Errorf("it has more than %d entries", 2*MaxLayers)
		}
		name := strings.TrimPrefix(h.Name, "./")
		switch {
		case h.Typeflag == tar.TypeDir && isLayoutDir(name):
			continue
		case h.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("its entry %q is no regular file", h.Name)
		case !isLayoutFile(name):
			return nil, fmt.Errorf("its entry %q is none of an image layout", h.Name)
		case files[name] != nil:
			return nil, fmt.Errorf("it has two entries named %q", name)
		case h.Size > left:
			return nil, fmt.Errorf("its files have more than %d bytes together", limit)
		}
		left -= h.Size
		buf := bytes.NewBuffer(make([]byte, 0, min(h.Size+bytes.MinRead, 32<<20)))
		if _, err := io.Copy(buf, tr); err != nil {
			return nil, fmt.Errorf("its entry %q can not be read: %w", h.Name, err)
		}
		data := buf.Bytes()
		if hash, ok := strings.CutPrefix(name, blobDir); ok && Digest(data) != Prefix+hash {
			return nil, &MismatchError{What: fmt.Sprintf("its entry %q", name), Expected: Prefix + hash, Actual: Digest(data), ExpectedSize: h.Size, ActualSize: int64(len(data))}
		}
		files[name] = data
	}
}

// maxPadding bounds the zeros after the end of a tar: writers fill up a record of
// theirs, and none is near this.
const maxPadding = 4 << 20

// checkEnd wants nothing but zeros after the end of the tar.
func checkEnd(r io.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(r, maxPadding+1))
	switch {
	case err != nil:
		return fmt.Errorf("its end can not be read: %w", err)
	case len(rest) > maxPadding || len(bytes.TrimLeft(rest, "\x00")) > 0:
		return errors.New("other bytes follow its end")
	}
	return nil
}

func isLayoutDir(name string) bool {
	switch strings.TrimSuffix(name, "/") {
	case "", ".", "blobs", "blobs/sha256":
		return true
	}
	return false
}

func isLayoutFile(name string) bool {
	hash, ok := strings.CutPrefix(name, blobDir)
	return name == layoutName || name == indexName || ok && IsDigest(Prefix+hash)
}
