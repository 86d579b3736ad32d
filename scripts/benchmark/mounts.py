"""The places where the work is done: a directory of the disk, and fresh mounts with empty caches."""
import os
import shutil
import subprocess
import tempfile
import time

from . import peers
from .content import small_keys


class Native:
    """The same bytes in a directory of the disk that holds the caches."""
    name = "native"

    def __init__(self, path):
        self.mount = path

    def path(self, key):
        return os.path.join(self.mount, key)

    def memory(self):
        return None

    def stop(self):
        pass


class Mount:
    """A mount of one program, with an empty cache; `startup` is the time from the command to the first stat, s."""

    def __init__(self, name, base, endpoint, certificate, binary, scale):
        self.name, self.endpoint, self.certificate, self.binary = name, endpoint, certificate, binary
        self.probe = small_keys(scale)[0]
        self.work = tempfile.mkdtemp(prefix="mount-", dir=base)
        self.mount = os.path.join(self.work, "mnt")
        self.cache = os.path.join(self.work, "cache")
        os.mkdir(self.mount)
        os.mkdir(self.cache)
        with open(os.open(os.path.join(self.work, "passwd"), os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write("%s:%s\n" % (peers.ACCESS, peers.SECRET))
        self.begin()

    def begin(self):
        """Mounts, and again after `end` with what is in the cache by then."""
        environment = peers.environment(self.endpoint, self.certificate, self.work)
        command = peers.command(self, self.binary)
        with open(os.path.join(self.work, "log"), "ab") as log:
            start = time.perf_counter()
            self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        own = os.stat(self.work).st_dev
        while not self.answers(own):
            if self.process.poll() is not None or time.perf_counter() > start + 30:
                self.stop()
                with open(log.name, errors="replace") as file:
                    said = file.read()[-500:].strip()
                raise RuntimeError("%s did not mount: %s" % (self.name, said))
            time.sleep(0.001)
        self.startup = time.perf_counter() - start

    def answers(self, own):
        try:
            return os.stat(self.mount).st_dev != own and os.stat(self.path(self.probe)).st_size > 0
        except OSError:
            return False

    def path(self, key):
        return os.path.join(self.mount, key)

    def memory(self):
        """The most that the process ever had in memory, MiB."""
        with open("/proc/%d/status" % self.process.pid) as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        return None

    def end(self):
        for command in (["fusermount3", "-u", self.mount], ["fusermount3", "-uz", self.mount]):
            if os.path.ismount(self.mount):
                subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def stop(self):
        """Ends it; its cache is removed with `base`, or between rounds: that may take longer than what is measured."""
        self.end()


class Copier:
    """`s5cmd cp` to the disk that holds the caches."""
    name = "s5cmd"

    def __init__(self, base, endpoint, certificate):
        self.work = tempfile.mkdtemp(prefix="copy-", dir=base)
        self.endpoint = endpoint
        self.environment = peers.environment(endpoint, certificate, self.work)

    def copy(self, bucket, key, size):
        """Seconds for one object of that size."""
        target = os.path.join(self.work, "copy")
        start = time.perf_counter()
        subprocess.run(["s5cmd", "--endpoint-url", self.endpoint, "cp", "s3://%s/%s" % (bucket, key), target],
                       env=self.environment, check=True, stdout=subprocess.DEVNULL)
        elapsed = time.perf_counter() - start
        if os.path.getsize(target) != size:
            raise RuntimeError("s5cmd copied %d bytes of %d" % (os.path.getsize(target), size))
        os.unlink(target)
        return elapsed

    def stop(self):
        shutil.rmtree(self.work, ignore_errors=True)
