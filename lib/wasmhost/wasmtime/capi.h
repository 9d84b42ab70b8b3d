// Declarations of the wasmtime v44 C API that this package uses, and nothing
// else. TestHeader compares layouts and prototypes with the library's headers.
#ifndef MUR_WASMTIME_CAPI_H
#define MUR_WASMTIME_CAPI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef WH_PROTOTYPES_ONLY // TestHeader takes the types from the library
typedef struct { size_t size; char *data; } wasm_byte_vec_t;
typedef struct wasmtime_error wasmtime_error_t;
typedef struct wasm_config_t wasm_config_t;
typedef struct wasm_engine_t wasm_engine_t;
typedef struct wasm_memorytype_t wasm_memorytype_t;
typedef struct wasm_trap_t wasm_trap_t;
typedef struct wasm_valtype_t wasm_valtype_t;
typedef struct { size_t size; wasm_valtype_t **data; } wasm_valtype_vec_t;
typedef struct wasm_functype_t wasm_functype_t;
typedef struct wasm_externtype_t wasm_externtype_t;
typedef struct wasm_exporttype_t wasm_exporttype_t;
typedef struct { size_t size; wasm_exporttype_t **data; } wasm_exporttype_vec_t;
enum { WH_CORE_I32, WH_CORE_I64, WH_CORE_F32, WH_CORE_F64 }; // wasm_valkind_t
enum { WH_EXTERN_FUNC, WH_EXTERN_GLOBAL, WH_EXTERN_TABLE, WH_EXTERN_MEMORY }; // wasm_externkind_t
typedef struct wasmtime_module wasmtime_module_t;
typedef struct wasmtime_linker wasmtime_linker_t;
typedef struct wasmtime_instance_pre wasmtime_instance_pre_t;
typedef struct wasmtime_caller wasmtime_caller_t;
typedef struct { uint64_t store_id; size_t p; } wasmtime_instance_t;
typedef struct { uint64_t store_id; void *p; } wasmtime_func_t;
typedef struct {
  uint8_t kind;
  union { wasmtime_func_t func; struct { uint64_t store_id; uint32_t p1, p2, p3; } other; } of;
} wasmtime_extern_t;
typedef union { int64_t i64; uint64_t bits[2]; } wasmtime_val_raw_t;
typedef wasm_trap_t *(*wasmtime_func_unchecked_callback_t)(void *, wasmtime_caller_t *, wasmtime_val_raw_t *, size_t);
typedef struct wasmtime_store wasmtime_store_t;
typedef struct wasmtime_context wasmtime_context_t;
typedef struct wasmtime_component_t wasmtime_component_t;
typedef struct wasmtime_component_export_index_t wasmtime_component_export_index_t;
typedef struct wasmtime_component_resource_type wasmtime_component_resource_type_t;
typedef struct wasmtime_component_resource_any wasmtime_component_resource_any_t;
typedef struct wasmtime_component_resource_host wasmtime_component_resource_host_t;
enum { // wasmtime_component_valkind_t
  WH_BOOL, WH_S8, WH_U8, WH_S16, WH_U16, WH_S32, WH_U32, WH_S64, WH_U64, WH_F32, WH_F64, WH_CHAR,
  WH_STRING, WH_LIST, WH_RECORD, WH_TUPLE, WH_VARIANT, WH_ENUM, WH_OPTION, WH_RESULT, WH_FLAGS, WH_RESOURCE, WH_MAP
};
struct wasmtime_component_val;
struct wasmtime_component_valrecord_entry;
typedef struct { size_t size; struct wasmtime_component_val *data; } wasmtime_component_vallist_t, wasmtime_component_valtuple_t;
typedef struct { size_t size; struct wasmtime_component_valrecord_entry *data; } wasmtime_component_valrecord_t;
typedef struct { size_t size; wasm_byte_vec_t *data; } wasmtime_component_valflags_t;
typedef struct { wasm_byte_vec_t discriminant; struct wasmtime_component_val *val; } wasmtime_component_valvariant_t;
typedef struct { bool is_ok; struct wasmtime_component_val *val; } wasmtime_component_valresult_t;
typedef struct wasmtime_component_val {
  uint8_t kind;
  union {
    bool boolean; int8_t s8; uint8_t u8; int16_t s16; uint16_t u16; int32_t s32; uint32_t u32;
    int64_t s64; uint64_t u64; float f32; double f64; uint32_t character;
    wasm_byte_vec_t string; // and enumeration
    wasmtime_component_vallist_t list; // and tuple, which has the same layout
    wasmtime_component_valrecord_t record;
    wasmtime_component_valvariant_t variant;
    struct wasmtime_component_val *option;
    wasmtime_component_valresult_t result;
    wasmtime_component_valflags_t flags;
    wasmtime_component_resource_any_t *resource;
  } of;
} wasmtime_component_val_t;
typedef struct wasmtime_component_valrecord_entry { wasm_byte_vec_t name; wasmtime_component_val_t val; } wasmtime_component_valrecord_entry_t;
enum { // wasmtime_component_valtype_kind_t
  WH_TYPE_BOOL, WH_TYPE_S8, WH_TYPE_S16, WH_TYPE_S32, WH_TYPE_S64, WH_TYPE_U8, WH_TYPE_U16, WH_TYPE_U32, WH_TYPE_U64,
  WH_TYPE_F32, WH_TYPE_F64, WH_TYPE_CHAR, WH_TYPE_STRING, WH_TYPE_LIST, WH_TYPE_RECORD, WH_TYPE_TUPLE, WH_TYPE_VARIANT,
  WH_TYPE_ENUM, WH_TYPE_OPTION, WH_TYPE_RESULT, WH_TYPE_FLAGS, WH_TYPE_OWN, WH_TYPE_BORROW, WH_TYPE_FUTURE,
  WH_TYPE_STREAM, WH_TYPE_ERROR_CONTEXT, WH_TYPE_MAP
};
typedef struct wasmtime_component_list_type wasmtime_component_list_type_t;
typedef struct wasmtime_component_record_type wasmtime_component_record_type_t;
typedef struct wasmtime_component_tuple_type wasmtime_component_tuple_type_t;
typedef struct wasmtime_component_variant_type wasmtime_component_variant_type_t;
typedef struct wasmtime_component_enum_type wasmtime_component_enum_type_t;
typedef struct wasmtime_component_option_type wasmtime_component_option_type_t;
typedef struct wasmtime_component_result_type wasmtime_component_result_type_t;
typedef struct wasmtime_component_flags_type wasmtime_component_flags_type_t;
typedef struct wasmtime_component_valtype_t {
  uint8_t kind;
  union {
    wasmtime_component_list_type_t *list;
    wasmtime_component_record_type_t *record;
    wasmtime_component_tuple_type_t *tuple;
    wasmtime_component_variant_type_t *variant;
    wasmtime_component_enum_type_t *enum_;
    wasmtime_component_option_type_t *option;
    wasmtime_component_result_type_t *result;
    wasmtime_component_flags_type_t *flags;
  } of;
} wasmtime_component_valtype_t;
typedef struct wasmtime_component_type_t wasmtime_component_type_t;
typedef struct wasmtime_component_instance_type wasmtime_component_instance_type_t;
typedef struct wasmtime_component_func_type_t wasmtime_component_func_type_t;
enum { // wasmtime_component_item_kind_t
  WH_ITEM_COMPONENT, WH_ITEM_COMPONENT_INSTANCE, WH_ITEM_MODULE, WH_ITEM_COMPONENT_FUNC, WH_ITEM_RESOURCE,
  WH_ITEM_CORE_FUNC, WH_ITEM_TYPE
};
typedef struct wasmtime_component_item_t {
  uint8_t kind;
  union {
    wasmtime_component_instance_type_t *component_instance;
    wasmtime_component_func_type_t *component_func;
    wasmtime_component_valtype_t type;
  } of;
} wasmtime_component_item_t;
typedef struct wasmtime_component_linker_t wasmtime_component_linker_t;
typedef struct wasmtime_component_linker_instance_t wasmtime_component_linker_instance_t;
typedef struct { uint64_t store_id; uint32_t p; } wasmtime_component_instance_t;
typedef struct { struct { uint64_t store_id; uint32_t p1; }; uint32_t p2; } wasmtime_component_func_t;
typedef wasmtime_error_t *(*wasmtime_component_func_callback_t)(void *, wasmtime_context_t *, const wasmtime_component_func_type_t *, wasmtime_component_val_t *, size_t, wasmtime_component_val_t *, size_t);
typedef wasmtime_error_t *(*wasmtime_component_resource_destructor_t)(void *, wasmtime_context_t *, uint32_t);
typedef struct {
  void *env;
  uint8_t *(*get_memory)(void *, size_t *, size_t *);
  wasmtime_error_t *(*grow_memory)(void *, size_t);
  void (*finalizer)(void *);
} wasmtime_linear_memory_t;
typedef struct {
  void *env;
  wasmtime_error_t *(*new_memory)(void *, const wasm_memorytype_t *, size_t, size_t, size_t, size_t, wasmtime_linear_memory_t *);
  void (*finalizer)(void *);
} wasmtime_memory_creator_t;
#endif

void wasm_byte_vec_new(wasm_byte_vec_t *, size_t, const char *);
void wasm_byte_vec_delete(wasm_byte_vec_t *);
wasmtime_error_t *wasmtime_error_new(const char *);
void wasmtime_error_delete(wasmtime_error_t *);
void wasmtime_error_message(const wasmtime_error_t *, wasm_byte_vec_t *);
wasm_config_t *wasm_config_new(void);
void wasmtime_config_wasm_component_model_set(wasm_config_t *, bool);
void wasmtime_config_epoch_interruption_set(wasm_config_t *, bool);
void wasmtime_config_wasm_threads_set(wasm_config_t *, bool);
void wasmtime_config_wasm_memory64_set(wasm_config_t *, bool);
void wasmtime_config_max_wasm_stack_set(wasm_config_t *, size_t);
void wasmtime_config_async_stack_size_set(wasm_config_t *, uint64_t);
void wasmtime_config_memory_init_cow_set(wasm_config_t *, bool);
void wasmtime_config_host_memory_creator_set(wasm_config_t *, wasmtime_memory_creator_t *);
wasm_engine_t *wasm_engine_new_with_config(wasm_config_t *);
void wasm_engine_delete(wasm_engine_t *);
void wasmtime_engine_increment_epoch(wasm_engine_t *);
wasmtime_error_t *wasmtime_wat2wasm(const char *, size_t, wasm_byte_vec_t *);
wasmtime_store_t *wasmtime_store_new(wasm_engine_t *, void *, void (*)(void *));
wasmtime_context_t *wasmtime_store_context(wasmtime_store_t *);
void wasmtime_store_limiter(wasmtime_store_t *, int64_t, int64_t, int64_t, int64_t, int64_t);
void wasmtime_store_delete(wasmtime_store_t *);
void *wasmtime_context_get_data(const wasmtime_context_t *);
void wasmtime_context_set_epoch_deadline(wasmtime_context_t *, uint64_t);
void wasmtime_store_epoch_deadline_callback(wasmtime_store_t *, wasmtime_error_t *(*)(wasmtime_context_t *, void *, uint64_t *, uint8_t *), void *, void (*)(void *));
wasmtime_error_t *wasmtime_component_new(const wasm_engine_t *, const uint8_t *, size_t, wasmtime_component_t **);
wasmtime_error_t *wasmtime_component_serialize(const wasmtime_component_t *, wasm_byte_vec_t *);
wasmtime_error_t *wasmtime_component_deserialize_file(const wasm_engine_t *, const char *, wasmtime_component_t **);
void wasmtime_component_delete(wasmtime_component_t *);
wasmtime_component_type_t *wasmtime_component_type(const wasmtime_component_t *);
void wasmtime_component_type_delete(wasmtime_component_type_t *);
size_t wasmtime_component_type_import_count(const wasmtime_component_type_t *, const wasm_engine_t *);
bool wasmtime_component_type_import_nth(const wasmtime_component_type_t *, const wasm_engine_t *, size_t, const char **, size_t *, wasmtime_component_item_t *);
size_t wasmtime_component_type_export_count(const wasmtime_component_type_t *, const wasm_engine_t *);
bool wasmtime_component_type_export_nth(const wasmtime_component_type_t *, const wasm_engine_t *, size_t, const char **, size_t *, wasmtime_component_item_t *);
size_t wasmtime_component_instance_type_export_count(const wasmtime_component_instance_type_t *, const wasm_engine_t *);
bool wasmtime_component_instance_type_export_nth(const wasmtime_component_instance_type_t *, const wasm_engine_t *, size_t, const char **, size_t *, wasmtime_component_item_t *);
void wasmtime_component_item_delete(wasmtime_component_item_t *);
bool wasmtime_component_type_import_get(const wasmtime_component_type_t *, const wasm_engine_t *, const char *, size_t, wasmtime_component_item_t *);
bool wasmtime_component_type_export_get(const wasmtime_component_type_t *, const wasm_engine_t *, const char *, size_t, wasmtime_component_item_t *);
void wasmtime_component_valtype_delete(wasmtime_component_valtype_t *);
bool wasmtime_component_func_type_async(const wasmtime_component_func_type_t *);
size_t wasmtime_component_func_type_param_count(const wasmtime_component_func_type_t *);
bool wasmtime_component_func_type_param_nth(const wasmtime_component_func_type_t *, size_t, const char **, size_t *, wasmtime_component_valtype_t *);
bool wasmtime_component_func_type_result(const wasmtime_component_func_type_t *, wasmtime_component_valtype_t *);
void wasmtime_component_list_type_element(const wasmtime_component_list_type_t *, wasmtime_component_valtype_t *);
size_t wasmtime_component_record_type_field_count(const wasmtime_component_record_type_t *);
bool wasmtime_component_record_type_field_nth(const wasmtime_component_record_type_t *, size_t, const char **, size_t *, wasmtime_component_valtype_t *);
size_t wasmtime_component_tuple_type_types_count(const wasmtime_component_tuple_type_t *);
bool wasmtime_component_tuple_type_types_nth(const wasmtime_component_tuple_type_t *, size_t, wasmtime_component_valtype_t *);
size_t wasmtime_component_variant_type_case_count(const wasmtime_component_variant_type_t *);
bool wasmtime_component_variant_type_case_nth(const wasmtime_component_variant_type_t *, size_t, const char **, size_t *, bool *, wasmtime_component_valtype_t *);
size_t wasmtime_component_enum_type_names_count(const wasmtime_component_enum_type_t *);
bool wasmtime_component_enum_type_names_nth(const wasmtime_component_enum_type_t *, size_t, const char **, size_t *);
void wasmtime_component_option_type_ty(const wasmtime_component_option_type_t *, wasmtime_component_valtype_t *);
bool wasmtime_component_result_type_ok(const wasmtime_component_result_type_t *, wasmtime_component_valtype_t *);
bool wasmtime_component_result_type_err(const wasmtime_component_result_type_t *, wasmtime_component_valtype_t *);
size_t wasmtime_component_flags_type_names_count(const wasmtime_component_flags_type_t *);
bool wasmtime_component_flags_type_names_nth(const wasmtime_component_flags_type_t *, size_t, const char **, size_t *);
wasmtime_component_export_index_t *wasmtime_component_get_export_index(const wasmtime_component_t *, const wasmtime_component_export_index_t *, const char *, size_t);
void wasmtime_component_export_index_delete(wasmtime_component_export_index_t *);
wasmtime_component_resource_type_t *wasmtime_component_resource_type_new_host(uint32_t);
void wasmtime_component_resource_type_delete(wasmtime_component_resource_type_t *);
wasmtime_error_t *wasmtime_component_resource_any_to_host(wasmtime_context_t *, const wasmtime_component_resource_any_t *, wasmtime_component_resource_host_t **);
wasmtime_component_resource_host_t *wasmtime_component_resource_host_new(bool, uint32_t, uint32_t);
uint32_t wasmtime_component_resource_host_rep(const wasmtime_component_resource_host_t *);
uint32_t wasmtime_component_resource_host_type(const wasmtime_component_resource_host_t *);
bool wasmtime_component_resource_host_owned(const wasmtime_component_resource_host_t *);
void wasmtime_component_resource_host_delete(wasmtime_component_resource_host_t *);
wasmtime_error_t *wasmtime_component_resource_host_to_any(wasmtime_context_t *, const wasmtime_component_resource_host_t *, wasmtime_component_resource_any_t **);
void wasmtime_component_vallist_new_uninit(wasmtime_component_vallist_t *, size_t);
void wasmtime_component_valtuple_new_uninit(wasmtime_component_valtuple_t *, size_t);
void wasmtime_component_valrecord_new_uninit(wasmtime_component_valrecord_t *, size_t);
void wasmtime_component_valflags_new_uninit(wasmtime_component_valflags_t *, size_t);
wasmtime_component_val_t *wasmtime_component_val_new(wasmtime_component_val_t *);
void wasmtime_component_val_delete(wasmtime_component_val_t *);
wasmtime_component_linker_t *wasmtime_component_linker_new(const wasm_engine_t *);
void wasmtime_component_linker_delete(wasmtime_component_linker_t *);
wasmtime_component_linker_instance_t *wasmtime_component_linker_root(wasmtime_component_linker_t *);
wasmtime_error_t *wasmtime_component_linker_instantiate(const wasmtime_component_linker_t *, wasmtime_context_t *, const wasmtime_component_t *, wasmtime_component_instance_t *);
void wasmtime_component_linker_instance_delete(wasmtime_component_linker_instance_t *);
wasmtime_error_t *wasmtime_component_linker_instance_add_instance(wasmtime_component_linker_instance_t *, const char *, size_t, wasmtime_component_linker_instance_t **);
wasmtime_error_t *wasmtime_component_linker_instance_add_func(wasmtime_component_linker_instance_t *, const char *, size_t, wasmtime_component_func_callback_t, void *, void (*)(void *));
wasmtime_error_t *wasmtime_component_linker_instance_add_resource(wasmtime_component_linker_instance_t *, const char *, size_t, const wasmtime_component_resource_type_t *, wasmtime_component_resource_destructor_t, void *, void (*)(void *));
bool wasmtime_component_instance_get_func(const wasmtime_component_instance_t *, wasmtime_context_t *, const wasmtime_component_export_index_t *, wasmtime_component_func_t *);
wasmtime_error_t *wasmtime_component_func_call(const wasmtime_component_func_t *, wasmtime_context_t *, const wasmtime_component_val_t *, size_t, wasmtime_component_val_t *, size_t);
void wasm_trap_message(const wasm_trap_t *, wasm_byte_vec_t *);
void wasm_trap_delete(wasm_trap_t *);
wasm_trap_t *wasmtime_trap_new(const char *, size_t);
wasm_valtype_t *wasm_valtype_new(uint8_t);
uint8_t wasm_valtype_kind(const wasm_valtype_t *);
void wasm_valtype_vec_new_uninitialized(wasm_valtype_vec_t *, size_t);
wasm_functype_t *wasm_functype_new(wasm_valtype_vec_t *, wasm_valtype_vec_t *);
const wasm_valtype_vec_t *wasm_functype_params(const wasm_functype_t *);
const wasm_valtype_vec_t *wasm_functype_results(const wasm_functype_t *);
void wasm_functype_delete(wasm_functype_t *);
uint8_t wasm_externtype_kind(const wasm_externtype_t *);
const wasm_functype_t *wasm_externtype_as_functype_const(const wasm_externtype_t *);
const wasm_byte_vec_t *wasm_exporttype_name(const wasm_exporttype_t *);
const wasm_externtype_t *wasm_exporttype_type(const wasm_exporttype_t *);
void wasm_exporttype_vec_delete(wasm_exporttype_vec_t *);
wasmtime_error_t *wasmtime_module_new(wasm_engine_t *, const uint8_t *, size_t, wasmtime_module_t **);
wasmtime_error_t *wasmtime_module_validate(wasm_engine_t *, const uint8_t *, size_t);
wasmtime_error_t *wasmtime_module_serialize(wasmtime_module_t *, wasm_byte_vec_t *);
wasmtime_error_t *wasmtime_module_deserialize_file(wasm_engine_t *, const char *, wasmtime_module_t **);
void wasmtime_module_delete(wasmtime_module_t *);
void wasmtime_module_exports(const wasmtime_module_t *, wasm_exporttype_vec_t *);
wasmtime_linker_t *wasmtime_linker_new(wasm_engine_t *);
void wasmtime_linker_delete(wasmtime_linker_t *);
wasmtime_error_t *wasmtime_linker_define_func_unchecked(wasmtime_linker_t *, const char *, size_t, const char *, size_t, const wasm_functype_t *, wasmtime_func_unchecked_callback_t, void *, void (*)(void *));
wasmtime_error_t *wasmtime_linker_instantiate_pre(const wasmtime_linker_t *, const wasmtime_module_t *, wasmtime_instance_pre_t **);
wasmtime_error_t *wasmtime_instance_pre_instantiate(const wasmtime_instance_pre_t *, wasmtime_context_t *, wasmtime_instance_t *, wasm_trap_t **);
void wasmtime_instance_pre_delete(wasmtime_instance_pre_t *);
bool wasmtime_instance_export_get(wasmtime_context_t *, const wasmtime_instance_t *, const char *, size_t, wasmtime_extern_t *);
void wasmtime_extern_delete(wasmtime_extern_t *);
wasmtime_context_t *wasmtime_caller_context(wasmtime_caller_t *);
wasmtime_error_t *wasmtime_func_call_unchecked(wasmtime_context_t *, const wasmtime_func_t *, wasmtime_val_raw_t *, size_t, wasm_trap_t **);

#ifndef WH_PROTOTYPES_ONLY
// A store of the library with what is counted for it. mem_refused is set when a
// linear memory was refused its size. memory is the memory made last, and
// memories their number.
typedef struct {
  wasmtime_store_t *store;
  wasmtime_context_t *ctx;
  uintptr_t handle; // of the Go Store
  uint64_t mem_limit, mem_used;
  bool mem_refused;
  void *memory;
  size_t memories;
} wh_store_t;

// Helpers, so that each step crosses from Go once. capi.c, memory.c, module.c,
// types.c.
wasm_engine_t *wh_engine_new(size_t max_stack);
wh_store_t *wh_store_new(wasm_engine_t *, uintptr_t handle, uint64_t mem, int64_t tables, int64_t instances);
void wh_store_delete(wh_store_t *);
wasmtime_error_t *wh_instantiate(wh_store_t *, const wasmtime_component_linker_t *, const wasmtime_component_t *, wasmtime_component_instance_t *);
wasmtime_error_t *wh_call(wh_store_t *, const wasmtime_component_func_t *, const wasmtime_component_val_t *, size_t, wasmtime_component_val_t *, size_t);
wasmtime_error_t *wh_add_func(wasmtime_component_linker_instance_t *, const char *, size_t, uintptr_t);
wasmtime_error_t *wh_add_resource(wasmtime_component_linker_instance_t *, const char *, size_t, uint32_t);
wasmtime_error_t *wh_take_resource(wasmtime_context_t *, const wasmtime_component_resource_any_t *, uint32_t *rep, uint32_t *ty, bool *owned);
wasmtime_error_t *wh_put_resource(wasmtime_context_t *, bool owned, uint32_t rep, uint32_t ty, wasmtime_component_val_t *);
void wh_list_new(wasmtime_component_vallist_t *, size_t);
void wh_tuple_new(wasmtime_component_valtuple_t *, size_t);
void wh_record_new(wasmtime_component_valrecord_t *, size_t);
void wh_flags_new(wasmtime_component_valflags_t *, size_t);
bool wh_list_to_bytes(const wasmtime_component_vallist_t *, uint8_t *);
void wh_bytes_to_list(wasmtime_component_vallist_t *, const uint8_t *, size_t);
char *wh_signature(const wasmtime_component_func_type_t *); // to be freed
void wh_memory_creator(wasmtime_memory_creator_t *);
uint8_t *wh_memory(const wh_store_t *, size_t *size); // NULL unless there is just one
wasm_functype_t *wh_functype(const uint8_t *params, size_t, const uint8_t *results, size_t); // lists of wasm_valkind_t
wasmtime_error_t *wh_link(wasmtime_linker_t *, const char *module, size_t, const char *name, size_t, const wasm_functype_t *, uintptr_t id);
wasmtime_error_t *wh_module_instantiate(wh_store_t *, const wasmtime_instance_pre_t *, wasmtime_instance_t *, wasm_trap_t **);
wasmtime_error_t *wh_module_call(wh_store_t *, const wasmtime_instance_t *, const char *, size_t, uint64_t *result, bool *found, wasm_trap_t **);
wh_store_t *wh_enter(wh_store_t *);
void wh_leave(wh_store_t *previous);
#endif
#endif
