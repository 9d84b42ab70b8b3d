package launch

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/mur-capsules/mur/lib/cli"
	"github.com/mur-capsules/mur/lib/session"
	"github.com/mur-capsules/mur/lib/session/running"
	"github.com/mur-capsules/mur/lib/trace"
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

// toolCalls is how many calls were recorded.
func (r *recorder) toolCalls() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owner.Totals().ToolCalls
}

// sessionStart is the first line of a script capsule's trace (TRC-13): what the
// document says, and null or nothing for what belongs to a model.
func sessionStart(doc *session.Document, callable []string) trace.SessionStart {
	grants := doc.EffectiveGrants
	grants.IOMax.Status = "not-required" // no process is started for a script capsule
	grants.IOMax.Reason = ""
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
