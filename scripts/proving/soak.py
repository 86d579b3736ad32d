"""Hours of everything at once, with samples of what the mount takes: nothing may grow, nothing may fail."""
import errno
import json
import os
import random
import statistics
import sys
import time

from . import mirror, plot
from .lane import MIB
from .mirror import ROOT, Mirror
from .origin import Origin
from .reading import DEATH, Findings, Reader, Threads
from .record import record

LIFETIME = 5
# From the return of the origin until nothing old is to be seen any more, seconds.
RECOVERY = 45
INTERVAL = 5
SETTLED = 600


class SoakReader(Reader):
    """A reader for whom a cold file may fail while the origin is gone, and old content is right for as long."""

    def __init__(self, soak, mount):
        super().__init__(mount, soak.origin, soak.findings, LIFETIME + 6)
        self.soak = soak

    def since(self):
        return None if self.soak.is_troubled() else super().since()

    def whole(self, key):
        troubled = self.soak.is_troubled()
        version = super().whole(key)
        # A long run keeps no list of what it read.
        self.done.clear()
        return version if version is not None or troubled else None

    def is_allowed(self, error):
        # ESTALE: it is known that the copy is of an older revision, and the next can't be asked for.
        if error.errno in (errno.EIO, errno.ESTALE) and self.soak.is_troubled():
            self.soak.explained += 1
            return True
        return super().is_allowed(error)


class Remounted:
    """A second mount that is ended and made again all the time."""

    def __init__(self, soak):
        self.soak = soak
        self.mirror = Mirror(soak.mirror.binary, soak.origin.endpoint)
        self.count = 0

    def once(self):
        soak = self.soak
        try:
            self.mirror.start("--freshness", "%ds" % LIFETIME, "--cache-size", "60MiB",
                              *(["--data-path", "passthrough"] if self.count % 3 == 2 else []))
            self.mirror.ready()
        except RuntimeError as error:
            if not soak.is_troubled():
                soak.findings.tell_error(str(error))
            time.sleep(5)
            return
        threads, reader = Threads(), SoakReader(soak, self.mirror)
        threads.repeat(lambda: reader.whole(random.choice(soak.keys)), 0.05)
        threads.repeat(reader.walk, 5)
        threads.stop.wait(30)
        if not threads.join(120):
            soak.findings.tell_error("a reader of the second mount hangs")
        try:
            self.mirror.unmount()
        except RuntimeError as error:
            soak.findings.tell_error(str(error))
            self.mirror.kill(group=True)
            self.mirror.detach()
        self.count += 1


class Soak:
    def __init__(self, hours):
        self.hours = hours
        self.random = random.Random(3)
        self.origin = Origin()
        self.mirror = Mirror(mirror.build(), self.origin.endpoint)
        self.findings = Findings()
        self.explained = 0
        self.samples = []
        self.outages = []
        self.trouble_until = 0.0
        self.fill()

    def fill(self):
        draw = self.random
        small = {"s%02d/f%03d" % (index // 50, index): draw.randrange(100, 64 << 10) for index in range(1500)}
        medium = {"m/f%03d" % index: draw.randrange(128 << 10, MIB) for index in range(100)}
        large = {"l/%d" % index: draw.randrange(9 * MIB, 20 * MIB) for index in range(6)}
        self.sizes = small | medium | large
        self.keys = list(self.sizes)
        self.small, self.large = list(small), list(medium) + list(large)
        self.origin.put(self.sizes)

    def is_troubled(self):
        return time.monotonic() < self.trouble_until

    # What goes on ---------------------------------------------------------------------------------------------------

    def change(self):
        keys = self.random.sample(self.keys, 5)
        self.origin.put({key: max(50, int(self.sizes[key] * self.random.uniform(0.7, 1.2))) for key in keys})

    def trouble(self):
        """What is wrong with the origin, one thing after the other."""
        quiet = 60 if self.hours >= 0.5 else 8
        time.sleep(quiet)
        self.origin.faults(error=0.02, reset=0.01, cut=0.01, delay=0.05)
        time.sleep(quiet)
        self.origin.faults()
        begun = time.monotonic()
        self.trouble_until = begun + 3600
        # Silence first: all that ever waits at once is then among what the first ten minutes take.
        self.origin.mode(("silent", "refuse", "busy")[len(self.outages) % 3])
        time.sleep(min(quiet, self.random.uniform(5, 60)))
        self.origin.mode("up")
        ended = time.monotonic()
        self.outages.append((begun - self.begun, ended - self.begun))
        self.trouble_until = ended + RECOVERY
        time.sleep(RECOVERY)

    def load(self, threads):
        reader = SoakReader(self, self.mirror)
        draw = random.Random()

        def piece():
            key = draw.choice(self.large)
            reader.piece(key, draw.randrange(0, self.sizes[key] // 2), 128 << 10)

        for _ in range(3):
            threads.repeat(lambda: reader.whole(draw.choice(self.small)), 0.02)
        threads.repeat(lambda: reader.whole(draw.choice(self.large)), 0.3)
        threads.repeat(piece, 0.1)
        threads.repeat(reader.walk, 3)
        threads.repeat(self.change, 0.5)
        threads.repeat(self.trouble)
        threads.repeat(lambda: self.mirror.command("refresh", self.mirror.path("s00")), 20)
        threads.repeat(lambda: self.mirror.command("cache", "evict", "--cache-dir", self.mirror.cache, "m/"), 90)

    # What it takes --------------------------------------------------------------------------------------------------

    def sample(self):
        process = "/proc/%d" % self.mirror.pid()
        with open(process + "/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        catalogue = sum(os.path.getsize(os.path.join(directory, name)) for directory, _, names in os.walk(self.mirror.cache)
                        for name in names if name.startswith("catalogue.sqlite"))
        status = self.mirror.status()
        requests = status["requests"]
        return {"at": round(time.monotonic() - self.begun, 1), "rss": int(fields["VmRSS"].split()[0]) / 1024,
                "threads": int(fields["Threads"]), "descriptors": len(os.listdir(process + "/fd")),
                "catalogue": catalogue / MIB, "cache": status["cache"]["bytes"] / MIB,
                "objects": status["cache"]["objects"],
                "requests": sum(requests[kind] for kind in ("get", "head", "list", "other")),
                "errors": len(self.findings.errors) + len(self.findings.wrong), "reads": self.findings.reads}

    def run(self):
        self.mirror.start("--freshness", "%ds" % LIFETIME, "--cache-size", "120MiB")
        self.mirror.ready()
        self.begun = time.monotonic()
        self.second = Remounted(self)
        threads = Threads()
        self.load(threads)
        threads.repeat(self.second.once)
        told, end = 0, self.begun + self.hours * 3600
        while time.monotonic() < end:
            self.samples.append(self.sample())
            if self.samples[-1]["at"] >= told:
                told += 60
                print(" ".join("%s %.4g" % item for item in self.samples[-1].items()), flush=True)
                for line in (self.findings.wrong + self.findings.errors)[:5]:
                    print("    " + line[:500], flush=True)
            time.sleep(INTERVAL)
        self.origin.mode("up")
        if not threads.join(240):
            self.findings.tell_error("something hangs at the end")
        self.verified = self.mirror.verify()
        self.unmounted = self.mirror.unmount()

    def stop(self):
        for mount in (getattr(self, "second", None), self):
            if mount:
                mount.mirror.stop()
        self.origin.stop()


def rates(samples, name):
    """The increase a second from sample to sample."""
    return [(after["at"], max(0, after[name] - before[name]) / max(0.1, after["at"] - before["at"]))
            for before, after in zip(samples, samples[1:])]


def growth(samples, name):
    """The mean of the last tenth over that of the first tenth, both after the settling."""
    late = [each[name] for each in samples if each["at"] > SETTLED] or [each[name] for each in samples]
    part = max(1, len(late) // 10)
    first, last = statistics.mean(late[:part]), statistics.mean(late[-part:])
    return first, last, last / first - 1


def draw(proof, path):
    def line(name):
        return [(each["at"], each[name]) for each in proof.samples]

    frames = [("memory of the process (RSS), MiB", line("rss")), ("descriptors", line("descriptors")),
              ("threads", line("threads")), ("catalogue on disk, MiB", line("catalogue")),
              ("copies in the cache, MiB", line("cache")), ("requests a second", rates(proof.samples, "requests")),
              ("reads a second", rates(proof.samples, "reads")), ("errors and wrong bytes so far", line("errors"))]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(plot.over_time("%.2g hours of mixed load; shaded: the origin was gone" % proof.hours, frames,
                                  proof.outages))


def soak(hours, keep_record, samples=None):
    proof = Soak(hours)
    try:
        proof.run()
    finally:
        proof.stop()
        if samples:
            with open(samples, "w") as file:
                json.dump({"samples": proof.samples, "outages": proof.outages}, file)
    first, last, grown = growth(proof.samples, "rss")
    bad = proof.findings.wrong + proof.findings.errors
    most = {name: max(each[name] for each in proof.samples) for name in ("rss", "descriptors", "threads", "catalogue")}
    result = "%d wrong bytes, %d unexplained errors in %s reads (%s of cold files during %d outages had to fail); RSS " \
             "%.1f MiB after 10 minutes, %.1f at the end (%+.0f %%), %.1f at most; at most %d descriptors, %d threads, " \
             "%.1f MiB of catalogue; %s requests, %d remounts" % (
                 len(proof.findings.wrong), len(proof.findings.errors), format(proof.findings.reads, ","),
                 format(proof.explained, ","), len(proof.outages), first, last, grown * 100, most["rss"],
                 most["descriptors"], most["threads"], most["catalogue"], format(proof.samples[-1]["requests"], ","),
                 proof.second.count)
    for line in bad[:30]:
        print("  " + line[:500])
    print("verify: %s; unmounted in %.2f s" % (proof.verified, proof.unmounted))
    if keep_record:
        draw(proof, os.path.join(ROOT, "docs", "reliability", "soak.svg"))
        record("soak", "Hours of load leave the mount as it began: same memory, no error",
               "walks, reads of all sizes, changes, evictions, remounts, and an origin that fails in every way, sampled "
               "each %d seconds" % INTERVAL, "scripts/soak", "%.3g hours" % hours, result)
    else:
        print(result)
    sys.exit(1 if bad or grown > 0.1 or proof.verified[0] else 0)
