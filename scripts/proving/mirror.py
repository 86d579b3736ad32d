"""A mount of the built program: started, asked, killed, taken over, and taken away at the end."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from .server import BUCKET

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build():
    """The release build, or the program that S3MIRROR_BINARY names."""
    script = 'source "$1/scripts/lib.sh"; need_packages "${build_packages[@]}" "${proof_packages[@]}"; build_release; echo "$binary"'
    out = subprocess.run(["bash", "-euo", "pipefail", "-c", script, "proof", ROOT], check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    return out.split("\n")[-2]


def processes_of(point):
    """The processes that have the mount point among their arguments."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    arguments = file.read().split(b"\0")
                    if point.encode() in arguments and b"mount" in arguments:
                        found.append(int(name))
            except OSError:
                pass
    return found


def is_mounted(point):
    with open("/proc/self/mountinfo") as file:
        return any(line.split()[4] == point for line in file)


class Mirror:
    def __init__(self, binary, endpoint, base=None, cache=None):
        self.binary, self.endpoint = binary, endpoint
        self.work = tempfile.mkdtemp(prefix="s3mirror-proof-", dir=base or "/var/tmp")
        self.point = os.path.join(self.work, "mnt")
        self.cache = cache or os.path.join(self.work, "cache")
        self.log = os.path.join(self.work, "log")
        self.home = os.path.join(self.work, "home")
        os.mkdir(self.point)
        os.mkdir(self.home)
        self.launcher = None

    def environment(self):
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return dict(keep, HOME=self.home, XDG_CACHE_HOME=self.home, XDG_RUNTIME_DIR=self.home, XDG_CONFIG_HOME=self.home,
                    AWS_ACCESS_KEY_ID="proof", AWS_SECRET_ACCESS_KEY="proof-secret", AWS_REGION="us-east-1",
                    AWS_EC2_METADATA_DISABLED="true", AWS_CONFIG_FILE="/dev/null",
                    AWS_SHARED_CREDENTIALS_FILE="/dev/null")

    def start(self, *options, foreground=True):
        """Starts to mount; `ready` waits until it answers."""
        command = [self.binary, "mount", "--endpoint-url", self.endpoint, "--cache-dir", self.cache, "--log-level", "info",
                   *options, "s3://" + BUCKET, self.point]
        if foreground:
            command.insert(2, "--foreground")
        with open(self.log, "ab") as log:
            self.launcher = subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=log, start_new_session=True)
        self.foreground = foreground

    def ready(self, patience=30):
        end = time.monotonic() + patience
        own = os.stat(self.work).st_dev
        while time.monotonic() < end:
            if self.answers(own) and (self.foreground or self.launcher.poll() == 0):
                return
            if self.launcher.poll() not in (None, 0):
                break
            time.sleep(0.003)
        raise RuntimeError("the mount did not come: %s: %s" % (self.launcher.poll(), self.said()))

    def answers(self, own):
        """By statfs, which the kernel never answers for a mount, let alone for a dead one."""
        try:
            point = os.open(self.point, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return False
        try:
            return os.fstat(point).st_dev != own and os.fstatvfs(point).f_bsize > 0
        except OSError:
            return False
        finally:
            os.close(point)

    def said(self, count=600):
        try:
            with open(self.log, errors="replace") as file:
                return file.read()[-count:].strip()
        except OSError:
            return ""

    def pid(self):
        if self.foreground:
            return self.launcher.pid
        found = processes_of(self.point)
        return found[0] if found else None

    def kill(self, group):
        """SIGKILL: of the process that serves, or of all that belong to it, its whole group at once."""
        end = time.monotonic() + 10
        # One that has not left the launcher yet is found a moment later.
        while (found := processes_of(self.point)) and time.monotonic() < end:
            for pid in found:
                try:
                    if group:
                        os.killpg(os.getpgid(pid), signal.SIGKILL)
                    else:
                        os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.launcher.poll()
            time.sleep(0.002)
        if self.launcher:
            self.launcher.wait(10)

    def detach(self):
        """Takes a dead mount from the tree."""
        while is_mounted(self.point):
            subprocess.run(["umount", "-l", self.point], check=False, stderr=subprocess.DEVNULL)

    def command(self, *arguments, patience=120):
        """Runs the program; returns its status and all that it said."""
        run = subprocess.run([self.binary, *arguments], env=self.environment(), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             timeout=patience, check=False)
        return run.returncode, run.stdout.strip()

    def spawn(self, *arguments):
        """Starts the program, whose end nobody looks at but `Popen.wait`."""
        return subprocess.Popen([self.binary, *arguments], env=self.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def verify(self):
        return self.command("cache", "verify", "--cache-dir", self.cache)

    def status(self):
        code, out = self.command("status", self.point, "--json", patience=30)
        return json.loads(out)["mounts"][0] if code == 0 else None

    def unmount(self, patience=60):
        """Seconds that it took."""
        start = time.monotonic()
        code, said = self.command("unmount", self.point, patience=patience)
        took = time.monotonic() - start
        if code:
            raise RuntimeError("unmount: %d %s" % (code, said))
        if self.launcher:
            self.launcher.wait(10)
        return took

    def path(self, key):
        return os.path.join(self.point, key)

    def stop(self):
        try:
            self.kill(group=True)
        finally:
            self.detach()
            shutil.rmtree(self.work, ignore_errors=True)
