#define XXH_INLINE_ALL
#include <xxhash.h>
#include "include/cxxhash.h"

uint64_t cxxhash_digest(const void *bytes, size_t count) { return XXH3_64bits(bytes, count); }
uint64_t cxxhash_seeded(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}
cxxhash_state *cxxhash_create(void) {
  XXH3_state_t *state = XXH3_createState();
  if (state != NULL) XXH3_64bits_reset(state);
  return (cxxhash_state *)state;
}
void cxxhash_reset(cxxhash_state *state) { XXH3_64bits_reset((XXH3_state_t *)state); }
void cxxhash_update(cxxhash_state *state, const void *bytes, size_t count) {
  XXH3_64bits_update((XXH3_state_t *)state, bytes, count);
}
uint64_t cxxhash_value(const cxxhash_state *state) { return XXH3_64bits_digest((const XXH3_state_t *)state); }
void cxxhash_free(cxxhash_state *state) { XXH3_freeState((XXH3_state_t *)state); }
