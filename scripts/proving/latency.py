"""Reader processes that time what they do: a process each, so that none waits for another's interpreter."""
import array
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from proving import content  # noqa: E402


def percentile(values, rank):
    """Nearest rank of sorted values."""
    return values[max(0, min(len(values), -(-len(values) * rank // 100).__int__()) - 1)] if values else 0.0


class Timed:
    """What one process saw: seconds of each read, and what failed."""

    def __init__(self, point, files, seed):
        self.point, self.files = point, files
        self.random = random.Random(seed)
        self.times = array.array("d")
        self.slow, self.failures = [], []
        self.ended = False

    def once(self):
        key, version, size = self.random.choice(self.files)
        path = os.path.join(self.point, key)
        offset, count = 0, size
        if size > 2 << 20:
            offset, count = self.random.randrange(0, size - (128 << 10)), 128 << 10
        begun = time.perf_counter()
        try:
            file = os.open(path, os.O_RDONLY)
            try:
                data = os.pread(file, count, offset)
            finally:
                os.close(file)
        except OSError as error:
            self.failures.append((time.time(), key, errno.errorcode.get(error.errno, str(error.errno))))
            return
        took = time.perf_counter() - begun
        self.times.append(took)
        if took > 0.05:
            self.slow.append((time.time(), round(took * 1000, 1), key))
        if data != content.body(key.encode(), version, size)[offset:offset + count]:
            self.failures.append((time.time(), key, "wrong bytes"))
        if self.random.random() < 0.3:
            self.forget(path)

    def forget(self, path):
        """Has the kernel forget the pages, so that the next read is one of the mount's process."""
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError as error:
            self.failures.append((time.time(), path, errno.errorcode.get(error.errno, str(error.errno))))
            return
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)

    def run(self, pause):
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "ended", True))
        while not self.ended:
            self.once()
            time.sleep(self.random.random() * 2 * pause)


def main():
    task = json.loads(sys.stdin.readline())
    timed = Timed(task["point"], task["files"], task["seed"])
    timed.run(task["pause"])
    with open(task["times"], "wb") as file:
        timed.times.tofile(file)
    print(json.dumps({"slow": timed.slow, "failures": timed.failures}))


class Group:
    """So many reader processes, until `stop`."""

    def __init__(self, count, point, files, work, pause):
        self.readers = []
        for index in range(count):
            times = os.path.join(work, "times-%d" % index)
            process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", sys.executable, "-B", __file__],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            process.stdin.write(json.dumps({"point": point, "files": files, "seed": index, "times": times,
                                            "pause": pause}) + "\n")
            process.stdin.flush()
            self.readers.append((process, times))

    def stop(self):
        """All times sorted, what was slow, what failed."""
        times, slow, failures = array.array("d"), [], []
        for process, _ in self.readers:
            process.terminate()
        for process, path in self.readers:
            said = json.loads(process.communicate(timeout=60)[0])
            slow += said["slow"]
            failures += said["failures"]
            with open(path, "rb") as file:
                times.frombytes(file.read())
            os.unlink(path)
        return sorted(times), sorted(slow), sorted(failures)

    def kill(self):
        for process, _ in self.readers:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
