// Passthrough: the files that the kernel reads by itself, registered with the device.
#define _GNU_SOURCE
#include "session.h"
#include <errno.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

// linux/fuse.h of Linux 6.9; Debian 12 has that of 6.1.
struct backing_map {
  int32_t fd;
  uint32_t flags;
  uint64_t padding;
};
#define BACKING_OPEN _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

void cfuse_session_offer_passthrough(struct cfuse_session *session, uint32_t depth) {
  session->passthrough_depth = depth;
}

int cfuse_is_stacked(const char *path) {
  struct statfs space;
  if (statfs(path, &space) != 0) return 0;
  return space.f_type == OVERLAYFS_SUPER_MAGIC || space.f_type == ECRYPTFS_SUPER_MAGIC ||
         space.f_type == FUSE_SUPER_MAGIC;
}

int cfuse_session_has_passthrough(struct cfuse_session *session) {
  return atomic_load(&session->ready) && atomic_load(&session->passthrough_offered);
}

int cfuse_session_device(struct cfuse_session *session) { return fuse_session_fd(session->fuse); }

int32_t cfuse_backing_open(int device, int file) {
  struct backing_map map = {.fd = file};
  int32_t id = ioctl(device, BACKING_OPEN, &map);
  return id < 0 ? -errno : id;
}

int cfuse_backing_close(int device, int32_t backing) {
  uint32_t id = (uint32_t)backing;
  return ioctl(device, BACKING_CLOSE, &id) < 0 ? -errno : 0;
}
