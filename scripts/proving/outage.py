"""A long time without the origin, under load: what is cached is served as fast as ever, and nobody is stuck."""
import os
import random
import signal
import subprocess
import sys
import time

from . import mirror
from .latency import Group, percentile
from .origin import Origin
from .reading import read_whole
from .record import record

KIB, MIB = 1 << 10, 1 << 20
LIFETIME = 10
LIMIT_MS = 50


class Outage:
    def __init__(self, minutes):
        self.minutes = minutes
        self.random = random.Random(5)
        self.origin = Origin()
        self.mirror = mirror.Mirror(mirror.build(), self.origin.endpoint)
        self.readers = None
        self.kills, self.slow_kills, self.answered = 0, [], 0
        self.problems = []

    def fill(self):
        draw = self.random
        sizes = {"small/d%02d/f%03d" % (index // 25, index): draw.randrange(4 * KIB, 64 * KIB) for index in range(300)}
        sizes |= {"medium/%02d" % index: draw.randrange(256 * KIB, MIB) for index in range(60)}
        sizes |= {"large/%d" % index: 16 * MIB for index in range(6)}
        self.sizes = sizes
        cold = {"cold/%03d" % index: 300 * KIB for index in range(400)}
        self.cold = iter(cold)
        self.origin.put(sizes | cold)

    def files(self):
        return [(key, self.origin.current(key), size) for key, size in self.sizes.items()]

    def begin(self):
        self.mirror.start("--freshness", "%ds" % LIFETIME, "--cache-size", "1GiB")
        self.mirror.ready()
        for key in self.sizes:
            if self.origin.judge(key, read_whole(self.mirror.path(key)), None):
                self.problems.append("%s is wrong before the outage" % key)

    def kill_waiting(self, wait):
        """A reader of a file that was never read is killed; the seconds until it is gone, None where it had ended."""
        reader = subprocess.Popen(["cat", self.mirror.path(next(self.cold))], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        time.sleep(wait)
        if reader.poll() is not None:
            self.answered += 1
            if reader.returncode == 0:
                self.problems.append("a cold file was read without an origin")
            return
        begun = time.monotonic()
        reader.send_signal(signal.SIGKILL)
        try:
            reader.wait(20)
        except subprocess.TimeoutExpired:
            self.problems.append("a reader can't be killed")
        self.kills += 1
        took = time.monotonic() - begun
        if took > 1:
            self.slow_kills.append(took)

    def go_dead(self):
        """The origin falls silent with nobody knowing it: readers of cold files wait, and can be killed. Seconds until
        the mount knew."""
        self.origin.mode("silent")
        begun = time.monotonic()
        for _ in range(12):
            self.kill_waiting(self.random.uniform(0.1, 0.8))
        while self.mirror.status()["state"] == "online":
            self.kill_waiting(0.5)
            # Somebody who wants what is stale finds out.
            read_whole(self.mirror.path("small/d00/f%03d" % self.random.randrange(25)))
            if time.monotonic() - begun > 120:
                raise RuntimeError("the mount does not notice that the origin is gone")
        return time.monotonic() - begun

    def dead(self):
        """The outage itself."""
        self.readers = Group(3, self.mirror.point, self.files(), self.mirror.work, pause=0.012)
        begun, modes = time.monotonic(), 0
        end = begun + self.minutes * 60
        turn = max(20, min(240, self.minutes * 60 / 9))
        loads = []
        while time.monotonic() < end:
            mode = ("refuse", "silent", "busy")[modes % 3]
            self.origin.mode(mode)
            modes += 1
            print("%5.0f s: %s" % (time.monotonic() - begun, mode), flush=True)
            until = min(end, time.monotonic() + turn)
            while time.monotonic() < until:
                self.kill_waiting(self.random.uniform(0.05, 1))
                loads.append(os.getloadavg()[0])
                time.sleep(min(10, max(0.1, until - time.monotonic())))
        self.load = sum(loads) / len(loads)
        self.modes = modes
        self.times, self.slow, self.failures = self.readers.stop()
        self.readers = None

    def back(self):
        """Seconds from the origin's return until the mount shows each change that was made meanwhile."""
        changed = self.random.sample([key for key in self.sizes if key.startswith("small/")], 100)
        self.origin.put({key: self.sizes[key] for key in changed})
        self.origin.mode("up")
        begun = time.monotonic()
        left = set(changed)
        while left and time.monotonic() - begun < 180:
            for key in sorted(left):
                data = read_whole(self.mirror.path(key))
                if self.origin.judge(key, data, None):
                    self.problems.append("%s is wrong after the outage" % key)
                if int(data[1:10]) == self.origin.current(key):
                    left.discard(key)
            if self.mirror.status()["state"] == "online" and not hasattr(self, "online_after"):
                self.online_after = time.monotonic() - begun
            time.sleep(0.2)
        if left:
            self.problems.append("%d changed files are old 180 s after the outage" % len(left))
        return time.monotonic() - begun

    def leave(self):
        """Seconds that an unmount takes while the origin is silent and somebody has just waited for it."""
        self.origin.mode("silent")
        waiting = subprocess.Popen(["cat", self.mirror.path(next(self.cold))], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(1)
        waiting.kill()
        waiting.wait()
        return self.mirror.unmount()

    def stop(self):
        if self.readers:
            self.readers.kill()
        self.mirror.stop()
        self.origin.stop()


def outage(minutes, keep_record):
    proof = Outage(minutes)
    try:
        proof.fill()
        proof.begin()
        noticed = proof.go_dead()
        proof.dead()
        current = proof.back()
        unmount = proof.leave()
    finally:
        proof.stop()
    times = proof.times
    late = [entry for entry in proof.slow if entry[1] > LIMIT_MS]
    print("noticed after %.1f s; %d reads, p50 %.2f ms, p99 %.2f, p99.9 %.2f, slowest %.1f ms, %d over %d ms, %d failed; "
          "load %.1f" % (noticed, len(times), percentile(times, 50) * 1e3, percentile(times, 99) * 1e3,
                         percentile(times, 99.9) * 1e3, times[-1] * 1e3, len(late), LIMIT_MS, len(proof.failures),
                         proof.load))
    print("%d waiting readers killed, %d of them later than 1 s; %d were answered with an error at once" % (
        proof.kills, len(proof.slow_kills), proof.answered))
    print("online %.1f s after the origin's return, all current after %.1f s; unmounted in %.2f s" % (
        getattr(proof, "online_after", -1), current, unmount))
    for line in proof.problems + [str(entry) for entry in late[:20] + proof.failures[:20]]:
        print("  " + line)
    result = "%d of %s reads of cached files failed; p50 %.2f ms, p99 %.1f ms, p99.9 %.1f ms, slowest %.0f ms, %d over " \
             "%d ms (machine load %.1f on %d cores); %d waiting readers killed, %d later than 1 s; all current %.0f s " \
             "after the return; unmount %.1f s" % (
                 len(proof.failures), format(len(times), ","), percentile(times, 50) * 1e3, percentile(times, 99) * 1e3,
                 percentile(times, 99.9) * 1e3, times[-1] * 1e3, len(late), LIMIT_MS, proof.load, os.cpu_count(),
                 proof.kills, len(proof.slow_kills), current, unmount)
    if keep_record:
        record("outage", "While the server is gone cached files are served as fast as ever, and nobody is stuck",
               "the server refuses, is silent, or answers 503, by turns, under readers that read cached files, all past "
               "their lifetime, and readers of files that are not cached, which are killed",
               "scripts/outage", "%g minutes, %d changes" % (minutes, proof.modes), result)
    else:
        print(result)
    bad = proof.failures or proof.problems or proof.slow_kills or unmount > 5 or current > 60
    sys.exit(1 if bad else 0)
