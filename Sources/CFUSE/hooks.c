// The hooks on the device: what libfuse 3.14 does not know is put into its replies on their way out.
// FUSE_PARALLEL_DIROPS and FUSE_PASSTHROUGH to INIT, backing ids to OPEN.
#define _GNU_SOURCE
#include "session.h"
#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// linux/fuse.h of Linux 6.9; Debian 12 has that of 6.1.
enum { PASSTHROUGH_FLAG2 = 1u << (37 - 32), OPEN_PASSTHROUGH = 1u << 7 };

_Thread_local int32_t cfuse_opened_backing;

// Any other error libfuse would print to stderr itself, and in a thread that pthread_cancel(3) may end meanwhile: then
// stderr would stay locked for ever. So the session ends as if unmounted, and `cfuse_session_run` says why.
static void end_reading(struct cfuse_session *session) {
  if (errno == ENODEV || errno == ENOENT || errno == EINTR || errno == EAGAIN) return;
  atomic_store(&session->read_error, errno);
  errno = ENODEV;
}

static ssize_t hook_read(int fd, void *buffer, size_t size, void *userdata) {
  struct cfuse_session *session = userdata;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  ssize_t count = read(fd, buffer, size);
  // From here to the next read the thread is not to be cancelled: messages may be written.
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  if (count < 0) {
    end_reading(session);
    return count;
  }
  if (atomic_load_explicit(&session->ready, memory_order_relaxed)) return count;
  const struct fuse_in_header *header = buffer;
  if (count < (ssize_t)(sizeof *header + offsetof(struct fuse_init_in, flags) + sizeof(uint32_t))) return count;
  if (header->opcode != FUSE_INIT) return count;
  const struct fuse_init_in *init = (const void *)(header + 1);
  atomic_store(&session->dirops_offered, (init->flags & FUSE_PARALLEL_DIROPS) != 0);
  int is_long = count >= (ssize_t)(sizeof *header + offsetof(struct fuse_init_in, flags2) + sizeof(uint32_t));
  atomic_store(&session->passthrough_offered, session->passthrough_depth > 0 && is_long &&
                                                  (init->flags & FUSE_INIT_EXT) && (init->flags2 & PASSTHROUGH_FLAG2));
  atomic_store(&session->init_unique, header->unique);
  return count;
}

// Without the flag, LOOKUPs in one directory run one after the other: a name behind 28 slow ones waits for all of them.
static ssize_t send_init(struct cfuse_session *session, int fd, struct iovec *parts) {
  struct fuse_init_out reply;
  size_t length = parts[1].iov_len;
  if (length != sizeof reply) atomic_store(&session->passthrough_offered, 0);
  if (length > sizeof reply) return writev(fd, parts, 2);
  memset(&reply, 0, sizeof reply);
  memcpy(&reply, parts[1].iov_base, length);
  if (atomic_load(&session->dirops_offered)) reply.flags |= FUSE_PARALLEL_DIROPS;
  if (atomic_load(&session->passthrough_offered)) {
    reply.flags |= FUSE_INIT_EXT;
    reply.flags2 |= PASSTHROUGH_FLAG2;
    // max_stack_depth: the word after flags2, unused in older headers.
    memcpy((char *)&reply.flags2 + sizeof reply.flags2, &session->passthrough_depth, sizeof(uint32_t));
  }
  struct iovec mended[2] = {parts[0], {&reply, length}};
  return writev(fd, mended, 2);
}

// The kernel did not take it. ENOENT says so silently to libfuse, which would print anything else to stderr.
static ssize_t not_taken(void) {
  if (errno != ENOENT && errno != ENODEV) cfuse_log_error("a message was refused by the kernel", errno);
  errno = ENOENT;
  return -1;
}

static ssize_t send_parts(int fd, struct iovec *parts, int count) {
  ssize_t sent = writev(fd, parts, count);
  return sent < 0 ? not_taken() : sent;
}

static ssize_t send_open(int fd, struct iovec *parts) {
  struct fuse_open_out reply;
  memcpy(&reply, parts[1].iov_base, sizeof reply);
  reply.open_flags = (reply.open_flags & ~FOPEN_KEEP_CACHE) | OPEN_PASSTHROUGH;
  // backing_id: the last word, padding in older headers.
  memcpy((char *)&reply.open_flags + sizeof reply.open_flags, &cfuse_opened_backing, sizeof(int32_t));
  struct iovec mended[2] = {parts[0], {&reply, sizeof reply}};
  return send_parts(fd, mended, 2);
}

static ssize_t hook_writev(int fd, struct iovec *parts, int count, void *userdata) {
  struct cfuse_session *session = userdata;
  if (cfuse_opened_backing > 0 && count == 2 && parts[1].iov_len == sizeof(struct fuse_open_out))
    return send_open(fd, parts);
  if (atomic_load_explicit(&session->ready, memory_order_relaxed) || count != 2) return send_parts(fd, parts, count);
  const struct fuse_out_header *header = parts[0].iov_base;
  uint64_t unique = atomic_load(&session->init_unique);
  // A reply that only names another major version (8 bytes or so) makes the kernel send INIT again.
  size_t needed = offsetof(struct fuse_init_out, flags) + sizeof(uint32_t);
  if (unique == 0 || header->unique != unique || header->error != 0 || parts[1].iov_len < needed)
    return send_parts(fd, parts, count);
  ssize_t sent = send_init(session, fd, parts);
  if (sent < 0) return not_taken();
  atomic_store(&session->ready, 1);
  session->handlers.ready(session->owner);
  return sent;
}

const struct fuse_custom_io cfuse_hooks = {.read = hook_read, .writev = hook_writev};
