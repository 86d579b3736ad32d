// What the C files of this target share.
#ifndef CFUSE_SESSION_H
#define CFUSE_SESSION_H
#define FUSE_USE_VERSION 312
#include "include/cfuse.h"
#include <fuse3/fuse_lowlevel.h>
#include <stdatomic.h>

struct cfuse_session {
  struct fuse_session *fuse;
  struct cfuse_handlers handlers;
  void *owner;
  _Atomic uint64_t init_unique;
  atomic_bool dirops_offered;
  /// What `max_stack_depth` is to be; 0 where passthrough is not wanted.
  uint32_t passthrough_depth;
  atomic_bool passthrough_offered;
  atomic_bool ready;
  atomic_bool can_expire;
  /// What reading the device failed with, other than by unmounting.
  atomic_int read_error;
};

extern const struct fuse_lowlevel_ops cfuse_operations;
/// Sends a line where libfuse's messages go.
void cfuse_log_error(const char *what, int error);

extern const struct fuse_custom_io cfuse_hooks;
/// The backing id for the reply to OPEN that this thread is about to send; 0 at any other time.
extern _Thread_local int32_t cfuse_opened_backing;

#endif
