"""The bytes of an object: made from its key and its version, so that whoever reads them knows whether they are right."""
import collections
import hashlib
import random
import threading

BLOCK = 4096
STAMP = 40
POOL = random.Random(7).randbytes(2 << 20)
# The least size that still tells its version.
LEAST = STAMP
KEPT_BYTES = 192 << 20


def make(key, version, size):
    """Each block begins with the version, its own number and a digest of key and version: none can be mistaken for
    another's."""
    seed = hashlib.blake2b(b"%s\0%d" % (key, version), digest_size=8)
    mark, start = seed.hexdigest().encode(), int.from_bytes(seed.digest()[:3], "big")
    parts = []
    for index in range((size + BLOCK - 1) // BLOCK):
        offset = (start + index * 4099) % (len(POOL) - BLOCK)
        parts.append(b"v%09d b%011d %s " % (version, index, mark) + POOL[offset:offset + BLOCK - STAMP])
    return b"".join(parts)[:size]


def version_of(data):
    """The version that an object's first bytes claim to be of; None where they claim nothing."""
    head = data[:10]
    return int(head[1:]) if len(head) == 10 and head[:1] == b"v" and head[1:].isdigit() else None


def etag(key, version, size):
    """The MD5 of what was put in one piece; above 1 MiB what an upload in parts has."""
    if size <= 1 << 20:
        return hashlib.md5(body(key, version, size)).hexdigest()
    return "%s-%d" % (hashlib.md5(b"%s\0%d" % (key, version)).hexdigest(), (size >> 23) + 1)


class Bodies:
    """The bodies used last, as far as there is room."""

    def __init__(self):
        self.lock = threading.Lock()
        self.kept = collections.OrderedDict()
        self.bytes = 0

    def __call__(self, key, version, size):
        name = (key, version, size)
        with self.lock:
            if name in self.kept:
                self.kept.move_to_end(name)
                return self.kept[name]
        made = make(key, version, size)
        with self.lock:
            if name not in self.kept:
                self.kept[name] = made
                self.bytes += size
                while self.bytes > KEPT_BYTES:
                    self.bytes -= len(self.kept.popitem(last=False)[1])
        return made


body = Bodies()
