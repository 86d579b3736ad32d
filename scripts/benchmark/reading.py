"""Works that read: the time of each is of the reads alone. Each gets a place that was made for it."""
import multiprocessing
import os
import random
import statistics
import time

from .content import BIG, FIRSTS, SMALL, small_keys
from .plane import BUCKET

BLOCK = 128 << 10


def drop_caches():
    if os.geteuid() == 0:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w") as file:
            file.write("3\n")
        time.sleep(0.2)


def timed(action, *arguments):
    start = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - start


def read_whole(path, size):
    """Reads a file to its end in steps of 1 MiB, which must come to `size`."""
    buffer = bytearray(min(size, 1 << 20))
    total = 0
    descriptor = os.open(path, os.O_RDONLY)
    try:
        while count := os.readv(descriptor, [buffer]):
            total += count
    finally:
        os.close(descriptor)
    if total != size:
        raise RuntimeError("%s: %d bytes of %d" % (path, total, size))


def startup(place, scale, plain):
    if place.name == "native":
        return {}
    return {"mount_ms": place.startup * 1000, "idle_mib": place.memory()}


def stream(place, scale, plain):
    path = place.path(BIG)
    figures = {"cold_s": timed(read_whole, path, scale.size)}
    if plain:
        figures["stream_mib"] = place.memory()
        figures["warm_s"] = statistics.median(timed(read_whole, path, scale.size) for _ in range(3))
        times = []
        for _ in range(3):
            drop_caches()
            times.append(timed(read_whole, path, scale.size))
        figures["dropped_s"] = statistics.median(times)
    return figures


def stream_copied(copier, scale, plain):
    return {"cold_s": copier.copy(BUCKET, BIG, scale.size)}


def stream_bare(bare, scale, plain):
    return {"cold_s": timed(bare.connection.get, "/" + BIG)}


def small_one(place, scale, plain):
    """One reader, all small objects in the order of their names; then each once more, clocked by itself."""
    paths = [place.path(key) for key in small_keys(scale)]

    def read_all():
        for path in paths:
            read_whole(path, SMALL)

    figures = {"small1_s": timed(read_all)}
    if plain:
        times = sorted(time for _ in range(3) for time in open_read_close(paths))
        figures["open_p50_us"] = percentile(times, 50) / 1000
        figures["open_p99_us"] = percentile(times, 99) / 1000
        drop_caches()
        figures["small_dropped_s"] = timed(read_all)
    return figures


def open_read_close(paths):
    """Nanoseconds of open, one read and close, for each path."""
    buffer = bytearray(SMALL)
    clock, opened, read, close = time.perf_counter_ns, os.open, os.readv, os.close
    times = []
    for path in paths:
        start = clock()
        descriptor = opened(path, os.O_RDONLY)
        count = read(descriptor, [buffer])
        close(descriptor)
        times.append(clock() - start)
        if count != SMALL:
            raise RuntimeError("%s: %d bytes" % (path, count))
    return times


def percentile(ordered, percent):
    """The nearest rank, of values in order."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def read_by_many(paths, readers=16):
    """Seconds until so many processes have read all small files, each every so-manieth."""
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(readers + 1)

    def reader(index):
        gate.wait(60)
        for path in paths[index::readers]:
            read_whole(path, SMALL)

    processes = [context.Process(target=reader, args=(index,), daemon=True) for index in range(readers)]
    try:
        for process in processes:
            process.start()
        gate.wait(60)
        start = time.perf_counter()
        for process in processes:
            process.join()
        elapsed = time.perf_counter() - start
    finally:
        for process in processes:
            process.kill()
    if any(process.exitcode for process in processes):
        raise RuntimeError("a reader failed")
    return elapsed


def small_many(place, scale, plain):
    return {"small16_s": read_by_many([place.path(key) for key in small_keys(scale)])}


def random_reads(place, scale, plain):
    source = random.Random(7)
    offsets = [source.randrange(scale.size // BLOCK) * BLOCK for _ in range(scale.random)]
    descriptor = os.open(place.path(BIG), os.O_RDONLY)

    def read_all():
        for offset in offsets:
            if len(os.pread(descriptor, BLOCK, offset)) != BLOCK:
                raise RuntimeError("a short read")

    try:
        return {"random_s": timed(read_all)}
    finally:
        os.close(descriptor)


def bytes_a_byte(counted, scale):
    """Of the random reads: bytes fetched for each byte asked for, the same block twice counted twice."""
    return {"random_bytes": counted["bytes"] / (scale.random * BLOCK)}


def first_bytes(place, scale, plain):
    """The first 4 KiB of large objects that were never looked at: open, read, close."""
    times = []
    for key in FIRSTS:
        # What the one before may have set going shall be over.
        time.sleep(0.3)
        start = time.perf_counter()
        with open(place.path(key), "rb", buffering=0) as file:
            if len(file.read(4096)) != 4096:
                raise RuntimeError("a short read")
            times.append(time.perf_counter() - start)
    return {"first_ms": statistics.median(times) * 1000}


def first_bare(bare, scale, plain):
    bare.connection.get("/" + small_keys(scale)[0])
    times = [timed(bare.connection.get, "/" + key, 0, 4095) for key in FIRSTS]
    return {"first_ms": statistics.median(times) * 1000}
