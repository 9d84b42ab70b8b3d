package session

import (
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// Names beneath the murmur home (SES section 2.1).
const (
	SessionsDir = "sessions"
	RecordsDir  = "records"
	RunningDir  = "running"
)

// Names in a session directory (SES section 2.3).
const (
	LockName     = ".lock"
	DocumentName = "staged.json"
	RuntimeDir   = "runtime"
	SealedEtcDir = "sealed-etc"
	HarnessDir   = "harness"
)

// Names in a runtime directory (SES section 2.3).
const (
	ToolsDir     = "tools"
	ManifestName = "murmur.yaml"
	SkillName    = "SKILL.md"
	TaskName     = "task.md"
	MurmurName   = "MURMUR.md"
)

// Names in a records directory (SES section 2.4).
const (
	TraceName = "trace.jsonl"
	LogsDir   = "logs"
	TempDir   = "tmp"
	HomeDir   = "home"
)

// Mirror returns where the records of the sessions of a workdir root lie, as a
// path relative to the murmur home: records/ and the root without its leading
// slash (SES-32). A root that has no such place is E-IO-003.
func Mirror(workdirRoot string) (string, error) {
	clean := filepath.Clean(workdirRoot)
	if !filepath.IsAbs(workdirRoot) || clean != workdirRoot {
		return "", mirrorFault(workdirRoot, "it is no clean absolute path")
	}
	rel := filepath.Join(RecordsDir, strings.TrimPrefix(clean, "/"))
	if len(rel) > 4096 {
		return "", mirrorFault(workdirRoot, "the path is longer than 4096 bytes")
	}
	for _, part := range strings.Split(rel, "/") {
		if len(part) > 255 {
			return "", mirrorFault(workdirRoot, "a component is longer than 255 bytes")
		}
	}
	return rel, nil
}

func mirrorFault(root, reason string) error {
	return diag.Errorf("E-IO-003", "no records directory can be made for the workdir root %s: %s", diag.Quote(root), reason).
		About(diag.Subject{Kind: diag.Path, Name: root}).Name("path", root).Name("reason", reason)
}

// paths yields each directory by its member's name.
func (d Directories) paths() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		_ = yield("work", d.Work.Path) && yield("session", d.Session.Path) && yield("runtime", d.Runtime.Path) &&
			yield("sealed_etc", d.SealedEtc.Path) && yield("harness", d.Harness.Path) && yield("records", d.Records.Path) &&
			yield("workdir_root", d.WorkdirRoot.Path) && yield("murmur_home", d.MurmurHome.Path)
	}
}

// parseMode reads a StagedFile.Mode.
func parseMode(s string) (uint32, error) {
	var m uint32
	if len(s) != 4 || strings.Trim(s, "01234567") != "" {
		return 0, fmt.Errorf("is %q, not four octal digits", s)
	}
	for _, c := range s {
		m = m<<3 | uint32(c-'0')
	}
	return m, nil
}
