"""64 readers of twice as much as the cache holds: nobody starves, nothing is wrong, and the limit holds."""
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from proving import content, mirror  # noqa: E402
from proving.origin import Origin  # noqa: E402
from proving.record import record  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
READERS, FILES = 64, 10_000


def sizes():
    draw = random.Random(11)
    return {"w%02d/f%04d" % (index // 250, index): draw.randrange(8 * KIB, 56 * KIB) for index in range(FILES)}


def read_on(point, seed):
    """One reader, until it is told to end: counts what it read, and names what was wrong."""
    draw, known = random.Random(seed), list(sizes().items())
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
    reads, wrong, slowest = 0, [], 0.0
    while not ended:
        key, size = draw.choice(known)
        begun = time.monotonic()
        try:
            with open(os.path.join(point, key), "rb", buffering=0) as file:
                data = file.read(size + 1)
        except OSError as error:
            wrong.append("%s: %s" % (key, error.strerror))
            continue
        slowest = max(slowest, time.monotonic() - begun)
        if data != content.make(key.encode(), 1, size):
            wrong.append("%s: wrong bytes" % key)
        reads += 1
    print(json.dumps({"reads": reads, "wrong": wrong, "slowest": slowest}))


def disk_bytes(cache):
    """What the copies take on the disk."""
    total = 0
    for directory, _, names in os.walk(cache):
        for name in names:
            try:
                if "/blobs/" in directory:
                    total += os.lstat(os.path.join(directory, name)).st_blocks * 512
            except OSError:
                pass
    return total


class Load:
    def __init__(self, minutes):
        self.minutes = minutes
        self.origin = Origin()
        self.mirror = mirror.Mirror(mirror.build(), self.origin.endpoint)
        self.readers = []

    def run(self):
        known = sizes()
        self.origin.put(known)
        total = sum((size + 4095) // 4096 * 4096 for size in known.values())
        self.limit = total // 2
        self.mirror.start("--freshness", "60s", "--cache-size", "%d" % self.limit)
        self.mirror.ready()
        for index in range(READERS):
            self.readers.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", sys.executable, "-B", __file__, self.mirror.point, str(index)],
                stdout=subprocess.PIPE, text=True))
        begun, self.most, self.over, told = time.monotonic(), 0, 0, 0
        while (passed := time.monotonic() - begun) < self.minutes * 60:
            time.sleep(2)
            used, status = disk_bytes(self.mirror.cache), self.mirror.status()
            self.most = max(self.most, used)
            # What the readers read at this moment can't go.
            self.over = max(self.over, used - self.limit - READERS * 56 * KIB)
            if passed > told:
                told += 60
                print("%5.0f s: on disk %.1f of %.1f MiB, %d in use, %d objects" % (
                    passed, used / MIB, self.limit / MIB, status["cache"]["pinned"], status["cache"]["objects"]),
                    flush=True)
        for reader in self.readers:
            reader.terminate()
        self.seen = [json.loads(reader.communicate(timeout=60)[0]) for reader in self.readers]
        self.status = self.mirror.status()
        self.verified = self.mirror.verify()
        self.unmounted = self.mirror.unmount()

    def stop(self):
        for reader in self.readers:
            if reader.poll() is None:
                reader.kill()
                reader.wait()
        self.mirror.stop()
        self.origin.stop()


def load(minutes, keep_record):
    proof = Load(minutes)
    try:
        proof.run()
    finally:
        proof.stop()
    counts = sorted(each["reads"] for each in proof.seen)
    wrong = [line for each in proof.seen for line in each["wrong"]]
    median = statistics.median(counts)
    result = "%d errors or wrong bytes in %s reads; the slowest reader did %d, the median %d, the longest read %.1f s; at " \
             "most %.1f MiB on the disk under a limit of %.1f MiB" % (
                 len(wrong), format(sum(counts), ","), counts[0], median, max(each["slowest"] for each in proof.seen),
                 proof.most / MIB, proof.limit / MIB)
    for line in wrong[:20]:
        print("  " + line)
    print("requests: %s; beyond the limit and what was in use: %d bytes; verify: %s; unmounted in %.2f s" % (
        proof.status["requests"], max(0, proof.over), proof.verified, proof.unmounted))
    if keep_record:
        record("load", "64 readers of twice what the cache holds: no error, nobody starves, the limit holds",
               "64 processes read 10,000 files in random order through a cache of half their size",
               "scripts/load", "%g minutes" % minutes, result)
    else:
        print(result)
    sys.exit(1 if wrong or proof.over > 0 or counts[0] * 5 < median or proof.verified[0] else 0)


if __name__ == "__main__":
    read_on(sys.argv[1], int(sys.argv[2]))
