package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/workfs"
)

// SkillDefaults are what --skill fills in when the source has no manifest
// (ART-38). An empty Name is inferred from the source's path.
type SkillDefaults struct{ Name, Version, Summary string }

// SkillVersion is the version of a skill that names none.
const SkillVersion = "0.1.0"

// InferSkillName makes an artifact name of a path: its last component without
// .zip, lower-cased, every other character a -, runs collapsed, ends trimmed
// (ART-39). The result may still break the rule of names.
func InferSkillName(path string) string {
	base := strings.ToLower(filepath.Base(path))
	base = strings.TrimSuffix(base, ".zip")
	var b strings.Builder
	for _, r := range base {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// SkillManifest is the manifest generated for a skill that has none: the keys of
// ART-38 and nothing else.
func SkillManifest(d SkillDefaults) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nversion: %s\nruntime: skill\n", quoteYAML(d.Name), quoteYAML(d.Version))
	if d.Summary != "" {
		fmt.Fprintf(&b, "description: %s\n", quoteYAML(d.Summary))
	}
	return []byte(b.String())
}

// quoteYAML writes text as a double-quoted YAML scalar. Every other character
// stands for itself: YAML 1.2 section 5.7 escapes these.
func quoteYAML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == 0x2028 || r == 0x2029 || r == 0xfeff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// SkillSource is a folder or zip holding a skill's text, as far as --skill needs
// it: its manifest, if it has one, and the files beside.
type SkillSource struct {
	Manifest []byte // nil without one
	dir      *workfs.Root
	archive  *Archive
	prefix   string // the one folder a zip holds everything in
	path     string
}

// OpenSkill opens the folder or zip at path. No skill text in it is E-IO-001.
// Close releases it.
func OpenSkill(path string, limits Limits) (*SkillSource, error) {
	s := &SkillSource{path: path}
	dir, err := workfs.OpenRoot(path, workfs.Options{Plain: true})
	switch {
	case err == nil:
		s.dir = dir
	case errors.Is(err, fs.ErrNotExist):
		return nil, workfs.Fault(err, "cannot find the skill")
	default:
		if err := s.openZip(limits); err != nil {
			return nil, err
		}
	}
	err = s.find()
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *SkillSource) openZip(limits Limits) error {
	data, err := workfs.ReadFile(s.path, limits.ArchiveBytes())
	if err != nil {
		return workfs.Fault(err, "cannot read the skill")
	}
	if s.archive, err = Open(data, limits); err != nil {
		return Fault(s.path, err)
	}
	if len(skillTexts(s.archive.Names())) == 0 {
		s.prefix = onlyFolder(s.archive.Names())
	}
	return nil
}

// onlyFolder returns "<folder>/" when every name lies in one folder, which is
// what zipping a folder gives.
func onlyFolder(all []string) string {
	folder := ""
	for _, n := range all {
		first, _, ok := strings.Cut(n, "/")
		if !ok || folder != "" && folder != first+"/" {
			return ""
		}
		folder = first + "/"
	}
	return folder
}

func (s *SkillSource) find() error {
	all, err := s.list()
	if err != nil {
		return err
	}
	texts := skillTexts(all)
	if len(texts) == 0 {
		return diag.Errorf("E-IO-001", "%s holds no skill.md", s.path).
			About(diag.Subject{Kind: diag.Path, Name: s.path}).
			Name("path", s.path).Name("what was looked for", "skill.md")
	}
	if len(texts) > 1 {
		return diag.Errorf("E-IO-003", "%s holds two skill texts: %s", s.path, strings.Join(texts, ", ")).
			Name("path", s.path).Name("reason", "two skill texts")
	}
	for _, n := range all {
		if n == ManifestName {
			s.Manifest, err = s.read(n)
		}
	}
	return err
}

func (s *SkillSource) list() ([]string, error) {
	var out []string
	if s.archive != nil {
		for _, n := range s.archive.Names() {
			if rest, ok := strings.CutPrefix(n, s.prefix); ok {
				out = append(out, rest)
			}
		}
		return out, nil
	}
	entries, err := s.dir.List(".")
	for _, e := range entries {
		if e.IsDir() {
			e.Name += "/"
		}
		out = append(out, e.Name)
	}
	return out, workfs.Fault(err, "cannot list the skill")
}

func (s *SkillSource) read(name string) ([]byte, error) {
	if s.archive != nil {
		data, err := s.archive.Read(s.prefix + name)
		return data, Fault(s.path, err)
	}
	data, err := s.dir.ReadFile(name, manifest.MaxBytes+1)
	return data, workfs.Fault(err, "cannot read the skill's manifest")
}

// Close releases the source.
func (s *SkillSource) Close() {
	if s.dir != nil {
		s.dir.Close()
	}
}

// PlanSkill plans the pack of a skill, whose manifest (its own or a generated
// one) has the bytes text and was read as m. The manifest's runtime must be skill
// (E-MAN-003).
func (s *SkillSource) PlanSkill(text []byte, m *manifest.Artifact, output string, limits Limits) (*Plan, error) {
	if m.Role != policy.Skill {
		return nil, diag.Errorf("E-MAN-003", "runtime is %s; --skill expects skill", diag.Quote(string(m.Role))).
			About(diag.Subject{Kind: diag.ManifestKey, Name: "runtime", File: s.path}).
			Name("found", string(m.Role)).Name("expected", "skill")
	}
	if s.dir != nil {
		return PlanPack(s.dir, text, m, output, limits)
	}
	if err := CheckIdentity(m.Name, m.Version); err != nil {
		return nil, err
	}
	entries, warnings, err := planEntries(m.RequiresFiles)
	if err != nil {
		return nil, err
	}
	p := &Plan{Name: m.Name, Version: m.Version, Warnings: warnings, Files: []File{{Name: ManifestName, Data: text}}}
	for _, e := range entries {
		name := e.archive
		if strings.EqualFold(name, "skill.md") {
			all, _ := s.list()
			name = skillTexts(all)[0]
		}
		if !s.archive.Has(s.prefix + name) {
			return nil, diag.Errorf("E-IO-003", "requires_files entry %s is missing in %s", diag.Quote(e.source), s.path).
				Name("path", s.path).Name("reason", "missing entry "+e.source)
		}
		data, err := s.read(name)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, File{Name: e.archive, Data: data})
	}
	more, err := checkPayload(m, p.fileNames())
	p.Warnings = append(p.Warnings, more...)
	return p, err
}

// LeftOut lists the files of the source a plan does not pack, sorted.
func (s *SkillSource) LeftOut(p *Plan) []string {
	packed := map[string]bool{}
	for _, f := range p.Files {
		packed[strings.ToLower(f.Name)] = true
	}
	all, _ := s.list()
	var out []string
	for _, n := range all {
		if !packed[strings.ToLower(n)] {
			out = append(out, n)
		}
	}
	return out
}
