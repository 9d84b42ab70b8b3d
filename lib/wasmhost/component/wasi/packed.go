package wasi

import (
	"encoding/binary"
	"unsafe"

	"github.com/mur-capsules/mur/lib/wasmhost/wasmtime"
)

// Packed bytes are ASCII: each seven bytes, read as a little-endian number of
// 56 bits, become eight characters of seven bits each, the low bits first. The
// last group is filled up with zeroes, and one more character, '0' to '6', says
// with how many. No bytes are the empty string. Spreading goes in three steps,
// each of which halves the groups: 56 bits to 2 of 28, to 4 of 14, to 8 of 7.

func packedLen(n int) int {
	if n == 0 {
		return 0
	}
	return (n+6)/7*8 + 1
}

func spread(y uint64) uint64 {
	y = y&0x0fffffff | y&0x00fffffff0000000<<4
	y = y&0x00003fff00003fff | y&0x0fffc0000fffc000<<2
	return y&0x007f007f007f007f | y&0x3f803f803f803f80<<1
}

func gather(y uint64) uint64 {
	y = y&0x007f007f007f007f | y&0x7f007f007f007f00>>1
	y = y&0x00003fff00003fff | y&0x3fff00003fff0000>>2
	return y&0x0fffffff | y&0x0fffffff00000000>>4
}

// pack packs b.
func pack(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	out := make([]byte, packedLen(len(b)))
	o := out
	for len(b) >= 8 && len(o) >= 8 { // while a whole word can be read
		binary.LittleEndian.PutUint64(o, spread(binary.LittleEndian.Uint64(b)))
		b, o = b[7:], o[8:]
	}
	var last [8]byte
	n := copy(last[:7], b)
	binary.LittleEndian.PutUint64(o, spread(binary.LittleEndian.Uint64(last[:])))
	out[len(out)-1] = byte('0' + 7 - n)
	return unsafe.String(&out[0], len(out)) // out is not written again
}

// unpack turns s back, in buf or, when that is too small, in a slice of its own.
// What pack does not make gives an error or other bytes, never more than its
// length allows.
func unpack(buf []byte, s string) ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	none := s[len(s)-1] - '0'
	if len(s)%8 != 1 || len(s) == 1 || none > 6 {
		return nil, trapf("%d characters are no packed bytes", len(s))
	}
	size := len(s) / 8 * 7
	if cap(buf) < size+1 {
		buf = make([]byte, size+1)
	}
	buf = buf[:cap(buf)]
	src := unsafe.Slice(unsafe.StringData(s), len(s)) // read only
	for o := buf; len(src) >= 8 && len(o) >= 8; src, o = src[8:], o[7:] {
		binary.LittleEndian.PutUint64(o, gather(binary.LittleEndian.Uint64(src)))
	}
	return buf[:size-int(none)], nil
}

// unpacked adapts a function whose argument at index i is a list<u8> to one that
// takes it packed.
func unpacked(i int, f wasmtime.Func) wasmtime.Func {
	return func(c *call, a []val) (val, error) {
		p, err := unpack(instance(c).buffer(), a[i].(string))
		if err != nil {
			return nil, err
		}
		a[i] = p
		return f(c, a)
	}
}

// packed adapts a function that gives result<list<u8>, E>, or a tuple that
// begins with the list, to one that gives it packed.
func packed(f wasmtime.Func) wasmtime.Func {
	return func(c *call, a []val) (val, error) {
		v, err := f(c, a)
		r, ok := v.(result)
		if err != nil || !ok || !r.OK {
			return v, err
		}
		switch x := r.V.(type) {
		case []byte:
			r.V = pack(x)
		case tuple:
			x[0] = pack(x[0].([]byte))
		}
		return r, nil
	}
}

// addPacked adds the packed twins of an interface's functions.
func addPacked(iface string, m funcs) {
	for _, t := range twins {
		if t.iface != iface {
			continue
		}
		if t.write {
			m[t.twin()] = unpacked(1, m[t.name])
		} else {
			m[t.twin()] = packed(m[t.name])
		}
	}
}
