// What threads need and Swift cannot see: per-thread buffers, a doorbell; and umount2.
#define _GNU_SOURCE
#include "include/cfuse.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <time.h>

struct buffer {
  size_t size;
  void *bytes;
};

static pthread_key_t buffer_key;
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;
static int buffer_key_made;

static void free_buffer(void *value) {
  struct buffer *buffer = value;
  free(buffer->bytes);
  free(buffer);
}

static void make_buffer_key(void) { buffer_key_made = pthread_key_create(&buffer_key, free_buffer) == 0; }

void *cfuse_thread_buffer(size_t size) {
  pthread_once(&buffer_once, make_buffer_key);
  if (!buffer_key_made) return NULL;
  struct buffer *buffer = pthread_getspecific(buffer_key);
  if (!buffer) {
    buffer = calloc(1, sizeof *buffer);
    if (!buffer) return NULL;
    if (pthread_setspecific(buffer_key, buffer) != 0) {
      free(buffer);
      return NULL;
    }
  }
  if (buffer->size < size) {
    // Small first: most files are small, and a thread that only ever answers those stays small.
    size_t rounded = 65536;
    while (rounded < size) rounded *= 2;
    // Whole pages, as reads past the page cache want them.
    void *bytes = aligned_alloc(4096, rounded);
    if (!bytes) return NULL;
    free(buffer->bytes);
    buffer->bytes = bytes;
    buffer->size = rounded;
  }
  return buffer->bytes;
}

int cfuse_unmount(const char *path, int lazy) {
  return umount2(path, lazy ? MNT_DETACH | UMOUNT_NOFOLLOW : UMOUNT_NOFOLLOW);
}

int cfuse_abort(const char *path) { return umount2(path, MNT_FORCE | UMOUNT_NOFOLLOW); }

struct cfuse_doorbell {
  pthread_mutex_t lock;
  pthread_cond_t rung;
  int ringing;
};

struct cfuse_doorbell *cfuse_doorbell_create(void) {
  struct cfuse_doorbell *bell = calloc(1, sizeof *bell);
  if (!bell) return NULL;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&bell->lock, NULL);
  pthread_cond_init(&bell->rung, &attributes);
  pthread_condattr_destroy(&attributes);
  return bell;
}

void cfuse_doorbell_destroy(struct cfuse_doorbell *bell) {
  pthread_cond_destroy(&bell->rung);
  pthread_mutex_destroy(&bell->lock);
  free(bell);
}

void cfuse_doorbell_ring(struct cfuse_doorbell *bell) {
  pthread_mutex_lock(&bell->lock);
  bell->ringing = 1;
  pthread_cond_signal(&bell->rung);
  pthread_mutex_unlock(&bell->lock);
}

void cfuse_doorbell_wait(struct cfuse_doorbell *bell, int64_t milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += milliseconds / 1000;
  until.tv_nsec += milliseconds % 1000 * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec += 1;
    until.tv_nsec -= 1000000000;
  }
  pthread_mutex_lock(&bell->lock);
  while (!bell->ringing) {
    if (milliseconds < 0) {
      pthread_cond_wait(&bell->rung, &bell->lock);
    } else if (pthread_cond_timedwait(&bell->rung, &bell->lock, &until) != 0) {
      break;
    }
  }
  bell->ringing = 0;
  pthread_mutex_unlock(&bell->lock);
}
