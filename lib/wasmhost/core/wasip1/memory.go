package wasip1

import "encoding/binary"

// memory is what a guest has of it during one call. Every range a guest names
// passes through at; nothing else does arithmetic with its pointers.
type memory []byte

// at is the range of n bytes at ptr, not a copy; false when it lies outside.
func (m memory) at(ptr uint32, n uint64) ([]byte, bool) {
	start := uint64(ptr)
	if n > uint64(len(m)) || start > uint64(len(m))-n {
		return nil, false
	}
	return m[start : start+n : start+n], true
}

// putU32 writes a result.
func (m memory) putU32(ptr, v uint32) Errno {
	b, ok := m.at(ptr, 4)
	if !ok {
		return EFAULT
	}
	binary.LittleEndian.PutUint32(b, v)
	return 0
}

// putU64 writes a result.
func (m memory) putU64(ptr uint32, v uint64) Errno {
	b, ok := m.at(ptr, 8)
	if !ok {
		return EFAULT
	}
	binary.LittleEndian.PutUint64(b, v)
	return 0
}

// args are the arguments of a call, one a word; of a 32-bit one only the lower
// half counts.
type args []uint64

func (a args) u32(i int) uint32 { return uint32(a[i]) }
func (a args) u64(i int) uint64 { return a[i] }
func (a args) i64(i int) int64  { return int64(a[i]) }

// flags is a set of flags, which WASI has 16 bits for.
func (a args) flags(i int) uint16 { return uint16(a[i]) }
