package launch

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/session/running"
	"github.com/mur-capsules/mur/lib/trace"
	"github.com/mur-capsules/mur/lib/workfs"
	"github.com/mur-capsules/mur/mur-launch/internal/loop"
)

// recorder lets the calls of a guest and the session's own end write through
// the trace's one owner.
type recorder struct {
	mu    sync.Mutex
	owner *trace.Owner
}

// Record appends one line.
func (r *recorder) Record(p trace.Payload) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.owner.Write(p)
	return err
}

// Write is Record, as the loop calls it.
func (r *recorder) Write(p trace.Payload) error { return r.Record(p) }

// WriteTurn appends the line of an agent's turn.
func (r *recorder) WriteTurn(line trace.Inference, b *trace.Bodies) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.owner.WriteTurn(line, b)
	return err
}

// toolCalls is how many calls were recorded.
func (r *recorder) toolCalls() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owner.Totals().ToolCalls
}

// sessionStart is the first line of a script capsule's trace (TRC-13): what the
// document says, and null or nothing for what belongs to a model.
func sessionStart(doc *session.Document, io confine.IOMax, callable []string) trace.SessionStart {
	grants := doc.EffectiveGrants
	grants.IOMax = io
	report, _ := json.Marshal(grants) // plain values always encode
	s := trace.SessionStart{
		CapsuleName:        doc.Capsule.Name,
		CapsuleVersion:     doc.Capsule.Version,
		Kind:               session.KindScript,
		Capabilities:       capabilities(doc),
		ToolsDeclared:      callable,
		RuntimeArtifacts:   []trace.RuntimeArtifact{},
		EffectiveGrants:    report,
		HostFacts:          []trace.HostFact{},
		SystemPromptSource: "none",
		CredentialSource:   "none",
		Gateways:           []trace.Gateway{},
		ContextID:          doc.ContextID,
		Warnings:           []trace.Warning{},
		RuntimeVersion:     cli.Version,
	}
	if b := doc.Bundle; b != nil {
		s.Bundle = &trace.Bundle{Digest: b.Digest, Ref: b.Ref}
	}
	for _, a := range doc.Artifacts {
		if a.Origin.Kind == "runtime" {
			s.RuntimeArtifacts = append(s.RuntimeArtifacts, trace.RuntimeArtifact{
				Name: a.Name, Version: a.Version, Origin: "runtime", Session: a.Origin.Session, Trust: "untrusted",
			})
		}
	}
	for _, f := range doc.HostFacts {
		s.HostFacts = append(s.HostFacts, trace.HostFact{Binary: f.Binary, Path: f.Path, Source: f.Source})
	}
	for _, w := range doc.Warnings {
		line := trace.Warning{Message: w.Message}
		if w.Code != nil {
			line.Code = *w.Code
		}
		s.Warnings = append(s.Warnings, line)
	}
	return s
}

// agentStart is the first line of an agent's trace (TRC-13).
func agentStart(doc *session.Document, io confine.IOMax, offered []string) trace.SessionStart {
	s := sessionStart(doc, io, offered)
	inf := doc.Inference
	s.Kind, s.Model, s.MaxTurns = session.KindAgent, &inf.Model, inf.MaxTurns
	s.MaxSessionTokens, s.MachineTokensPerDay = doc.Spend.MaxSessionTokens, doc.Spend.MachineTokensPerDay
	s.ToolRefresh, s.SystemPromptSource = &inf.ToolRefresh, inf.SystemPrompt.Source
	for _, g := range doc.Gateways {
		line := trace.Gateway{Artifact: g.Artifact, CredentialSource: "keyless", Metered: g.Metered}
		if u, err := url.Parse(g.Endpoint); err == nil {
			line.Host = u.Host
		}
		if g.Credential != nil {
			line.CredentialSource = g.Credential.Source
		}
		if g.Artifact == inf.Choices[0].Driver {
			s.CredentialSource = line.CredentialSource
			s.Gateways = append([]trace.Gateway{line}, s.Gateways...)
		} else {
			s.Gateways = append(s.Gateways, line)
		}
	}
	if doc.InstructionFiles != nil {
		s.InstructionFiles = []trace.InstructionFile{}
		for _, f := range doc.InstructionFiles.Files {
			s.InstructionFiles = append(s.InstructionFiles, trace.InstructionFile{Path: f.Path, Bytes: f.Bytes, SHA256: f.SHA256})
		}
	}
	return s
}

// taskBytes is the task a --task value stands for (SES-139): the bytes of the
// file it names, relative to dir, else its own text.
func taskBytes(dir, value string) ([]byte, error) {
	path := value
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return []byte(value), nil
	}
	data, err := workfs.ReadFile(path, loop.MaxTask)
	return data, workfs.Fault(err, "cannot read the task")
}

// capabilities are those granted anything. A guest always has its work folder
// unless its grant says otherwise, so the filesystem is granted.
func capabilities(doc *session.Document) []string {
	granted := []string{}
	if len(doc.Policy.NetworkAllow) > 0 {
		granted = append(granted, "network")
	}
	granted = append(granted, "filesystem")
	if len(doc.Policy.ShellAllow) > 0 {
		granted = append(granted, "shell")
	}
	return granted
}

// runningRecord says that the session lives (SES-211).
func (l *launching) runningRecord() running.Record {
	pid := os.Getpid()
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		tty.Close()
	}
	return running.Record{
		SessionID:        l.doc.SessionID,
		PID:              pid,
		ProcessStart:     running.ProcessStart(pid),
		CapsuleName:      l.doc.Capsule.Name,
		CapsuleVersion:   l.doc.Capsule.Version,
		Workdir:          l.doc.Directories.Work.Path,
		RecordsDir:       l.doc.Directories.Records.Path,
		OutlivesLauncher: err != nil,
		StartedAt:        l.env.Now().UTC(),
		Unconfined:       l.doc.Containment.Unconfined,
	}
}
