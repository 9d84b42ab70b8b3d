//go:build !cgo

package component

// available tells whether this build has the component engine.
const available = false
