// The driver of libFuzzer, and the end of a run whose promise was broken.
#ifndef CFUZZER_H
#define CFUZZER_H
#include <stddef.h>
#include <stdint.h>

typedef void (*cfuzzer_target)(const uint8_t *bytes, size_t count);

/// Runs a target; the arguments are libFuzzer's.
int cfuzzer_run(int argc, char **argv, cfuzzer_target target);
/// Tells what does not hold and aborts, which libFuzzer keeps as a finding.
_Noreturn void cfuzzer_broken(const char *promise);

#endif
