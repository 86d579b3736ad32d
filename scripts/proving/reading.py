"""Readers that check what they read, in threads of their own."""
import errno
import os
import threading
import time

# What a program sees when the process behind its mount has died.
DEATH = {errno.ENOTCONN, errno.ECONNABORTED}


class Findings:
    """What was wrong, and how much was right; for all threads of a proof."""

    def __init__(self):
        self.lock = threading.Lock()
        self.wrong = []
        self.errors = []
        self.reads = 0
        self.bytes = 0

    def right(self, count):
        with self.lock:
            self.reads += 1
            self.bytes += count

    def tell_wrong(self, what):
        with self.lock:
            self.wrong.append(what)

    def tell_error(self, what):
        with self.lock:
            self.errors.append(what)


def read_whole(path, step=1 << 17):
    with open(path, "rb", buffering=0) as file:
        parts = []
        while part := file.read(step):
            parts.append(part)
        return b"".join(parts)


class Reader:
    """Reads of one mount: whole files, which are judged by the origin's history."""

    def __init__(self, mirror, origin, findings, window):
        self.mirror, self.origin, self.findings = mirror, origin, findings
        # How old an answer may be, seconds; None while any version will do.
        self.window = window
        self.allowed = DEATH
        # From here on any error will do: only what is read must be right.
        self.is_dying = False
        # (key, version, when it was read to its end)
        self.done = []

    def is_allowed(self, error):
        return self.is_dying or error.errno in self.allowed

    def since(self):
        return None if self.window is None else time.monotonic() - self.window

    def whole(self, key):
        """The version that was read; None where it failed, which is an error unless the mount may be dead."""
        for _ in range(5):
            since = self.since()
            try:
                data = read_whole(self.mirror.path(key))
                break
            except OSError as error:
                # The revision that was opened is gone, and its name leads to the next: a program opens it again.
                if error.errno == errno.ESTALE and self.origin.changed_within(key, 10):
                    # The kernel is told of it a moment later.
                    time.sleep(0.02)
                    continue
                if not self.is_allowed(error):
                    self.findings.tell_error("%s: %s" % (key, error.strerror))
                return None
        else:
            if not self.is_allowed(OSError(errno.ESTALE, "")):
                self.findings.tell_error("%s: stale five times" % key)
            return None
        if wrong := self.origin.judge(key, data, since):
            self.findings.tell_wrong(wrong)
            return None
        self.findings.right(len(data))
        version = int(data[1:10])
        self.done.append((key, version, time.monotonic()))
        return version

    def piece(self, key, offset, count):
        since = self.since()
        try:
            with open(self.mirror.path(key), "rb", buffering=0) as file:
                data = os.pread(file.fileno(), count, offset)
        except OSError as error:
            stale = error.errno == errno.ESTALE and self.origin.changed_within(key, 10)
            if not self.is_allowed(error) and not stale:
                self.findings.tell_error("%s: %s" % (key, error.strerror))
            return
        if wrong := self.origin.judge(key, data, since, offset, whole=False):
            self.findings.tell_wrong(wrong)
        else:
            self.findings.right(len(data))

    def walk(self):
        def failed(error):
            if not self.is_allowed(error):
                self.findings.tell_error("walk %s: %s" % (error.filename, error.strerror))
        for directory, _, names in os.walk(self.mirror.point, onerror=failed):
            for name in names:
                try:
                    os.lstat(os.path.join(directory, name))
                except OSError as error:
                    if error.errno != errno.ENOENT:
                        failed(error)


class Threads:
    """Threads that repeat their work until they are told to stop."""

    def __init__(self):
        self.stop = threading.Event()
        self.threads = []

    def repeat(self, work, pause=0.0):
        def run():
            while not self.stop.is_set():
                work()
                if pause:
                    self.stop.wait(pause)
        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def join(self, patience=30):
        """False where a thread does not end: what it waits for is stuck."""
        self.stop.set()
        end = time.monotonic() + patience
        for thread in self.threads:
            thread.join(max(0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self.threads)
