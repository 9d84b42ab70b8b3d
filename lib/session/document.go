package session

import (
	"encoding/json"
	"fmt"

	"github.com/mur-capsules/mur/lib/confine"
	"github.com/mur-capsules/mur/lib/policy"
)

// Schema is the value of Document.Schema this package reads and writes.
const Schema = "murmur.session/1"

// The kinds of a session.
const (
	KindAgent  = "agent"
	KindScript = "script"
)

// Document is the staged-session document. Every member is present in its JSON
// form: a nil pointer is written as null, a slice or map is never null. Paths
// are absolute, hashes lower-case hex SHA-256 of exact bytes, times Unix
// milliseconds, sizes bytes, and durations in the unit of the member's suffix
// (SES-77, SES-79).
type Document struct {
	Schema                string                     `json:"schema"`
	StagedAtMs            int64                      `json:"staged_at_ms"`
	Stager                Stager                     `json:"stager"`
	SessionID             string                     `json:"session_id"`
	Kind                  string                     `json:"kind" words:"agent,script"`
	Capsule               Capsule                    `json:"capsule"`
	Bundle                *Bundle                    `json:"bundle"`
	Manifest              Manifest                   `json:"manifest"`
	Directories           Directories                `json:"directories"`
	WorkdirIdentity       *Identity                  `json:"workdir_identity"`
	ParentWorkdirSnapshot json.RawMessage            `json:"parent_workdir_snapshot"`
	EnvFile               *EnvFile                   `json:"env_file"`
	Lock                  Lock                       `json:"lock"`
	Stores                Stores                     `json:"stores"`
	Engine                Engines                    `json:"engine"`
	Artifacts             []Artifact                 `json:"artifacts"`
	ArtifactNames         map[string]string          `json:"artifact_names"`
	AllowlistedTools      []string                   `json:"allowlisted_tools"`
	DeclaredArtifacts     []string                   `json:"declared_artifacts"`
	ReservedToolNames     []string                   `json:"reserved_tool_names"`
	Generation            int                        `json:"generation"`
	Policy                policy.Policy              `json:"policy"`
	Containment           Containment                `json:"containment"`
	HostProbe             confine.Reading            `json:"host_probe"`
	HostFacts             []HostFact                 `json:"host_facts"`
	EffectiveGrants       confine.ScopeReport        `json:"effective_grants"`
	Sandbox               confine.Sandbox            `json:"sandbox"`
	ProtectedPaths        []ProtectedPath            `json:"protected_paths"`
	ToolAnnotations       map[string]ToolAnnotations `json:"tool_annotations"`
	ProviderTools         ProviderTools              `json:"provider_tools"`
	Lifecycle             Lifecycle                  `json:"lifecycle"`
	Inference             *Inference                 `json:"inference"`
	InstructionFiles      *InstructionFiles          `json:"instruction_files"`
	Context               *Context                   `json:"context"`
	Trace                 Trace                      `json:"trace"`
	Observability         Observability              `json:"observability"`
	Network               Network                    `json:"network"`
	Door                  Door                       `json:"door"`
	Control               *Control                   `json:"control"`
	Exports               Exports                    `json:"exports"`
	Gateways              []Gateway                  `json:"gateways"`
	Spend                 Spend                      `json:"spend"`
	SpawnBounds           SpawnBounds                `json:"spawn_bounds"`
	ContextID             *string                    `json:"context_id"`
	Resume                *Resume                    `json:"resume"`
	ForgetSession         bool                       `json:"forget_session"`
	Task                  Task                       `json:"task"`
	Deadline              *Deadline                  `json:"deadline"`
	Lineage               Lineage                    `json:"lineage"`
	Warnings              []Warning                  `json:"warnings"`
	StageFaults           []StageFault               `json:"stage_faults"`
	Files                 []StagedFile               `json:"files"`
}

// Stager is the mur-stage that wrote a document; OS and Arch are Go's words.
type Stager struct {
	Version string `json:"version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// File is a file whose bytes the launch will trust (SES-89).
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// StagedFile is a row of Document.Files: a File and its mode bits as four octal
// digits, such as "0644".
type StagedFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Mode   string `json:"mode"`
}

// Capsule says which capsule is run. Component, Implementation, Interface and
// Compiled are of a script capsule run from a project; Archive and Payload take
// the place of Component when it is launched by name. All are nil for an agent.
type Capsule struct {
	Name           string    `json:"name"`
	Version        string    `json:"version"`
	Description    *string   `json:"description"`
	Artifact       string    `json:"artifact"` // <scope>/<name>; local/<name> for a project run
	Component      *File     `json:"component"`
	Archive        *File     `json:"archive"`
	Payload        *Payload  `json:"payload"`
	Implementation *string   `json:"implementation" words:"component,core"` // component or core
	Interface      *string   `json:"interface"`
	Compiled       *Compiled `json:"compiled"`
}

// Bundle says which bundle was staged: the digest of its OCI manifest, sha256: and
// 64 lower-case hex digits, and the address or digest it was asked for by, nil for
// a file.
type Bundle struct {
	Digest string  `json:"digest"`
	Ref    *string `json:"ref"`
}

// Manifest says which manifest was read. File is nil for a launch by name;
// FileName is the name of the copy in the runtime directory, or nil.
type Manifest struct {
	Dir       string    `json:"dir"`
	File      *string   `json:"file"`
	FileName  *string   `json:"file_name"`
	SHA256    string    `json:"sha256"`
	FilesRoot FilesRoot `json:"files_root"`
}

// FilesRoot is where relative paths a manifest names resolve; Kind is
// "directory" or "package".
type FilesRoot struct {
	Kind string `json:"kind" words:"directory,package"`
	Path string `json:"path"`
}

// Directory is a directory as it was staged (SES-82).
type Directory struct {
	Path string `json:"path"`
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
}

// WorkDirectory is the work folder; Created is true when this staging made it.
type WorkDirectory struct {
	Path    string `json:"path"`
	Dev     uint64 `json:"dev"`
	Ino     uint64 `json:"ino"`
	Created bool   `json:"created"`
}

// Directories are the directories of a session (SES section 2).
// CreatedWorkdirs is the <manifest dir>/workdir that holds the work folder when
// no --workdir was given, else nil.
type Directories struct {
	Work            WorkDirectory `json:"work"`
	Session         Directory     `json:"session"`
	Runtime         Directory     `json:"runtime"`
	SealedEtc       Directory     `json:"sealed_etc"`
	Harness         Directory     `json:"harness"`
	Records         Directory     `json:"records"`
	WorkdirRoot     Directory     `json:"workdir_root"`
	MurmurHome      Directory     `json:"murmur_home"`
	CreatedWorkdirs *string       `json:"created_workdirs"`
}

// Identity is a required device and inode (SES-22).
type Identity struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// String is the form of --workdir-identity.
func (i Identity) String() string { return fmt.Sprintf("%d:%d", i.Dev, i.Ino) }

// EnvFile is the .env file the launch loads; its values are in no document.
type EnvFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Lock says what murmur.lock said; Resolved holds one entry per store-resolved
// artifact in manifest order, Written whether this staging wrote the file.
type Lock struct {
	Path     *string        `json:"path"`
	Present  bool           `json:"present"`
	Resolved []ResolvedPart `json:"resolved"`
	Written  bool           `json:"written"`
}

// ResolvedPart is an artifact as it was resolved and verified.
type ResolvedPart struct {
	Name            string `json:"name"`
	ResolvedVersion string `json:"resolved_version"`
	SHA256          string `json:"sha256"`
	Origin          Origin `json:"origin"`
}

// Stores says where artifacts may come from. Project and Global are nil when
// --store replaced them; Replaced then lists its directories in order.
type Stores struct {
	Project              *string       `json:"project"`
	Global               *string       `json:"global"`
	Replaced             []string      `json:"replaced"`
	Sources              []StoreSource `json:"sources"`
	DecompressionCeiling int64         `json:"decompression_ceiling"`
}

// StoreSource is a registry; TokenVariable names a variable, never a token.
type StoreSource struct {
	Type          string  `json:"type"`
	Address       string  `json:"address"`
	TokenVariable *string `json:"token_variable"`
}

// Engines identifies the engines the session was staged with. Component is nil
// in a build without a component engine. Interfaces are the versioned Murmur
// interfaces the session was staged for; a launch that does not serve one of
// them refuses the document.
type Engines struct {
	Component  *Engine  `json:"component"`
	Core       Engine   `json:"core"`
	Interfaces []string `json:"interfaces"`
}

// Engine identifies an engine and the code it generates (ART-127).
type Engine struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Fingerprint string `json:"fingerprint"`
}

// Task says whether --task wrote runtime/task.md, and whether the launch should
// look for one in the work folder (SES-140).
type Task struct {
	Written bool `json:"written"`
	Import  bool `json:"import"`
}

// Warning is a warning staging raised; Code is nil for a plain one (DIA-3).
type Warning struct {
	Code    *string `json:"code"`
	Message string  `json:"message"`
	Topic   string  `json:"topic"`
}

// StageFault is a survivable fault of an on-stage hook (SES-72).
type StageFault struct {
	HookName string `json:"hook_name"`
	Arm      string `json:"arm"`
	Message  string `json:"message"`
}
