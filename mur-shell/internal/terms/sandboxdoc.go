package terms

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/policy"
	"github.com/mur-capsules/mur/lib/session"
)

// sandboxSchema is the schema of a document that holds what confinement reads and
// nothing else (CON-46).
const sandboxSchema = "murmur.sandbox/1"

// sandboxDocument are the members of CON-44; those of the second group may be
// left out.
type sandboxDocument struct {
	Schema          string                              `json:"schema"`
	Directories     *session.Directories                `json:"directories"`
	Policy          *policy.Policy                      `json:"policy"`
	Containment     *session.Containment                `json:"containment"`
	HostProbe       *confine.Reading                    `json:"host_probe"`
	HostFacts       *[]session.HostFact                 `json:"host_facts"`
	ProtectedPaths  *[]session.ProtectedPath            `json:"protected_paths"`
	ToolAnnotations *map[string]session.ToolAnnotations `json:"tool_annotations"`
	EffectiveGrants *confine.ScopeReport                `json:"effective_grants"`
	Sandbox         *confine.Sandbox                    `json:"sandbox"`

	SessionID string             `json:"session_id"`
	Capsule   *session.Capsule   `json:"capsule"`
	Lifecycle *session.Lifecycle `json:"lifecycle"`
}

// isSandbox tells whether a text names the schema.
func isSandbox(data []byte) bool {
	var h struct {
		Schema string `json:"schema"`
	}
	return json.Unmarshal(data, &h) == nil && h.Schema == sandboxSchema
}

// decodeSandbox reads such a document as the part of a whole one that it is. An
// unknown or missing member is E-STG-101.
func decodeSandbox(data []byte, source string) (*session.Document, error) {
	var s sandboxDocument
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&s)
	if err == nil && (s.Directories == nil || s.Policy == nil || s.Containment == nil || s.HostProbe == nil || s.HostFacts == nil ||
		s.ProtectedPaths == nil || s.ToolAnnotations == nil || s.EffectiveGrants == nil || s.Sandbox == nil) {
		err = errors.New("a member is missing")
	}
	if err == nil && s.Sandbox.Version != 1 {
		err = errors.New("sandbox.version is not 1")
	}
	if err == nil && s.Containment.Achieved < s.Containment.Declared {
		err = errors.New("containment.achieved is below containment.declared")
	}
	if err != nil {
		return nil, diag.Errorf("E-STG-101", "the sandbox document from %s is refused: %w", source, err).Name("source", source)
	}
	d := &session.Document{
		SessionID: s.SessionID, Directories: *s.Directories, Policy: *s.Policy, Containment: *s.Containment, HostProbe: *s.HostProbe,
		HostFacts: *s.HostFacts, ProtectedPaths: *s.ProtectedPaths, ToolAnnotations: *s.ToolAnnotations, EffectiveGrants: *s.EffectiveGrants, Sandbox: *s.Sandbox,
	}
	if d.SessionID == "" {
		d.SessionID = "sandbox"
	}
	if s.Capsule != nil {
		d.Capsule = *s.Capsule
	}
	if s.Lifecycle != nil {
		d.Lifecycle = *s.Lifecycle
	}
	return d, nil
}
