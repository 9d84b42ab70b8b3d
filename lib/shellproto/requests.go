// Package shellproto is the protocol of mur-shell serve and of run --json (SHL
// section 2): the lines that mur-launch and mur-shell exchange, as Go values. Each
// member stands here once, so that both ends have one name for it.
//
// It promises the shapes alone. It opens no socket, starts nothing and decides
// nothing; the text of a tool's result is mur-shell's.
package shellproto

// The longest lines (SHL-13). An answer may hold the result of a native tool
// (SHL-127), escaped.
const (
	MaxRequest = 1 << 20
	MaxAnswer  = 64 << 20
)

// The requests.
const (
	OpResolve     = "resolve"
	OpExec        = "exec"
	OpNative      = "native"
	OpAttach      = "attach"
	OpOutstanding = "outstanding"
	OpKill        = "kill"
	OpLatch       = "latch"
	OpShutdown    = "shutdown"
)

// The modes of OpExec (SHL-20).
const (
	Demotable  = "demotable"
	Foreground = "foreground"
)

// Request is a line to mur-shell. What an operation does not take is left out.
type Request struct {
	Op          string       `json:"op"`
	ID          string       `json:"id"`
	Tool        string       `json:"tool,omitempty"`
	Data        *string      `json:"data,omitempty"` // the tool's input as text
	Args        *[]string    `json:"args,omitempty"` // in place of Data (SHL-156)
	Env         [][2]string  `json:"env,omitempty"`
	Call        string       `json:"call,omitempty"` // of a Resolved
	Mode        string       `json:"mode,omitempty"`
	TimeoutSecs *int64       `json:"timeout_secs,omitempty"`
	Name        string       `json:"name,omitempty"` // of a native tool
	Input       *NativeInput `json:"input,omitempty"`
	Target      string       `json:"target,omitempty"` // of OpKill: a request's id
	Bytes       int64        `json:"bytes,omitempty"`  // of OpLatch, and Limit
	Limit       int64        `json:"limit,omitempty"`
}

// NativeInput is what a native tool reads (SHL-121).
type NativeInput struct {
	Data    *string `json:"data"`
	LogPath *string `json:"log_path"`
}

// Facts are what only the launch knows (SHL-8).
type Facts struct {
	Scope      *Scope            `json:"scope"` // nil: the session has no cgroup
	RuntimeEnv map[string]string `json:"runtime_env"`
}

// Scope is where the session's cgroup is: the directory of each controller.
type Scope struct {
	Version int               `json:"version"`
	Paths   map[string]string `json:"paths"`
}
