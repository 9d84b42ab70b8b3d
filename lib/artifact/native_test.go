package artifact

import (
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/diag"
)

// header is the first 64 bytes of a program with bytes put at offsets.
func header(magic string, at map[int]byte) []byte {
	b := make([]byte, 64)
	copy(b, magic)
	for i, v := range at {
		b[i] = v
	}
	return b
}

// ART-121, ART-122
func TestProgramPlatform(t *testing.T) {
	for name, tc := range map[string]struct {
		program []byte
		want    string
	}{
		"x86_64":     {header("\x7fELF", map[int]byte{4: 2, 5: 1, 18: 62}), "linux-x86_64"},
		"aarch64":    {header("\x7fELF", map[int]byte{4: 2, 5: 1, 18: 183}), "linux-aarch64"},
		"big endian": {header("\x7fELF", map[int]byte{4: 2, 5: 2, 19: 22}), "linux-other"},
		"32 bit":     {header("\x7fELF", map[int]byte{4: 1, 5: 1, 18: 3}), ""},
		"mac intel":  {header("\xcf\xfa\xed\xfe\x07\x00\x00\x01", nil), "darwin-x86_64"},
		"mac arm":    {header("\xcf\xfa\xed\xfe\x0c\x00\x00\x01", nil), "darwin-aarch64"},
		"mac other":  {header("\xcf\xfa\xed\xfe\x12\x00\x00\x01", nil), "darwin-other"},
		"mac both":   {header("\xca\xfe\xba\xbe\x00\x00\x00\x02", nil), "darwin"},
		"java":       {header("\xca\xfe\xba\xbe\x00\x00\x00\x34", nil), ""},
		"script":     {[]byte("#!/bin/sh\nexec true with some words\n"), ""},
		"wasm":       {header("\x00asm\x01\x00\x00\x00", nil), ""},
		"nothing":    {nil, ""},
		"cut short":  {[]byte("\x7fELF\x02\x01"), ""},
	} {
		if got := ProgramPlatform(tc.program); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// ART-121, ART-122, TOL-3
func TestCheckProgram(t *testing.T) {
	intel := header("\x7fELF", map[int]byte{4: 2, 5: 1, 18: 62})
	both := header("\xca\xfe\xba\xbe\x00\x00\x00\x02", nil)
	for _, tc := range []struct {
		program []byte
		host    string
		refused bool
	}{
		{intel, "linux-x86_64", false}, {intel, "linux-aarch64", true}, {intel, "darwin-x86_64", true},
		{intel, UnknownPlatform, false}, {both, "darwin-aarch64", false}, {both, "linux-x86_64", true},
		{[]byte("#!/bin/sh\n"), "linux-x86_64", false},
	} {
		err := CheckProgram("ana/x@1.0.0", tc.program, tc.host)
		if (err != nil) != tc.refused {
			t.Errorf("%s on %s: %v", ProgramPlatform(tc.program), tc.host, err)
		}
		if tc.refused && (diag.CodeOf(err) != "E-RUN-021" || !strings.Contains(err.Error(), "ana/x@1.0.0") || !strings.Contains(err.Error(), tc.host)) {
			t.Errorf("%v", err)
		}
	}
}
