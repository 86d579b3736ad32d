// XXH3 (xxhash, header only): block digests at memory speed.
#ifndef CXXHASH_H
#define CXXHASH_H
#include <stddef.h>
#include <stdint.h>

typedef struct cxxhash_state cxxhash_state;

uint64_t cxxhash_digest(const void *bytes, size_t count);
uint64_t cxxhash_seeded(const void *bytes, size_t count, uint64_t seed);
cxxhash_state *cxxhash_create(void);
void cxxhash_reset(cxxhash_state *state);
void cxxhash_update(cxxhash_state *state, const void *bytes, size_t count);
uint64_t cxxhash_value(const cxxhash_state *state);
void cxxhash_free(cxxhash_state *state);

#endif
