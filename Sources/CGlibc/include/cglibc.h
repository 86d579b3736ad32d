// GNU-only calls that Swift cannot see: _GNU_SOURCE must stay out of any header Swift imports.
#ifndef CGLIBC_H
#define CGLIBC_H
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>

/// memmem(3): where a pattern stands first, or -1.
ptrdiff_t cglibc_find(const void *bytes, size_t count, const void *pattern, size_t length);
int cglibc_fallocate(int fd, int64_t offset, int64_t length);
int cglibc_syncfs(int fd);
/// Bounds glibc's per-thread heaps, so that memory stays small however many threads allocate.
void cglibc_bound_heaps(void);
/// Gives free heap pages back to the kernel.
void cglibc_trim_heap(void);
/// Tells the kernel that this file's cached pages will not be needed soon.
int cglibc_forget_pages(int fd, int64_t offset, int64_t length);
/// Whether the kernel has pages of this part of a file in memory (cachestat(2)); 1 also where it does not say.
int cglibc_has_pages(int fd, int64_t offset, int64_t length);
/// The file of a descriptor once more, to be read past the page cache (O_DIRECT); -1 and errno.
int cglibc_open_direct(int fd);
/// openat(2) of a directory below another, or of a file to be made there; no link is followed. -1 and errno.
int cglibc_open_directory_at(int fd, const char *name);
int cglibc_create_at(int fd, const char *name, unsigned mode);
/// futimens(2): when a file was last written, seconds; its last use is now.
int cglibc_set_modified(int fd, int64_t seconds);
/// umount2(2) with MNT_DETACH when lazy.
int cglibc_unmount(const char *path, int lazy);
/// strerror_r(3), GNU form: the text of an errno without a static buffer.
const char *cglibc_error_text(int code, char *buffer, size_t size);

/// posix_spawn(3) of a program in a session of its own: standard input and output closed, `report` as descriptor 3,
/// no other descriptor above 2, no blocked signals. The process id, or minus the errno.
int cglibc_spawn_session(const char *path, char *const argv[], int report);
/// posix_spawnp(3) of a program in a process group of its own that writes to `output`; standard input and standard error
/// lead nowhere. The process id, or minus the errno.
int cglibc_spawn_reading(char *const argv[], int output);
/// Makes a crash leave one line on standard error before the default action of its signal.
void cglibc_report_crashes(void);
/// Lets go of all capabilities(7) of this thread but those whose bit is set.
void cglibc_keep_capabilities(uint64_t kept);
/// pthread_setname_np(3) of the calling thread.
void cglibc_name_thread(const char *name);
/// setpriority(2) of the calling thread alone: it gives way to others.
void cglibc_yield_thread(void);
/// A listening Unix socket of mode 0600, or -1 and errno.
int cglibc_local_listen(const char *path);
/// accept4(2), closed on exec.
int cglibc_local_accept(int fd);
/// A connection to a Unix socket, or -1 and errno.
int cglibc_local_connect(const char *path);
/// Sends one datagram to a Unix socket; a name that begins with '@' is an abstract one. 0, or -1 and errno.
int cglibc_datagram(const char *path, const void *bytes, size_t count);
/// A listening TCP socket at a numeric address or `localhost`, or -1 and errno (EINVAL: no such address). IPv4 and IPv6.
int cglibc_tcp_listen(const char *host, const char *port);
/// The port that a socket is bound to, or -1.
int cglibc_tcp_port(int fd);

/// The size of the terminal at a descriptor (TIOCGWINSZ); -1 where it is none.
int cglibc_terminal_size(int fd, int *rows, int *columns);
/// Gives keys one by one, unseen, and signals of keys as keys; what was set before is kept. -1 where it is no terminal.
int cglibc_terminal_begin(int fd);
/// Puts back what `cglibc_terminal_begin` found.
void cglibc_terminal_end(int fd);
/// The next byte; -1 when none came in time, -2 at the end of input.
int cglibc_terminal_key(int fd, int milliseconds);

/// The user at the other end (SO_PEERCRED), or -1.
int64_t cglibc_peer_user(int fd);
/// The process at the other end (SO_PEERCRED), or -1.
int64_t cglibc_peer_process(int fd);

#endif
