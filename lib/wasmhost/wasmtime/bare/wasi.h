// What only this loop uses of the C API; TestHeader looks at it too.
#ifndef MUR_BARE_WASI_H
#define MUR_BARE_WASI_H
typedef struct wasi_config_t wasi_config_t;
wasi_config_t *wasi_config_new(void);
wasmtime_error_t *wasmtime_context_set_wasi(wasmtime_context_t *, wasi_config_t *);
wasmtime_error_t *wasmtime_component_linker_add_wasip2(wasmtime_component_linker_t *);
#endif
