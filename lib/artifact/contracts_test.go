package artifact

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func section(id byte, body ...byte) string { return string([]byte{id, byte(len(body))}) + string(body) }

func extern(name string, rest ...byte) []byte {
	return append(append([]byte{0, byte(len(name))}, name...), rest...)
}

const (
	coreHead      = "\x00asm\x01\x00\x00\x00"
	componentHead = "\x00asm\x0d\x00\x01\x00"
)

// ART-51
func TestReadContracts(t *testing.T) {
	imports := section(10, append([]byte{3},
		append(append(extern("wasi:io/streams@0.2.0", 5, 0),
			extern("wasi:cli/env@0.2.0", 3, 1)...), extern("f", 2, 1, 0x7f)...)...)...)
	exports := section(11, append([]byte{2}, append(extern("murmur:tool/run@0.1.0", 5, 1, 0), extern("m", 0, 0x11, 0, 1, 1, 4)...)...)...)
	core := section(2, append([]byte{3}, "\x01a\x01f\x00\x00\x01a\x01m\x02\x01\x01\x02\x01b\x01g\x03\x7f\x01"...)...)
	for name, c := range map[string]struct {
		wasm, exports, imports string
		ok                     bool
	}{
		"component":        {componentHead + section(0, 1, 'x') + imports + exports, "m murmur:tool/run@0.1.0", "f wasi:cli/env@0.2.0 wasi:io/streams@0.2.0", true},
		"empty component":  {componentHead, "", "", true},
		"core module":      {coreHead + section(1, 0) + core, "", "a b", true},
		"doubled":          {coreHead + core + core, "", "a b", true},
		"nothing":          {"", "", "", false},
		"text":             {"hello, world", "", "", false},
		"other version":    {"\x00asm\x02\x00\x00\x00", "", "", false},
		"cut section":      {componentHead + imports[:len(imports)-1], "", "", false},
		"cut in the count": {componentHead + "\x0a\x80", "", "", false},
		"odd description":  {componentHead + section(10, append([]byte{1}, extern("x", 9, 0)...)...), "", "", false},
		"name not UTF-8":   {componentHead + section(10, append([]byte{1}, extern("\xff", 5, 0)...)...), "", "", false},
	} {
		got, ok := ReadContracts([]byte(c.wasm))
		if ok != c.ok || strings.Join(got.Exports, " ") != c.exports || strings.Join(got.Imports, " ") != c.imports {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

// A component as its tools make it.
func TestContractsOfARealComponent(t *testing.T) {
	wasm, err := os.ReadFile("../../examples/repo-report/tools/todo-scan/todo-scan.wasm")
	if err != nil {
		t.Fatal(err)
	}
	c, ok := ReadContracts(wasm)
	if !ok || !strings.Contains(fmt.Sprint(c.Exports), "murmur:tool/run@") || len(c.Imports) == 0 {
		t.Errorf("%+v, %v", c, ok)
	}
}

func FuzzContracts(f *testing.F) {
	f.Add([]byte(componentHead + section(10, append([]byte{1}, extern("a:b/c@1.0.0", 5, 0)...)...)))
	f.Add([]byte(coreHead + section(2, append([]byte{1}, "\x01a\x01f\x00\x00"...)...)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, ok := ReadContracts(data)
		if !ok && (c.Exports != nil || c.Imports != nil) {
			t.Fatal("names from something unreadable")
		}
	})
}
