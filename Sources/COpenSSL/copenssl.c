#include "include/copenssl.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

struct copenssl_digest {
  EVP_MD_CTX *context;
  const EVP_MD *kind;
};

copenssl_digest *copenssl_digest_create(const char *name) {
  const EVP_MD *kind = EVP_get_digestbyname(name);
  if (kind == NULL) return NULL;
  copenssl_digest *digest = malloc(sizeof *digest);
  if (digest == NULL) return NULL;
  digest->kind = kind;
  digest->context = EVP_MD_CTX_new();
  if (digest->context == NULL || EVP_DigestInit_ex(digest->context, kind, NULL) != 1) {
    EVP_MD_CTX_free(digest->context);
    free(digest);
    return NULL;
  }
  return digest;
}

int copenssl_digest_update(copenssl_digest *digest, const void *bytes, size_t count) {
  return EVP_DigestUpdate(digest->context, bytes, count);
}

size_t copenssl_digest_finish(copenssl_digest *digest, uint8_t *out) {
  unsigned int length = 0;
  if (EVP_DigestFinal_ex(digest->context, out, &length) != 1) return 0;
  EVP_DigestInit_ex(digest->context, digest->kind, NULL);
  return length;
}

void copenssl_digest_free(copenssl_digest *digest) {
  EVP_MD_CTX_free(digest->context);
  free(digest);
}

int copenssl_hmac_sha256(const void *key, size_t key_count, const void *bytes, size_t count, uint8_t *out) {
  unsigned int length = 0;
  return HMAC(EVP_sha256(), key, (int)key_count, bytes, count, out, &length) != NULL && length == 32;
}
