"""What validation costs, by the simulation among the tests."""
import argparse
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def cost(arguments):
    parser = argparse.ArgumentParser(prog="bench cost", description="what validation costs, by a simulation")
    parser.add_argument("--seeds", type=int, default=10, help="traces of each kind of use")
    parser.add_argument("--freshness", type=int, default=60, help="for recorded traces: the lifetime, seconds")
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="a file with lines of SECONDS KEY")
    options = parser.parse_args(arguments)
    values = dict(os.environ, S3MIRROR_COST_SEEDS=str(options.seeds), S3MIRROR_COST_LIFETIME=str(options.freshness),
                  S3MIRROR_COST_TRACES=":".join(os.path.abspath(path) for path in options.traces))
    # What the runner says of itself would come in the middle of a line, were it not kept apart.
    test = subprocess.run(["swift", "test", "--quiet", "--filter", "CostTableTests"], cwd=ROOT, env=values,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = test.stdout.split("\n")
    start = next((number for number, line in enumerate(lines) if line.startswith("accesses ")), None)
    if test.returncode or start is None:
        sys.exit(test.stdout + test.stderr)
    print("\n".join(line for line in lines[start:] if line and line[0] not in "◇✔􀟈"))
