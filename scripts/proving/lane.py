"""One lane of kills: a bucket, a cache that outlives all its owners, and what must be in it by now."""
import errno
import os
import random
import shutil
import time

from .mirror import Mirror
from .origin import Origin
from .reading import DEATH, Findings, Reader, Threads

MIB = 1 << 20
# The lifetime of a copy in these mounts, seconds, and what an answer may take on its way on a busy machine.
LIFETIME, SLACK = 1, 6
# After so long a copy that was read to its end is in the catalogue's file, seconds.
FLUSHED = 3.5

PHASES = {"start": 6, "first look": 8, "listing": 6, "small reads": 12, "large reads": 12, "validation": 10,
          "changes": 10, "eviction": 10, "verify": 5, "warm": 6, "evict command": 3, "pin": 3, "unmount": 6, "mixed": 12}


class Lane:
    def __init__(self, number, binary, base=None, cache=None, seed=None):
        self.number = number
        self.random = random.Random(seed if seed is not None else time.time_ns() + number)
        self.origin = Origin()
        self.mirror = Mirror(binary, self.origin.endpoint, base, cache)
        self.findings = Findings()
        self.kills = 0
        self.by_phase = {}
        # What must be there without the origin: key -> version.
        self.kept = {}
        self.kept_checks = 0
        self.fill()

    def fill(self):
        draw = self.random
        self.small = ["d%d/s%03d" % (index % 6, index) for index in range(72)]
        self.medium = ["m/m%02d" % index for index in range(12)]
        self.large = ["large/%d" % index for index in range(5)]
        self.keys = self.small + self.medium + self.large
        self.origin.put({key: self.new_size(key) for key in self.keys})
        # These change seldom, so that what is kept of them grows old.
        self.still = set(draw.sample(self.small, 36) + draw.sample(self.medium, 6) + self.large[:2])

    def new_size(self, key):
        draw = self.random
        if key.startswith("large/"):
            return draw.randrange(9 * MIB, 20 * MIB)
        return draw.randrange(128 << 10, MIB) if key.startswith("m/") else draw.randrange(50, 64 << 10)

    def change(self, keys):
        self.origin.put({key: self.new_size(key) for key in keys})
        for key in keys:
            self.kept.pop(key, None)

    def change_some(self):
        restless = [key for key in self.keys if key not in self.still and not key.startswith("large/")]
        keys = self.random.sample(restless, 4)
        if self.random.random() < 0.03:
            keys.append(self.random.choice(self.keys))
        self.change(keys)

    # The life of one mount ------------------------------------------------------------------------------------------

    def options(self, phase):
        chosen = ["--freshness", "always" if phase == "validation" else "%ds" % LIFETIME]
        if phase == "eviction":
            chosen += ["--cache-size", "24MiB"]
        if self.random.random() < 0.15:
            chosen += ["--data-path", "passthrough"]
        return chosen

    def mount(self, phase, *more):
        if self.random.random() < 0.4:
            self.mirror.detach()
        self.chosen = [*self.options(phase), *more]
        self.mirror.start(*self.chosen, foreground=self.random.random() < 0.6)

    def reader(self, window=LIFETIME + SLACK):
        return Reader(self.mirror, self.origin, self.findings, window)

    def load(self, phase, reader, threads):
        """Starts what is going on when the process is killed."""
        draw = self.random
        def some(keys):
            def read():
                reader.whole(random.choice(keys))
                # Many readers of warm files would do nothing but keep the machine busy.
                time.sleep(0.001)
            return read

        if phase == "listing":
            threads.repeat(reader.walk)
        elif phase == "first look":
            for _ in range(3):
                threads.repeat(some(self.keys))
        elif phase == "large reads":
            self.origin.faults(rate=draw.choice((4, 16, 60)) * MIB)
            for _ in range(3):
                threads.repeat(some(self.large + self.medium))
        elif phase == "changes":
            threads.repeat(self.change_some, 0.03)
            for _ in range(2):
                threads.repeat(some(self.small + self.medium))
        elif phase in ("small reads", "validation"):
            for _ in range(3):
                threads.repeat(some(self.small))
        else:
            threads.repeat(some(self.small + self.medium))
            threads.repeat(some(self.keys))
        if phase == "mixed":
            threads.repeat(reader.walk, 0.5)
            threads.repeat(self.change_some, 0.3)

    def command(self, phase):
        """What else is under way; returns the process."""
        mirror, draw = self.mirror, self.random
        if phase == "verify":
            return mirror.spawn("cache", "verify", "--cache-dir", mirror.cache)
        if phase == "warm":
            return mirror.spawn("warm", mirror.point)
        if phase == "evict command":
            prefix = "d%d/" % draw.randrange(6)
            for key in [key for key in self.kept if key.startswith(prefix)]:
                del self.kept[key]
            return mirror.spawn("cache", "evict", "--cache-dir", mirror.cache, prefix)
        if phase == "pin":
            return mirror.spawn("cache", draw.choice(("pin", "unpin")), "--cache-dir", mirror.cache,
                                "d%d/" % draw.randrange(6))
        if phase == "unmount":
            return mirror.spawn("unmount", mirror.point)
        return None

    def moment(self, phase):
        draw = self.random
        if phase == "mixed":
            return draw.uniform(0.2, 6)
        return draw.uniform(0, 0.15) if phase in ("first look", "listing") else draw.uniform(0.02, 0.6)

    def live(self, phase):
        """One life of the mount process, from its start to what ends it."""
        self.mount(phase)
        reader, threads, command = self.reader(), Threads(), None
        before = len(self.findings.errors)
        if phase == "unmount":
            reader.allowed = DEATH | {errno.ENOENT}
        if phase == "start":
            time.sleep(self.random.uniform(0, 0.12))
        else:
            self.mirror.ready()
            self.load(phase, reader, threads)
            if phase in ("verify", "warm", "evict command", "pin", "unmount"):
                time.sleep(self.random.uniform(0, 0.3))
                command = self.command(phase)
                time.sleep(self.random.uniform(0, 0.1))
            else:
                time.sleep(self.moment(phase))
        self.end(phase, reader, threads, command)
        if len(self.findings.errors) > before:
            # The first of them tells what the mount said of it.
            self.findings.errors[before] += "; in %s, with %s: ...%s" % (phase, " ".join(self.chosen), self.mirror.said(900))

    def end(self, phase, reader, threads, command=None):
        killed_at = time.monotonic()
        # ENOTCONN mostly, and EIO for a page that the kernel was just waiting for.
        reader.is_dying = True
        self.mirror.kill(group=self.random.random() < 0.5)
        self.kills += 1
        self.by_phase[phase] = self.by_phase.get(phase, 0) + 1
        if not threads.join():
            self.findings.tell_error("%s: a reader hangs after the kill" % phase)
        if command:
            command.wait(60)
        self.origin.faults()
        if phase == "eviction":
            self.kept.clear()
        else:
            self.keep(reader, killed_at)

    def keep(self, reader, end):
        """Takes note of what was read to its end long enough ago to be in the catalogue's file."""
        for key, version, when in reader.done:
            if when < end - FLUSHED and version == self.origin.current(key):
                self.kept[key] = version

    # After it -------------------------------------------------------------------------------------------------------

    def check(self, phase):
        if self.random.random() < 0.6:
            self.check_verify(phase)
        self.look(phase)

    def look(self, phase):
        if self.kept and self.random.random() < 0.35:
            self.check_kept(phase)
        else:
            self.check_reads(phase)

    def check_verify(self, phase):
        code, said = self.mirror.verify()
        if code:
            self.findings.tell_wrong("after a kill in %s: verify: %d %s" % (phase, code, said[-400:]))
            self.save("verify")

    def check_kept(self, phase):
        """The origin is gone: what was kept is served, and right."""
        self.origin.mode("refuse")
        try:
            self.mount("check", *(["--offline"] if self.random.random() < 0.5 else []))
            self.mirror.ready()
            reader = self.reader(window=None)
            chosen = self.random.sample(sorted(self.kept), min(len(self.kept), 30))
            for key in chosen:
                seen = reader.whole(key)
                if seen != self.kept[key]:
                    self.findings.tell_wrong("after a kill in %s: %s: version %d was kept, and %s is served" % (
                        phase, key, self.kept[key], seen))
            self.kept_checks += len(chosen)
            self.end_check(reader)
        finally:
            self.origin.mode("up")

    def check_reads(self, phase):
        self.mount("check")
        self.mirror.ready()
        reader = self.reader()
        for key in self.random.sample(self.small, 10) + self.random.sample(self.medium + self.large, 3):
            if reader.whole(key) is None:
                self.findings.tell_wrong("after a kill in %s: %s can't be read" % (phase, key))
        if self.random.random() < 0.3:
            self.check_verify(phase + ", mounted again")
        self.end_check(reader)

    def end_check(self, reader):
        """Checking mounts end by a kill as well, or in good order."""
        if self.random.random() < 0.25:
            try:
                self.mirror.unmount()
            except RuntimeError as error:
                self.findings.tell_error(str(error))
                self.mirror.kill(group=True)
            self.keep(reader, time.monotonic() + FLUSHED)
        else:
            self.end("after reads", reader, Threads())

    def save(self, name):
        """Keeps the cache as it is, to look into; the first of a kind only."""
        if where := os.environ.get("S3MIRROR_PROOF_EVIDENCE"):
            target = os.path.join(where, "%s-%d" % (name, self.number))
            if not os.path.exists(target):
                shutil.copytree(self.mirror.cache, target)

    def round(self):
        phase = self.random.choices(list(PHASES), list(PHASES.values()))[0]
        self.live(phase)
        self.check(phase)

    def sums(self):
        return {"kills": self.kills, "phases": self.by_phase, "kept": self.kept_checks, "reads": self.findings.reads,
                "bytes": self.findings.bytes, "wrong": self.findings.wrong, "errors": self.findings.errors}

    def stop(self):
        self.mirror.stop()
        self.origin.stop()
