#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that MPICH's and Open MPI's compilers have built: half a ping-pong of 8 bytes on this MPI and on their own.

usage: abi.py --build BUILD [--quick]

Runs alternate, and the best of each counts. The last column is this MPI by the other: below 1 it is faster.
"""
import argparse
import os
import re
import subprocess
import sys

import contender


def measure(launcher, bound, program, env):
    """Microseconds, or None after saying why."""
    run = subprocess.run([launcher, *bound, "-n", "2", program, "8"], capture_output=True, text=True, check=False,
                         env={**os.environ, **env}, timeout=300)
    m = re.search(r"size=8 ranks=2 ([\d.e+-]+) us", run.stdout)
    if m is None:
        print(f"abi: {os.path.basename(launcher)}: {(run.stderr or run.stdout).strip()[:300]}", file=sys.stderr)
    return float(m.group(1)) if m else None


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--build", required=True)
    words.add_argument("--quick", action="store_true")
    args = words.parse_args()
    folder = os.path.join(args.build, "bench")
    ours, *others = contender.contenders(args.build)
    print(f"{'program of':12} {'on Pliant MPI':>14} {'on its own':>12} {'ratio':>6}")
    failed = False
    for other in [ours, *others]:
        if other.why_not:
            print(f"{other.title:12} {other.why_not}")
            continue
        program, mine, theirs = other.build("lat", folder), [], []
        for _ in range(3 if args.quick else 9):
            mine.append(measure(ours.launch, ours.bound, program, {}))
            theirs.append(measure(other.launch, other.bound, program, other.env) if other is not ours else mine[-1])
        if None in mine + theirs:
            failed = True
            continue
        print(f"{other.title:12} {min(mine):11.3f} us {min(theirs):9.3f} us {min(mine) / min(theirs):6.2f}", flush=True)
    return 1 if failed else 0


sys.exit(main())
