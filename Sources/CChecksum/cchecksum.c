#include "include/cchecksum.h"
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct cchecksum_tables {
  uint64_t by_byte[8][256];
  // x^191, x^127, x^575 and x^511 modulo the polynomial, the coefficient of x^i in bit 63 - i.
  uint64_t near_low, near_high, far_low, far_high;
  int folds;
};

static uint64_t power(int exponent, uint64_t polynomial, int width) {
  uint64_t value = 1ULL << 63;
  for (int i = 0; i < exponent; i++) {
    uint64_t carry = value >> (64 - width) & 1;
    value = (value ^ carry << (64 - width)) >> 1;
    if (carry) value ^= polynomial << (64 - width);
  }
  return value;
}

cchecksum_tables *cchecksum_create(uint64_t polynomial, int width) {
  cchecksum_tables *tables = malloc(sizeof *tables);
  if (tables == NULL) return NULL;
  for (int byte = 0; byte < 256; byte++) {
    uint64_t value = (uint64_t)byte;
    for (int bit = 0; bit < 8; bit++) value = value & 1 ? value >> 1 ^ polynomial : value >> 1;
    tables->by_byte[0][byte] = value;
  }
  for (int later = 1; later < 8; later++)
    for (int byte = 0; byte < 256; byte++) {
      uint64_t value = tables->by_byte[later - 1][byte];
      tables->by_byte[later][byte] = value >> 8 ^ tables->by_byte[0][value & 0xFF];
    }
  tables->near_low = power(191, polynomial, width);
  tables->near_high = power(127, polynomial, width);
  tables->far_low = power(575, polynomial, width);
  tables->far_high = power(511, polynomial, width);
  tables->folds = 0;
#if defined(__x86_64__)
  tables->folds = __builtin_cpu_supports("pclmul");
#endif
  return tables;
}

uint64_t cchecksum_update_plain(const cchecksum_tables *tables, uint64_t state, const void *bytes, size_t count) {
  const uint8_t *at = bytes;
  const uint64_t(*table)[256] = tables->by_byte;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; count >= 8; at += 8, count -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    word ^= state;
    state = table[7][word & 0xFF] ^ table[6][word >> 8 & 0xFF] ^ table[5][word >> 16 & 0xFF] ^
            table[4][word >> 24 & 0xFF] ^ table[3][word >> 32 & 0xFF] ^ table[2][word >> 40 & 0xFF] ^
            table[1][word >> 48 & 0xFF] ^ table[0][word >> 56];
  }
#endif
  for (; count > 0; at++, count--) state = state >> 8 ^ table[0][(state ^ *at) & 0xFF];
  return state;
}

#if defined(__x86_64__)
// Moves a remainder of 16 bytes on by the distance of the constants (Gopal and others, Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ, Intel 2009).
__attribute__((target("pclmul,sse2"))) static inline __m128i folded(__m128i value, __m128i constants, __m128i next) {
  __m128i low = _mm_clmulepi64_si128(value, constants, 0x00);
  __m128i high = _mm_clmulepi64_si128(value, constants, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// At least 64 bytes, a multiple of 16.
__attribute__((target("pclmul,sse2"))) static uint64_t update_folding(const cchecksum_tables *tables, uint64_t state,
                                                                     const uint8_t *at, size_t count) {
  const __m128i far = _mm_set_epi64x((long long)tables->far_high, (long long)tables->far_low);
  const __m128i near = _mm_set_epi64x((long long)tables->near_high, (long long)tables->near_low);
  __m128i lanes[4];
  for (int i = 0; i < 4; i++) lanes[i] = _mm_loadu_si128((const __m128i *)(at + 16 * i));
  lanes[0] = _mm_xor_si128(lanes[0], _mm_set_epi64x(0, (long long)state));
  for (at += 64, count -= 64; count >= 64; at += 64, count -= 64)
    for (int i = 0; i < 4; i++) lanes[i] = folded(lanes[i], far, _mm_loadu_si128((const __m128i *)(at + 16 * i)));
  __m128i rest = lanes[0];
  for (int i = 1; i < 4; i++) rest = folded(rest, near, lanes[i]);
  for (; count >= 16; at += 16, count -= 16) rest = folded(rest, near, _mm_loadu_si128((const __m128i *)at));
  uint8_t last[16];
  _mm_storeu_si128((__m128i *)last, rest);
  return cchecksum_update_plain(tables, 0, last, sizeof last);
}
#endif

uint64_t cchecksum_update(const cchecksum_tables *tables, uint64_t state, const void *bytes, size_t count) {
  const uint8_t *at = bytes;
#if defined(__x86_64__)
  size_t whole = count & ~(size_t)15;
  if (tables->folds && whole >= 64) {
    state = update_folding(tables, state, at, whole);
    at += whole;
    count -= whole;
  }
#endif
  return cchecksum_update_plain(tables, state, at, count);
}
