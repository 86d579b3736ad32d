// libfuse's low-level API in plain scalars: no libfuse or kernel header reaches Swift, so nothing there can shadow Glibc.
#ifndef CFUSE_H
#define CFUSE_H
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// A request that waits for its one reply (fuse_req_t).
typedef uintptr_t cfuse_request;

/// What the kernel is told of a node.
struct cfuse_node {
  uint64_t node;
  uint64_t inode;
  int64_t size;
  int64_t modified;
  /// ctime.
  int64_t changed;
  int32_t modified_nanoseconds;
  uint32_t mode;
  uint32_t uid;
  uint32_t gid;
};

/// Where requests go. Each owes its request one reply, save those without one.
struct cfuse_handlers {
  /// The INIT reply has been taken by the kernel.
  void (*ready)(void *owner);
  void (*lookup)(void *owner, cfuse_request request, uint64_t parent, const char *name);
  void (*forget)(void *owner, uint64_t node, uint64_t count);
  void (*attributes)(void *owner, cfuse_request request, uint64_t node);
  /// Asked only after `cfuse_session_offer_passthrough`. ENOSYS ends that for good: the kernel then opens by itself.
  void (*open)(void *owner, cfuse_request request, uint64_t node);
  void (*close)(void *owner, uint64_t node, uint64_t handle);
  void (*read)(void *owner, cfuse_request request, uint64_t node, size_t size, int64_t offset);
  void (*read_link)(void *owner, cfuse_request request, uint64_t node);
  void (*open_directory)(void *owner, cfuse_request request, uint64_t node);
  void (*read_directory)(void *owner, cfuse_request request, uint64_t node, size_t size, int64_t offset,
                         uint64_t handle, int plus);
  void (*close_directory)(void *owner, uint64_t node, uint64_t handle);
  void (*get_xattr)(void *owner, cfuse_request request, uint64_t node, const char *name, size_t size);
  void (*list_xattr)(void *owner, cfuse_request request, uint64_t node, size_t size);
  /// Runs under the request's lock: it must neither reply nor register.
  void (*interrupted)(void *data);
};

struct cfuse_session;

/// fuse_session_new(3) with `-o options`; null on failure, after libfuse has logged why.
struct cfuse_session *_Nullable cfuse_session_create(const char *options, const struct cfuse_handlers *handlers,
                                                     void *owner);
/// fuse_session_mount, and the hooks that mend the INIT reply. 0 or -1.
int cfuse_session_mount(struct cfuse_session *session, const char *path);
/// Before the mount: offers that the kernel reads files by itself where an open's reply names one (FUSE_PASSTHROUGH), on
/// file systems stacked less deep than `depth`, 1 or 2. Every open is then a request.
void cfuse_session_offer_passthrough(struct cfuse_session *session, uint32_t depth);
/// Whether the file system that holds a path may lie on another (statfs(2): overlayfs, ecryptfs, FUSE).
int cfuse_is_stacked(const char *path);
/// Once ready: whether the kernel took that up.
int cfuse_session_has_passthrough(struct cfuse_session *session);
/// The device that the session reads, to be duplicated; -1 before the mount.
int cfuse_session_device(struct cfuse_session *session);
/// FUSE_DEV_IOC_BACKING_OPEN: an id, positive, that holds the open file by itself; or a negative errno.
int32_t cfuse_backing_open(int device, int file);
/// FUSE_DEV_IOC_BACKING_CLOSE; 0 or a negative errno. Not while the reply that names it is under way.
int cfuse_backing_close(int device, int32_t backing);
/// The multi-threaded loop: blocks until unmounted. 0, or a negative errno.
int cfuse_session_run(struct cfuse_session *session, unsigned threads);
/// Unmounts where that has not happened, and closes the device. No reply may be sent afterwards.
void cfuse_session_close(struct cfuse_session *session);
void cfuse_session_destroy(struct cfuse_session *session);

/// FUSE_NOTIFY_INVAL_ENTRY with FUSE_EXPIRE_ONLY; 0 or a negative errno, -ENOSYS before protocol 7.38.
int cfuse_notify_expire(struct cfuse_session *session, uint64_t parent, const uint8_t *name, size_t length);
/// FUSE_NOTIFY_INVAL_ENTRY; 0 or a negative errno.
int cfuse_notify_invalidate(struct cfuse_session *session, uint64_t parent, const uint8_t *name, size_t length);
/// FUSE_NOTIFY_INVAL_INODE of all its pages.
int cfuse_notify_content(struct cfuse_session *session, uint64_t node);

/// The replies: 0, or a negative errno when the kernel did not take it. Each frees the request.
int cfuse_reply_error(cfuse_request request, int error);
/// `node->node` 0 says that the name does not exist, for the length of the entry timeout (seconds).
int cfuse_reply_entry(cfuse_request request, const struct cfuse_node *node, double entry_timeout,
                      double attribute_timeout);
int cfuse_reply_attributes(cfuse_request request, const struct cfuse_node *node, double timeout);
int cfuse_reply_directory(cfuse_request request, uint64_t handle, bool is_as_shown);
/// With a backing id the kernel reads that file, with 0 it asks for the bytes and keeps their pages.
int cfuse_reply_open(cfuse_request request, uint64_t handle, int32_t backing);
int cfuse_reply_bytes(cfuse_request request, const void *_Nullable bytes, size_t size);
/// `target` ends in NUL.
int cfuse_reply_link(cfuse_request request, const char *target);
int cfuse_reply_xattr_size(cfuse_request request, size_t size);

/// Appends one name to a READDIR or READDIRPLUS answer: the bytes used, 0 when `left` does not hold it.
/// The name must have 1 to 255 bytes, none of them `/` or NUL.
size_t cfuse_add_name(int plus, uint8_t *buffer, size_t left, const uint8_t *name, size_t length,
                      const struct cfuse_node *node, uint64_t next_offset, double entry_timeout,
                      double attribute_timeout);
/// The same for READDIR, which tells no more than number and kind (the type bits of `mode`).
size_t cfuse_add_plain_name(uint8_t *buffer, size_t left, const uint8_t *name, size_t length, uint64_t inode,
                            uint32_t mode, uint64_t next_offset);

/// The thread that made the request, 0 when it lives in another pid namespace.
int32_t cfuse_request_pid(cfuse_request request);
/// fuse_req_interrupt_func: from now on `interrupted(data)` is called once when the caller gets a signal, also one
/// that came before. Null data ends it, and returns only when no call is running.
void cfuse_request_on_interrupt(cfuse_request request, void *_Nullable data);

/// This thread's reply buffer of at least `size` bytes, in whole pages, freed with the thread; null without memory.
void *_Nullable cfuse_thread_buffer(size_t size);

/// Sends libfuse's messages to `call` instead of stderr; the level is syslog(3)'s. Process-wide.
void cfuse_set_log(void (*call)(int level, const char *text));

/// umount2(2), never following a link, with MNT_DETACH when lazy. 0 or -1.
int cfuse_unmount(const char *path, int lazy);
/// umount2(2) with MNT_FORCE: ends the connection, so that all requests are answered ENOTCONN.
int cfuse_abort(const char *path);

/// Wakes one waiting thread; rings are remembered, and several count as one.
struct cfuse_doorbell;
struct cfuse_doorbell *_Nullable cfuse_doorbell_create(void);
void cfuse_doorbell_destroy(struct cfuse_doorbell *bell);
void cfuse_doorbell_ring(struct cfuse_doorbell *bell);
/// Waits for a ring, at most so many milliseconds (negative: for ever).
void cfuse_doorbell_wait(struct cfuse_doorbell *bell, int64_t milliseconds);

#pragma clang assume_nonnull end
#endif
