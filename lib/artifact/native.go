package artifact

import (
	"encoding/binary"
	"strings"

	"github.com/mur-capsules/mur/lib/diag"
)

// ProgramPlatform reads from a program's header which platform it is for: a tag
// of Platforms, "darwin" for a Mach-O of several architectures, or one with the
// machine's number for a 64-bit image of a machine that has no tag. It is "" for
// a format that is not recognised: a script, a 32-bit image, WASM (ART-121,
// ART-122). The layouts are those of elf(5) and of Mach-O's loader.h.
func ProgramPlatform(program []byte) string {
	if len(program) < 20 {
		return ""
	}
	const (
		elf64, little = 2, 1
		machO64       = 0xfeedfacf
		fatMachO      = 0xcafebabe
		fatMachO64    = 0xcafebabf
	)
	if string(program[:4]) == "\x7fELF" {
		if program[4] != elf64 {
			return ""
		}
		order := binary.ByteOrder(binary.BigEndian)
		if program[5] == little {
			order = binary.LittleEndian
		}
		switch order.Uint16(program[18:]) {
		case 62:
			return "linux-x86_64"
		case 183:
			return "linux-aarch64"
		}
		return "linux-other"
	}
	switch {
	case binary.LittleEndian.Uint32(program) == machO64:
		switch binary.LittleEndian.Uint32(program[4:]) {
		case 0x01000007:
			return "darwin-x86_64"
		case 0x0100000c:
			return "darwin-aarch64"
		}
		return "darwin-other"
	case binary.BigEndian.Uint32(program) == fatMachO, binary.BigEndian.Uint32(program) == fatMachO64:
		// A Java class begins with the same number; where a fat file counts its few
		// architectures, that has its version, 45 or more.
		if n := binary.BigEndian.Uint32(program[4:]); n < 45 {
			return "darwin"
		}
	}
	return ""
}

// CheckProgram refuses with E-RUN-021 a program whose header says that it is for
// another platform than host, a tag of Platforms or UnknownPlatform (ART-121,
// ART-122). What is the artifact's name@version. mur-stage asks it before any
// program is written, mur-doctor for what is installed.
func CheckProgram(what string, program []byte, host string) error {
	found := ProgramPlatform(program)
	if found == "" || host == UnknownPlatform || found == host || found == "darwin" && strings.HasPrefix(host, "darwin-") {
		return nil
	}
	return diag.Errorf("E-RUN-021", "%s is a program for %s, and this host is %s", what, found, host).
		Hint("install the build for this host: mur-lock install %s", what).
		In("resolve").About(diag.Subject{Kind: diag.Artifact, Name: what}).
		Name("name@version", what).Name("platform", found).Name("host", host)
}
