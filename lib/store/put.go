package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Files of a version directory beside the archive, and those of a write in
// progress.
const (
	hashSuffix = ".sha256"
	metaSuffix = ".meta.json"

	guardName   = ".guard"
	journalName = ".write.json"
	oldPrefix   = ".old."
)

// Item is an artifact to be stored: an archive that was read and whose own
// manifest is known.
type Item struct {
	Ref      artifact.Ref
	Platform string // tag of a native payload, "" for every other
	Bytes    []byte
	SHA256   string
	Archive  *artifact.Archive
	Manifest *manifest.Artifact

	Attestations [][]byte // DSSE envelopes to be stored beside it (ART-215)
}

// SignatureSuffix ends the name of the file of attestations beside an archive: in
// a store in place of .mur.zip, elsewhere after it.
const SignatureSuffix = ".sig.jsonl"

// maxSignatures bounds the file of an artifact's attestations in bytes.
const maxSignatures = 32 << 20

// NewItem reads an archive for the store. scope is where it will be known; the
// bare name in its manifest must equal want.Full.Name and its version
// want.Version where those are set (ART-11), else they are taken from it. A
// native payload gets the given platform tag. Errors are E-IO-003 and those of
// the manifest.
func NewItem(data []byte, want artifact.Ref, platform string, limits artifact.Limits, what string) (*Item, error) {
	a, err := artifact.Open(data, limits)
	if err != nil {
		return nil, artifact.Fault(what, err)
	}
	it := &Item{Ref: want, Bytes: data, SHA256: artifact.Hash(data), Archive: a}
	if err := it.read(want, platform, what); err != nil {
		return nil, err
	}
	return it, nil
}

// Item is what a store answered with as an item, for a platform where the file
// that answered names none. Nothing is opened or hashed again.
func (f *Found) Item(platform string) (*Item, error) {
	it := &Item{Ref: f.Ref, Bytes: f.Bytes, SHA256: f.SHA256, Archive: f.Archive, Attestations: f.Attestations}
	if f.Platform != "" {
		platform = f.Platform
	}
	if err := it.read(f.Ref, platform, f.Ref.String()); err != nil {
		return nil, err
	}
	return it, nil
}

// read reads the archive's own manifest and compares it with what is wanted.
func (it *Item) read(want artifact.Ref, platform, what string) error {
	text, err := it.Archive.Manifest()
	if err != nil {
		return artifact.Fault(what, err)
	}
	m, _, err := manifest.ParseArtifact(what+": "+manifest.FileName, text, manifest.ArtifactOptions{})
	if err != nil {
		return err
	}
	it.Manifest = m
	differs := func(key, got, want string) error {
		return diag.Errorf("E-IO-003", "%s: the archive's own manifest says %s %s, not %s", what, key, diag.Quote(got), diag.Quote(want)).
			About(diag.Subject{Kind: diag.Artifact, Name: what}).
			Name("name@version", what).Name("reason", key+" differs").Name("found", got).Name("expected", want)
	}
	switch {
	case want.Full.Name == "":
		it.Ref.Full.Name = m.Name
	case want.Full.Name != m.Name:
		return differs("name", m.Name, want.Full.Name)
	}
	switch {
	case want.Version == "":
		it.Ref.Version = m.Version
	case want.Version != m.Version:
		return differs("version", m.Version, want.Version)
	}
	if err := checkRef(it.Ref, what); err != nil {
		return err
	}
	if m.Kind == manifest.Native {
		it.Platform = platform
	}
	return nil
}

// checkRef checks what becomes a path in the store.
func checkRef(ref artifact.Ref, what string) error {
	if names.Reserved(ref.Version) {
		return diag.Errorf("E-REG-004", "%s: the version %s is reserved: %s name no version", what, diag.Quote(ref.Version), strings.Join(names.ReservedVersions(), ", ")).
			Hint("give the artifact one exact version in its murmur.yaml and pack it again").
			About(ref.Subject()).Name("version", ref.Version).Name("reserved words", strings.Join(names.ReservedVersions(), ", "))
	}
	_, err := names.ParseFull(ref.Full.String())
	if err == nil {
		err = names.CheckVersion(ref.Version)
		if err != nil {
			err = fmt.Errorf("its version %s %w", diag.Quote(ref.Version), err)
		}
	}
	return artifact.Fault(what, err)
}

// Put stores an item, once its archive was read through (ART-221). An existing archive or hash of its name, version and
// platform is replaced when overwrite is set, else it is E-REG-003 (ART-54). It
// returns the path of the archive. Writers of one version wait for each other
// until ctx ends.
func (s *Store) Put(ctx context.Context, it *Item, overwrite bool) (string, error) {
	if err := it.Archive.Examine(ctx); err != nil {
		return "", artifact.Fault(it.Ref.String(), err)
	}
	meta, err := json.Marshal(it.metaFile())
	if err != nil {
		return "", err
	}
	root, err := s.open(true)
	if err != nil {
		return "", workfs.Fault(err, fmt.Sprintf("cannot write to the %s store", s.label))
	}
	defer root.Close()
	dir, lock, err := lockVersion(ctx, root, it.Ref)
	if err != nil {
		return "", s.writeFault(it.Ref, err)
	}
	defer dir.Close()
	defer lock.Unlock()
	if err := recoverWrite(dir); err != nil {
		return "", s.writeFault(it.Ref, err)
	}
	stem := artifact.Stem(it.Ref.Full.Name, it.Ref.Version, it.Platform)
	if !overwrite {
		for _, suffix := range []string{artifact.Suffix, hashSuffix} {
			if _, err := dir.Stat(stem + suffix); err == nil {
				return "", diag.Errorf("E-REG-003", "%s is already published in the %s store (%s)", it.Ref, s.label, dir.Join(stem+suffix)).
					Hint("publish it under another version").
					About(it.Ref.Subject()).Name("name@version", it.Ref.String())
			}
		}
	}
	files := []content{
		{stem + artifact.Suffix, it.Bytes},
		{stem + hashSuffix, []byte(it.SHA256 + "\n")},
		{stem + metaSuffix, append(meta, '\n')},
	}
	// What was signed about other bytes goes with them.
	if _, err := dir.Stat(stem + SignatureSuffix); err == nil || len(it.Attestations) > 0 {
		files = append(files, content{stem + SignatureSuffix, append(bytes.Join(it.Attestations, []byte("\n")), '\n')})
	}
	err = writeAll(dir, files)
	return dir.Join(stem + artifact.Suffix), s.writeFault(it.Ref, err)
}

// lockVersion makes the directory of a version and takes its guard. A Remove may
// take the directory away while this waits for the guard.
func lockVersion(ctx context.Context, root *workfs.Root, ref artifact.Ref) (dir *workfs.Root, lock *workfs.Lock, err error) {
	for range 10 {
		if dir, err = root.MakeSub(versionDir(ref)); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, nil, err
		}
		if lock, err = dir.Lock(ctx, guardName); err == nil {
			return dir, lock, nil
		}
		dir.Close()
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}
	return nil, nil, err
}

func (s *Store) writeFault(ref artifact.Ref, err error) error {
	return workfs.Fault(err, fmt.Sprintf("cannot store %s in the %s store", ref, s.label))
}

type content struct {
	name string
	data []byte
}

// journal lists the files a write replaces. While it lies in the directory the
// write has not happened: readers take the old files, the next writer puts them
// back.
type journal struct {
	Files []journalFile `json:"files"`
}

type journalFile struct {
	Name    string `json:"name"`
	Existed bool   `json:"existed"`
}

func readJournal(dir *workfs.Root) (journal, error) {
	var j journal
	data, err := dir.ReadFile(journalName, 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	if err != nil {
		return j, fmt.Errorf("cannot read %s: %w", dir.Join(journalName), err)
	}
	return j, nil
}

// current returns the name under which the valid bytes of the file name lie, and
// whether there are any.
func (j journal) current(dir *workfs.Root, name string) (string, bool) {
	for _, f := range j.Files {
		if f.Name != name {
			continue
		}
		if !f.Existed {
			return "", false
		}
		if _, err := dir.Stat(oldPrefix + name); err == nil {
			return oldPrefix + name, true
		}
	}
	return name, true
}

// writeAll replaces the files, all of them or none (ART-53). The caller holds the
// guard.
func writeAll(dir *workfs.Root, files []content) (err error) {
	var j journal
	var pending []*workfs.Pending
	defer func() {
		for _, p := range pending {
			p.Abort()
		}
		if err != nil {
			err = errors.Join(err, recoverWrite(dir))
		}
	}()
	for _, f := range files {
		p, err := dir.Create(f.name, 0)
		if err != nil {
			return err
		}
		pending = append(pending, p)
		if _, err := p.Write(f.data); err != nil {
			return err
		}
		if err := p.Sync(); err != nil {
			return err
		}
		_, serr := dir.Stat(f.name)
		if serr != nil && !errors.Is(serr, fs.ErrNotExist) {
			return serr
		}
		j.Files = append(j.Files, journalFile{f.name, serr == nil})
	}
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if err := dir.WriteFile(journalName, data); err != nil {
		return err
	}
	for _, f := range j.Files {
		if f.Existed {
			if err := dir.Rename(f.Name, oldPrefix+f.Name); err != nil {
				return err
			}
		}
	}
	for _, p := range pending {
		if err := p.Commit(); err != nil {
			return err
		}
	}
	if err := dir.Remove(journalName); err != nil {
		return err
	}
	_ = clean(dir) // the write has happened; what is left the next writer removes
	return nil
}

// recoverWrite undoes a write that did not come to its end and removes what it
// left. The caller holds the guard, so nobody else is writing.
func recoverWrite(dir *workfs.Root) error {
	j, err := readJournal(dir)
	if err != nil {
		return err
	}
	for _, f := range j.Files {
		if f.Name != filepath.Base(f.Name) {
			return fmt.Errorf("%s names the file %s outside its directory", dir.Join(journalName), diag.Quote(f.Name))
		}
		if !f.Existed {
			if err := dir.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := dir.Rename(oldPrefix+f.Name, f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := dir.Remove(journalName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return clean(dir)
}

// clean removes backups and the temporaries of dead writers.
func clean(dir *workfs.Root) error {
	entries, err := dir.List(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		temporary := strings.HasPrefix(e.Name, ".") && strings.HasSuffix(e.Name, ".tmp")
		if e.IsRegular() && (strings.HasPrefix(e.Name, oldPrefix) || temporary) {
			if err := dir.Remove(e.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// metaFile is the shape of .meta.json (ART-51).
type metaFile struct {
	Meta Meta `json:"meta"`
}

// Meta describes a stored artifact without its archive being read.
type Meta struct {
	Name        string              `json:"name"`
	Version     string              `json:"version"`
	Kind        manifest.Kind       `json:"runtime"`
	Role        string              `json:"artifact_runtime"`
	Platforms   [][2]string         `json:"platforms"`
	Description *string             `json:"description"`
	Tags        []string            `json:"tags"`
	Contracts   *artifact.Contracts `json:"wit_contracts,omitempty"`
}

func (it *Item) metaFile() metaFile {
	m := it.Manifest
	meta := Meta{
		Name: m.Name, Version: m.Version, Kind: m.Kind, Role: string(m.Role),
		Platforms: [][2]string{}, Tags: slices.Clone(m.Tags),
	}
	if meta.Tags == nil {
		meta.Tags = []string{}
	}
	if os, arch, ok := strings.Cut(it.Platform, "-"); ok {
		meta.Platforms = append(meta.Platforms, [2]string{os, arch})
	}
	if m.Description != "" {
		meta.Description = &m.Description
	}
	meta.Contracts = it.Contracts()
	return metaFile{meta}
}

// Contracts are the interfaces the item's WASM payload names, nil without a
// readable one.
func (it *Item) Contracts() *artifact.Contracts {
	if it.Manifest.Kind != manifest.WASM {
		return nil
	}
	_, wasm, err := it.Archive.Component(it.Ref.String())
	if err != nil {
		return nil
	}
	c, ok := artifact.ReadContracts(wasm)
	if !ok {
		return nil
	}
	return &c
}
