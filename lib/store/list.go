package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Row is one stored version of an artifact, as listed.
type Row struct {
	Ref       artifact.Ref
	Store     string
	Platforms []string // tags it is there for; empty: the untagged file alone
	Untagged  bool     // the untagged file is there
	SHA256    string   // as recorded, of the file this host would get, else the first
	Meta      Meta
}

// List returns what the store holds, sorted by full name, version and kind. A
// version directory counts when it holds an archive with its hash (ART-58).
// Archives are opened only where .meta.json is missing (ART-52). An absent store
// holds nothing. The error joins one for each version that can not be read; the
// rows are all others.
func (s *Store) List(ctx context.Context) ([]Row, error) {
	rows, bad, err := s.Look(ctx)
	faults := []error{err}
	for _, b := range bad {
		faults = append(faults, b.Err)
	}
	return rows, errors.Join(faults...)
}

// Unreadable is a version of which a store can not tell what it holds; Err has a
// code.
type Unreadable struct {
	Ref artifact.Ref
	Err error
}

// Look is List that keeps the versions it can not read apart.
func (s *Store) Look(ctx context.Context) (rows []Row, bad []Unreadable, err error) {
	err = s.each(func(ref artifact.Ref) error {
		row, ok, err := s.row(ctx, ref)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			bad = append(bad, Unreadable{ref, s.fault(ref, err)})
		case ok:
			rows = append(rows, row)
		}
		return nil
	})
	SortRows(rows)
	return rows, bad, workfs.Fault(err, fmt.Sprintf("cannot list the %s store", s.label))
}

// SortRows sorts rows by full name, version and kind; rows of one artifact keep
// the order of their stores.
func SortRows(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Ref.Full.String(), b.Ref.Full.String()),
			CompareVersions(a.Ref.Version, b.Ref.Version), cmp.Compare(a.Meta.Kind, b.Meta.Kind))
	})
}

// Versions returns the versions the store holds of a name for a platform, oldest
// first by CompareVersions.
func (s *Store) Versions(ctx context.Context, name names.Full, platform string) ([]string, error) {
	root, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fault(artifact.Ref{Full: name}, err)
	}
	defer root.Close()
	dirs, err := subdirs(root, name.Scope+"/"+name.Name)
	if err != nil {
		return nil, s.fault(artifact.Ref{Full: name}, err)
	}
	var out []string
	for _, v := range dirs {
		if names.CheckVersion(v) != nil {
			continue
		}
		if ok, err := s.Has(ctx, artifact.Ref{Full: name, Version: v}, platform); err != nil {
			return nil, err
		} else if ok {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, CompareVersions)
	return out, nil
}

// each calls visit for every version directory with a valid name.
func (s *Store) each(visit func(artifact.Ref) error) error {
	root, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	scopes, err := subdirs(root, ".")
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		bare, err := subdirs(root, scope)
		if err != nil {
			return err
		}
		for _, name := range bare {
			full, err := names.ParseFull(scope + "/" + name)
			if err != nil {
				continue
			}
			versions, err := subdirs(root, scope+"/"+name)
			if err != nil {
				return err
			}
			for _, v := range versions {
				if names.CheckVersion(v) != nil {
					continue
				}
				if err := visit(artifact.Ref{Full: full, Version: v}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func subdirs(root *workfs.Root, rel string) ([]string, error) {
	entries, err := root.List(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name)
		}
	}
	return out, err
}

func (s *Store) row(ctx context.Context, ref artifact.Ref) (Row, bool, error) {
	v, err := s.openVersion(ctx, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return Row{}, false, nil
	}
	if err != nil {
		return Row{}, false, err
	}
	defer v.close()
	row := Row{Ref: ref, Store: s.label, Platforms: v.platforms(ref), Untagged: v.has(ref, "")}
	tags := slices.Clone(row.Platforms)
	if row.Untagged {
		tags = append(tags, "")
	}
	if len(tags) == 0 {
		return Row{}, false, nil
	}
	tag := tags[0]
	if slices.Contains(tags, artifact.Host()) {
		tag = artifact.Host()
	}
	stem := artifact.Stem(ref.Full.Name, ref.Version, tag)
	recorded, err := v.readFile(stem+hashSuffix, 4096)
	if err != nil {
		return Row{}, false, err
	}
	row.SHA256 = strings.TrimSpace(string(recorded))
	row.Meta = v.meta(ref, tag, s.limits)
	return row, true, nil
}

// meta returns what .meta.json says, or what the archive's own manifest says
// where that is missing or unreadable; the zero kind when neither can be read.
func (v *version) meta(ref artifact.Ref, tag string, limits artifact.Limits) Meta {
	stem := artifact.Stem(ref.Full.Name, ref.Version, tag)
	var file metaFile
	data, err := v.readFile(stem+metaSuffix, 1<<20)
	if err == nil && json.Unmarshal(data, &file) == nil && file.Meta.Kind != "" {
		return file.Meta
	}
	archive, err := v.readFile(stem+artifact.Suffix, limits.ArchiveBytes())
	if err != nil {
		return Meta{}
	}
	it, err := NewItem(archive, ref, tag, limits, ref.String())
	if err != nil {
		return Meta{}
	}
	return it.metaFile().Meta
}

// HasContract reports whether an interface of the artifact begins with prefix.
func (r Row) HasContract(prefix string) bool {
	if r.Meta.Contracts == nil {
		return false
	}
	begins := func(s string) bool { return strings.HasPrefix(s, prefix) }
	return slices.ContainsFunc(r.Meta.Contracts.Exports, begins) || slices.ContainsFunc(r.Meta.Contracts.Imports, begins)
}

// CompareVersions orders versions: those of the form of Semantic Versioning 2.0.0
// (a leading v allowed) by its precedence, others as text and before them
// (ART-194). Equal means the same text.
func CompareVersions(a, b string) int {
	na, pa, oka := semver(a)
	nb, pb, okb := semver(b)
	switch {
	case oka && okb:
		return cmp.Or(slices.CompareFunc(na, nb, compareNumber), comparePre(pa, pb), cmp.Compare(a, b))
	case oka:
		return 1
	case okb:
		return -1
	}
	return cmp.Compare(a, b)
}

// semver splits 1.2.3-pre+build into its numbers and pre-release identifiers.
func semver(v string) (numbers, pre []string, ok bool) {
	v = strings.TrimPrefix(v, "v")
	v, _, _ = strings.Cut(v, "+")
	core, p, hasPre := strings.Cut(v, "-")
	numbers = strings.Split(core, ".")
	if len(numbers) > 3 {
		return nil, nil, false
	}
	for _, n := range numbers {
		if !isNumber(n) {
			return nil, nil, false
		}
	}
	for len(numbers) < 3 {
		numbers = append(numbers, "0")
	}
	if hasPre {
		pre = strings.Split(p, ".")
	}
	return numbers, pre, true
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// compareNumber compares decimal numbers of any length.
func compareNumber(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// comparePre orders pre-releases: none is after any; numbers before text.
func comparePre(a, b []string) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(b), len(a))
	}
	return slices.CompareFunc(a, b, func(x, y string) int {
		switch nx, ny := isNumber(x), isNumber(y); {
		case nx && ny:
			return compareNumber(x, y)
		case nx:
			return -1
		case ny:
			return 1
		}
		return cmp.Compare(x, y)
	})
}
