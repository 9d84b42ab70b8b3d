// Package tools answers the calls a capsule makes of its artifacts: which names
// there are (inventory.go), what each may reach (grant.go), how a guest comes
// from its archive or its compiled form (load.go), the call itself and its line
// in the trace (call.go), and what a capsule may ask about its artifacts
// (manager.go).
//
// It promises that a name answers exactly when the staged document declares it;
// that a guest holds what the document grants it and nothing else, in a new
// instance for each call; that only bytes with the document's hashes are run;
// and that each call is one line of the trace whatever became of it.
//
// It never reads a manifest to decide anything, never widens a grant that can
// not be made, and starts no process: what is no guest is handed to package shell
// (process.go).
package tools
