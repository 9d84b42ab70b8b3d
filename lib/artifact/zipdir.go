package artifact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/mur-capsules/mur/lib/diag"
)

// The records of a ZIP file, from APPNOTE.TXT 6.3.10 sections 4.3.7, 4.3.9,
// 4.3.12 and 4.3.16. Only what the packer and ordinary zip programs write is
// accepted: one disk, no ZIP64 (no archive is that large), entries stored or
// deflated, and one reading of the bytes, not two.
const (
	sigLocal   = 0x04034b50
	sigCentral = 0x02014b50
	sigEnd     = 0x06054b50
	sigDesc    = 0x08074b50

	lenLocal   = 30
	lenCentral = 46
	lenEnd     = 22

	flagEncrypted  = 1 << 0
	flagDescriptor = 1 << 3
	flagStrong     = 1 << 6
	flagMasked     = 1 << 13

	methodStore   = 0
	methodDeflate = 8
)

// rawEntry is one entry as the central directory and its local header agree it
// to be.
type rawEntry struct {
	name   string
	method uint16
	crc    uint32
	size   uint64 // declared; never trusted
	mode   uint32 // Unix mode, 0 when the maker had none
	data   []byte // compressed
}

// parseZip reads the central directory of data and checks each local header
// against it.
func parseZip(data []byte) ([]rawEntry, error) {
	dirStart, dirEnd, count, err := findDirectory(data)
	if err != nil {
		return nil, err
	}
	if count > MaxEntries {
		return nil, fmt.Errorf("it has %d entries, more than %d", count, MaxEntries)
	}
	entries := make([]rawEntry, 0, count)
	var extents []extent
	at := dirStart
	for range count {
		e, ext, next, err := parseCentral(data, at, dirStart, dirEnd)
		if err != nil {
			return nil, err
		}
		entries, extents = append(entries, e), append(extents, ext)
		at = next
	}
	if at != dirEnd {
		return nil, errors.New("its directory has more entries than it counts")
	}
	return entries, overlap(extents)
}

// findDirectory locates the directory by the end record, which must close the
// file: its comment reaches exactly to the last byte, and no later end record
// hides in it.
func findDirectory(data []byte) (start, end, count int, err error) {
	at := -1
	for i := len(data) - lenEnd; i >= 0 && i >= len(data)-lenEnd-0xffff; i-- {
		if binary.LittleEndian.Uint32(data[i:]) == sigEnd {
			at = i
			break
		}
	}
	if at < 0 {
		return 0, 0, 0, errors.New("it is no zip file: it has no end record")
	}
	r := data[at:]
	u16 := func(o int) int { return int(binary.LittleEndian.Uint16(r[o:])) }
	size, offset := int64(binary.LittleEndian.Uint32(r[12:])), int64(binary.LittleEndian.Uint32(r[16:]))
	switch {
	case lenEnd+u16(20) != len(r):
		return 0, 0, 0, errors.New("bytes follow its end record")
	case u16(4) != 0 || u16(6) != 0 || u16(8) != u16(10):
		return 0, 0, 0, errors.New("it is a part of an archive over several disks")
	case u16(10) == 0xffff:
		return 0, 0, 0, fmt.Errorf("it has 65535 entries or more, counted as ZIP64, and more than %d are not accepted", MaxEntries)
	case size == 0xffffffff || offset == 0xffffffff:
		return 0, 0, 0, errors.New("it is a ZIP64 archive, which is not accepted")
	case offset+size != int64(at):
		return 0, 0, 0, errors.New("its directory does not end where its end record begins")
	}
	return int(offset), at, u16(10), nil
}

func parseCentral(data []byte, at, dirStart, dirEnd int) (e rawEntry, ext extent, next int, err error) {
	if dirEnd-at < lenCentral || binary.LittleEndian.Uint32(data[at:]) != sigCentral {
		return e, ext, 0, errors.New("its directory is cut short or damaged")
	}
	h := data[at:dirEnd]
	u16 := func(o int) int { return int(binary.LittleEndian.Uint16(h[o:])) }
	u32 := func(o int) uint32 { return binary.LittleEndian.Uint32(h[o:]) }
	nameLen, extraLen, commentLen := u16(28), u16(30), u16(32)
	next = at + lenCentral + nameLen + extraLen + commentLen
	if next > dirEnd {
		return e, ext, 0, errors.New("its directory is cut short or damaged")
	}
	e.name = string(h[lenCentral : lenCentral+nameLen])
	e.method, e.crc, e.size = uint16(u16(10)), u32(16), uint64(u32(24))
	if maker := u16(4) >> 8; maker == 3 || maker == 19 { // Unix, macOS
		e.mode = u32(38) >> 16
	}
	if err := checkEntryName(e.name); err != nil {
		return e, ext, 0, err
	}
	flags, comp, local := uint16(u16(8)), u32(20), u32(42)
	switch {
	case flags&(flagEncrypted|flagStrong|flagMasked) != 0:
		err = errors.New("is encrypted")
	case e.method != methodStore && e.method != methodDeflate:
		err = fmt.Errorf("is compressed by method %d; only stored and deflated entries are accepted", e.method)
	case comp == 0xffffffff || u32(24) == 0xffffffff || local == 0xffffffff:
		err = errors.New("needs ZIP64, which is not accepted")
	case u16(34) != 0:
		err = errors.New("lies on another disk")
	case int64(local)+lenLocal > int64(dirStart):
		err = errors.New("has no local header")
	default:
		e.data, ext, err = parseLocal(data[:dirStart], int(local), &e, flags, comp)
	}
	if err != nil {
		return e, ext, 0, fmt.Errorf("entry %s %w", diag.Quote(e.name), err)
	}
	return e, ext, next, nil
}

// parseLocal checks the local header against the directory: two readers of one
// archive must not see two archives.
func parseLocal(body []byte, at int, e *rawEntry, flags uint16, comp uint32) ([]byte, extent, error) {
	h := body[at:]
	u16 := func(o int) int { return int(binary.LittleEndian.Uint16(h[o:])) }
	u32 := func(o int) uint32 { return binary.LittleEndian.Uint32(h[o:]) }
	if u32(0) != sigLocal {
		return nil, extent{}, errors.New("has no local header")
	}
	start := lenLocal + u16(26) + u16(28)
	end := int64(start) + int64(comp)
	if end > int64(len(h)) {
		return nil, extent{}, errors.New("reaches beyond the archive's data")
	}
	disagrees := errors.New("has a local header that disagrees with the directory")
	if string(h[lenLocal:lenLocal+u16(26)]) != e.name || uint16(u16(8)) != e.method ||
		(uint16(u16(6))^flags)&(flagEncrypted|flagDescriptor|flagStrong|flagMasked) != 0 {
		return nil, extent{}, disagrees
	}
	sums := h[14:26]
	if flags&flagDescriptor != 0 {
		// The header's own sums are zero or right; the descriptor after the data
		// has them, with or without a signature.
		if !zeroOr(sums, e.crc, comp, uint32(e.size)) {
			return nil, extent{}, disagrees
		}
		d := h[end:]
		if len(d) >= 4 && binary.LittleEndian.Uint32(d) == sigDesc {
			d, end = d[4:], end+4
		}
		if len(d) < 12 {
			return nil, extent{}, errors.New("has no data descriptor")
		}
		sums, end = d[:12], end+12
	}
	if binary.LittleEndian.Uint32(sums) != e.crc || binary.LittleEndian.Uint32(sums[4:]) != comp ||
		binary.LittleEndian.Uint32(sums[8:]) != uint32(e.size) {
		return nil, extent{}, disagrees
	}
	return h[start : start+int(comp) : start+int(comp)], extent{at, at + int(end)}, nil
}

func zeroOr(sums []byte, want ...uint32) bool {
	for i, w := range want {
		if v := binary.LittleEndian.Uint32(sums[4*i:]); v != 0 && v != w {
			return false
		}
	}
	return true
}

// extent is the bytes an entry takes, header and descriptor included.
type extent struct{ from, to int }

// overlap refuses entries that share bytes, the trick of archives that unpack to
// far more than they hold.
func overlap(extents []extent) error {
	slices.SortFunc(extents, func(a, b extent) int { return a.from - b.from })
	for i := 1; i < len(extents); i++ {
		if extents[i].from < extents[i-1].to {
			return errors.New("its entries overlap")
		}
	}
	return nil
}

// checkEntryName refuses names that no file has.
func checkEntryName(name string) error {
	if name == "" {
		return errors.New("an entry has no name")
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("the entry name %s is not UTF-8", diag.Quote(name))
	}
	for _, c := range name {
		if c < 0x20 || c == 0x7f {
			return fmt.Errorf("the entry name %s holds a control character", diag.Quote(name))
		}
	}
	return nil
}
