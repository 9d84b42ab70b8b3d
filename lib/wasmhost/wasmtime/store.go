package wasmtime

import "context"

// Store is one guest's world: its memories, tables and resources. It is for one
// goroutine at a time and for components of one engine.
type Store struct {
	cstore
	data    any
	ctx     context.Context // of the running call
	table   table
	limits  StoreConfig
	linker  *Linker // the one it was instantiated with
	exit    *Error
	fault   *Error // what a callback ended the guest for
	failed  bool
	running bool
}

// Data returns StoreConfig.Data.
func (s *Store) Data() any { return s.data }

// Live counts the resources the guest holds.
func (s *Store) Live() int { return s.table.live() }
