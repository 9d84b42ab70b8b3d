//go:build cgo

// Core modules: what capi.c is for components.
#include "capi.h"
#include "_cgo_export.h"

// module_cb hands a call on to Go. The library keeps each value in 16 bytes; Go
// is given them as 64-bit words side by side, and puts a result into the first.
static wasm_trap_t *module_cb(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *v, size_t n) {
  wh_store_t *s = wasmtime_context_get_data(wasmtime_caller_context(caller));
  uint64_t *words = (uint64_t *)v;
  size_t size;
  uint8_t *mem = wh_memory(s, &size);
  for (size_t i = 1; i < n; i++) words[i] = words[2 * i];
  return whModuleCall(s->handle, (uintptr_t)env, mem, size, words, n);
}

static void kinds(wasm_valtype_vec_t *v, const uint8_t *kinds, size_t n) {
  wasm_valtype_vec_new_uninitialized(v, n);
  for (size_t i = 0; i < n; i++) v->data[i] = wasm_valtype_new(kinds[i]);
}

wasm_functype_t *wh_functype(const uint8_t *params, size_t np, const uint8_t *results, size_t nr) {
  wasm_valtype_vec_t p, r;
  kinds(&p, params, np);
  kinds(&r, results, nr);
  return wasm_functype_new(&p, &r);
}

wasmtime_error_t *wh_link(wasmtime_linker_t *l, const char *module, size_t nm, const char *name, size_t nn, const wasm_functype_t *ty, uintptr_t id) {
  return wasmtime_linker_define_func_unchecked(l, module, nm, name, nn, ty, module_cb, (void *)id, NULL);
}

wasmtime_error_t *wh_module_instantiate(wh_store_t *s, const wasmtime_instance_pre_t *p, wasmtime_instance_t *out, wasm_trap_t **trap) {
  wh_store_t *old = wh_enter(s);
  wasmtime_error_t *e = wasmtime_instance_pre_instantiate(p, s->ctx, out, trap);
  wh_leave(old);
  return e;
}

// wh_module_call calls an exported function without parameters and with at most
// one result, which the caller has made sure it is.
wasmtime_error_t *wh_module_call(wh_store_t *s, const wasmtime_instance_t *in, const char *name, size_t nn, uint64_t *result, bool *found, wasm_trap_t **trap) {
  wasmtime_extern_t item;
  wasmtime_val_raw_t v = {0};
  *found = wasmtime_instance_export_get(s->ctx, in, name, nn, &item);
  if (!*found) return NULL;
  *found = item.kind == WH_EXTERN_FUNC;
  wasmtime_error_t *e = NULL;
  if (*found) {
    wh_store_t *old = wh_enter(s);
    e = wasmtime_func_call_unchecked(s->ctx, &item.of.func, &v, 1, trap);
    wh_leave(old);
    *result = v.bits[0];
  }
  wasmtime_extern_delete(&item);
  return e;
}
