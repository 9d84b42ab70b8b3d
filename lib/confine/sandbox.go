package confine

// Sandbox is what staging resolved for confinement (CON-47): the part of the
// staged-session document that mur-shell turns into rules. All paths are
// absolute and canonical at staging time (CON-49).
type Sandbox struct {
	Version       int           `json:"version"` // 1
	AppliedTier   string        `json:"applied_tier"`
	Caps          []Cap         `json:"caps"`
	Exec          []ExecGrant   `json:"exec"`
	Natives       []NativeGrant `json:"natives"`
	Network       []Endpoint    `json:"network"`
	PeerNetwork   []Endpoint    `json:"peer_network"`
	Binds         []Bind        `json:"binds"`
	PrivateMounts bool          `json:"private_mounts"`
	RunAs         RunAs         `json:"run_as"`
}

// Cap is a grant that lowered the achieved class.
type Cap struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// ExecGrant is an allowed program: where it was found and the files it needs to
// start.
type ExecGrant struct {
	Entry   string   `json:"entry"`
	Paths   []string `json:"paths"`
	Closure []string `json:"closure"`
}

// NativeGrant is a native tool's program and the files it needs to start.
type NativeGrant struct {
	Tool    string   `json:"tool"`
	Path    string   `json:"path"`
	Closure []string `json:"closure"`
}

// Endpoint is a parsed allow entry; nil is unspecified.
type Endpoint struct {
	Raw    string  `json:"raw"`
	Scheme *string `json:"scheme"`
	Host   string  `json:"host"`
	Port   *int    `json:"port"`
}

// Bind is a path lent to commands; Kind is staged, host-path, interpreter,
// derived or binary-dir.
type Bind struct {
	Path     string `json:"path"`
	Required bool   `json:"required"`
	Kind     string `json:"kind" words:"staged,host-path,interpreter,derived,binary-dir"`
}

// RunAs is the uid and gid commands run as; Access is self, owner or idmap
// (CON-278).
type RunAs struct {
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	Access string `json:"access" words:"self,owner,idmap"`
}
