package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Blobs is what a look at the stored bodies found (TRC-180).
type Blobs struct {
	Checked int      `json:"checked"`
	Bad     []string `json:"bad"`     // names that are not the hash of the file
	Missing []string `json:"missing"` // hashes the trace names under content without a body
}

func (v *verifier) blobs() (Blobs, error) {
	b := Blobs{Bad: []string{}, Missing: []string{}}
	entries, err := os.ReadDir(v.path(trace.BlobDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return b, workfs.Fault(err, "cannot verify "+v.path(trace.BlobDir))
	}
	have := map[string]bool{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // a body that was being written
		}
		b.Checked++
		have[e.Name()] = true
		ok, err := v.intact(e)
		if err != nil {
			return b, err
		}
		if !ok {
			b.Bad = append(b.Bad, e.Name())
		}
	}
	named, err := v.named()
	if err != nil {
		return b, err
	}
	for sha := range named {
		if !have[sha] {
			b.Missing = append(b.Missing, sha)
		}
	}
	slices.Sort(b.Missing)
	return b, nil
}

func (v *verifier) intact(e os.DirEntry) (bool, error) {
	if !e.Type().IsRegular() {
		return false, nil
	}
	path := v.path(trace.BlobDir + "/" + e.Name())
	f, err := os.Open(path)
	if err != nil {
		return false, workfs.Fault(err, "cannot verify "+path)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false, workfs.Fault(err, "cannot verify "+path)
	}
	return hex.EncodeToString(h.Sum(nil)) == e.Name(), nil
}

// named collects the hashes of bodies that a trace written under capture
// content names: those of its requests and responses, and of its system prompt.
func (v *verifier) named() (map[string]bool, error) {
	out := map[string]bool{}
	f, err := v.open(trace.FileName)
	if f == nil || err != nil {
		return out, err
	}
	defer f.Close()
	rd := trace.NewReader(f)
	content := false
	add := func(v trace.Value) {
		if s := v.Str(); len(s) == 64 && !out[s] {
			out[strings.Clone(s)] = true
		}
	}
	for rd.Next() {
		l := &rd.Line
		switch {
		case rd.State != trace.Whole:
		case l.Type() == "session_start":
			if content = l.Get("capture").Str() == string(trace.Content); content {
				add(l.Get("system_prompt_sha256"))
			}
		case l.Type() == "inference" && content:
			add(l.Get("system_sha"))
			add(l.Get("tools_sha"))
			add(l.Get("response_sha"))
			for m := range l.Get("message_shas").Elements() {
				add(m)
			}
		}
	}
	return out, workfs.Fault(rd.Err(), "cannot verify "+v.path(trace.FileName))
}
