"""The power cut at random moments: the cache's disk stops at once, and is found as its journal leaves it."""
import functools
import os
import shutil
import sys
import tempfile
import time

from . import lanes, mirror
from .disk import Disk
from .lane import FLUSHED, Lane
from .reading import Threads
from .record import record


class PowerLane(Lane):
    """A lane whose crash is one of the disk; by its number ext4 or XFS."""

    def __init__(self, number, binary):
        self.directory = tempfile.mkdtemp(prefix="s3mirror-power-", dir="/var/tmp")
        self.disk = self.store = None
        try:
            # Images lie on a disk that can copy one in a moment.
            self.store = Disk("xfs", self.directory, 2 << 30)
            self.disk = Disk("xfs" if number % 2 else "ext4", self.store.point)
            super().__init__(number, binary, cache=os.path.join(self.disk.point, "cache"))
        except BaseException:
            self.stop_disk()
            raise
        self.cuts = {self.disk.kind: 0}
        self.ways = {}
        self.lost_blocks = 0
        # key -> version: was on the disk when it last wrote all it had.
        self.synced = {}

    def change(self, keys):
        super().change(keys)
        for key in keys:
            self.synced.pop(key, None)

    def spend_and_cut(self):
        """What was spent of a budget is known after a cut: no more than the amount is ever spent."""
        before = self.asked()
        self.mirror.start("--freshness", "always", "--budget", "4000req/minute")
        self.mirror.ready()
        reader = self.reader(None)
        end = time.monotonic() + 20
        while self.asked() - before < 900 and time.monotonic() < end:
            reader.whole(self.random.choice(self.small))
        spent = self.asked() - before
        self.cut(reader, "shutdown")
        self.find_again()
        self.by_phase["budget"] = self.by_phase.get("budget", 0) + 1
        self.mirror.start("--freshness", "always", "--budget", "4000req/minute")
        self.mirror.ready()
        known = self.mirror.status()["budgets"][0]["spent"]
        if known < spent:
            self.findings.tell_wrong("after a cut the budget knows of %g requests, and %d were sent" % (known, spent))
        self.mirror.unmount()
        shutil.rmtree(self.mirror.cache, ignore_errors=True)

    def asked(self):
        counts = self.origin.counts()
        return counts["get"] + counts["head"] + counts["list"]

    def cut(self, reader, way):
        """Cuts the power, and has the disk found again as it is."""
        # The disk goes first: what the process still does reaches nothing.
        reader.is_dying = True
        copy = self.disk.snapshot() if way != "shutdown" else self.disk.cut()
        self.mirror.kill(group=True)
        self.mirror.detach()
        self.cuts[self.disk.kind] += 1
        self.ways[way] = self.ways.get(way, 0) + 1
        return copy

    def find_again(self, copy=None):
        self.disk.unmount()
        if copy:
            self.disk.replace(copy)
        self.disk.mount()

    def round(self):
        draw = self.random
        if not self.kills or draw.random() < 0.03:
            self.spend_and_cut()
            self.kills += 1
            self.forget()
            return
        phase = draw.choices(("small reads", "large reads", "changes", "eviction", "mixed", "start", "warm", "unmounted"),
                             (5, 5, 5, 4, 8, 2, 3, 5))[0]
        if draw.random() < 0.12:
            shutil.rmtree(self.mirror.cache, ignore_errors=True)
            self.forget()
        self.live_and_cut(phase)
        self.check_after(phase)

    def forget(self):
        self.kept.clear()
        self.synced.clear()

    def live_and_cut(self, phase):
        load = "mixed" if phase == "unmounted" else phase
        self.mount(load)
        reader, threads, command = self.reader(), Threads(), None
        synced = []
        if phase == "start":
            time.sleep(self.random.uniform(0, 0.2))
        else:
            self.mirror.ready()
            self.load(load, reader, threads)
            command = self.command(load)
            time.sleep(self.random.uniform(0.1, 1.5) if self.random.random() < 0.6 else self.random.uniform(2, 6))
            if self.random.random() < 0.4:
                begun = time.monotonic()
                self.disk.sync()
                synced = [entry for entry in reader.done if entry[2] < begun - FLUSHED]
                time.sleep(self.random.uniform(0, 0.5))
        ended_well = phase == "unmounted" and self.end_well(threads)
        copy = self.cut(reader, "a copy of the image" if self.random.random() < 0.25 else "shutdown")
        if not threads.join():
            self.findings.tell_error("%s: a reader hangs after the cut" % phase)
        if command:
            command.wait(60)
        self.origin.faults()
        self.kills += 1
        self.by_phase[phase] = self.by_phase.get(phase, 0) + 1
        self.find_again(copy)
        if phase == "eviction":
            return self.forget()
        for key, version, _ in reader.done if ended_well else synced:
            if version == self.origin.current(key):
                self.synced[key] = version

    def end_well(self, threads):
        """Unmounts; from then on all that was cached is on the disk."""
        threads.join()
        try:
            self.mirror.unmount()
        except RuntimeError as error:
            self.findings.tell_error(str(error))
            return False
        time.sleep(self.random.choice((0, 0, 0.3)))
        return True

    def check_verify(self, phase):
        """Bytes that were not on the disk yet are no fault, as long as nobody is given them; what is mended stays so."""
        code, said = self.mirror.command("cache", "verify", "--repair", "--cache-dir", self.mirror.cache)
        if code:
            self.findings.tell_wrong("after a cut in %s: repair: %d %s" % (phase, code, said[-300:]))
        self.lost_blocks += said.count(" are damaged")
        super().check_verify(phase)

    def check_after(self, phase):
        if self.random.random() < 0.4:
            self.check_verify(phase)
        self.kept = dict(self.synced)
        self.look(phase)

    def options(self, phase):
        chosen = super().options(phase)
        # With less room than the disk has there is always some left for the catalogue.
        return chosen if "--cache-size" in chosen else chosen + ["--cache-size", "200MiB"]

    def keep(self, reader, end):
        """Only what the disk has written counts."""

    def sums(self):
        return dict(super().sums(), cuts=self.cuts, ways=self.ways, lost=self.lost_blocks, times=sum(self.cuts.values()))

    def stop_disk(self):
        for disk in (self.disk, self.store):
            if disk:
                disk.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def stop(self):
        try:
            super().stop()
        finally:
            self.stop_disk()


def power(goal, count, keep_record):
    if os.geteuid():
        sys.exit("crash power: only root can make a disk whose power can be cut (a loop device); run it as root")
    for tool in ("losetup", "mkfs.ext4", "mkfs.xfs"):
        if not shutil.which(tool):
            sys.exit("crash power: %s is missing; install e2fsprogs, xfsprogs and util-linux" % tool)
    binary = mirror.build()
    sums, broken = lanes.run(functools.partial(PowerLane, binary=binary), count, goal, "times")
    total = lanes.summed(sums)
    for name in ("phases", "cuts", "ways"):
        print("%s: %s" % (name, ", ".join("%s %d" % item for item in sorted(total[name].items()))))
    for line in (total["wrong"] + total["errors"])[:40]:
        print("  " + line[:600])
    result = "%d wrong bytes or lost copies, %d errors; %s reads right, %s copies found without the origin" % (
        len(total["wrong"]), len(total["errors"]), format(total["reads"], ","), format(total["kept"], ","))
    if total["lost"]:
        result += "; %d blocks had not reached the disk, and none of them was served" % total["lost"]
    if keep_record and total["times"] >= goal and not broken:
        record("power", "A power cut leaves a cache that is right, and loses nothing that the disk had written",
               "the cache's file system is shut down without a flush of its journal, or found as a copy of its image "
               "taken in the middle; then it is recovered, verified, mounted and read",
               "scripts/crash power", "%s cuts (%s)" % (total["times"], ", ".join(
                   "%s %d" % item for item in sorted(total["cuts"].items()))), result)
    else:
        print(result)
    sys.exit(1 if broken or total["wrong"] or total["errors"] else 0)
