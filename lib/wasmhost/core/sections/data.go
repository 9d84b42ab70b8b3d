package sections

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// The sections of data, and the codes of a segment that JoinData understands.
const (
	sectionData      = 11
	sectionDataCount = 12
	activeSegment    = 0
	opI32Const       = 0x41
	opEnd            = 0x0b
)

// maxGap is how many zeros are written between two segments to make them one: what
// an engine spends on a segment, at each load and for each instance, is worth
// about as many bytes.
const maxGap = 256

// segment is an active data segment of the first memory.
type segment struct {
	offset uint32
	bytes  []byte
}

func (s segment) end() uint64 { return uint64(s.offset) + uint64(len(s.bytes)) }

// JoinData returns a module that leaves the same bytes in memory with fewer data
// segments: neighbours are joined, with zeros between them. The Go linker writes
// one for every run of bytes that are not zero, tens of thousands in a program.
//
// It returns wasm itself where there is nothing to join or where it does not see
// that no guest could tell the difference: segments that are used by number, that
// have an offset which is not a constant, that overlap, or that do not fit the
// memory the module starts with.
func JoinData(wasm []byte) []byte {
	m, err := Read(wasm)
	if err != nil || len(m.Memories) != 1 || m.Foreign != "" {
		return wasm
	}
	r := &reader{b: wasm[len(Header):]}
	for len(r.b) > 0 && r.err == nil {
		start := len(wasm) - len(r.b)
		id := r.byte()
		body := r.bytes()
		switch {
		case id == sectionDataCount:
			return wasm // segments may be used by number
		case id != sectionData || r.err != nil:
			continue
		}
		list, ok := readSegments(body)
		if !ok || len(list) == 0 || list[len(list)-1].end() > m.Memories[0].Min*PageSize {
			return wasm
		}
		joined := join(list)
		if len(joined) == len(list) {
			return wasm
		}
		section := writeSegments(joined)
		head := binary.AppendUvarint([]byte{sectionData}, uint64(len(section)))
		return slices.Concat(wasm[:start], head, section, r.b)
	}
	return wasm
}

// readSegments reads the data section and sorts the segments; false unless all are
// active ones of the first memory, at constant offsets, and none overlaps another.
func readSegments(body []byte) ([]segment, bool) {
	r := &reader{b: body}
	list := make([]segment, 0, r.count()) // of which each takes a byte or more
	for range cap(list) {
		if r.u32() != activeSegment || r.byte() != opI32Const {
			return nil, false
		}
		s := segment{offset: uint32(r.signed32())}
		if r.byte() != opEnd {
			return nil, false
		}
		s.bytes = r.bytes()
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b segment) int { return cmp.Compare(a.offset, b.offset) })
	for i := range list {
		if i > 0 && list[i-1].end() > uint64(list[i].offset) {
			return nil, false
		}
	}
	return list, r.err == nil && len(r.b) == 0
}

// join joins segments with little between them.
func join(list []segment) []segment {
	var out []segment
	for _, s := range list {
		if n := len(out); n > 0 {
			last := &out[n-1]
			if gap := uint64(s.offset) - last.end(); gap <= maxGap {
				last.bytes = append(append(last.bytes, make([]byte, gap)...), s.bytes...)
				continue
			}
		}
		out = append(out, segment{s.offset, slices.Clone(s.bytes)})
	}
	return out
}

func writeSegments(list []segment) []byte {
	var b bytes.Buffer
	b.Write(binary.AppendUvarint(nil, uint64(len(list))))
	for _, s := range list {
		b.Write([]byte{activeSegment, opI32Const})
		b.Write(appendSigned(nil, int64(int32(s.offset))))
		b.WriteByte(opEnd)
		b.Write(binary.AppendUvarint(nil, uint64(len(s.bytes))))
		b.Write(s.bytes)
	}
	return b.Bytes()
}

// appendSigned writes a signed LEB128 number.
func appendSigned(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// signed32 reads a signed LEB128 number of 32 bits.
func (r *reader) signed32() int32 {
	var v int64
	for shift := uint(0); shift < 35; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if shift < 28 && c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return int32(v)
		}
	}
	r.b, r.err = nil, errTruncated
	return 0
}
