// OpenSSL's digests and HMAC behind plain functions (its macros and ENGINE arguments do not import).
#ifndef COPENSSL_H
#define COPENSSL_H
#include <stddef.h>
#include <stdint.h>

typedef struct copenssl_digest copenssl_digest;

/// name: "SHA256", "SHA1", "MD5". NULL when unknown.
copenssl_digest *copenssl_digest_create(const char *name);
int copenssl_digest_update(copenssl_digest *digest, const void *bytes, size_t count);
/// Writes the value (at most 64 bytes) and returns its length, 0 on failure; the digest starts anew.
size_t copenssl_digest_finish(copenssl_digest *digest, uint8_t *out);
void copenssl_digest_free(copenssl_digest *digest);
/// HMAC-SHA-256 into out[32]; 1 on success.
int copenssl_hmac_sha256(const void *key, size_t key_count, const void *bytes, size_t count, uint8_t *out);

#endif
