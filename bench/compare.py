#!/usr/bin/env python3
"""How much faster or slower than another commit this work tree is.

    bench/compare.py [--base COMMIT] [--rounds N] [NAME...] [-- options of gesso bench]

Builds the base commit (default: HEAD, so that the table shows what is not committed yet) and the work tree, lets both
run `gesso bench --json NAME...` in turn, N times each, and prints the ratio of the fastest times. Taking turns makes the
ratio hold on a machine whose speed drifts; the spread says how far to believe it.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(tree):
    """The release program of a source tree."""
    subprocess.run(["tools/build.sh", "release", "-DGESSO_TESTS=OFF", "--", "gesso"], cwd=tree, check=True)
    return tree / "build/release/apps/cli/gesso"


def run(program, arguments):
    """{name: seconds} of one run."""
    out = subprocess.run([program, "bench", "--json", *arguments], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    return {row["name"]: row["seconds"] for row in json.loads(out)["results"]}


def table(base, head):
    """Lines of the comparison; `base` and `head` are lists of {name: seconds}, one for each round."""
    lines = [f"{'':<38} {'base':>11} {'now':>11} {'times as fast':>14} {'spread':>7}"]
    for name in head[-1]:
        now = [r[name] for r in head]
        if any(name not in r for r in base):
            lines.append(f"{name:<38} {'':>11} {1e3 * min(now):>8.2f} ms {'new':>14}")
            continue
        before = [r[name] for r in base]
        spread = max(max(now) / min(now), max(before) / min(before)) - 1
        lines.append(f"{name:<38} {1e3 * min(before):>8.2f} ms {1e3 * min(now):>8.2f} ms "
                     f"{min(before) / min(now):>14.3f} {100 * spread:>6.0f}%")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="HEAD")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("names", nargs="*")
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    args = parser.parse_args(own)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, args.base], cwd=ROOT, check=True)
        try:
            programs = build(tree), build(ROOT)
            rounds = [[run(p, args.names + options) for p in programs] for _ in range(args.rounds)]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    print("\n".join(table([r[0] for r in rounds], [r[1] for r in rounds])))


if __name__ == "__main__":
    main()
