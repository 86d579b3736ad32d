// The operations table: what is answered here (refusals, constants), and what is handed on.
#define _GNU_SOURCE
#include "session.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>

static struct cfuse_session *session_of(fuse_req_t request) { return fuse_req_userdata(request); }

static void on_init(void *userdata, struct fuse_conn_info *connection) {
  struct cfuse_session *session = userdata;
  atomic_store(&session->can_expire, connection->proto_major == 7 && connection->proto_minor >= 38);
  // A new mtime of a node does not mean new bytes: pages belong to a revision and are dropped only on request.
  connection->want &= ~(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                        FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_HANDLE_KILLPRIV);
  connection->want |= connection->capable &
                      (FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO |
                       FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_NO_OPEN_SUPPORT);
  // With libfuse's 12, reads of cached files wait behind stalled cold ones.
  connection->max_background = 1024;
  connection->congestion_threshold = 768;
  // max_readahead and max_write stay as large as offered; the latter also sets max_pages, so READs come in 1 MiB.
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name) {
  struct cfuse_session *session = session_of(request);
  session->handlers.lookup(session->owner, (cfuse_request)request, parent, name);
}

static void on_forget(fuse_req_t request, fuse_ino_t node, uint64_t count) {
  struct cfuse_session *session = session_of(request);
  session->handlers.forget(session->owner, node, count);
  fuse_reply_none(request);
}

static void on_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets) {
  struct cfuse_session *session = session_of(request);
  for (size_t i = 0; i < count; i++) session->handlers.forget(session->owner, forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(request);
}

static void on_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *file) {
  (void)file;
  struct cfuse_session *session = session_of(request);
  session->handlers.attributes(session->owner, (cfuse_request)request, node);
}

// ENOSYS, once: from then on the kernel opens files by itself and keeps their pages. Where it is to read files without
// us, each open must name one; a remount could let one through that would write to it.
static void on_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *file) {
  struct cfuse_session *session = session_of(request);
  if (session->passthrough_depth == 0)
    fuse_reply_err(request, ENOSYS);
  else if ((file->flags & O_ACCMODE) != O_RDONLY)
    fuse_reply_err(request, EROFS);
  else
    session->handlers.open(session->owner, (cfuse_request)request, node);
}

static void on_release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *file) {
  struct cfuse_session *session = session_of(request);
  session->handlers.close(session->owner, node, file->fh);
  fuse_reply_err(request, 0);
}

static void on_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file) {
  (void)file;
  struct cfuse_session *session = session_of(request);
  session->handlers.read(session->owner, (cfuse_request)request, node, size, offset);
}

static void on_readlink(fuse_req_t request, fuse_ino_t node) {
  struct cfuse_session *session = session_of(request);
  session->handlers.read_link(session->owner, (cfuse_request)request, node);
}

static void on_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *file) {
  (void)file;
  struct cfuse_session *session = session_of(request);
  session->handlers.open_directory(session->owner, (cfuse_request)request, node);
}

static void on_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file) {
  struct cfuse_session *session = session_of(request);
  session->handlers.read_directory(session->owner, (cfuse_request)request, node, size, offset, file->fh, 0);
}

static void on_readdirplus(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
                           struct fuse_file_info *file) {
  struct cfuse_session *session = session_of(request);
  session->handlers.read_directory(session->owner, (cfuse_request)request, node, size, offset, file->fh, 1);
}

static void on_releasedir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *file) {
  struct cfuse_session *session = session_of(request);
  session->handlers.close_directory(session->owner, node, file->fh);
  fuse_reply_err(request, 0);
}

// A bucket has no size: a large one, none of it used, so that no program refuses to work for want of room.
static void on_statfs(fuse_req_t request, fuse_ino_t node) {
  (void)node;
  struct statvfs space = {.f_bsize = 131072, .f_frsize = 4096, .f_namemax = 255};
  space.f_blocks = space.f_bfree = space.f_bavail = (fsblkcnt_t)1 << 38;
  space.f_files = space.f_ffree = space.f_favail = 1000000000;
  fuse_reply_statfs(request, &space);
}

static void on_getxattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size) {
  struct cfuse_session *session = session_of(request);
  session->handlers.get_xattr(session->owner, (cfuse_request)request, node, name, size);
}

static void on_listxattr(fuse_req_t request, fuse_ino_t node, size_t size) {
  struct cfuse_session *session = session_of(request);
  session->handlers.list_xattr(session->owner, (cfuse_request)request, node, size);
}

static void on_ioctl(fuse_req_t request, fuse_ino_t node, unsigned command, void *argument,
                     struct fuse_file_info *file, unsigned flags, const void *input, size_t in, size_t out) {
  (void)node, (void)command, (void)argument, (void)file, (void)flags, (void)input, (void)in, (void)out;
  fuse_reply_err(request, ENOTTY);
}

// Every operation that would change something. The mount is read-only, so only a remount lets one arrive.
#define REFUSED(name, ...) \
  static void on_##name(fuse_req_t request, __VA_ARGS__) { fuse_reply_err(request, EROFS); }
#pragma clang diagnostic ignored "-Wunused-parameter"
REFUSED(setattr, fuse_ino_t node, struct stat *attributes, int set, struct fuse_file_info *file)
REFUSED(mknod, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
REFUSED(mkdir, fuse_ino_t parent, const char *name, mode_t mode)
REFUSED(unlink, fuse_ino_t parent, const char *name)
REFUSED(rmdir, fuse_ino_t parent, const char *name)
REFUSED(symlink, const char *target, fuse_ino_t parent, const char *name)
REFUSED(rename, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *to_name, unsigned flags)
REFUSED(link, fuse_ino_t node, fuse_ino_t to, const char *to_name)
REFUSED(write, fuse_ino_t node, const char *bytes, size_t size, off_t offset, struct fuse_file_info *file)
REFUSED(create, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *file)
REFUSED(setxattr, fuse_ino_t node, const char *name, const char *value, size_t size, int flags)
REFUSED(removexattr, fuse_ino_t node, const char *name)
REFUSED(fallocate, fuse_ino_t node, int mode, off_t offset, off_t length, struct fuse_file_info *file)
REFUSED(copy_file_range, fuse_ino_t node, off_t offset, struct fuse_file_info *file, fuse_ino_t to, off_t to_offset,
        struct fuse_file_info *to_file, size_t length, int flags)

// Absent ones (flush, fsync, access, poll, lseek, bmap) are answered ENOSYS by libfuse, after which the kernel does
// them alone.
const struct fuse_lowlevel_ops cfuse_operations = {
    .init = on_init,
    .lookup = on_lookup,
    .forget = on_forget,
    .forget_multi = on_forget_multi,
    .getattr = on_getattr,
    .open = on_open,
    .release = on_release,
    .read = on_read,
    .readlink = on_readlink,
    .opendir = on_opendir,
    .readdir = on_readdir,
    .readdirplus = on_readdirplus,
    .releasedir = on_releasedir,
    .statfs = on_statfs,
    .getxattr = on_getxattr,
    .listxattr = on_listxattr,
    .ioctl = on_ioctl,
    .setattr = on_setattr,
    .mknod = on_mknod,
    .mkdir = on_mkdir,
    .unlink = on_unlink,
    .rmdir = on_rmdir,
    .symlink = on_symlink,
    .rename = on_rename,
    .link = on_link,
    .write = on_write,
    .create = on_create,
    .setxattr = on_setxattr,
    .removexattr = on_removexattr,
    .fallocate = on_fallocate,
    .copy_file_range = on_copy_file_range,
};
