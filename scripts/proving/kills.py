"""kill -9 at random moments, and after each: is what is left right, and is all there that must be?"""
import functools
import sys

from . import lanes, mirror
from .lane import Lane
from .record import record


def kills(goal, count, keep_record):
    binary = mirror.build()
    sums, broken = lanes.run(functools.partial(Lane, binary=binary), count, goal, "kills")
    total = lanes.summed(sums)
    print("by phase: " + ", ".join("%s %d" % item for item in sorted(total["phases"].items())))
    for line in (total["wrong"] + total["errors"])[:40]:
        print("  " + line[:600])
    result = "%d wrong bytes or lost copies, %d errors; %s reads of %.0f GB right, %s copies found without the origin" % (
        len(total["wrong"]), len(total["errors"]), format(total["reads"], ","), total["bytes"] / 1e9,
        format(total["kept"], ","))
    if keep_record and total["kills"] >= goal and not broken:
        record("kills", "A killed process leaves a cache that is right, and loses nothing that was flushed",
               "SIGKILL of the process or its group at random moments of %d phases; then the cache is verified, taken "
               "over and read, with the origin and without" % len(total["phases"]),
               "scripts/crash kills", "%s kills" % format(total["kills"], ","), result)
    else:
        print(result)
    sys.exit(1 if broken or total["wrong"] or total["errors"] else 0)
