// Tells the thread sanitizer what a contended Mutex does: its slow paths are in a library that is not instrumented, so
// that the order they make between threads would go unseen. Linked into what `scripts/test --sanitize thread` builds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

void __tsan_acquire(void *address);
void __tsan_release(void *address);

SWIFT void lock_slowly(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock_slowly(SELF void *mutex) __asm__(UNLOCK);
SWIFT _Bool try_slowly(SELF void *mutex) __asm__(TRY_LOCK);

static void *real(void **cached, const char *name) {
  if (*cached == 0) *cached = dlsym(RTLD_NEXT, name);
  return *cached;
}

SWIFT void lock_slowly(uint32_t thread, SELF void *mutex) {
  static void *cached;
  ((SWIFT void (*)(uint32_t, SELF void *))real(&cached, LOCK))(thread, mutex);
  __tsan_acquire(mutex);
}

SWIFT void unlock_slowly(SELF void *mutex) {
  static void *cached;
  __tsan_release(mutex);
  ((SWIFT void (*)(SELF void *))real(&cached, UNLOCK))(mutex);
}

SWIFT _Bool try_slowly(SELF void *mutex) {
  static void *cached;
  _Bool taken = ((SWIFT _Bool (*)(SELF void *))real(&cached, TRY_LOCK))(mutex);
  if (taken) __tsan_acquire(mutex);
  return taken;
}
