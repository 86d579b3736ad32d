"""The objects that are measured: once as the server's files, once more as files on the disk that holds the caches."""
import compileall
import os
import random
import shutil
import subprocess
import sysconfig

SMALL = 16384
PACKAGES = ("asyncio", "collections", "concurrent", "email", "html", "http", "importlib", "json", "logging",
            "multiprocessing", "unittest", "urllib", "xml")


class Scale:
    """How much of everything there is."""

    def __init__(self, size, quick):
        self.size = size
        self.small = 200 if quick else 2000
        self.many = 5000 if quick else 100_000
        self.pages = 500 if quick else 10_000
        self.sources = 100 if quick else 1000
        self.random = 50 if quick else 500
        self.seconds = 1 if quick else 3

    def bytes(self):
        """What the server's files take, roughly."""
        return self.size + (self.small + self.pages) * SMALL + 2 * self.many * 1024 + (64 << 20)


BIG = "big/big.bin"
FIRSTS = ["first/%d.bin" % index for index in range(5)]


def small_keys(scale):
    return ["small/d%02d/f%04d" % (index // 100, index) for index in range(scale.small)]


def page_keys(scale):
    return ["web/%02d/%04d.html" % (index // 100, index) for index in range(scale.pages)]


def tree_keys(scale):
    return ["tree/a%02d/b%d/f%06d" % (index // 1000, index // 100 % 10, index) for index in range(scale.many)]


def flat_keys(scale):
    return ["flat/k%06d" % index for index in range(scale.many)]


def write(path, body):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(body)


def make_served(top, scale):
    """Makes the server's files below `top`."""
    source = random.Random(1)
    os.makedirs(os.path.join(top, "big"))
    with open(os.path.join(top, BIG), "wb") as file:
        for _ in range(scale.size >> 20):
            file.write(source.randbytes(1 << 20))
    for key in FIRSTS:
        write(os.path.join(top, key), source.randbytes(4096))
        # The rest is a hole: only the first bytes are asked for, and a little more may be fetched.
        os.truncate(os.path.join(top, key), scale.size)
    for key in small_keys(scale) + page_keys(scale):
        write(os.path.join(top, key), source.randbytes(SMALL))
    make_repository(os.path.join(top, "repo"), scale, source)
    make_packages(os.path.join(top, "python"))
    # What counts of these are their names: they share one file.
    shared = os.path.join(top, "shared")
    write(shared, b"x" * 1000)
    link_all(top, shared, tree_keys(scale) + flat_keys(scale))
    os.unlink(shared)


def link_all(top, shared, keys):
    made = set()
    for key in keys:
        directory = os.path.dirname(key)
        if directory not in made:
            os.makedirs(os.path.join(top, directory), exist_ok=True)
            made.add(directory)
        os.link(shared, os.path.join(top, key))


def make_repository(top, scale, source):
    """A git repository whose files are committed."""
    for index in range(scale.sources):
        write(os.path.join(top, "src/m%02d/file%04d.c" % (index // 50, index)), source.randbytes(3000).hex().encode())
    git = ["git", "-C", top, "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run(git + command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_packages(top):
    """A copy of packages of the standard library, compiled."""
    library = sysconfig.get_paths()["stdlib"]
    for name in PACKAGES:
        shutil.copytree(os.path.join(library, name), os.path.join(top, name),
                        ignore=shutil.ignore_patterns("__pycache__", "test", "tests"))
    compileall.compile_dir(top, quiet=2)


def make_native(top, served, scale):
    """The same files below `top`, each with an inode of its own."""
    for name in ("big", "small", "web", "repo", "python"):
        shutil.copytree(os.path.join(served, name), os.path.join(top, name), symlinks=True)
    for key in FIRSTS:
        write(os.path.join(top, key), open(os.path.join(served, key), "rb").read(4096))
        os.truncate(os.path.join(top, key), scale.size)
    # Nobody reads these; as holes they are made and removed in a moment.
    for key in tree_keys(scale) + flat_keys(scale):
        write(os.path.join(top, key), b"")
        os.truncate(os.path.join(top, key), 1000)
    os.sync()
