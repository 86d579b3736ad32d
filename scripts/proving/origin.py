"""The bucket as the proof knows it: which version of a key was current when, and the server that tells of it."""
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time

from . import content

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "server.py")


def free_port():
    """One below those that connections get, so that nobody takes it while the server is down."""
    while True:
        port = random.randrange(11000, 22000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Origin:
    """A server process and the history of its objects."""

    def __init__(self):
        self.lock = threading.Lock()
        self.size = {}
        # key -> [(version, size, first moment at which it may be seen, moment after which it is not current)]
        self.history = {}
        self.start()

    def start(self, port=None):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", sys.executable, "-B", SERVER, str(port or free_port())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.endpoint = "http://127.0.0.1:%d" % self.port

    def tell(self, **command):
        with self.lock:
            return self.tell_locked(command)

    def tell_locked(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def mode(self, mode):
        return self.tell(mode=mode)

    def faults(self, **faults):
        return self.tell(faults=faults)

    def counts(self):
        return self.tell(counts=True)

    def put(self, sizes):
        """Puts the next version of each key; `sizes` is {key: bytes}."""
        with self.lock:
            told, begun = [], time.monotonic()
            for key, size in sizes.items():
                versions = self.history.setdefault(key, [])
                versions.append([versions[-1][0] + 1 if versions else 1, size, begun, None])
                told.append([key, versions[-1][0], size])
            self.tell_locked({"put": told})
            now = time.monotonic()
            for key in sizes:
                if len(self.history[key]) > 1:
                    self.history[key][-2][3] = now

    def current(self, key):
        with self.lock:
            return self.history[key][-1][0]

    def changed_within(self, key, seconds):
        with self.lock:
            return len(self.history[key]) > 1 and self.history[key][-1][2] > time.monotonic() - seconds

    def keys(self):
        with self.lock:
            return list(self.history)

    def judge(self, key, data, since, offset=0, whole=True):
        """What is wrong with bytes that were read of a key, or None. `since` is the moment (monotonic) before which a
        version must not have been superseded; None allows any that there ever was."""
        with self.lock:
            versions = [tuple(entry) for entry in self.history[key]]
        if offset == 0:
            claimed = content.version_of(data)
            candidates = [entry for entry in versions if entry[0] == claimed]
        else:
            candidates = versions
        for version, size, _, ended in candidates:
            expected = content.body(key.encode(), version, size)
            if data == (expected if whole else expected[offset:offset + len(data)]):
                if since is not None and ended is not None and ended < since:
                    return "%s: version %d of %d, superseded %.1f s before it may be seen" % (
                        key, version, versions[-1][0], since - ended)
                return None
        detail = ""
        if candidates:
            expected = content.body(key.encode(), candidates[0][0], candidates[0][1])[offset:]
            detail = ", first difference at %d" % next(
                (i for i, (a, b) in enumerate(zip(data, expected)) if a != b), min(len(data), len(expected)))
        return "%s: %d bytes at %d, of no version there was (claims %s of %s%s)" % (
            key, len(data), offset, content.version_of(data) if offset == 0 else "?", versions[-1][0], detail)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
