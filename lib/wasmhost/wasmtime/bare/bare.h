#ifndef MUR_BARE_H
#define MUR_BARE_H
#include <stddef.h>
#include <stdint.h>
typedef struct bare bare_t;
// A function that returns a string has failed; the caller frees the string.
char *bare_new(const uint8_t *wasm, size_t len, bare_t **out);
char *bare_run(bare_t *, int n, double *mean_ns);
void bare_delete(bare_t *);
#endif
