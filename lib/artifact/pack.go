package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/workfs"
)

// Plan is a pack that passed every check: what goes into the archive, in order,
// with its bytes. Nothing has been written (ART-24).
type Plan struct {
	Name, Version string
	Files         []File // murmur.yaml first
	Warnings      []diag.Warning
}

// File is one entry to be packed.
type File struct {
	Name       string // in the archive
	Executable bool
	Data       []byte
}

// PlanPack checks the directory an artifact is packed from, whose murmur.yaml has
// the bytes text and was read as m, against the rules of ART-23 to ART-36. output
// is the absolute path the archive will have; it is never packed. The errors are
// E-BLD-001, E-BLD-002, E-BLD-003, E-MAN-003 and E-IO-00x, in that order of
// checks; the first decides.
func PlanPack(dir *workfs.Root, text []byte, m *manifest.Artifact, output string, limits Limits) (*Plan, error) {
	if err := CheckIdentity(m.Name, m.Version); err != nil {
		return nil, err
	}
	p := &Plan{Name: m.Name, Version: m.Version}
	entries, warnings, err := planEntries(m.RequiresFiles)
	if err != nil {
		return nil, err
	}
	p.Warnings = warnings
	p.Files = []File{{Name: ManifestName, Data: text}}
	for _, e := range entries {
		if dir.Join(e.source) == output || dir.Join(e.archive) == output {
			return nil, badEntry(e.source, "it is the archive being written")
		}
		f, err := readEntry(dir, e, m, limits)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, f)
	}
	more, err := checkPayload(m, p.fileNames())
	p.Warnings = append(p.Warnings, more...)
	return p, err
}

func (p *Plan) fileNames() []string {
	var out []string
	for _, f := range p.Files {
		out = append(out, f.Name)
	}
	return out
}

// CheckIdentity checks what the archive's file name is made of. A reserved
// version may be packed, it is never published (ART-6).
func CheckIdentity(name, version string) error {
	if err := names.CheckBare(name); err != nil {
		return diag.Errorf("E-BLD-001", "the artifact's name %s is not valid: it %w", diag.Quote(name), err).
			Hint("a name has 1 to %d characters of a-z, 0-9 and -, and no - at its ends", names.MaxName).
			About(diag.Subject{Kind: diag.ManifestKey, Name: "name"}).Name("name", name).Name("broken rule", err.Error())
	}
	if err := names.CheckVersion(version); err != nil && !names.Reserved(version) {
		return diag.Errorf("E-MAN-003", "version: %s %w", diag.Quote(version), err).
			About(diag.Subject{Kind: diag.ManifestKey, Name: "version"}).Name("reason", err.Error())
	}
	return nil
}

func badEntry(entry, reason string) *diag.Error {
	return diag.Errorf("E-BLD-002", "requires_files entry %s can not be packed: %s", diag.Quote(entry), reason).
		About(diag.Subject{Kind: diag.ManifestKey, Name: "requires_files"}).Name("entry", entry).Name("reason", reason)
}

// planned is a declared entry: where it is read from and what it becomes.
type planned struct{ source, archive string }

// planEntries checks the declared entries as text (ART-28, ART-29, ART-34).
func planEntries(declared []string) ([]planned, []diag.Warning, error) {
	var out []planned
	var warnings []diag.Warning
	seen := map[string]string{}
	for _, entry := range declared {
		slashed := strings.ReplaceAll(entry, `\`, "/")
		switch {
		case entry == "":
			return nil, nil, badEntry(entry, "it is empty")
		case strings.HasPrefix(slashed, "/"), len(slashed) > 1 && whyUnsafe(slashed[:2]) == "it has a drive prefix":
			return nil, nil, badEntry(entry, "it is absolute")
		case slices.Contains(strings.Split(slashed, "/"), ".."):
			return nil, nil, badEntry(entry, "it has a .. component")
		case slashed == "." || strings.HasSuffix(slashed, "/"):
			return nil, nil, badEntry(entry, "it names a directory; list the files")
		}
		p := planned{source: path.Clean(entry), archive: path.Clean(slashed)}
		if err := checkEntryName(p.archive); err != nil {
			return nil, nil, badEntry(entry, err.Error())
		}
		if why := whyUnsafe(p.archive); why != "" {
			return nil, nil, badEntry(entry, why)
		}
		if p.archive == ManifestName {
			warnings = append(warnings, diag.Warningf("W-BLD-001", "artifact",
				"requires_files lists %s, which the packer writes itself; it is packed once", diag.Quote(entry)))
			continue
		}
		if key := strings.ToLower(p.archive); key == ManifestName {
			return nil, nil, badEntry(entry, "its name in the archive is that of the manifest, but for case")
		} else if first, ok := seen[key]; ok {
			how := "both become %s in the archive"
			if path.Clean(strings.ReplaceAll(first, `\`, "/")) != p.archive {
				how += ", but for case"
			}
			return nil, nil, diag.Errorf("E-BLD-002", "requires_files entries %s and %s "+how,
				diag.Quote(first), diag.Quote(entry), diag.Quote(p.archive)).
				About(diag.Subject{Kind: diag.ManifestKey, Name: "requires_files"}).
				Name("entry", first).Name("other entry", entry).Name("archive name", p.archive)
		} else {
			seen[key] = entry
		}
		out = append(out, p)
	}
	return out, warnings, nil
}

// readEntry reads a declared file beneath dir without following a link.
func readEntry(dir *workfs.Root, e planned, m *manifest.Artifact, limits Limits) (File, error) {
	source, err := locate(dir, e, m)
	if err != nil {
		return File{}, err
	}
	st, err := dir.Stat(source)
	if err == nil && st.Mode&fs.ModeSymlink != 0 {
		return File{}, badEntry(e.source, "it is a link")
	}
	var data []byte
	if err == nil {
		data, err = dir.ReadFile(source, int64(min(limits.EntryBytes, 1<<62)))
	}
	switch {
	case errors.Is(err, workfs.ErrRefused):
		return File{}, badEntry(e.source, "a component of it is a link or special file")
	case errors.Is(err, workfs.ErrTooLarge) || err == nil && uint64(len(data)) > limits.EntryBytes:
		return File{}, badEntry(e.source, fmt.Sprintf("it is larger than the ceiling of %d bytes (%s)", limits.EntryBytes, CeilingVariable))
	case errors.Is(err, fs.ErrNotExist):
		return File{}, missing(dir, e.source)
	case err != nil:
		return File{}, workfs.Fault(err, "cannot read a file to pack")
	}
	exec := m.Kind == manifest.Native && st.Mode&0o111 != 0
	return File{Name: e.archive, Executable: exec, Data: data}, nil
}

func missing(dir *workfs.Root, entry string) error {
	return diag.Errorf("E-IO-003", "requires_files entry %s is missing in %s", diag.Quote(entry), dir.Path()).
		Hint("create the file, or take it out of requires_files").
		About(diag.Subject{Kind: diag.Path, Name: dir.Join(entry)}).
		Name("path", dir.Join(entry)).Name("reason", "missing")
}

// locate finds the file of an entry: as written, with \ as /, or, for a skill's
// text, in whatever case it has on disk.
func locate(dir *workfs.Root, e planned, m *manifest.Artifact) (string, error) {
	for _, name := range []string{e.source, e.archive} {
		_, err := dir.Stat(name)
		switch {
		case err == nil:
			return name, nil
		case errors.Is(err, workfs.ErrRefused):
			return "", badEntry(e.source, "a component of it is a link or special file")
		case !errors.Is(err, fs.ErrNotExist):
			return "", workfs.Fault(err, "cannot look at a file to pack")
		}
	}
	if m.Role == policy.Skill && strings.EqualFold(e.archive, "skill.md") {
		entries, err := dir.List(".")
		if err != nil {
			return "", workfs.Fault(err, "cannot list the source directory")
		}
		for _, d := range entries {
			if strings.EqualFold(d.Name, "skill.md") {
				return d.Name, nil
			}
		}
	}
	return "", missing(dir, e.source)
}

// checkPayload checks that the packed set has the payload its manifest promises
// and points out what does nothing in it (ART-31, ART-35, ART-36).
func checkPayload(m *manifest.Artifact, packed []string) ([]diag.Warning, error) {
	var warnings []diag.Warning
	warn := func(code diag.Code, format string, args ...any) {
		warnings = append(warnings, diag.Warningf(code, "artifact", format, args...))
	}
	what := m.Name + "@" + m.Version
	switch {
	case m.Kind == manifest.WASM:
		if _, err := ChooseComponent(what, packed); err != nil {
			return nil, err
		}
		if _, hidden, _ := Components(packed); len(hidden) > 0 {
			warn("W-BLD-002", "%s is the payload; it hides %s, which never run", CapsuleName, strings.Join(hidden, ", "))
		}
	case m.Kind == manifest.Native:
		if ChooseNative(m.Name, packed) == "" {
			return nil, diag.Errorf("E-IO-003", "%s has no program to pack: requires_files must list bin/%s", what, m.Name).
				Name("path", "bin/"+m.Name).Name("reason", "missing")
		}
	case m.Role == policy.Skill && len(skillTexts(packed)) == 0:
		return nil, diag.Errorf("E-IO-003", "%s is a skill and packs no skill.md", what).
			Hint("list skill.md in requires_files, or leave requires_files out").
			Name("path", "skill.md").Name("reason", "missing")
	}
	if m.Kind != manifest.Static {
		if inputs := slices.DeleteFunc(slices.Clone(packed), func(n string) bool { return !isBuildInput(n) }); len(inputs) > 0 {
			warn("W-BLD-003", "build inputs are packed beside the compiled payload: %s", strings.Join(inputs, ", "))
		}
	}
	return warnings, nil
}

func isBuildInput(name string) bool {
	switch base := path.Base(name); {
	case base == "go.mod", base == "go.sum", base == "Cargo.toml", base == "Cargo.lock":
		return true
	case strings.HasSuffix(base, ".go"), strings.HasSuffix(base, ".rs"):
		return true
	}
	return slices.Contains(strings.Split(path.Dir(name), "/"), "target")
}

// OutputPath is where a pack writes: source/<name>-<version>.mur.zip without an
// output, else the output itself or, when isDir says it is a directory, the
// default name in it. An output with another ending is E-IO-003 (ART-22).
func OutputPath(source, output string, isDir bool, name, version string) (string, error) {
	file := FileName(name, version, "")
	switch {
	case output == "":
		return filepath.Join(source, file), nil
	case isDir:
		return filepath.Join(output, file), nil
	case !strings.HasSuffix(output, Suffix):
		return "", diag.Errorf("E-IO-003", "the output %s does not end in %s", diag.Quote(output), Suffix).
			Name("path", output).Name("reason", "does not end in "+Suffix)
	}
	return output, nil
}
