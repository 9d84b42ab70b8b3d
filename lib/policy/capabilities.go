package policy

// Capabilities is a `capabilities:` block as its author wrote it, of the whole
// capsule or of one artifact entry (manifest.md section 5). Lists and texts are
// as written but for trimming; nothing is resolved. A nil block or list is
// absent; an empty list was written as `[]`.
type Capabilities struct {
	Network      *Network
	PeerFetch    *PeerFetch
	Filesystem   *Filesystem
	Shell        *Shell
	Env          *Env
	Limits       *DeclaredLimits
	Resources    *DeclaredResources
	Containment  Class
	State        *State
	Conversation *ReadGrant
	TaskIO       *ReadGrant
	Plan         *Plan
	Install      *Install
	Spawn        *Spawn
}

// Network is capabilities.network. Entries of Allow are not parsed yet:
// ParseRules does that at stage time (MAN-102).
type Network struct {
	Allow       []string
	UnixSockets *bool
}

// PeerFetch is capabilities.peer_fetch; Allow is never empty (MAN-104).
type PeerFetch struct{ Allow []string }

// Filesystem is capabilities.filesystem. An empty Scope is absent.
type Filesystem struct {
	Scope       string
	WorkdirExec *bool
	ReadOnly    []string
	Records     *bool
}

// Shell is capabilities.shell; Allow is never empty (MAN-111).
type Shell struct {
	Allow              []string
	StripEnv           []Pattern
	BaselineEnv        []string
	InterpreterRuntime []InterpreterRuntime
	StagedRuntime      []StagedRuntime
}

// InterpreterRuntime lends host directories to one allowlisted program
// (MAN-114 to MAN-116).
type InterpreterRuntime struct {
	Binary string       `json:"binary"`
	Dirs   []RuntimeDir `json:"dirs"`
}

// RuntimeDir is an absolute host directory. ListDir grants listing beside
// reading and executing by exact name.
type RuntimeDir struct {
	Path    string `json:"path"`
	ListDir bool   `json:"list_dir"`
}

// StagedRuntime binds one pinned directory for a program (MAN-117 to MAN-119).
// Pin is opaque.
type StagedRuntime struct {
	Binary     string `json:"binary"`
	SourcePath string `json:"source_path"`
	Pin        string `json:"pin"`
}

// DerivedRuntime is a directory staging found an allowed interpreter to need
// (CON-84). It is in no manifest.
type DerivedRuntime struct {
	Binary string `json:"binary"`
	Dir    string `json:"dir"`
}

// Env is capabilities.env.
type Env struct{ Allow []string }

// State is capabilities.state. A nil Store means the capsule's name (MAN-78).
type State struct{ Store *string }

// ReadGrant is capabilities.conversation or capabilities.task_io.
type ReadGrant struct{ Read bool }

// Plan is capabilities.plan.
type Plan struct{ Submit bool }

// Spawn is capabilities.spawn; WorkdirSnapshot is a subset of Allow (MAN-156).
type Spawn struct {
	Allow           []string
	WorkdirSnapshot []string
}

// Install is capabilities.install (MAN-150 to MAN-153). At least one of Skill
// and Tool is not empty.
type Install struct {
	Skill, Tool []InstallEntry
	FromSources bool
}
