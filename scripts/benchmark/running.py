"""One run: the server, the contents, then rounds in which the contestants take turns at each work."""
import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time

from . import bare, content, mounts, peers, reading
from .plane import Condition, Plane
from .programs import Missing
from .works import WORKS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build():
    """The release build, or the program that S3MIRROR_BINARY names; installs what is missing."""
    script = 'source "$1/scripts/lib.sh"; need_packages "${build_packages[@]}" "${bench_packages[@]}"; ' \
             'build_release; echo "$binary"'
    out = subprocess.run(["bash", "-euo", "pipefail", "-c", script, "bench", ROOT], check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    return out.split("\n")[-2]


class Late(RuntimeError):
    """A turn took too long."""


class Run:
    def __init__(self, options):
        self.options = options
        self.scale = content.Scale(options.size << 20, options.quick)
        self.conditions = [Condition(latency) for latency in options.latencies]
        self.conditions += [Condition(tls=True)] if options.tls else []
        self.left_out = set()
        self.missing = set()
        self.turns = []

    def prepare(self):
        """The programs, the directories, the server and all contents."""
        self.binary = build()
        self.names = peers.contestants(self.binary, self.options.peers)
        self.works = {name: WORKS[name] for name in WORKS if not self.options.only or name in self.options.only}
        print("preparing %d MiB and %d files; measuring %s" % (
            self.options.size, 2 * self.scale.many + self.scale.small + self.scale.pages, ", ".join(self.names)),
            flush=True)
        self.base = tempfile.mkdtemp(prefix="s3mirror-bench-", dir=self.options.base)
        self.caches = os.path.join(self.base, "caches")
        os.mkdir(self.caches)
        self.plane = Plane(self.base, self.scale.bytes(), self.conditions)
        content.make_served(self.plane.bucket(), self.scale)
        self.native = os.path.join(self.base, "native")
        content.make_native(self.native, self.plane.bucket(), self.scale)
        self.plane.start()

    def server_speed(self):
        """The server by itself, by the first condition without latency; the first reading of each warms it."""
        condition = next((each for each in self.conditions if not each.latency_ms), self.conditions[0])
        endpoint, certificate = self.plane.endpoint(condition), self.plane.certificate
        streams = {}
        for count in (1, 1, 4):
            streams[count] = bare.stream_speed(endpoint, certificate, content.BIG, self.scale.size, count)
        found = {"in_memory": self.plane.in_memory, "stream_MBps": streams[1], "four_streams_MBps": streams[4],
                 "pages_per_s": bare.page_speed(endpoint, certificate, "flat/")}
        if (rate := bare.small_speed(endpoint, content.small_keys(self.scale)[0])) and not condition.tls:
            found["small_gets_per_s"] = rate
        print("the server alone: " + ", ".join("%s %.0f" % item for item in found.items()), flush=True)
        return found

    def place(self, name, condition):
        endpoint, certificate = self.plane.endpoint(condition), self.plane.certificate
        if name == "native":
            return mounts.Native(self.native)
        if name == "bare":
            return bare.Bare(endpoint, certificate)
        if name == "s5cmd":
            return mounts.Copier(self.caches, endpoint, certificate)
        return mounts.Mount(name, self.caches, endpoint, certificate, self.binary, self.scale)

    def turn(self, name, work, condition):
        """The figures of one contestant at one work, and what the server counted meanwhile."""
        run = {"bare": work.bare, "s5cmd": work.copier}.get(name, work.run)
        if work.drops:
            reading.drop_caches()
        self.plane.take()
        signal.alarm(self.options.patience)
        place = None
        try:
            place = self.place(name, condition)
            figures = run(place, self.scale, not condition.latency_ms and not condition.tls)
        finally:
            signal.alarm(0)
            if place:
                place.stop()
        # A request that the end of the mount broke off is in the log a moment later.
        time.sleep(0.1)
        counted = self.plane.take()
        if work.after and name != "native":
            figures.update(work.after(counted, self.scale))
        return {figure: value for figure, value in figures.items() if value is not None}, counted

    def takes_part(self, name, work, condition):
        if (name, work, condition) in self.left_out or (not work.remote and condition != self.conditions[0]):
            return False
        if name == "native" and condition != self.conditions[0]:
            return False
        return {"bare": work.bare, "s5cmd": work.copier}.get(name, work.run) is not None

    def rounds(self):
        for number in range(self.options.rounds):
            order = self.names[number % len(self.names):] + self.names[:number % len(self.names)]
            for condition in self.conditions:
                for title, work in self.works.items():
                    for name in order:
                        if self.takes_part(name, work, condition):
                            self.record(number, name, title, work, condition)
            print("round %d of %d done" % (number + 1, self.options.rounds), flush=True)
            if number + 1 < self.options.rounds:
                for name in os.listdir(self.caches):
                    shutil.rmtree(os.path.join(self.caches, name), ignore_errors=True)

    def record(self, number, name, title, work, condition):
        turn = {"round": number, "name": name, "work": title, "latency_ms": condition.latency_ms, "tls": condition.tls}
        try:
            turn["figures"], turn["server"] = self.turn(name, work, condition)
            said = ", ".join("%s %.4g" % item for item in turn["figures"].items())
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            said = turn["error"] = str(error)[:300]
            self.left_out.add((name, work, condition))
            if isinstance(error, Missing):
                self.missing.add(title)
                self.left_out.update((each, work, condition) for each in self.names)
        if said:
            print("  %-10s %-12s %s%s" % (title, name, condition.title and condition.title + ": ", said), flush=True)
        self.turns.append(turn)

    def document(self):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return {"machine": {"cores": os.cpu_count(), "memory_gib": round(memory / (1 << 30)),
                            "linux": platform.release(), "root": os.geteuid() == 0},
                "options": {"rounds": self.options.rounds, "size_mib": self.options.size, "small": self.scale.small,
                            "many": self.scale.many, "pages": self.scale.pages, "sources": self.scale.sources,
                            "random": self.scale.random},
                "versions": peers.versions(self.binary, self.names), "server": self.speed, "names": self.names,
                "turns": self.turns}

    def stop(self):
        if hasattr(self, "plane"):
            self.plane.stop()
        if hasattr(self, "base"):
            shutil.rmtree(self.base, ignore_errors=True)


def out_of_time(*_):
    raise Late("it took too long")


def measure(options, show):
    """One run: its document is kept in a file, whole or not, and shown before all is cleared away. Returns whether
    s3mirror did all works."""
    signal.signal(signal.SIGALRM, out_of_time)
    run = Run(options)
    try:
        run.prepare()
        run.speed = run.server_speed()
        run.rounds()
        show(run.document())
        return not any("error" in turn for turn in run.turns if turn["name"] in ("native", "s3mirror", peers.PASSTHROUGH)
                       and turn["work"] not in run.missing)
    finally:
        if options.json and run.turns:
            with open(options.json, "w") as file:
                json.dump(run.document(), file, indent=1)
        run.stop()
