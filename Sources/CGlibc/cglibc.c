#define _GNU_SOURCE
#include "include/cglibc.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

ptrdiff_t cglibc_find(const void *bytes, size_t count, const void *pattern, size_t length) {
  const char *found = count ? memmem(bytes, count, pattern, length) : NULL;
  return found ? found - (const char *)bytes : -1;
}

int cglibc_fallocate(int fd, int64_t offset, int64_t length) { return fallocate(fd, 0, offset, length); }
int cglibc_syncfs(int fd) { return syncfs(fd); }

void cglibc_bound_heaps(void) {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
}

void cglibc_trim_heap(void) { malloc_trim(0); }

int cglibc_forget_pages(int fd, int64_t offset, int64_t length) {
  return posix_fadvise(fd, offset, length, POSIX_FADV_DONTNEED);
}

// Since Linux 6.5 (<linux/mman.h>), with one number on all architectures.
#define CACHESTAT 451

int cglibc_has_pages(int fd, int64_t offset, int64_t length) {
  struct { uint64_t offset, length; } range = {(uint64_t)offset, (uint64_t)length};
  struct { uint64_t cached, dirty, writeback, evicted, recently; } found = {0};
  return syscall(CACHESTAT, fd, &range, &found, 0) != 0 || found.cached > 0;
}

int cglibc_open_direct(int fd) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
}

int cglibc_open_directory_at(int fd, const char *name) {
  return openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int cglibc_create_at(int fd, const char *name, unsigned mode) {
  return openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

int cglibc_set_modified(int fd, int64_t seconds) {
  struct timespec times[2] = {{0, UTIME_NOW}, {seconds, 0}};
  return futimens(fd, times);
}

int cglibc_unmount(const char *path, int lazy) {
  return umount2(path, lazy ? MNT_DETACH | UMOUNT_NOFOLLOW : UMOUNT_NOFOLLOW);
}

const char *cglibc_error_text(int code, char *buffer, size_t size) { return strerror_r(code, buffer, size); }
