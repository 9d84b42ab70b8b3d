//go:build cgo

#include "bare.h"
#include "../capi.h"
#include "wasi.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bare {
  wasm_engine_t *engine;
  wasmtime_component_linker_t *linker;
  wasmtime_component_t *component;
  wasmtime_component_export_index_t *run;
};

static char *text(wasmtime_error_t *e) {
  if (!e) return NULL;
  wasm_byte_vec_t m;
  wasmtime_error_message(e, &m);
  char *s = strndup(m.data, m.size);
  wasm_byte_vec_delete(&m);
  wasmtime_error_delete(e);
  return s;
}

char *bare_new(const uint8_t *wasm, size_t len, bare_t **out) {
  bare_t *b = calloc(1, sizeof *b);
  wasm_config_t *c = wasm_config_new();
  wasmtime_config_wasm_component_model_set(c, true);
  wasmtime_config_epoch_interruption_set(c, true);
  b->engine = wasm_engine_new_with_config(c);
  b->linker = wasmtime_component_linker_new(b->engine);
  char *e = text(wasmtime_component_linker_add_wasip2(b->linker));
  if (!e) e = text(wasmtime_component_new(b->engine, wasm, len, &b->component));
  if (!e) {
    const char *iface = "murmur:tool/run@0.1.0";
    wasmtime_component_export_index_t *parent = wasmtime_component_get_export_index(b->component, NULL, iface, strlen(iface));
    if (parent) b->run = wasmtime_component_get_export_index(b->component, parent, "run", 3);
    if (parent) wasmtime_component_export_index_delete(parent);
    if (!b->run) e = strdup("no exported run");
  }
  if (e) {
    bare_delete(b);
    return e;
  }
  *out = b;
  return NULL;
}

void bare_delete(bare_t *b) {
  if (b->run) wasmtime_component_export_index_delete(b->run);
  if (b->component) wasmtime_component_delete(b->component);
  wasmtime_component_linker_delete(b->linker);
  wasm_engine_delete(b->engine);
  free(b);
}

// input makes the tool-input {data: some("hello"), log-path: none}.
static void input(wasmtime_component_val_t *v) {
  wasmtime_component_val_t s = {.kind = WH_STRING};
  v->kind = WH_RECORD;
  wasmtime_component_valrecord_new_uninit(&v->of.record, 2);
  wasmtime_component_valrecord_entry_t *f = v->of.record.data;
  wasm_byte_vec_new(&f[0].name, 4, "data");
  wasm_byte_vec_new(&s.of.string, 5, "hello");
  f[0].val.kind = WH_OPTION;
  f[0].val.of.option = wasmtime_component_val_new(&s);
  wasm_byte_vec_new(&f[1].name, 8, "log-path");
  f[1].val.kind = WH_OPTION;
  f[1].val.of.option = NULL;
}

static char *once(bare_t *b) {
  wasmtime_store_t *s = wasmtime_store_new(b->engine, NULL, NULL);
  wasmtime_context_t *c = wasmtime_store_context(s);
  wasmtime_component_instance_t in;
  wasmtime_component_func_t f;
  wasmtime_store_limiter(s, 512 << 20, 100000, 1000, -1, -1);
  wasmtime_context_set_epoch_deadline(c, 1000000);
  char *e = text(wasmtime_context_set_wasi(c, wasi_config_new()));
  if (!e) e = text(wasmtime_component_linker_instantiate(b->linker, c, b->component, &in));
  if (!e && !wasmtime_component_instance_get_func(&in, c, b->run, &f)) e = strdup("run is no function");
  if (!e) {
    wasmtime_component_val_t a, r = {0};
    input(&a);
    e = text(wasmtime_component_func_call(&f, c, &a, 1, &r, 1));
    wasmtime_component_val_delete(&a);
    if (!e) wasmtime_component_val_delete(&r);
  }
  wasmtime_store_delete(s);
  return e;
}

char *bare_run(bare_t *b, int n, double *mean_ns) {
  struct timespec t0, t1;
  clock_gettime(CLOCK_MONOTONIC, &t0);
  for (int i = 0; i < n; i++) {
    char *e = once(b);
    if (e) return e;
  }
  clock_gettime(CLOCK_MONOTONIC, &t1);
  *mean_ns = ((t1.tv_sec - t0.tv_sec) * 1e9 + (t1.tv_nsec - t0.tv_nsec)) / n;
  return NULL;
}
