package component

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mur-capsules/mur/lib/wasmhost"
)

// TestCheck: which names a guest of each kind may import and must export.
// WIT-1, WIT-2, WIT-4, WIT-24, WIT-25, WIT-26
func TestCheck(t *testing.T) {
	wasi := map[string]bool{"wasi:io/poll": true, "wasi:sockets/tcp": true, "wasi:http/outgoing-handler": true}
	for _, tc := range []struct {
		kind             wasmhost.Kind
		imports, exports string
		reason           wasmhost.LoadReason // "" when it may be loaded
		name, served     string
	}{
		{wasmhost.Tool, "", "murmur:tool/run@0.1.0", "", "", ""},
		{wasmhost.Tool, "murmur:text/chunks@0.1.0 murmur:task/task@0.1.0", "memory murmur:tool/run@0.1.0", "", "", ""},
		{wasmhost.Driver, "murmur:text/chunks@0.1.0 murmur:task/task@0.1.0", "murmur:tool/run@0.1.0", "", "", ""},
		{wasmhost.Tool, "wasi:io/poll@0.2.0 wasi:http/outgoing-handler@0.2.12 wasi:sockets/tcp@0.2.99", "murmur:tool/run@0.1.0", "", "", ""},
		{wasmhost.Capsule, "murmur:tool-registry/invoke@0.1.0 murmur:artifact-manager/manage@0.1.0 murmur:message/send@0.1.0 murmur:tool/run@0.1.0", "murmur:capsule/run@0.1.0", "", "", ""},
		{wasmhost.Hook, "wasi:io/poll@0.2.1", "murmur:hook/lifecycle@0.9.0", "", "", ""},

		{wasmhost.Tool, "", "", wasmhost.BadExport, "murmur:tool/run@0.1.0", ""},
		{wasmhost.Tool, "", "murmur:capsule/run@0.1.0", wasmhost.BadExport, "murmur:tool/run@0.1.0", ""},
		{wasmhost.Tool, "", "murmur:tool/run@0.2.0", wasmhost.BadVersion, "murmur:tool/run@0.2.0", "murmur:tool/run@0.1.0"},
		{wasmhost.Tool, "", "murmur:tool/run@0.1.1", wasmhost.BadVersion, "murmur:tool/run@0.1.1", "murmur:tool/run@0.1.0"},
		{wasmhost.Tool, "", "murmur:tool/run", wasmhost.BadVersion, "murmur:tool/run", "murmur:tool/run@0.1.0"},
		{wasmhost.Tool, "murmur:text/chunks@0.1.1", "murmur:tool/run@0.1.0", wasmhost.BadVersion, "murmur:text/chunks@0.1.1", "murmur:text/chunks@0.1.0"},
		{wasmhost.Tool, "murmur:text/chunks", "murmur:tool/run@0.1.0", wasmhost.BadVersion, "murmur:text/chunks", "murmur:text/chunks@0.1.0"},
		{wasmhost.Tool, "murmur:tool-registry/invoke@0.1.0", "murmur:tool/run@0.1.0", wasmhost.BadImport, "murmur:tool-registry/invoke@0.1.0", ""},
		{wasmhost.Capsule, "murmur:task/task@0.1.0", "murmur:capsule/run@0.1.0", wasmhost.BadImport, "murmur:task/task@0.1.0", ""},
		{wasmhost.Capsule, "murmur:process/spawn@0.1.0", "murmur:capsule/run@0.1.0", wasmhost.BadImport, "murmur:process/spawn@0.1.0", ""},
		{wasmhost.Capsule, "murmur:tool/run@0.2.0", "murmur:capsule/run@0.1.0", wasmhost.BadVersion, "murmur:tool/run@0.2.0", "murmur:tool/run@0.1.0"},
		{wasmhost.Hook, "murmur:runtime/inference@0.4.0", "murmur:hook/lifecycle@0.9.0", wasmhost.BadImport, "murmur:runtime/inference@0.4.0", ""},
		{wasmhost.Hook, "", "murmur:hook/lifecycle@0.8.0", wasmhost.BadVersion, "murmur:hook/lifecycle@0.8.0", "murmur:hook/lifecycle@0.9.0"},
		{wasmhost.Tool, "wasi:io/poll@0.3.0", "murmur:tool/run@0.1.0", wasmhost.BadImport, "wasi:io/poll@0.3.0", ""},
		{wasmhost.Tool, "wasi:io/poll@0.2.0-rc-2023-11-10", "murmur:tool/run@0.1.0", wasmhost.BadImport, "wasi:io/poll@0.2.0-rc-2023-11-10", ""},
		{wasmhost.Tool, "wasi:io/poll", "murmur:tool/run@0.1.0", wasmhost.BadImport, "wasi:io/poll", ""},
		{wasmhost.Tool, "wasi:config/store@0.2.0", "murmur:tool/run@0.1.0", wasmhost.BadImport, "wasi:config/store@0.2.0", ""},
		{wasmhost.Tool, "env", "murmur:tool/run@0.1.0", wasmhost.BadImport, "env", ""},
		{"other", "", "murmur:tool/run@0.1.0", wasmhost.BadExport, "what a guest of kind \"other\" exports", ""},
	} {
		err := check(tc.kind, strings.Fields(tc.imports), strings.Fields(tc.exports), wasi)
		if tc.reason == "" {
			if err != nil {
				t.Errorf("%s importing %q: %v", tc.kind, tc.imports, err)
			}
			continue
		}
		if err == nil || err.Reason != tc.reason || err.Name != tc.name || err.Served != tc.served {
			t.Errorf("%s importing %q, exporting %q: %+v", tc.kind, tc.imports, tc.exports, err)
		}
	}
}

// TestCheckFuncs: an interface of the right name with other functions in it is
// refused by name too.
func TestCheckFuncs(t *testing.T) {
	good := signatures[ifToolRun]["run"]
	for _, tc := range []struct {
		iface  string
		have   map[string]string
		export bool
		name   string // "" when it is right
	}{
		{ifToolRun, map[string]string{"run": good}, true, ""},
		{ifToolRun, map[string]string{"run": good, "more": "func()"}, true, ""},
		{ifToolRun, nil, true, ifToolRun + "#run"},
		{ifToolRun, map[string]string{"run": "func()"}, true, ifToolRun + "#run"},
		{ifChunks, nil, false, ""},
		{ifChunks, map[string]string{"emit-chunk": "func(chunk: string)"}, false, ""},
		{ifChunks, map[string]string{"emit-chunk": "func(chunk: u32)"}, false, ifChunks + "#emit-chunk"},
		{ifChunks, map[string]string{"emit": "func()"}, false, ifChunks + "#emit"},
		{wasmhost.Export(wasmhost.Hook), map[string]string{"on-stage": "func()"}, true, ""},
	} {
		err := checkFuncs(tc.iface, tc.have, tc.export)
		if tc.name == "" && err != nil || tc.name != "" && (err == nil || err.Name != tc.name) {
			t.Errorf("%s %v: %v", tc.iface, tc.have, err)
		}
	}
}

// TestOneTable: what is linked here is what the product says it serves, and
// each import of a kind has a signature. WIT-3, WIT-8
func TestOneTable(t *testing.T) {
	served := wasmhost.Served()
	for kind, w := range worlds {
		for _, n := range append(w.imports, w.types...) {
			if !slices.Contains(served, n) || signatures[n] == nil {
				t.Errorf("%s imports %s, which is not in the table", kind, n)
			}
		}
	}
	linked := map[string]bool{}
	for _, it := range append(toolInterfaces(), capsuleInterfaces()...) {
		linked[it.Name] = true
		for f := range it.Funcs {
			if signatures[it.Name][f] == "" {
				t.Errorf("%s#%s has no signature", it.Name, f)
			}
		}
	}
	for _, n := range served {
		if n != wasmhost.Export(wasmhost.Tool) && n != wasmhost.Export(wasmhost.Capsule) && !linked[n] && n != "murmur:core@0.1.0" {
			t.Errorf("%s is said to be served and is not linked", n)
		}
	}
}

func TestNames(t *testing.T) {
	for _, b := range []string{"", "\x00asm", "\x00asm\x01\x00\x00\x00", "\x00asm\x0d\x00\x01\x00\x0a", "\x00asm\x0d\x00\x01\x00\x0a\x05\x01",
		"\x00asm\x0d\x00\x01\x00\x0a\x01\xff", "\x00asm\x0d\x00\x01\x00\x0a\x05\x01\x00\x01a\x02", "\x00asm\x0d\x00\x01\x00\x0b\x02\x01\x07",
		"\x00asm\x0d\x00\x01\x00\x0a\x02\x00\x00", "\x00asm\x0d\x00\x01\x00\x00\xff\xff\xff\xff\x7f"} {
		if i, e, err := names([]byte(b)); err == nil {
			t.Errorf("%q: %v %v", b, i, e)
		}
	}
	i, e, err := names([]byte("\x00asm\x0d\x00\x01\x00"))
	if err != nil || len(i)+len(e) > 0 {
		t.Error(i, e, err)
	}
	if _, _, err := names([]byte("\x00asm\x0d\x00\x01\x00\x0a\x80")); !errors.Is(err, errDamaged) {
		t.Error(err)
	}
}

// FuzzNames: no bytes make the reader panic, loop or return more names than
// there are bytes.
func FuzzNames(f *testing.F) {
	f.Add([]byte("\x00asm\x0d\x00\x01\x00\x0a\x06\x01\x00\x01a\x01\x00\x00"))
	f.Add([]byte("\x00asm\x0d\x00\x01\x00\x0b\x08\x01\x00\x01a\x05\x00\x01\x05\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		imports, exports, _ := names(b)
		if len(imports)+len(exports) > len(b) {
			t.Fail()
		}
	})
}
