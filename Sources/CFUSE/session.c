// The life of a session: create, mount, run, close; and what the kernel is told at INIT and by notices.
#define _GNU_SOURCE
#include "session.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cfuse_session *cfuse_session_create(const char *options, const struct cfuse_handlers *handlers, void *owner) {
  struct cfuse_session *session = calloc(1, sizeof *session);
  if (!session) return NULL;
  session->handlers = *handlers;
  session->owner = owner;
  char *arguments[] = {"s3mirror", "-o", (char *)options, NULL};
  struct fuse_args parsed = FUSE_ARGS_INIT(3, arguments);
  session->fuse = fuse_session_new(&parsed, &cfuse_operations, sizeof cfuse_operations, session);
  fuse_opt_free_args(&parsed);
  if (session->fuse) return session;
  free(session);
  return NULL;
}

int cfuse_session_mount(struct cfuse_session *session, const char *path) {
  if (fuse_session_mount(session->fuse, path) != 0) return -1;
  if (fuse_session_custom_io(session->fuse, &cfuse_hooks, fuse_session_fd(session->fuse)) == 0) return 0;
  fuse_session_unmount(session->fuse);
  return -1;
}

int cfuse_session_run(struct cfuse_session *session, unsigned threads) {
  struct fuse_loop_config *configuration = fuse_loop_cfg_create();
  if (!configuration) return -1;
  fuse_loop_cfg_set_clone_fd(configuration, 0);
  fuse_loop_cfg_set_max_threads(configuration, threads);
  int result = fuse_session_loop_mt(session->fuse, configuration);
  fuse_loop_cfg_destroy(configuration);
  int error = atomic_load(&session->read_error);
  return error ? -error : result;
}

// A session that was never mounted has no device and no path: libfuse then does nothing.
void cfuse_session_close(struct cfuse_session *session) { fuse_session_unmount(session->fuse); }

void cfuse_session_destroy(struct cfuse_session *session) {
  fuse_session_destroy(session->fuse);
  free(session);
}

// libfuse sends the byte after the name too, so it gets a copy that has one.
static int notify(struct cfuse_session *session, uint64_t parent, const uint8_t *name, size_t length,
                  enum fuse_expire_flags flags) {
  char text[256];
  if (length >= sizeof text) return -ENAMETOOLONG;
  memcpy(text, name, length);
  text[length] = 0;
  return fuse_lowlevel_notify_expire_entry(session->fuse, parent, text, length, flags);
}

int cfuse_notify_expire(struct cfuse_session *session, uint64_t parent, const uint8_t *name, size_t length) {
  // Older kernels do not know the flag: they would invalidate, which unmounts what lies on a directory.
  if (!atomic_load(&session->can_expire)) return -ENOSYS;
  return notify(session, parent, name, length, FUSE_LL_EXPIRE_ONLY);
}

int cfuse_notify_invalidate(struct cfuse_session *session, uint64_t parent, const uint8_t *name, size_t length) {
  return notify(session, parent, name, length, 0);
}

int cfuse_notify_content(struct cfuse_session *session, uint64_t node) {
  return fuse_lowlevel_notify_inval_inode(session->fuse, node, 0, 0);
}

static void (*log_call)(int level, const char *text);

static void log_message(enum fuse_log_level level, const char *format, va_list arguments) {
  char text[1024];
  vsnprintf(text, sizeof text, format, arguments);
  log_call(level, text);
}

void cfuse_log_error(const char *what, int error) {
  char text[256], description[128];
  snprintf(text, sizeof text, "%s: %s", what, strerror_r(error, description, sizeof description));
  if (log_call) log_call(FUSE_LOG_ERR, text);
}

void cfuse_set_log(void (*call)(int level, const char *text)) {
  log_call = call;
  fuse_set_log_func(log_message);
}
