#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that MPICH's and Open MPI's compilers have built, on this MPI and on their own.

usage: abi.py --build BUILD [--quick]

Half a ping-pong of 8 bytes, by one program that is compiled for each MPI and by Debian's NPopenmpi and NPmpich2 where they are
installed: the last column is this MPI by the other, below 1 it is faster. Then what calls of a rank, and messages to
itself, take on this MPI, beside those of a program of the standard ABI. Runs alternate, and the best of each counts.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

import contender

NETPIPE = {"mpich": "NPmpich2", "openmpi": "NPopenmpi"}
CALLS = {"handle": "MPI_Comm_rank", "message": "MPI_Sendrecv", "status": "MPI_Sendrecv, with a status"}


def shielded():
    os.setsid()
    contender.shield()


def measure(who, program, args, pattern, env=None):
    """What the pattern finds in the output of a job, as numbers, or None after saying why. who: whose launcher starts it."""
    run = subprocess.run([who.launch, *who.bound, *args[:2], program, *args[2:]], capture_output=True, text=True, check=False,
                         env={**os.environ, **who.env, **(env or {})}, timeout=300, preexec_fn=shielded)
    found = re.findall(pattern, run.stdout + run.stderr)
    if run.returncode != 0 or not found:
        print(f"abi: {os.path.basename(program)} by {who.launch}: {(run.stderr or run.stdout).strip()[:300]}", file=sys.stderr)
        return None
    return [float(f) for f in found]


def compare(title, ours, other, program, args, pattern, repeat):
    """A line of the best of both; whether there is one."""
    mine, theirs = [], []
    for _ in range(repeat):
        mine.append(measure(ours, program, args, pattern))
        theirs.append(measure(other, program, args, pattern) if other is not ours else mine[-1])
    if None in mine + theirs:
        return False
    best, best_other = min(m[0] for m in mine), min(t[0] for t in theirs)
    print(f"{title:12} {best:11.3f} us {best_other:9.3f} us {best / best_other:6.2f}", flush=True)
    return True


def calls(ours, others, folder, repeat):
    """Lines of what calls take, and how much that is above the standard ABI."""
    best = {}
    for who in [ours, *others]:
        program = who.build("abi_calls", folder)
        runs = [measure(ours, program, ["-n", "2"], r"calls \w+ ([\d.e+-]+) ns") for _ in range(repeat)]
        if None in runs:
            return False
        best[who.title] = [min(column) for column in zip(*runs)]
    for i, name in enumerate(CALLS.values()):
        base = best[ours.title][i]
        more = "".join(f"   {title} {times[i]:6.1f} ns ({times[i] - base:+.1f})" for title, times in best.items() if title != ours.title)
        print(f"{name:28} standard {base:6.1f} ns{more}")
    return True


def main():
    words = argparse.ArgumentParser(usage=__doc__)
    words.add_argument("--build", required=True)
    words.add_argument("--quick", action="store_true")
    args = words.parse_args()
    folder, repeat = os.path.join(args.build, "bench"), 3 if args.quick else 9
    ours, *others = contender.contenders(args.build)
    for other in others:
        if other.why_not:
            print(f"{other.title:12} {other.why_not}")
    others = [other for other in others if not other.why_not]
    print(f"{'program of':12} {'on Pliant MPI':>14} {'on its own':>12} {'ratio':>6}")
    good = [compare(other.title, ours, other, other.build("lat", folder), ["-n", "2", "8"], r"size=8 ranks=2 ([\d.e+-]+) us", repeat)
            for other in [ours, *others]]
    for other in others:
        if shutil.which(NETPIPE[other.name]):
            good.append(compare(NETPIPE[other.name], ours, other, NETPIPE[other.name], ["-n", "2", "-l", "8", "-u", "8", "-p", "0", "-o", "/dev/null"],
                                r"8 bytes .* in +([\d.]+) usec", repeat))
    good.append(calls(ours, others, folder, repeat))
    return 0 if all(good) else 1


sys.exit(main())
