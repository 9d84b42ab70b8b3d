package manifest

import (
	"slices"

	"github.com/mur-capsules/mur/lib/diag"
	"github.com/mur-capsules/mur/lib/internal/strictyaml"
	"github.com/mur-capsules/mur/lib/names"
	"github.com/mur-capsules/mur/lib/policy"
)

// Capsule is a capsule manifest: every value valid, every default of
// manifest.md filled in, nothing resolved against a host. Pointers and empty
// strings are absent keys where no default exists.
type Capsule struct {
	Name        string
	Version     string
	MurVersion  string
	Description string

	Artifacts     []Entry
	Capabilities  *policy.Capabilities // nil when absent
	Inference     *Inference           // nil for a script capsule (MAN-163)
	Context       Context
	Lifecycle     Lifecycle
	Trace         Trace
	Observability Observability
	Network       Network
	Exports       Exports
	Control       Control

	*Positions
}

// Agent tells an agent capsule from a script capsule (MAN-163).
func (c *Capsule) Agent() bool { return c.Inference != nil }

// Entry returns the artifact entry of a full name, or nil.
func (c *Capsule) Entry(full string) *Entry {
	for i := range c.Artifacts {
		if c.Artifacts[i].Name.String() == full {
			return &c.Artifacts[i]
		}
	}
	return nil
}

// Entry is one element of artifacts[], in manifest order (MAN-41 to MAN-51).
type Entry struct {
	Index         int
	Name          names.Full
	Version       string // exact; LocalVersion when Source is set
	Role          policy.Role
	Source        string // path as written; empty: from a store
	LocalSource   bool
	PromptPayload bool
	Capabilities  *policy.Capabilities // nil when absent
	Config        *Config              // nil when absent
	Gateway       *Gateway             // nil when absent
	OnOverflow    string               // drop or block
}

// LocalVersion is the version of an entry with a local source (MAN-43).
const LocalVersion = "local"

// ToolName is what the model and the dispatcher call the artifact by.
func (e *Entry) ToolName() string { return e.Name.Name }

// Policy is the entry as policy.Narrow takes it; native is the payload kind,
// known once the artifact is resolved.
func (e *Entry) Policy(native bool) policy.Entry {
	return policy.Entry{Index: e.Index, Name: e.Name.String(), Role: e.Role, Native: native, Capabilities: e.Capabilities}
}

// Secret is a literal credential. Every way of printing or encoding it, also
// inside another value, shows no part of it; Reveal gives the text.
type Secret struct {
	text *string // a pointer: fmt prints what unexported fields hold
}

// NewSecret keeps a credential's text from being printed.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the credential itself, "" for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns "[redacted]".
func (s Secret) String() string { return Redacted }

// GoString returns "[redacted]".
func (s Secret) GoString() string { return Redacted }

// MarshalText writes "[redacted]".
func (s Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// Redacted stands where a secret was (SES-245).
const Redacted = "[redacted]"

// Gateway is artifacts[].gateway (section 4.5). At most one of Reference and
// Literal is set; neither is only with Keyless.
type Gateway struct {
	Endpoint  string // as written, trimmed; obeys MAN-91
	Scheme    string // http or https
	Host      string // policy.NormalizeHost form
	Port      int    // effective
	Path      string // without trailing slash, empty for none
	Keyless   bool
	Reference string  // NAME of ${NAME}
	Literal   *Secret // nil without a literal key
	Pointer   string  // JSON pointer of api_key in the manifest, for Literal
}

// LocalURL is what the artifact sees as MURMUR_GATEWAY_ENDPOINT (MAN-98).
func (g *Gateway) LocalURL() string { return "http://127.0.0.1:9" + g.Path }

// Transports (MAN-164).
const (
	HTTP    = "http"
	Process = "process"
)

// Inference is the inference block (section 7).
type Inference struct {
	Transport        string
	MaxTurns         int64
	MaxSessionTokens *int64
	Driver           Driver // inference.driver, or its older spelling provider

	// At most one of the three prompts is set (MAN-170 to MAN-172).
	SystemPrompt         string // trimmed
	SystemPromptFile     string
	SystemPromptArtifact string // full name of an entry with PromptPayload

	InstructionFiles []string // nil without the key

	Model       string // empty only under process
	MaxTokens   int64  // output cap per turn; 0 under process
	ToolRefresh string // compaction or immediate
	Alternates  []Alternate
	Compaction  Compaction
	Command     string // process only
}

// Driver names a driver artifact, or builtin/claude or builtin/codex, and the
// compact JSON of its config, nil without one.
type Driver struct {
	Artifact   string
	ConfigJSON *string
}

// Alternate is a further driver choice (MAN-181).
type Alternate struct {
	Name      string
	Driver    Driver
	Model     string
	MaxTokens int64
}

// Compaction is inference.compaction. An empty Model is the primary model.
type Compaction struct {
	Threshold        float64
	Model            string
	SystemPrompt     *string // verbatim
	SystemPromptFile string
	DumpSummaries    bool
	DriverConfigJSON *string
}

// Context is the context block (section 8). Retain is nil when absent; then
// nothing is ever deleted (MAN-206).
type Context struct {
	MaxTokens          *int64
	Record             bool
	RecordStore        string // the capsule's name by default; checked at stage time (CheckRecordStore)
	Retain             *Retain
	SeedBudget         float64
	SeedOverflowMargin float64
}

// Retain bounds what is kept: at least one member is set. Max is max_messages
// of context.retain and max_sessions of trace.retain.
type Retain struct {
	Max        *int64
	MaxAgeSecs *int64
}

// Words of the lifecycle block.
const (
	AcceptNone   = "none"
	AcceptSingle = "single"
	AcceptQueue  = "queue"
	AfterExit    = "exit"
	AfterSleep   = "sleep"
	Stateless    = "stateless"
	Threaded     = "threaded"
)

// Lifecycle is the lifecycle block with defaults (section 9).
type Lifecycle struct {
	TaskAcceptance         string
	AfterTask              string
	QueueDepth             int64
	InputTimeoutSecs       *int64
	Conversation           string
	MaxTaskReopens         int64
	ShellGraceSecs         int64
	DelegationDeadlineSecs int64
	DeadlineNoticeSecs     *int64
}

// Background tells whether the capsule can take background work (MAN-216).
func (l Lifecycle) Background() bool {
	return l.TaskAcceptance == AcceptQueue && l.AfterTask == AfterSleep
}

// Override lays the two flags of mur-stage over the block; an empty word is an
// absent flag (MAN-215). The list names the flags applied. A word that is none
// is a usage error.
func (l Lifecycle) Override(taskAcceptance, afterTask string) (Lifecycle, []string, error) {
	applied := []string{}
	for _, f := range []struct {
		flag, word string
		words      []string
		to         *string
	}{
		{"--lifecycle-task-acceptance", taskAcceptance, []string{AcceptNone, AcceptSingle, AcceptQueue}, &l.TaskAcceptance},
		{"--lifecycle-after-task", afterTask, []string{AfterExit, AfterSleep}, &l.AfterTask},
	} {
		if f.word == "" {
			continue
		}
		if !slices.Contains(f.words, f.word) {
			return l, nil, diag.Usagef("%s takes %s, not %s", f.flag, strictyaml.List(f.words), diag.Quote(f.word))
		}
		*f.to = f.word
		applied = append(applied, f.flag)
	}
	return l, applied, nil
}

// Trace is the trace block (section 10).
type Trace struct {
	Capture string  // none, meta or content
	Retain  *Retain // nil when absent
}

// Observability is the observability block (section 11).
type Observability struct {
	OtelEndpoint string
	Eval         *Eval // nil when absent
}

// Eval is observability.eval; scorers of an unknown type were skipped.
type Eval struct {
	DatasetID string
	Scorers   []Scorer
}

// Scorer is one of observability.eval.scorers. Max is 0 for a type without one.
type Scorer struct {
	Type     string
	Name     string
	Max      int64
	Expected []string
}

// Network is the top-level network block: the session's own door (section 6).
type Network struct {
	InternalPort   int             // 0: the system picks
	Authentication *Authentication // nil: a public door
}

// Authentication is network.authentication; its scheme is bearer.
type Authentication struct{ Credentials []DoorCredential }

// DoorCredential is one declared credential of the door, in manifest order.
type DoorCredential struct {
	Name   string
	Scopes []string
}

// Exports is the exports block (section 12).
type Exports struct {
	Files      *FileExport
	PeerFiles  *PeerExport
	PeerAccept bool // exports.peer_tasks.accept
}

// FileExport is exports.files; its mode is read-only.
type FileExport struct {
	Root     string // relative, clean
	MaxBytes int64
}

// PeerExport is exports.peer_files. MaxTTLSecs is nil when not declared.
type PeerExport struct {
	Root       string
	MaxBytes   int64
	MaxTTLSecs *int64
}

// Control is the control block. All lists empty means no control surface
// (MAN-235).
type Control struct {
	Settings, Secrets, AgentSettings []string
}

// Surface tells whether the session has a control surface and token (MAN-235).
func (c Control) Surface() bool { return len(c.Settings) > 0 || len(c.Secrets) > 0 }
