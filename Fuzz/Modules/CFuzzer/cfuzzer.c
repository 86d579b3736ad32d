#include "include/cfuzzer.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one)(const uint8_t *bytes, size_t count));

static cfuzzer_target chosen;

static int one(const uint8_t *bytes, size_t count) {
  chosen(bytes, count);
  return 0;
}

int cfuzzer_run(int argc, char **argv, cfuzzer_target target) {
  chosen = target;
  return LLVMFuzzerRunDriver(&argc, &argv, one);
}

void cfuzzer_broken(const char *promise) {
  fprintf(stderr, "BROKEN: %s\n", promise);
  abort();
}
