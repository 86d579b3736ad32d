"""Works that list: find over a tree of many directories, ls of one large one."""
import subprocess
import time


def counted(command, expected):
    """Seconds of a shell command that prints how many names it saw."""
    start = time.perf_counter()
    run = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    elapsed = time.perf_counter() - start
    if run.stdout.strip() != str(expected):
        raise RuntimeError("%s: saw %s of %d %s" % (command, run.stdout.strip(), expected, run.stderr[-200:]))
    return elapsed


def find(place, scale, plain):
    command = "find '%s' -type f -printf '%%s %%T@\\n' | wc -l" % place.path("tree")
    figures = {"find_s": counted(command, scale.many)}
    if plain:
        figures["find_again_s"] = counted(command, scale.many)
        figures["find_mib"] = place.memory()
        if place.name != "native":
            place.end()
            place.begin()
            figures["remount_ms"] = place.startup * 1000
    return figures


def find_bare(bare, scale, plain):
    return {"find_s": pages_of(bare, "tree/")}


def flat(place, scale, plain):
    names = "ls -f '%s' | grep -c '^k'" % place.path("flat")
    figures = {"flat_s": counted(names, scale.many)}
    if plain:
        figures["flat_again_s"] = counted(names, scale.many)
        figures["flat_long_s"] = counted("ls -l '%s' | grep -c ' k'" % place.path("flat"), scale.many)
    return figures


def flat_bare(bare, scale, plain):
    return {"flat_s": pages_of(bare, "flat/")}


def pages_of(bare, prefix):
    start = time.perf_counter()
    bare.connection.pages(prefix)
    return time.perf_counter() - start
