// GNU-only calls that Swift cannot see: _GNU_SOURCE must stay out of any header Swift imports.
#ifndef CGLIBC_H
#define CGLIBC_H
#include <stddef.h>
#include <stdint.h>

int cglibc_fallocate(int fd, int64_t offset, int64_t length);
int cglibc_syncfs(int fd);
/// Bounds glibc's per-thread heaps, so that memory stays small however many threads allocate.
void cglibc_bound_heaps(void);
/// Gives free heap pages back to the kernel.
void cglibc_trim_heap(void);
/// Tells the kernel that this file's cached pages will not be needed soon.
int cglibc_forget_pages(int fd, int64_t offset, int64_t length);
/// umount2(2) with MNT_DETACH when lazy.
int cglibc_unmount(const char *path, int lazy);
/// strerror_r(3), GNU form: the text of an errno without a static buffer.
const char *cglibc_error_text(int code, char *buffer, size_t size);

#endif
