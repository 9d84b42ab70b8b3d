package wasmhost

import "slices"

// served is the one table of Murmur interfaces guests may be written against
// (WIT-3, WIT-8). An interface of the specification that no engine serves yet
// is not here: a guest that asks for it is refused by name.
var served = []string{
	"murmur:artifact-manager/manage@0.1.0",
	"murmur:capsule/run@0.1.0",
	"murmur:core@0.1.0",
	"murmur:message/send@0.1.0",
	"murmur:shell/execute@0.1.0",
	"murmur:task/task@0.1.0",
	"murmur:text/chunks@0.1.0",
	"murmur:tool-registry/invoke@0.1.0",
	"murmur:tool/run@0.1.0",
}

// Served returns the versioned names of the Murmur interfaces this build
// serves, sorted: what mur-doctor prints and a staged document's
// engine.interfaces must lie in.
func Served() []string { return slices.Clone(served) }
