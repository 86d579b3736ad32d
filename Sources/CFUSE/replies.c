// Replies, and what else is done with a request.
#define _GNU_SOURCE
#include "session.h"
#include <string.h>

static fuse_req_t request_of(cfuse_request request) { return (fuse_req_t)request; }

static struct stat stat_of(const struct cfuse_node *node) {
  struct stat status;
  memset(&status, 0, sizeof status);
  status.st_ino = node->inode;
  status.st_mode = node->mode;
  status.st_nlink = S_ISDIR(node->mode) ? 2 : 1;
  status.st_uid = node->uid;
  status.st_gid = node->gid;
  status.st_size = node->size;
  status.st_blocks = node->size / 512 + (node->size % 512 != 0);
  status.st_blksize = 131072;
  status.st_atim.tv_sec = status.st_mtim.tv_sec = node->modified;
  status.st_atim.tv_nsec = status.st_mtim.tv_nsec = node->modified_nanoseconds;
  status.st_ctim.tv_sec = node->changed;
  return status;
}

static struct fuse_entry_param entry_of(const struct cfuse_node *node, double entry_timeout, double attribute_timeout) {
  struct fuse_entry_param entry;
  memset(&entry, 0, sizeof entry);
  entry.ino = node->node;
  entry.generation = 1;
  entry.attr = stat_of(node);
  entry.entry_timeout = entry_timeout;
  entry.attr_timeout = attribute_timeout;
  return entry;
}

int cfuse_reply_error(cfuse_request request, int error) { return fuse_reply_err(request_of(request), error); }

int cfuse_reply_entry(cfuse_request request, const struct cfuse_node *node, double entry_timeout,
                      double attribute_timeout) {
  struct fuse_entry_param entry = entry_of(node, entry_timeout, attribute_timeout);
  return fuse_reply_entry(request_of(request), &entry);
}

int cfuse_reply_attributes(cfuse_request request, const struct cfuse_node *node, double timeout) {
  struct stat status = stat_of(node);
  return fuse_reply_attr(request_of(request), &status, timeout);
}

int cfuse_reply_directory(cfuse_request request, uint64_t handle, bool is_as_shown) {
  struct fuse_file_info file;
  memset(&file, 0, sizeof file);
  file.fh = handle;
  // The kernel remembers the names it is given now, and drops those of before unless told to keep them.
  file.cache_readdir = 1;
  file.keep_cache = is_as_shown;
  return fuse_reply_open(request_of(request), &file);
}

int cfuse_reply_open(cfuse_request request, uint64_t handle, int32_t backing) {
  struct fuse_file_info file;
  memset(&file, 0, sizeof file);
  file.fh = handle;
  file.keep_cache = 1;
  cfuse_opened_backing = backing;
  int result = fuse_reply_open(request_of(request), &file);
  cfuse_opened_backing = 0;
  return result;
}

int cfuse_reply_bytes(cfuse_request request, const void *bytes, size_t size) {
  return fuse_reply_buf(request_of(request), bytes, size);
}

int cfuse_reply_link(cfuse_request request, const char *target) {
  return fuse_reply_readlink(request_of(request), target);
}

int cfuse_reply_xattr_size(cfuse_request request, size_t size) { return fuse_reply_xattr(request_of(request), size); }

size_t cfuse_add_name(int plus, uint8_t *buffer, size_t left, const uint8_t *name, size_t length,
                      const struct cfuse_node *node, uint64_t next_offset, double entry_timeout,
                      double attribute_timeout) {
  char text[256];
  if (length >= sizeof text) return 0;
  memcpy(text, name, length);
  text[length] = 0;
  // libfuse ignores the request here, which may have been answered and freed meanwhile.
  size_t needed;
  if (plus) {
    struct fuse_entry_param entry = entry_of(node, entry_timeout, attribute_timeout);
    needed = fuse_add_direntry_plus(NULL, (char *)buffer, left, text, &entry, next_offset);
  } else {
    struct stat status = stat_of(node);
    needed = fuse_add_direntry(NULL, (char *)buffer, left, text, &status, next_offset);
  }
  return needed <= left ? needed : 0;
}

size_t cfuse_add_plain_name(uint8_t *buffer, size_t left, const uint8_t *name, size_t length, uint64_t inode,
                            uint32_t mode, uint64_t next_offset) {
  char text[256];
  if (length >= sizeof text) return 0;
  memcpy(text, name, length);
  text[length] = 0;
  // Of the attributes libfuse looks at these two.
  struct stat status;
  status.st_ino = inode;
  status.st_mode = mode;
  size_t needed = fuse_add_direntry(NULL, (char *)buffer, left, text, &status, next_offset);
  return needed <= left ? needed : 0;
}

int32_t cfuse_request_pid(cfuse_request request) { return fuse_req_ctx(request_of(request))->pid; }

static void on_interrupt(fuse_req_t request, void *data) {
  struct cfuse_session *session = fuse_req_userdata(request);
  session->handlers.interrupted(data);
}

void cfuse_request_on_interrupt(cfuse_request request, void *data) {
  fuse_req_interrupt_func(request_of(request), data ? on_interrupt : NULL, data);
}
