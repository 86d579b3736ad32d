// Preloaded into the program under test: calls of the C library that fail on demand, clocks that step, names that resolve
// to what a test wants. The orders lie in a file that the test writes and this maps: $S3MIRROR_TEST_FAULTS.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { other, blob, catalogue, classes };

// Numbers of errno for what is done to files of a class; 0: nothing is wrong. FaultShim.swift has the same layout.
struct orders {
  int32_t reads[classes], writes[classes], makes[classes], opens[classes];
  // Seconds by which clocks are ahead.
  int32_t wall, steady;
  // What names below .fault.test lead to: 0 this machine, 1 nowhere, 2 dead addresses before it, 3 a silent one before it.
  int32_t names;
};

static struct orders none;
static volatile struct orders *orders = &none;
static uint8_t class_of[65536];

#define REAL(name)                                           \
  static __typeof__(&name) real;                             \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("S3MIRROR_TEST_FAULTS");
  int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *place = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
  if (place != MAP_FAILED) orders = place;
  syscall(SYS_close, file);
}

static int class_of_path(const char *path) {
  if (strstr(path, "/blobs/")) return blob;
  return strstr(path, "/catalogue.sqlite") ? catalogue : other;
}
static int class_of_file(int file) { return file >= 0 && file < 65536 ? class_of[file] : other; }

static int opened(int file, int class) {
  if (file >= 0 && file < 65536) class_of[file] = (uint8_t)class;
  return file;
}

static int refused(const char *path, int flags) {
  int class = class_of_path(path);
  int writes = (flags & O_ACCMODE) != O_RDONLY;
  // What makes a file needs room; what opens one for writing needs the right to.
  return flags & O_CREAT || (writes && orders->makes[class] == EROFS) ? orders->makes[class] : orders->opens[class];
}

#define FAIL(number)      \
  do {                    \
    int wrong = (number); \
    if (wrong) {          \
      errno = wrong;      \
      return -1;          \
    }                     \
  } while (0)

#define OPEN(name)                                         \
  int name(const char *path, int flags, ...) {             \
    REAL(name);                                            \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    mode_t mode = flags & O_CREAT ? va_arg(rest, int) : 0; \
    va_end(rest);                                          \
    FAIL(refused(path, flags));                            \
    return opened(real(path, flags, mode), class_of_path(path)); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                       \
  int name(int at, const char *path, int flags, ...) {     \
    REAL(name);                                            \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    mode_t mode = flags & O_CREAT ? va_arg(rest, int) : 0; \
    va_end(rest);                                          \
    FAIL(refused(path, flags));                            \
    return opened(real(at, path, flags, mode), class_of_path(path)); \
  }
OPENAT(openat)
OPENAT(openat64)

int close(int file) {
  REAL(close);
  opened(file, other);
  return real(file);
}

#define CALL(kind, type, name, file, parameters, ...) \
  type name parameters {                              \
    REAL(name);                                       \
    FAIL(orders->kind[class_of_file(file)]);          \
    return real(__VA_ARGS__);                         \
  }
CALL(reads, ssize_t, read, file, (int file, void *bytes, size_t count), file, bytes, count)
CALL(reads, ssize_t, pread, file, (int file, void *bytes, size_t count, off_t at), file, bytes, count, at)
CALL(reads, ssize_t, pread64, file, (int file, void *bytes, size_t count, off64_t at), file, bytes, count, at)
CALL(reads, ssize_t, splice, in, (int in, off64_t *from, int out, off64_t *to, size_t count, unsigned flags), in, from, out,
  to, count, flags)
CALL(writes, ssize_t, write, file, (int file, const void *bytes, size_t count), file, bytes, count)
CALL(writes, ssize_t, pwrite, file, (int file, const void *bytes, size_t count, off_t at), file, bytes, count, at)
CALL(writes, ssize_t, pwrite64, file, (int file, const void *bytes, size_t count, off64_t at), file, bytes, count, at)
CALL(writes, int, ftruncate, file, (int file, off_t size), file, size)
CALL(writes, int, ftruncate64, file, (int file, off64_t size), file, size)
CALL(writes, int, fallocate, file, (int file, int mode, off_t at, off_t count), file, mode, at, count)
CALL(writes, int, fallocate64, file, (int file, int mode, off64_t at, off64_t count), file, mode, at, count)
CALL(writes, int, fsync, file, (int file), file)
CALL(writes, int, fdatasync, file, (int file), file)

// On a file system that is read-only, names stay; where a quota is used up they may go.
static int keeps(const char *path) {
  int wrong = orders->makes[class_of_path(path)];
  return wrong == EROFS ? wrong : 0;
}
int unlink(const char *path) {
  REAL(unlink);
  FAIL(keeps(path));
  return real(path);
}
int rename(const char *from, const char *to) {
  REAL(rename);
  FAIL(keeps(from));
  return real(from, to);
}
int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  FAIL(orders->makes[class_of_path(path)]);
  return real(path, mode);
}

// Clocks.

static int ahead_of(clockid_t clock) {
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) return orders->wall;
  return clock == CLOCK_BOOTTIME ? orders->steady : 0;
}
int clock_gettime(clockid_t clock, struct timespec *time) {
  REAL(clock_gettime);
  int result = real(clock, time);
  if (result == 0) time->tv_sec += ahead_of(clock);
  return result;
}
time_t time(time_t *place) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (place) *place = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *restrict place, void *restrict zone) {
  REAL(gettimeofday);
  int result = real(place, zone);
  if (result == 0) place->tv_sec += orders->wall;
  return result;
}
// The kernel's clock has not stepped: a moment by ours is another one there.
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict end) {
  REAL(sem_timedwait);
  struct timespec theirs = *end;
  theirs.tv_sec -= orders->wall;
  return real(semaphore, &theirs);
}

// Names.

int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict result) {
  REAL(getaddrinfo);
  static const char suffix[] = ".fault.test";
  size_t length = node ? strlen(node) : 0;
  if (length < sizeof suffix || strcmp(node + length - (sizeof suffix - 1), suffix)) {
    return real(node, service, hints, result);
  }
  static const char *const places[][4] = {
    {"127.0.0.1"}, {NULL}, {"127.0.0.2", "127.0.0.3", "127.0.0.5", "127.0.0.1"}, {"127.0.0.4", "127.0.0.1"}};
  int32_t mode = orders->names;
  if (mode < 0 || mode > 3 || mode == 1) return EAI_AGAIN;
  struct addrinfo *first = NULL, **end = &first;
  for (int index = 0; index < 4 && places[mode][index]; index++) {
    if (real(places[mode][index], service, hints, end)) continue;
    while (*end) end = &(*end)->ai_next;
  }
  *result = first;
  return first ? 0 : EAI_NONAME;
}
