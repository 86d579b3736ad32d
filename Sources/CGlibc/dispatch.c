// Keeps libdispatch, which Swift's tasks run on, alive while no descriptor is free. While it is busy it looks once a
// second whether its threads run, by /proc/TID/stat (_dispatch_workq_monitor_pools), and ends the process by SIGILL where
// open(2) fails. Now its read(2) fails instead: it takes the thread for one that waits, and goes on.
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

static int names_thread(const char *path) {
  static const char place[] = "/proc/";
  if (strncmp(path, place, sizeof place - 1) != 0) return 0;
  path += sizeof place - 1;
  size_t digits = strspn(path, "0123456789");
  return digits > 0 && strcmp(path + digits, "/stat") == 0;
}

// The linker prefers it to the C library's, for whatever this program is made of.
int open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  int file = openat(AT_FDCWD, path, flags, mode);
  int is_short = file < 0 && (errno == EMFILE || errno == ENFILE);
  // A number that no descriptor has.
  return is_short && flags == (O_RDONLY | O_NONBLOCK) && names_thread(path) ? INT_MAX : file;
}
