//go:build cgo

package wasmtime

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// layoutProbe prints every layout and constant that capi.h repeats. K names a
// kind of value, I a kind of item, T a kind of type, V and E those of core values and externs.
const layoutProbe = `
#include <stdio.h>
#define S(t) printf("%s %zu\n", #t, sizeof(t));
#define O(t, f) printf("%s.%s %zu\n", #t, #f, offsetof(t, f));
int main(void) {
  S(wasmtime_component_val_t) O(wasmtime_component_val_t, kind) O(wasmtime_component_val_t, of)
  S(wasmtime_component_valrecord_entry_t) O(wasmtime_component_valrecord_entry_t, name) O(wasmtime_component_valrecord_entry_t, val)
  S(wasmtime_component_valvariant_t) O(wasmtime_component_valvariant_t, discriminant) O(wasmtime_component_valvariant_t, val)
  S(wasmtime_component_valresult_t) O(wasmtime_component_valresult_t, is_ok) O(wasmtime_component_valresult_t, val)
  S(wasmtime_component_vallist_t) O(wasmtime_component_vallist_t, size) O(wasmtime_component_vallist_t, data)
  S(wasmtime_component_valtuple_t) O(wasmtime_component_valtuple_t, size) O(wasmtime_component_valtuple_t, data)
  S(wasmtime_component_valrecord_t) O(wasmtime_component_valrecord_t, size) O(wasmtime_component_valrecord_t, data)
  S(wasmtime_component_valflags_t) O(wasmtime_component_valflags_t, size) O(wasmtime_component_valflags_t, data)
  S(wasm_valtype_vec_t) O(wasm_valtype_vec_t, data) S(wasm_exporttype_vec_t) O(wasm_exporttype_vec_t, data) S(wasmtime_instance_t) S(wasmtime_func_t) S(wasmtime_val_raw_t)
  S(wasmtime_extern_t) O(wasmtime_extern_t, kind) O(wasmtime_extern_t, of)
  printf("%d %d %d %d %d %d %d %d\n", V(I32), V(I64), V(F32), V(F64), E(FUNC), E(GLOBAL), E(TABLE), E(MEMORY));
  S(wasm_byte_vec_t) O(wasm_byte_vec_t, size) O(wasm_byte_vec_t, data)
  S(wasmtime_component_instance_t) S(wasmtime_component_func_t)
  S(wasmtime_component_item_t) O(wasmtime_component_item_t, kind) O(wasmtime_component_item_t, of)
  S(wasmtime_component_valtype_t) O(wasmtime_component_valtype_t, kind) O(wasmtime_component_valtype_t, of)
  S(wasmtime_linear_memory_t) O(wasmtime_linear_memory_t, env) O(wasmtime_linear_memory_t, get_memory)
  O(wasmtime_linear_memory_t, grow_memory) O(wasmtime_linear_memory_t, finalizer)
  S(wasmtime_memory_creator_t) O(wasmtime_memory_creator_t, env) O(wasmtime_memory_creator_t, new_memory) O(wasmtime_memory_creator_t, finalizer)
  printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", K(BOOL), K(S8), K(U8), K(S16), K(U16), K(S32), K(U32), K(S64), K(U64), K(F32), K(F64), K(CHAR));
  printf("%d %d %d %d %d %d %d %d %d %d %d\n", K(STRING), K(LIST), K(RECORD), K(TUPLE), K(VARIANT), K(ENUM), K(OPTION), K(RESULT), K(FLAGS), K(RESOURCE), K(MAP));
  printf("%d %d %d %d %d %d %d\n", I(COMPONENT), I(COMPONENT_INSTANCE), I(MODULE), I(COMPONENT_FUNC), I(RESOURCE), I(CORE_FUNC), I(TYPE));
  printf("%d %d %d %d %d %d %d %d %d %d %d %d %d\n", T(BOOL), T(S8), T(S16), T(S32), T(S64), T(U8), T(U16), T(U32), T(U64), T(F32), T(F64), T(CHAR), T(STRING));
  printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", T(LIST), T(RECORD), T(TUPLE), T(VARIANT), T(ENUM), T(OPTION), T(RESULT), T(FLAGS), T(OWN), T(BORROW), T(FUTURE), T(STREAM), T(ERROR_CONTEXT), T(MAP));
  return 0;
}
`

// TestHeader compares capi.h with the headers of the module it is linked with.
// It is what makes an upgrade of the library safe. WIT-66
func TestHeader(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("needs gcc")
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "github.com/bytecodealliance/wasmtime-go/v44").Output()
	if err != nil {
		t.Skip("needs the go command and the module wasmtime-go")
	}
	version, mod, _ := strings.Cut(strings.TrimSpace(string(dir)), " ")
	if version != "v"+Version {
		t.Errorf("written for v%s, linked with %s", Version, version)
	}
	if _, err := os.ReadFile(filepath.Join(mod, "build/include/wasmtime.h")); err != nil {
		t.Skip("needs the headers of the module wasmtime-go: ", err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	build := func(source string, args ...string) string {
		t.Helper()
		tmp := t.TempDir()
		src, bin := filepath.Join(tmp, "probe.c"), filepath.Join(tmp, "probe")
		if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-std=c11", "-Wall", "-Werror", "-I"+filepath.Join(mod, "build/include"), "-I"+here, src, "-o", bin)
		if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command(bin).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	const library = "#include <wasmtime.h>\n#include <wasmtime/component.h>\n"
	theirs := build(library + "#define K(x) WASMTIME_COMPONENT_##x\n#define I(x) WASMTIME_COMPONENT_ITEM_##x\n#define T(x) WASMTIME_COMPONENT_VALTYPE_##x\n#define V(x) WASM_##x\n#define E(x) WASM_EXTERN_##x\n" + layoutProbe)
	ours := build("#include \"capi.h\"\n#define K(x) WH_##x\n#define I(x) WH_ITEM_##x\n#define T(x) WH_TYPE_##x\n#define V(x) WH_CORE_##x\n#define E(x) WH_EXTERN_##x\n" + layoutProbe)
	if theirs != ours {
		t.Errorf("layouts differ\nlibrary:\n%s\nours:\n%s", theirs, ours)
	}
	// Two declarations of one function with different types do not compile.
	build(library + "#define WH_PROTOTYPES_ONLY\n#include \"capi.h\"\n#include \"bare/wasi.h\"\nint main(void) { return 0; }\n")
}
