package onwazero

import (
	"fmt"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"

	"github.com/mur-capsules/mur/lib/wasmhost/core/sections"
)

// maxMemory is what a 32-bit memory can address.
const maxMemory = 4 << 30

// linearMemory is the memory of one instance: an address range reserved up to
// the limit and used from its start, so that growing copies nothing and the
// pages never touched cost nothing.
//
// It is where a refused growth is told from other failures: wazero asks it for
// every growth that the module's own maximum allows, and a no is remembered.
type linearMemory struct {
	region  []byte
	used    []byte // the start of region that is the guest's
	limit   uint64 // bytes
	refused bool
}

// newLinearMemory reserves limit bytes. The caller frees it after the last use
// of the instance, not wazero: an instance that ends itself is closed while its
// frames are still on the stack.
func newLinearMemory(limit uint64) (*linearMemory, error) {
	if limit > maxMemory {
		limit = maxMemory
	}
	limit -= limit % sections.PageSize
	m := &linearMemory{limit: limit}
	if limit == 0 {
		return m, nil
	}
	region, err := unix.Mmap(-1, 0, int(limit), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|noReserve)
	if err != nil {
		return nil, fmt.Errorf("reserving %d bytes of guest memory: %w", limit, err)
	}
	m.region = region
	return m, nil
}

// Allocate is asked once, for the module's only memory.
func (m *linearMemory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate grows the memory to size bytes or refuses.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	m.used = m.region[:size:size]
	return m.used
}

// Free does nothing: see newLinearMemory.
func (m *linearMemory) Free() {}

func (m *linearMemory) release() {
	if m.region != nil {
		// Unmapping a range that was mapped whole does not fail.
		_ = unix.Munmap(m.region)
		m.region, m.used = nil, nil
	}
}
