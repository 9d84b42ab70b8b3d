package stage

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/manifest"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/workfs"
)

// maxPromptBytes bounds a prompt file.
const maxPromptBytes = 1 << 20

// defaultOutputCap is what a model gets whose own limit is not known (AGT-52).
const defaultOutputCap = 8192

// resolveDrivers describes the driver and the models of an agent (step 28). The
// driver's interface was checked when it was resolved.
func (s *staging) resolveDrivers() error {
	inf := s.capsule.Inference
	if inf == nil {
		return nil
	}
	driver := s.artifact(inf.Driver.Artifact)
	if driver == nil {
		return diag.Errorf("E-RUN-006", "inference.driver.artifact: %s is not among the artifacts", diag.Quote(inf.Driver.Artifact)).
			In("check").About(s.capsule.Subject("inference.driver.artifact"))
	}
	choice := session.Choice{
		Name: "primary", Driver: inf.Driver.Artifact, Model: inf.Model, ConfigJSON: inf.Driver.ConfigJSON,
		Available: true, Limits: limitsOf(driver.manifest, inf.Model),
	}
	if driver.gateway != nil {
		choice.Credential = s.gateways[*driver.gateway].Credential
	}
	compactor := inf.Compaction.Model
	if compactor == "" {
		compactor = inf.Model
	}
	caps := map[string]int64{}
	for _, model := range []string{inf.Model, compactor} {
		caps[model] = defaultOutputCap
		if l := limitsOf(driver.manifest, model); l != nil && l.MaxOutputTokens != nil {
			caps[model] = *l.MaxOutputTokens
		}
	}
	if l := choice.Limits; l != nil && l.MaxOutputTokens != nil && inf.MaxTokens > *l.MaxOutputTokens {
		s.warn(diag.Warningf("", "inference", "inference.max_tokens is %d, and %s puts out at most %d tokens", inf.MaxTokens, inf.Model, *l.MaxOutputTokens))
	}
	s.inference = &session.Inference{
		Transport: inf.Transport, Model: inf.Model, MaxTurns: inf.MaxTurns, MaxOutputTokens: inf.MaxTokens,
		Choices: []session.Choice{choice},
		Compaction: session.Compaction{
			Threshold: inf.Compaction.Threshold, Model: compactor, SystemPrompt: inf.Compaction.SystemPrompt,
			DumpSummaries: inf.Compaction.DumpSummaries, DriverConfigJSON: inf.Compaction.DriverConfigJSON,
		},
		HookOutputCaps: caps, ToolRefresh: inf.ToolRefresh,
	}
	return nil
}

func limitsOf(m *manifest.Artifact, model string) *session.ModelLimits {
	if m == nil {
		return nil
	}
	l := m.Limit(model)
	if l == nil {
		return nil
	}
	return &session.ModelLimits{ContextWindow: l.ContextWindow, MaxOutputTokens: l.MaxOutputTokens}
}

// resolvePrompts reads the system prompt and the compaction prompt (step 30).
func (s *staging) resolvePrompts() error {
	inf := s.capsule.Inference
	if inf == nil {
		return nil
	}
	text, source, err := s.systemPrompt(inf)
	if err != nil {
		return err
	}
	s.inference.SystemPrompt = session.SystemPrompt{Text: text, SHA256: hashOf([]byte(text)), Source: source}
	if file := inf.Compaction.SystemPromptFile; file != "" {
		text, err := s.promptFile("inference.compaction.system_prompt_file", file)
		if err != nil {
			return err
		}
		s.inference.Compaction.SystemPrompt = &text
	}
	return nil
}

func (s *staging) systemPrompt(inf *manifest.Inference) (text, source string, err error) {
	switch {
	case s.opts.SystemPrompt != nil:
		return *s.opts.SystemPrompt, "cli", nil
	case inf.SystemPrompt != "":
		return inf.SystemPrompt, "manifest", nil
	case inf.SystemPromptFile != "":
		text, err = s.promptFile("inference.system_prompt_file", inf.SystemPromptFile)
		return text, "manifest", err
	case inf.SystemPromptArtifact != "":
		a := s.artifact(inf.SystemPromptArtifact)
		if a == nil || a.skill == nil {
			const key = "inference.system_prompt_artifact"
			return "", "", diag.Errorf("E-RUN-009", "%s: %s holds no text", key, diag.Quote(inf.SystemPromptArtifact)).
				In("check").About(s.capsule.Subject(key)).Name("key", key).Name("artifact", inf.SystemPromptArtifact)
		}
		return string(a.skill), "manifest", nil
	}
	return "", "none", nil
}

func (s *staging) promptFile(key, path string) (string, error) {
	data, path, err := s.companion(path, maxPromptBytes)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fs.ErrNotExist
		}
		return "", diag.Errorf("E-RUN-009", "%s: the prompt file %s can not be read: %w", key, path, err).
			In("check").About(s.capsule.Subject(key)).Name("key", key).Name("path", path)
	}
	if !isText(data) {
		return "", diag.Errorf("E-RUN-009", "%s: the prompt file %s is not UTF-8 text", key, path).
			In("check").About(s.capsule.Subject(key)).Name("key", key).Name("path", path)
	}
	return string(data), nil
}

// artifact is the staged artifact of a full name, or nil.
func (s *staging) artifact(full string) *staged {
	for i := range s.artifacts {
		if s.artifacts[i].entry.Name.String() == full {
			return &s.artifacts[i]
		}
	}
	return nil
}

// The limits of MAN-173.
const (
	maxInstructionFile = 64 << 10
	maxInstructionAll  = 256 << 10
)

// readInstructions reads the instruction files in the work folder (step 33). A
// folder still to be made has none.
func (s *staging) readInstructions() error {
	inf := s.capsule.Inference
	if inf == nil || inf.InstructionFiles == nil {
		return nil
	}
	s.instructions = &session.InstructionFiles{Files: []session.InstructionFile{}}
	if s.held.work == nil {
		return nil
	}
	paths, err := instructionPaths(s.held.work, inf.InstructionFiles)
	if err != nil {
		return workfs.Fault(err, "cannot look for instruction files")
	}
	total := 0
	for _, p := range paths {
		data, err := s.held.work.ReadFile(p, maxInstructionFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, workfs.ErrTooLarge) {
			return s.instructionFault(p, fmt.Sprintf("it is larger than %d bytes", maxInstructionFile))
		}
		if err != nil {
			return workfs.Fault(err, "cannot read an instruction file")
		}
		if total += len(data); total > maxInstructionAll {
			return s.instructionFault(p, fmt.Sprintf("the files together are larger than %d bytes", maxInstructionAll))
		}
		if !isText(data) {
			return s.instructionFault(p, "it is not UTF-8 text")
		}
		s.instructions.Files = append(s.instructions.Files, session.InstructionFile{
			Path: p, Bytes: int64(len(data)), SHA256: hashOf(data), Text: string(data),
		})
	}
	return nil
}

func (s *staging) instructionFault(path, reason string) error {
	const key = "inference.instruction_files"
	return diag.Errorf("E-MAN-003", "%s: the file %s can not be used: %s", key, s.held.work.Join(path), reason).
		In("check").About(s.capsule.Subject(key)).Name("key", key).Name("path", path).Name("reason", reason)
}
