// Reflected cyclic redundancy checks of 32 and 64 bits, as fast as memory where the processor multiplies without carry.
#ifndef CCHECKSUM_H
#define CCHECKSUM_H
#include <stddef.h>
#include <stdint.h>

/// The tables of one polynomial; they never change, so that threads may share them.
typedef struct cchecksum_tables cchecksum_tables;

/// For a reflected polynomial of `width` bits, 32 or 64; NULL when memory is out.
cchecksum_tables *cchecksum_create(uint64_t polynomial, int width);
/// The register after these bytes; it begins, and ends inverted, by the rules of the algorithm.
uint64_t cchecksum_update(const cchecksum_tables *tables, uint64_t state, const void *bytes, size_t count);
/// The same without the processor's help, for tests.
uint64_t cchecksum_update_plain(const cchecksum_tables *tables, uint64_t state, const void *bytes, size_t count);

#endif
