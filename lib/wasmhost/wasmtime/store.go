package wasmtime

import "context"

// Store is one guest's world: its memories, tables and resources. It is for one
// goroutine at a time, for components of one engine or for one core module.
type Store struct {
	cstore
	data    any
	ctx     context.Context // of the running call
	table   table
	limits  StoreConfig
	linker  *Linker       // the one it was instantiated with
	modules *ModuleLinker // the same, for a core module
	exit    *Error
	fault   *Error // what a callback ended the guest for
	failed  bool
	running bool
}

// Data returns StoreConfig.Data.
func (s *Store) Data() any { return s.data }

// Context is that of the running call: it ends when the guest's time is over or
// its caller gave up.
func (s *Store) Context() context.Context { return s.ctx }

// Live counts the resources the guest holds.
func (s *Store) Live() int { return s.table.live() }
