package session

import "encoding/json"

// Lifecycle is the resolved lifecycle block; a nil pointer is "no limit" or, for
// DeadlineNoticeSecs, the default of SES-178. Overrides names the flags applied.
type Lifecycle struct {
	TaskAcceptance         string   `json:"task_acceptance" words:"none,single,queue"` // none, single, queue
	AfterTask              string   `json:"after_task" words:"exit,sleep"`             // exit, sleep
	QueueDepth             int64    `json:"queue_depth"`
	Conversation           string   `json:"conversation" words:"stateless,threaded"` // stateless, threaded
	MaxTaskReopens         int64    `json:"max_task_reopens"`
	InputTimeoutSecs       *int64   `json:"input_timeout_secs"`
	ShellGraceSecs         int64    `json:"shell_grace_secs"`
	DelegationDeadlineSecs int64    `json:"delegation_deadline_secs"`
	DeadlineNoticeSecs     *int64   `json:"deadline_notice_secs"`
	Overrides              []string `json:"overrides"`
}

// Inference is how an agent capsule asks its model (SES-97, SES-98).
type Inference struct {
	Transport       string           `json:"transport" words:"http,process"` // http, process
	Model           string           `json:"model"`                          // empty: the process program's own default
	MaxTurns        int64            `json:"max_turns"`
	MaxOutputTokens int64            `json:"max_output_tokens"`
	Choices         []Choice         `json:"choices"` // primary first
	Compaction      Compaction       `json:"compaction"`
	SystemPrompt    SystemPrompt     `json:"system_prompt"`
	HookOutputCaps  map[string]int64 `json:"hook_output_caps"`                          // model to tokens
	ToolRefresh     string           `json:"tool_refresh" words:"compaction,immediate"` // compaction, immediate
	ProcessDriver   *ProcessDriver   `json:"process_driver"`
}

// Choice is a driver and model the session may ask. Driver is the full name of
// its artifact. UnresolvedCredential names a credential found nowhere, which
// makes the choice unavailable.
type Choice struct {
	Name                 string         `json:"name"`
	Driver               string         `json:"driver"`
	Model                string         `json:"model"`
	ConfigJSON           *string        `json:"config_json"`
	Credential           *CredentialRef `json:"credential"`
	UnresolvedCredential *string        `json:"unresolved_credential"`
	Available            bool           `json:"available"`
	Limits               *ModelLimits   `json:"limits"`
}

// ModelLimits are a model's known limits in tokens (MAN-313); nil is unknown.
type ModelLimits struct {
	ContextWindow   *int64 `json:"context_window"`
	MaxOutputTokens *int64 `json:"max_output_tokens"`
}

// Compaction is how a conversation near its limit is shortened.
type Compaction struct {
	Threshold        float64 `json:"threshold"`
	Model            string  `json:"model"`
	SystemPrompt     *string `json:"system_prompt"`
	DumpSummaries    bool    `json:"dump_summaries"`
	DriverConfigJSON *string `json:"driver_config_json"`
}

// SystemPrompt is the resolved text before any block the runtime adds; Source is
// "manifest", "cli" or "none".
type SystemPrompt struct {
	Text   string `json:"text"`
	SHA256 string `json:"sha256"`
	Source string `json:"source" words:"manifest,cli,none"`
}

// ProcessDriver is the driver and program of transport: process.
type ProcessDriver struct {
	Artifact     string `json:"artifact"`
	Version      string `json:"version"`
	Description  string `json:"description"`
	Binary       string `json:"binary"`
	BinarySource string `json:"binary_source"`
}

// InstructionFiles are the files of inference.instruction_files that were found.
type InstructionFiles struct {
	Files []InstructionFile `json:"files"`
}

// InstructionFile is one of them; Path is beneath the work folder.
type InstructionFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Text   string `json:"text"`
}

// Context says how conversations are kept; MaxTokens nil turns compaction off.
type Context struct {
	Record             bool           `json:"record"`
	RecordName         *string        `json:"record_name"`
	MaxTokens          *int64         `json:"max_tokens"`
	SeedBudget         float64        `json:"seed_budget"`
	SeedOverflowMargin float64        `json:"seed_overflow_margin"`
	Retain             *ContextRetain `json:"retain"`
}

// ContextRetain bounds the conversation records; nil is no bound.
type ContextRetain struct {
	MaxAgeSecs  *int64 `json:"max_age_secs"`
	MaxMessages *int64 `json:"max_messages"`
}

// Trace says how much of each request the trace keeps: none, meta or content.
type Trace struct {
	Capture string       `json:"capture" words:"none,meta,content"`
	Retain  *TraceRetain `json:"retain"`
}

// TraceRetain bounds the sessions kept; nil is no bound.
type TraceRetain struct {
	MaxSessions *int64 `json:"max_sessions"`
	MaxAgeSecs  *int64 `json:"max_age_secs"`
}

// Observability says where spans go and what case of a data set this is.
type Observability struct {
	OtelEndpoint *string `json:"otel_endpoint"`
	Eval         *Eval   `json:"eval"`
	CaseID       *string `json:"case_id"`
	DatasetID    *string `json:"dataset_id"`
}

// Eval holds the scorers of observability.eval.
type Eval struct {
	Scorers []Scorer `json:"scorers"`
}

// Scorer is one of them; Max is nil for a type that has none.
type Scorer struct {
	Type     string   `json:"type"`
	Name     string   `json:"name"`
	Max      *int64   `json:"max"`
	Expected []string `json:"expected"`
}

// Network is where the door is bound; InternalPort nil lets the system pick.
type Network struct {
	BindAddr     string `json:"bind_addr"`
	InternalPort *int   `json:"internal_port"`
}

// Door says who may use the door; it never holds a token.
type Door struct {
	Authentication   *Authentication `json:"authentication"`
	AcceptsPeerTasks bool            `json:"accepts_peer_tasks"`
}

// Authentication is network.authentication; Scheme is "bearer".
type Authentication struct {
	Scheme      string                    `json:"scheme" words:"bearer"`
	Credentials map[string]DoorCredential `json:"credentials"`
}

// DoorCredential lists what a declared credential may do.
type DoorCredential struct {
	Scopes []string `json:"scopes"`
}

// Control says what a controller, and the agent itself, may set.
type Control struct {
	Settings      []string `json:"settings"`
	Secrets       []string `json:"secrets"`
	AgentSettings []string `json:"agent_settings"`
}

// Exports are the parts of the work folder the door serves.
type Exports struct {
	Files     *FileExport `json:"files"`
	PeerFiles *PeerExport `json:"peer_files"`
}

// FileExport is exports.files; Mode is "read-only".
type FileExport struct {
	Root     string `json:"root"`
	Mode     string `json:"mode" words:"read-only"`
	MaxBytes int64  `json:"max_bytes"`
}

// PeerExport is exports.peer_files.
type PeerExport struct {
	Root       string `json:"root"`
	MaxTTLSecs *int64 `json:"max_ttl_secs"`
	MaxBytes   int64  `json:"max_bytes"`
}

// Gateway is an upstream the runtime attaches a credential for. Credential is
// nil for a keyless one.
type Gateway struct {
	Artifact   string         `json:"artifact"`
	Endpoint   string         `json:"endpoint"`
	Auth       GatewayAuth    `json:"auth"`
	Credential *CredentialRef `json:"credential"`
	Metered    bool           `json:"metered"`
}

// GatewayAuth is an artifact's upstream_auth: Value holds "{key}" once.
type GatewayAuth struct {
	Header string `json:"header"`
	Value  string `json:"value"`
}

// The values of CredentialRef.Source.
const (
	FromConfig      = "config"
	FromEnvironment = "environment"
	FromManifest    = "manifest"
	FromController  = "injected"
)

// CredentialRef says where a credential is found (SES-89). File is the config
// file, or the manifest together with Pointer, a JSON pointer into it.
type CredentialRef struct {
	Name       string `json:"name"`
	Source     string `json:"source" words:"config,environment,manifest,injected"`
	Rereadable bool   `json:"rereadable"`
	File       string `json:"file,omitempty"`
	Pointer    string `json:"pointer,omitempty"`
}

// Spend holds the ceilings in tokens; nil is none.
type Spend struct {
	MaxSessionTokens    *int64  `json:"max_session_tokens"`
	MachineTokensPerDay *int64  `json:"machine_tokens_per_day"`
	TreeTokens          *int64  `json:"tree_tokens"`
	LedgerDir           *string `json:"ledger_dir"`
}

// SpawnBounds bound delegation (DEL-306).
type SpawnBounds struct {
	MaxDepth       int64 `json:"max_depth"`
	MaxConcurrent  int64 `json:"max_concurrent"`
	DepthRemaining int64 `json:"depth_remaining"`
}

// Resume names the session a launch continues; Mode is "full" or "compact".
type Resume struct {
	FromSession string `json:"from_session"`
	TraceDir    string `json:"trace_dir"`
	Mode        string `json:"mode" words:"full,compact"`
}

// Deadline is the moment a session must have ended; Source is "flag" or
// "inherited".
type Deadline struct {
	AtMs    int64  `json:"at_ms"`
	SetAtMs int64  `json:"set_at_ms"`
	Source  string `json:"source" words:"flag,inherited"`
}

// Lineage says who started the session. Spawner is the handle of DEL-702
// unchanged, or null.
type Lineage struct {
	Spawner                  json.RawMessage `json:"spawner"`
	FormationID              *string         `json:"formation_id"`
	FormationMember          *string         `json:"formation_member"`
	ExpectsSpawnGrant        bool            `json:"expects_spawn_grant"`
	ExpectsFormationChannel  bool            `json:"expects_formation_channel"`
	ExpectsSpawnerLifeline   bool            `json:"expects_spawner_lifeline"`
	ExpectsFormationLifeline bool            `json:"expects_formation_lifeline"`
}
