"""A disk of its own for a cache: a loop image whose power can be cut. Needs root."""
import fcntl
import os
import struct
import subprocess

# EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are the same number, _IOR('X', 125, __u32), and so is "do not flush the log".
SHUTDOWN = 2 << 30 | 4 << 16 | ord("X") << 8 | 125
NO_FLUSH = 2


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(command), done.stdout.strip()[-300:]))
    return done.stdout


class Disk:
    """One file system on one image. `kind` is ext4 or xfs."""

    def __init__(self, kind, work, size=320 << 20):
        self.kind = kind
        self.image = os.path.join(work, kind + ".image")
        self.point = os.path.join(work, kind)
        self.size = size
        os.mkdir(self.point)
        self.make()

    def make(self):
        with open(self.image, "wb") as file:
            file.truncate(self.size)
        if self.kind == "ext4":
            run("mkfs.ext4", "-q", "-F", self.image)
        else:
            run("mkfs.xfs", "-q", "-f", self.image)
        self.mount()

    def mount(self):
        self.device = run("losetup", "--find", "--show", self.image).strip()
        run("mount", "-t", self.kind, self.device, self.point)

    def sync(self):
        """All that was written is on the disk."""
        run("sync", "-f", self.point)

    def cut(self):
        """The power goes: nothing that is in memory, of the journal too, is written any more."""
        point = os.open(self.point, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(point, SHUTDOWN, struct.pack("I", NO_FLUSH))
        finally:
            os.close(point)

    def snapshot(self):
        """What the disk holds at one moment, in the middle of whatever is written; where the image lies on a file system
        that can share blocks, so that the copy is of one moment indeed."""
        copy = self.image + ".copy"
        run("cp", "--reflink=always", self.image, copy)
        return copy

    def unmount(self):
        run("umount", self.point)
        run("losetup", "--detach", self.device)
        self.device = None

    def replace(self, copy):
        os.replace(copy, self.image)

    def stop(self):
        subprocess.run(["umount", "-l", self.point], check=False, stderr=subprocess.DEVNULL)
        if self.device:
            subprocess.run(["losetup", "--detach", self.device], check=False, stderr=subprocess.DEVNULL)
