//go:build cgo

#include "capi.h"
#include "_cgo_export.h"
#include <stdlib.h>
#include <string.h>

static wasmtime_error_t *func_cb(void *env, wasmtime_context_t *ctx, const wasmtime_component_func_type_t *ty,
                                 wasmtime_component_val_t *a, size_t na, wasmtime_component_val_t *r, size_t nr) {
  wh_store_t *s = wasmtime_context_get_data(ctx);
  (void)ty;
  return whHostCall(s->handle, (uintptr_t)env, a, na, r, nr);
}

static wasmtime_error_t *dtor_cb(void *env, wasmtime_context_t *ctx, uint32_t rep) {
  wh_store_t *s = wasmtime_context_get_data(ctx);
  return whResourceDrop(s->handle, (uint32_t)(uintptr_t)env, rep);
}

static wasmtime_error_t *epoch_cb(wasmtime_context_t *ctx, void *env, uint64_t *delta, uint8_t *kind) {
  (void)ctx;
  *delta = 1;
  *kind = 0; // go on at once
  return whEpoch(((wh_store_t *)env)->handle);
}

// wh_engine_new makes an engine whose every setting is written down here or is
// the library's default; settings in engine.go is the text of those that decide
// what code is made.
wasm_engine_t *wh_engine_new(size_t max_stack) {
  wasm_config_t *c = wasm_config_new();
  wasmtime_memory_creator_t m;
  wasmtime_config_wasm_component_model_set(c, true);
  wasmtime_config_epoch_interruption_set(c, true);
  wasmtime_config_wasm_threads_set(c, false); // memory.atomic.wait would not see the epoch
  wasmtime_config_wasm_memory64_set(c, false);
  wasmtime_config_max_wasm_stack_set(c, max_stack);
  wasmtime_config_async_stack_size_set(c, max_stack); // not used, but may not be less
  wh_memory_creator(&m);
  wasmtime_config_host_memory_creator_set(c, &m);
  wasmtime_config_memory_init_cow_set(c, false); // works on the library's own memories only
  return wasm_engine_new_with_config(c);
}

wh_store_t *wh_store_new(wasm_engine_t *e, uintptr_t handle, uint64_t mem, int64_t tables, int64_t instances) {
  wh_store_t *s = calloc(1, sizeof *s);
  if (!s) abort();
  s->handle = handle;
  s->mem_limit = mem;
  s->store = wasmtime_store_new(e, s, NULL);
  s->ctx = wasmtime_store_context(s->store);
  wasmtime_store_limiter(s->store, -1, tables, instances, instances, instances);
  wasmtime_store_epoch_deadline_callback(s->store, epoch_cb, s, NULL);
  wasmtime_context_set_epoch_deadline(s->ctx, 1);
  return s;
}

void wh_store_delete(wh_store_t *s) {
  wasmtime_store_delete(s->store); // runs the memories' finalizers, which use s
  free(s);
}

wasmtime_error_t *wh_instantiate(wh_store_t *s, const wasmtime_component_linker_t *l, const wasmtime_component_t *c, wasmtime_component_instance_t *out) {
  wh_store_t *old = wh_enter(s);
  wasmtime_error_t *e = wasmtime_component_linker_instantiate(l, s->ctx, c, out);
  wh_leave(old);
  return e;
}

wasmtime_error_t *wh_call(wh_store_t *s, const wasmtime_component_func_t *f, const wasmtime_component_val_t *a, size_t na, wasmtime_component_val_t *r, size_t nr) {
  wh_store_t *old = wh_enter(s);
  wasmtime_error_t *e = wasmtime_component_func_call(f, s->ctx, a, na, r, nr);
  wh_leave(old);
  return e;
}

wasmtime_error_t *wh_add_func(wasmtime_component_linker_instance_t *li, const char *n, size_t nl, uintptr_t id) {
  return wasmtime_component_linker_instance_add_func(li, n, nl, func_cb, (void *)id, NULL);
}

wasmtime_error_t *wh_add_resource(wasmtime_component_linker_instance_t *li, const char *n, size_t nl, uint32_t ty) {
  wasmtime_component_resource_type_t *t = wasmtime_component_resource_type_new_host(ty);
  wasmtime_error_t *e = wasmtime_component_linker_instance_add_resource(li, n, nl, t, dtor_cb, (void *)(uintptr_t)ty, NULL);
  wasmtime_component_resource_type_delete(t); // the linker keeps a copy of its own
  return e;
}

// wh_take_resource may be called once per value: it ends the borrow or takes
// the own.
wasmtime_error_t *wh_take_resource(wasmtime_context_t *ctx, const wasmtime_component_resource_any_t *any, uint32_t *rep, uint32_t *ty, bool *owned) {
  wasmtime_component_resource_host_t *h;
  wasmtime_error_t *e = wasmtime_component_resource_any_to_host(ctx, any, &h);
  if (e) return e;
  *rep = wasmtime_component_resource_host_rep(h);
  *ty = wasmtime_component_resource_host_type(h);
  *owned = wasmtime_component_resource_host_owned(h);
  wasmtime_component_resource_host_delete(h);
  return NULL;
}

wasmtime_error_t *wh_put_resource(wasmtime_context_t *ctx, bool owned, uint32_t rep, uint32_t ty, wasmtime_component_val_t *out) {
  wasmtime_component_resource_host_t *h = wasmtime_component_resource_host_new(owned, rep, ty);
  wasmtime_component_resource_any_t *any;
  wasmtime_error_t *e = wasmtime_component_resource_host_to_any(ctx, h, &any);
  wasmtime_component_resource_host_delete(h);
  if (e) return e;
  out->of.resource = any;
  out->kind = WH_RESOURCE;
  return NULL;
}

// The four below return vectors of zeros, which are valid values (false, the
// empty string) and can be deleted however far they get filled.
void wh_list_new(wasmtime_component_vallist_t *v, size_t n) {
  wasmtime_component_vallist_new_uninit(v, n);
  if (n) memset(v->data, 0, n * sizeof *v->data);
}
void wh_tuple_new(wasmtime_component_valtuple_t *v, size_t n) {
  wasmtime_component_valtuple_new_uninit(v, n);
  if (n) memset(v->data, 0, n * sizeof *v->data);
}
void wh_record_new(wasmtime_component_valrecord_t *v, size_t n) {
  wasmtime_component_valrecord_new_uninit(v, n);
  if (n) memset(v->data, 0, n * sizeof *v->data);
}
void wh_flags_new(wasmtime_component_valflags_t *v, size_t n) {
  wasmtime_component_valflags_new_uninit(v, n);
  if (n) memset(v->data, 0, n * sizeof *v->data);
}

bool wh_list_to_bytes(const wasmtime_component_vallist_t *l, uint8_t *out) {
  uint8_t other = 0;
  for (size_t i = 0; i < l->size; i++) {
    other |= l->data[i].kind ^ WH_U8;
    out[i] = l->data[i].of.u8;
  }
  return other == 0;
}

void wh_bytes_to_list(wasmtime_component_vallist_t *l, const uint8_t *in, size_t n) {
  wasmtime_component_vallist_new_uninit(l, n);
  for (size_t i = 0; i < n; i++) {
    l->data[i].kind = WH_U8;
    l->data[i].of.u8 = in[i];
  }
}
