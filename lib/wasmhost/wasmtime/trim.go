//go:build cgo

package wasmtime

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// needless are the sections of a form that only serve reports and debuggers: what
// maps each instruction to a place in the guest's file, and the names of functions.
// They are a third of it, and a form is read through at every load.
var needless = map[string]bool{".wasmtime.addrmap": true, ".symtab": true, ".strtab": true}

// Where an ELF64 file keeps what trim changes (elf(5)).
const (
	headerSize   = 64 // Ehdr, Shdr
	atSectionsAt = 40 // e_shoff in Ehdr
	atOffset     = 24 // sh_offset in Shdr
	atSize       = 32 // sh_size
)

// trim empties the needless sections of a form, which is an ELF file, and closes
// the gaps. Everything else keeps its bytes, its order and its alignment; what is
// no file of the expected shape is returned as it is.
func trim(form []byte) []byte {
	f, err := elf.NewFile(bytes.NewReader(form))
	if err != nil || f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.LittleEndian || len(f.Progs) > 0 {
		return form
	}
	le := binary.LittleEndian
	table := le.Uint64(form[atSectionsAt:])
	out := make([]byte, headerSize, len(form))
	copy(out, form)
	headers := bytes.Clone(form[table:][:len(f.Sections)*headerSize])
	end := uint64(headerSize) // of what has been seen
	for i, s := range f.Sections {
		h := headers[i*headerSize:]
		if s.Type == elf.SHT_NULL || s.Type == elf.SHT_NOBITS {
			continue
		}
		if s.Offset < end || s.FileSize != s.Size || s.Offset+s.FileSize > table {
			return form
		}
		end = s.Offset + s.FileSize
		for align := max(s.Addralign, 1); uint64(len(out))%align != 0; {
			out = append(out, 0)
		}
		le.PutUint64(h[atOffset:], uint64(len(out)))
		if needless[s.Name] {
			le.PutUint64(h[atSize:], 0)
			continue
		}
		out = append(out, form[s.Offset:end]...)
	}
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	le.PutUint64(out[atSectionsAt:], uint64(len(out)))
	return append(out, headers...)
}
