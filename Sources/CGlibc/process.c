#define _GNU_SOURCE
#include "include/cglibc.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

int cglibc_spawn_session(const char *path, char *const argv[], int report) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  sigset_t none;
  pid_t child = 0;
  sigemptyset(&none);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, 0, 1);
  posix_spawn_file_actions_adddup2(&actions, report, 3);
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  int error = posix_spawn(&child, path, &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error ? -error : child;
}

int cglibc_spawn_reading(char *const argv[], int output) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  sigset_t none, pipes;
  pid_t child = 0;
  sigemptyset(&none);
  sigemptyset(&pipes);
  sigaddset(&pipes, SIGPIPE);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipes);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  int error = posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error ? -error : child;
}

static void crashed(int signal) {
  char line[] = "s3mirror: crashed by signal 00\n";
  line[28] = (char)('0' + signal / 10);
  line[29] = (char)('0' + signal % 10);
  ssize_t ignored = write(2, line, sizeof line - 1);
  (void)ignored;
  raise(signal);
}

void cglibc_report_crashes(void) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = crashed;
  action.sa_flags = SA_RESETHAND;
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

void cglibc_keep_capabilities(uint64_t kept) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) != 0) return;
  for (int half = 0; half < _LINUX_CAPABILITY_U32S_3; half++) {
    uint32_t mask = (uint32_t)(kept >> 32 * half);
    sets[half].permitted &= mask;
    sets[half].effective &= mask;
    sets[half].inheritable &= mask;
  }
  (void)syscall(SYS_capset, &header, sets);
}

static int local_address(const char *path, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address->sun_path) return errno = ENAMETOOLONG, -1;
  strcpy(address->sun_path, path);
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int closed_after_error(int fd) {
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int cglibc_local_listen(const char *path) {
  struct sockaddr_un address;
  int fd = local_address(path, &address);
  if (fd < 0) return -1;
  // Bound and closed to others before it listens: nobody can connect in between.
  if (fchmod(fd, 0600) != 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || chmod(path, 0600) != 0 ||
      listen(fd, 16) != 0)
    return closed_after_error(fd);
  return fd;
}

int cglibc_local_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC); }

// On Linux a priority belongs to a thread (setpriority(2), "C library/kernel differences").
void cglibc_yield_thread(void) { (void)setpriority(PRIO_PROCESS, (id_t)gettid(), 10); }

void cglibc_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int cglibc_local_connect(const char *path) {
  struct sockaddr_un address;
  int fd = local_address(path, &address);
  if (fd < 0) return -1;
  // The queue of a stopped process may be full, and connect(2) waits for a place in it.
  struct timeval limit = {.tv_sec = 5};
  (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : closed_after_error(fd);
}

int cglibc_datagram(const char *path, const void *bytes, size_t count) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = 0;
  socklen_t size = offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '@' ? 0 : 1);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  ssize_t sent = sendto(fd, bytes, count, MSG_NOSIGNAL, (struct sockaddr *)&address, size);
  if (sent < 0) return closed_after_error(fd);
  close(fd);
  return 0;
}

int64_t cglibc_peer_user(int fd) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? (int64_t)peer.uid : -1;
}

int64_t cglibc_peer_process(int fd) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? (int64_t)peer.pid : -1;
}
