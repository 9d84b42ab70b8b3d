// Package pack makes archives of source directories and skills, and publishes
// them.
package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/artifact"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-lock/internal/report"
)

// Options of a pack. Paths are absolute.
type Options struct {
	Source string // directory; for a skill a folder or zip
	Output string // "" for the default place
	Dir    string // working directory
	Strict bool
	Limits artifact.Limits
	Warn   func(diag.Warning)
}

// Pack packs the artifact in o.Source (ART section 3).
func Pack(ctx context.Context, o Options) (report.Row, error) {
	dir, err := workfs.OpenRoot(o.Source, workfs.Options{Plain: true})
	if err != nil {
		return report.Row{}, workfs.Fault(err, "cannot open the source directory")
	}
	defer dir.Close()
	file := dir.Join(manifest.FileName)
	text, err := dir.ReadFile(manifest.FileName, manifest.MaxBytes+1)
	if err != nil {
		return report.Row{}, workfs.Fault(err, "cannot read the artifact's manifest")
	}
	m, err := o.parse(file, text)
	if err != nil {
		return report.Row{}, err
	}
	output, err := o.output(o.Source, m)
	if err != nil {
		return report.Row{}, err
	}
	plan, err := artifact.PlanPack(dir, text, m, output, o.Limits)
	if err != nil {
		return report.Row{}, err
	}
	return o.write(ctx, plan, output)
}

// parse reads the manifest by the rules of packing and warns of unknown keys and
// literal secrets (MAN-276).
func (o Options) parse(file string, text []byte) (*manifest.Artifact, error) {
	m, warnings, err := manifest.ParseArtifact(file, text, manifest.ArtifactOptions{
		Pack: true, Options: manifest.Options{Strict: o.Strict},
	})
	if err != nil {
		return nil, err
	}
	secrets, err := manifest.ScanSecrets(file, text)
	if err != nil {
		return nil, err
	}
	for _, w := range append(warnings, secrets...) {
		o.Warn(w)
	}
	return m, nil
}

func (o Options) output(source string, m *manifest.Artifact) (string, error) {
	isDir := false
	if o.Output != "" {
		fi, err := os.Stat(o.Output)
		isDir = err == nil && fi.IsDir()
	}
	return artifact.OutputPath(source, o.Output, isDir, m.Name, m.Version)
}

func (o Options) write(ctx context.Context, plan *artifact.Plan, output string) (report.Row, error) {
	for _, w := range plan.Warnings {
		o.Warn(w)
	}
	data, err := plan.Build(o.Limits)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = artifact.WriteArchive(output, data)
	}
	if err != nil {
		return report.Row{}, err
	}
	row := report.Row{
		Name: plan.Name, Version: plan.Version, SHA256: artifact.Hash(data),
		Outcome: report.Packed, Path: output,
	}
	for _, f := range plan.Files {
		row.Files = append(row.Files, f.Name)
	}
	row.Text = fmt.Sprintf("packed %s@%s: %s (%d files, %d bytes, sha256 %s)", row.Name, row.Version, output, len(row.Files), len(data), row.SHA256)
	return row, nil
}

// Skill packs the folder or zip in o.Source as a skill; the archive goes to the
// working directory (ART-38, ART-39).
func Skill(ctx context.Context, o Options, d artifact.SkillDefaults) (report.Row, error) {
	src, err := artifact.OpenSkill(o.Source, o.Limits)
	if err != nil {
		return report.Row{}, err
	}
	defer src.Close()
	text := src.Manifest
	if text == nil {
		if d.Name == "" {
			d.Name = artifact.InferSkillName(o.Source)
		}
		if d.Version == "" {
			d.Version = artifact.SkillVersion
		}
		// A name that breaks the rule is E-BLD-001 before the manifest made of it
		// is read.
		if err := artifact.CheckIdentity(d.Name, d.Version); err != nil {
			return report.Row{}, err
		}
		text = artifact.SkillManifest(d)
	} else if d != (artifact.SkillDefaults{}) {
		return report.Row{}, diag.Usagef("%s has a %s: its name, version and description are taken from there, not from the command line", o.Source, manifest.FileName)
	}
	m, err := o.parse(filepath.Join(o.Source, manifest.FileName), text)
	if err != nil {
		return report.Row{}, err
	}
	output, err := o.output(o.Dir, m)
	if err != nil {
		return report.Row{}, err
	}
	plan, err := src.PlanSkill(text, m, output, o.Limits)
	if err != nil {
		return report.Row{}, err
	}
	if left := src.LeftOut(plan); len(left) > 0 && src.Manifest == nil {
		o.Warn(diag.Warning{Topic: "artifact", Message: fmt.Sprintf("only the skill's text is packed; left out: %s. List them under requires_files in a %s to pack them",
			strings.Join(left, ", "), manifest.FileName)})
	}
	return o.write(ctx, plan, output)
}

// missingArchive tells that a project has not been packed.
func missingArchive(path string) error {
	return diag.Errorf("E-IO-001", "there is no archive to publish: %s", path).
		Hint("pack it first: mur-lock pack").
		About(diag.Subject{Kind: diag.Path, Name: path}).
		Name("path", path).Name("what was looked for", filepath.Base(path))
}

// readArchive reads an archive named on the command line.
func readArchive(path string, limits artifact.Limits) ([]byte, error) {
	data, err := workfs.ReadFile(path, limits.ArchiveBytes())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missingArchive(path)
	}
	return data, workfs.Fault(err, "cannot read the archive")
}
