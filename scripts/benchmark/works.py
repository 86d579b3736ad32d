"""The works by name, and what their figures mean."""
import dataclasses
import typing

from . import programs, reading, walking


@dataclasses.dataclass(frozen=True)
class Work:
    """One turn of a contestant: a fresh place, this work, the end of the place."""
    run: typing.Callable
    bare: typing.Optional[typing.Callable] = None
    copier: typing.Optional[typing.Callable] = None
    # Whether latency and TLS matter: else it is done without only.
    remote: bool = False
    # Whether the kernel's caches are dropped before, programs among them.
    drops: bool = True
    # What the server's counters say once the place is gone.
    after: typing.Optional[typing.Callable] = None


WORKS = {
    "startup": Work(reading.startup, drops=False),
    "stream": Work(reading.stream, bare=reading.stream_bare, copier=reading.stream_copied, remote=True),
    "small1": Work(reading.small_one, remote=True),
    "small16": Work(reading.small_many, remote=True),
    "random": Work(reading.random_reads, remote=True, after=reading.bytes_a_byte),
    "first": Work(reading.first_bytes, bare=reading.first_bare, remote=True),
    "find": Work(walking.find, bare=walking.find_bare),
    "flat": Work(walking.flat, bare=walking.flat_bare),
    "fio-random4k": Work(programs.fio_random(4)),
    "fio-random128k": Work(programs.fio_random(128)),
    "fio-stream1": Work(programs.fio_stream(1)),
    "fio-stream4": Work(programs.fio_stream(4)),
    "web": Work(programs.web),
    "git": Work(programs.git),
    "rsync": Work(programs.rsync),
    "python": Work(programs.python),
}


@dataclasses.dataclass(frozen=True)
class Figure:
    title: str
    unit: str
    chapter: str
    more_is_better: bool = False


READ, LIST, SMALL, MEMORY, USE = ("Large objects", "Listings", "Small objects", "Start and memory",
                                  "Programs as they are")
FIGURES = {
    "mount_ms": Figure("mount command to first stat", "ms", MEMORY),
    "remount_ms": Figure("mount command to first stat, {many} names known", "ms", MEMORY),
    "idle_mib": Figure("RSS at most: idle", "MiB", MEMORY),
    "stream_mib": Figure("RSS at most: streaming {size}", "MiB", MEMORY),
    "find_mib": Figure("RSS at most: after `find`", "MiB", MEMORY),
    "cold_s": Figure("{size}, in order, cold", "s", READ),
    "warm_s": Figure("{size}, in order, warm", "s", READ),
    "dropped_s": Figure("{size}, in order, kernel caches dropped", "s", READ),
    "random_s": Figure("{random} random reads of 128 KiB, cold", "s", READ),
    "random_bytes": Figure("bytes fetched for a byte of these reads", "×", READ),
    "first_ms": Figure("first 4 KiB of a cold object of {size}", "ms", READ),
    "small1_s": Figure("{small} × 16 KiB, never listed, cold, 1 reader", "s", SMALL),
    "small16_s": Figure("{small} × 16 KiB, never listed, cold, 16 readers", "s", SMALL),
    "small_dropped_s": Figure("{small} × 16 KiB, kernel caches dropped, 1 reader", "s", SMALL),
    "open_p50_us": Figure("open+read+close of one, warm, p50", "us", SMALL),
    "open_p99_us": Figure("open+read+close of one, warm, p99", "us", SMALL),
    "find_s": Figure("`find` over {many} objects, cold", "s", LIST),
    "find_again_s": Figure("`find` again", "s", LIST),
    "flat_s": Figure("`ls -f` of one directory of {many}, cold", "s", LIST),
    "flat_again_s": Figure("`ls -f` again", "s", LIST),
    "flat_long_s": Figure("`ls -l` of it", "s", LIST),
    "fio_random4k": Figure("fio, random 4 KiB, cold", "MiB/s", USE, True),
    "fio_random128k": Figure("fio, random 128 KiB, cold", "MiB/s", USE, True),
    "fio_stream1": Figure("fio, in order, 1 reader, cold", "MiB/s", USE, True),
    "fio_stream4": Figure("fio, in order, 4 readers, cold", "MiB/s", USE, True),
    "web_cold_s": Figure("{pages} × 16 KiB pages, cold, 16 readers", "s", USE),
    "web_rate": Figure("nginx serving these, wrk", "requests/s", USE, True),
    "git_s": Figure("`git status`, {sources} files, cold", "s", USE),
    "git_again_s": Figure("`git status` again", "s", USE),
    "rsync_s": Figure("`rsync -n` of {small} files, cold", "s", USE),
    "python_ms": Figure("`python -X importtime`, cold", "ms", USE),
    "python_again_ms": Figure("`python -X importtime` again", "ms", USE),
}
