//go:build cgo

// Component types as text.
#include "capi.h"
#include <stdlib.h>
#include <string.h>

typedef struct { char *p; size_t n, cap; } text_t;

static void add(text_t *t, const char *s, size_t n) {
  if (t->n + n + 1 > t->cap) {
    t->cap = 2 * (t->n + n + 1);
    t->p = realloc(t->p, t->cap);
    if (!t->p) abort();
  }
  memcpy(t->p + t->n, s, n);
  t->n += n;
  t->p[t->n] = 0;
}

static void say(text_t *t, const char *s) { add(t, s, strlen(s)); }

// sep writes what comes between the items of a list, so nothing before the first.
static void sep(text_t *t, size_t i) {
  if (i) say(t, ", ");
}

static void type(text_t *t, wasmtime_component_valtype_t *v);

// unary writes name<type> and frees the type.
static void unary(text_t *t, const char *name, wasmtime_component_valtype_t *of) {
  say(t, name);
  say(t, "<");
  type(t, of);
  say(t, ">");
}

static void result(text_t *t, wasmtime_component_result_type_t *r) {
  wasmtime_component_valtype_t ok, err;
  bool has_ok = wasmtime_component_result_type_ok(r, &ok), has_err = wasmtime_component_result_type_err(r, &err);
  say(t, "result");
  if (!has_ok && !has_err) return;
  say(t, "<");
  if (has_ok) type(t, &ok);
  else say(t, "_");
  if (has_err) {
    say(t, ", ");
    type(t, &err);
  }
  say(t, ">");
}

// type writes v as WIT would, named types spelled out, and frees it.
static void type(text_t *t, wasmtime_component_valtype_t *v) {
  static const char *const plain[] = {"bool", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f32", "f64", "char", "string"};
  wasmtime_component_valtype_t of;
  const char *n;
  size_t nl, i, count;
  bool has;
  switch (v->kind) {
  case WH_TYPE_LIST:
    wasmtime_component_list_type_element(v->of.list, &of);
    unary(t, "list", &of);
    break;
  case WH_TYPE_OPTION:
    wasmtime_component_option_type_ty(v->of.option, &of);
    unary(t, "option", &of);
    break;
  case WH_TYPE_RESULT:
    result(t, v->of.result);
    break;
  case WH_TYPE_TUPLE:
    say(t, "tuple<");
    count = wasmtime_component_tuple_type_types_count(v->of.tuple);
    for (i = 0; i < count && wasmtime_component_tuple_type_types_nth(v->of.tuple, i, &of); i++) {
      sep(t, i);
      type(t, &of);
    }
    say(t, ">");
    break;
  case WH_TYPE_RECORD:
    say(t, "record { ");
    count = wasmtime_component_record_type_field_count(v->of.record);
    for (i = 0; i < count && wasmtime_component_record_type_field_nth(v->of.record, i, &n, &nl, &of); i++) {
      sep(t, i);
      add(t, n, nl);
      say(t, ": ");
      type(t, &of);
    }
    say(t, " }");
    break;
  case WH_TYPE_VARIANT:
    say(t, "variant { ");
    count = wasmtime_component_variant_type_case_count(v->of.variant);
    for (i = 0; i < count && wasmtime_component_variant_type_case_nth(v->of.variant, i, &n, &nl, &has, &of); i++) {
      sep(t, i);
      add(t, n, nl);
      if (has) {
        say(t, "(");
        type(t, &of);
        say(t, ")");
      }
    }
    say(t, " }");
    break;
  case WH_TYPE_ENUM:
    say(t, "enum { ");
    count = wasmtime_component_enum_type_names_count(v->of.enum_);
    for (i = 0; i < count && wasmtime_component_enum_type_names_nth(v->of.enum_, i, &n, &nl); i++) {
      sep(t, i);
      add(t, n, nl);
    }
    say(t, " }");
    break;
  case WH_TYPE_FLAGS:
    say(t, "flags { ");
    count = wasmtime_component_flags_type_names_count(v->of.flags);
    for (i = 0; i < count && wasmtime_component_flags_type_names_nth(v->of.flags, i, &n, &nl); i++) {
      sep(t, i);
      add(t, n, nl);
    }
    say(t, " }");
    break;
  case WH_TYPE_OWN: say(t, "own"); break;
  case WH_TYPE_BORROW: say(t, "borrow"); break;
  default:
    say(t, v->kind < sizeof plain / sizeof *plain ? plain[v->kind] : "unknown");
  }
  wasmtime_component_valtype_delete(v);
}

char *wh_signature(const wasmtime_component_func_type_t *f) {
  text_t t = {0};
  wasmtime_component_valtype_t of;
  const char *n;
  size_t nl, i, count = wasmtime_component_func_type_param_count(f);
  if (wasmtime_component_func_type_async(f)) say(&t, "async ");
  say(&t, "func(");
  for (i = 0; i < count && wasmtime_component_func_type_param_nth(f, i, &n, &nl, &of); i++) {
    sep(&t, i);
    add(&t, n, nl);
    say(&t, ": ");
    type(&t, &of);
  }
  say(&t, ")");
  if (wasmtime_component_func_type_result(f, &of)) {
    say(&t, " -> ");
    type(&t, &of);
  }
  return t.p;
}
