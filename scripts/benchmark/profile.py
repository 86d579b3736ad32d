"""Where the time goes in the three paths that matter most, by samples of perf over all processors."""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from . import content, mounts, reading, running
from .plane import Condition, Plane

RATE = 4000

# What a sample was for: the first that matches a function of its stack, from the innermost outwards.
PURPOSES = [(purpose, re.compile(pattern)) for purpose, pattern in (
    ("idle", r"^(default_idle|pv_native_safe_halt|acpi_idle|cpuidle_enter|mwait_idle|native_safe_halt|default_enter_idle)"),
    ("page faults", r"^(asm_exc_page_fault|exc_page_fault|handle_mm_fault)$"),
    ("answering the kernel", r"^(fuse_dev_do_write|fuse_dev_write|fuse_dev_splice_write)"),
    ("taking requests", r"^(fuse_dev_do_read|fuse_dev_read|fuse_dev_splice_read)"),
    ("asking the file system", r"^(fuse_simple_request|__fuse_simple_request|fuse_send_readpages|fuse_readahead|fuse_read_folio"
     r"|fuse_lookup_name|fuse_do_getattr|fuse_dentry_revalidate|fuse_simple_background)"),
    ("the disk", r"^(submit_bio|blk_mq_|virtblk_|virtio_queue|ext4_mpage_readpages|mpage_readahead)"),
    ("receiving", r"(sys_recv|tcp_recvmsg|sock_recvmsg|__x64_sys_recv)"),
    ("network", r"^(net_rx_action|__napi_poll|tcp_v4_rcv|__tcp_transmit_skb|tcp_sendmsg|sock_sendmsg|__x64_sys_send)"),
    ("writing files", r"^(__x64_sys_pwrite|__x64_sys_write|vfs_write|ksys_pwrite64|ext4_buffered_write)"),
    ("reading files", r"^(filemap_read|vfs_read|__x64_sys_p?read)"),
    ("making and removing files", r"^(__x64_sys_open|do_sys_open|__x64_sys_unlink|__x64_sys_fallocate|__x64_sys_ftruncate"
     r"|__x64_sys_close|__fput)"),
    ("syncing", r"^(__x64_sys_fsync|__x64_sys_fdatasync|__x64_sys_sync_file_range|writeback_sb_inodes|wb_workfn)"),
    ("waiting and waking", r"^(__x64_sys_futex|do_epoll_wait|__x64_sys_epoll|__x64_sys_poll|do_sys_poll|schedule"
     r"|__x64_sys_eventfd|try_to_wake_up)"),
    ("digests", r"XXH3|XXH64"),
    ("signatures and TLS", r"(?i)(sha256|EVP_|HMAC|gcm|aes|SSL_|OPENSSL_)"),
    ("catalogue", r"(?i)sqlite|Catalogue"),
    ("HTTP", r"(?i)^(curl_|Curl_|multi_|cpool_|cf_)|MirrorHTTP|libcurl"),
    ("memory", r"^(malloc|free|_int_malloc|_int_free|calloc|realloc|cfree|swift_alloc|swift_dealloc|malloc_consolidate)"),
    ("the Swift runtime", r"^(swift_|_swift|swift::)|_ZN5swift"),
    ("the mount itself", r"Mirror"),
)]


def purpose_of(stack):
    for function in stack:
        for purpose, pattern in PURPOSES:
            if pattern.search(function):
                return purpose
    return "other"


def samples(path):
    """(pid, thread's name, functions from the innermost outwards) of each sample."""
    script = subprocess.Popen(["perf", "script", "-i", path, "-F", "comm,pid,tid,ip,sym,dso"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, errors="replace")
    head, stack = None, []
    for line in script.stdout:
        if not line.strip():
            if head:
                yield head + (stack,)
            head, stack = None, []
        elif head is None:
            found = re.match(r"\s*(.+?)\s+(-?\d+)/(-?\d+)", line)
            head = (int(found.group(2)), found.group(1))
        else:
            words = line.split(None, 1)[1].strip() if len(line.split(None, 1)) > 1 else ""
            name, _, place = words.rpartition(" (")
            stack.append(re.sub(r"\+0x[0-9a-f]+$", "", name) if "[unknown]" not in name else place.rstrip(")"))
    script.wait()


class Recorder:
    """perf over all processors, off except between `on` and `off`."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "perf.data")
        self.control, self.answer = (os.path.join(directory, name) for name in ("control", "answer"))
        for pipe in (self.control, self.answer):
            if not os.path.exists(pipe):
                os.mkfifo(pipe)
        self.process = subprocess.Popen(
            ["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", str(RATE), "-D", "-1", "-o", self.path,
             "--control", "fifo:%s,%s" % (self.control, self.answer)], stderr=subprocess.DEVNULL)
        self.writer = open(self.control, "w")
        self.reader = open(self.answer)
        self.seconds = 0.0

    def tell(self, word):
        self.writer.write(word + "\n")
        self.writer.flush()
        self.reader.readline()

    def measure(self, action):
        self.tell("enable")
        start = time.perf_counter()
        action()
        self.seconds += time.perf_counter() - start
        self.tell("disable")

    def stop(self):
        self.process.send_signal(2)
        self.process.wait()


def table(recorder, mount, plane, times):
    """Who had the processors, and of the mount's share what for; in milliseconds of one time."""
    server = {process.pid for process in plane.processes}
    who, what, reader = collections.Counter(), collections.Counter(), collections.Counter()
    leaves = collections.Counter()
    unit = 1000 / RATE / times
    for pid, name, stack in samples(recorder.path):
        purpose = purpose_of(stack)
        if mount.name != "native" and pid == mount.process.pid:
            who["the mount"] += unit
            what[purpose] += unit
            leaves[stack[0] if stack else "?"] += unit
        elif pid == os.getpid():
            who["the reader"] += unit
            reader[purpose] += unit
        elif purpose == "idle" or pid == 0:
            who["idle"] += unit
        elif pid in server or name == "nginx":
            who["the server"] += unit
        elif name.startswith("kworker") or name.startswith("ksoftirq"):
            who["the kernel's threads"] += unit
        else:
            who["others"] += unit
    lines = ["| who | ms | what for |", "|---|---:|---|"]
    for name, value in who.most_common():
        detail = {"the mount": what, "the reader": reader}.get(name, {})
        said = ", ".join("%s %.0f" % item for item in collections.Counter(detail).most_common(9) if item[1] >= 0.5)
        lines.append("| %s | %.0f | %s |" % (name, value, said))
    if mount.name == "native":
        return lines
    lines += ["", "Innermost functions of the mount: " + ", ".join("`%s` %.0f" % (short(name), value)
                                                          for name, value in leaves.most_common(10))]
    return lines


def short(name):
    found = subprocess.run(["swift", "demangle", "-compact", name], stdout=subprocess.PIPE, text=True,
                           check=False).stdout.strip() if name.startswith("$s") and shutil.which("swift") else ""
    return (found or name)[:70]


PATHS = {
    "native": "a native directory, kernel caches dropped, a large file in order",
    "dropped": "cached, kernel caches dropped, a large object in order",
    "stream": "cold, a large object in order, once",
    "small1": "cold, objects of 16 KiB never listed, one reader",
}


def profile_one(name, make, scale, plane, directory):
    """The samples of one path over some times, each on a fresh mount where it is a cold one."""
    times = 3
    recorder = Recorder(directory)
    lines = []
    big = scale.size
    try:
        mount = make()
        if name in ("native", "dropped"):
            path = mount.path(content.BIG)
            reading.read_whole(path, big)
            for _ in range(times):
                reading.drop_caches()
                recorder.measure(lambda: reading.read_whole(path, big))
        else:
            times = 1
            reading.drop_caches()
            work = reading.stream if name == "stream" else reading.small_one
            recorder.measure(lambda: work(mount, scale, False))
        recorder.stop()
        lines = ["", "**%s** (%s): %.0f ms" % (name, PATHS[name], recorder.seconds * 1000 / times), ""]
        lines += table(recorder, mount, plane, times)
    finally:
        if recorder.process.poll() is None:
            recorder.stop()
        mount.stop()
    return lines


def native(base, plane):
    """A directory with the large object alone."""
    place = mounts.Native(os.path.join(base, "native"))
    os.makedirs(os.path.dirname(place.path(content.BIG)), exist_ok=True)
    shutil.copy(os.path.join(plane.bucket(), content.BIG), place.path(content.BIG))
    return place


def profile(arguments):
    parser = argparse.ArgumentParser(prog="bench profile", description="where the time goes, by perf")
    parser.add_argument("--only", default=",".join(PATHS), help="of " + ", ".join(PATHS))
    parser.add_argument("--size", type=int, default=1024, metavar="MIB")
    parser.add_argument("--base", default="/var/tmp", metavar="DIR")
    parser.add_argument("--data-path", default="", help="as that of the mount")
    options = parser.parse_args(arguments)
    if os.geteuid() or not shutil.which("perf"):
        sys.exit("bench profile: needs root, and perf on PATH (Debian: linux-perf)")
    scale = content.Scale(options.size << 20, True)
    scale.small = 2000
    binary = running.build()
    base = tempfile.mkdtemp(prefix="s3mirror-bench-", dir=options.base)
    condition = Condition()
    plane = Plane(base, scale.bytes(), [condition])
    kind = "passthrough" if options.data_path == "passthrough" else "s3mirror"
    try:
        content.make_served(plane.bucket(), scale)
        plane.start()
        for name in options.only.split(","):
            def make():
                if name == "native":
                    return native(base, plane)
                return mounts.Mount(kind, base, plane.endpoint(condition), plane.certificate, binary, scale)
            print("\n".join(profile_one(name, make, scale, plane, base)), flush=True)
    finally:
        plane.stop()
        shutil.rmtree(base, ignore_errors=True)
