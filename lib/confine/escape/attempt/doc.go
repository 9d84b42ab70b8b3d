// Package attempt is the inside half of the escape probes (CON section 18): what
// a probe program does once it runs as a command of a session. An attempt is an
// operation with arguments, and its answer is what the kernel said about the
// attempt itself (CON-270): "ok", the name of an errno, "killed:" with a signal,
// or a word that the operation documents.
//
// It knows no expectations, and runs inside confinement alone: on a host it would
// really change what it is told to.
package attempt

// Attempt is one operation to try.
type Attempt struct {
	Op   string   `json:"op"`
	Args []string `json:"args,omitempty"`
}

// Request is what the outside asks for, in one file.
type Request struct {
	Attempts []Attempt `json:"attempts"`
}

// Answer is one line of the probe's output.
type Answer struct {
	N      int    `json:"n"` // the attempt's place in the request
	Answer string `json:"answer"`
}
