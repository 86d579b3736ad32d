#define _GNU_SOURCE
#include "include/cglibc.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

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
