#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What it costs to be looked at: runs with --profile, --timeline and --check, in turn with runs without.

usage: observe.py --build BUILD [--quick] [profile|timeline|check|abi ...]

Each line has the median of the runs without and with it, and the median of what every pair of runs, one after the other,
differs by, beside the aim:
profile   a run that spends half its time in messages of 8 bytes between two ranks (aim: 2 %)
timeline  an event, where calls follow each other without a pause (aim: 100 ns)
check     a ping-pong of 8 bytes, with MPI_THREAD_SINGLE and with MPI_THREAD_MULTIPLE (aim: 3 times)
abi       a call with --profile, of programs that MPICH's and Open MPI's compilers have built (no aim)
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import contender

ROUNDS = 200000


def shielded():
    os.setsid()
    contender.shield()


def run(ours, program, options, ranks, *args):
    """Nanoseconds of a round."""
    p = subprocess.run([ours.launch, *(ours.bound if ranks > 1 else ours.free), *options, "-n", str(ranks), program, *map(str, args)],
                       capture_output=True, text=True, check=False, timeout=300, preexec_fn=shielded)
    if p.returncode != 0:
        sys.exit(f"observe: {' '.join(options)} {program}: {(p.stderr or p.stdout).strip()[:300]}")
    return float(p.stdout)


def pairs(ours, program, options, repeat, ranks, *args):
    """The medians without and with the options, and all pairs."""
    both = [(run(ours, program, [], ranks, *args), run(ours, program, options, ranks, *args)) for _ in range(repeat)]
    return statistics.median(a for a, _ in both), statistics.median(b for _, b in both), both


def half_computing(ours, program):
    """Loops that take as long as a round of messages."""
    def best(loops):
        return min(run(ours, program, [], 2, "pair", ROUNDS // 4, loops) for _ in range(5))
    bare, some = best(0), best(400)
    return max(1, round(400 * bare / (some - bare)))


def line(title, without, with_it, change, aim):
    print(f"{title:28} {without:8.1f} ns {with_it:8.1f} ns   {change:>14}   {aim}", flush=True)


def profile(ours, program, folder, repeat):
    loops = half_computing(ours, program)
    # Runs differ by more than what is looked for, wherever their memory happens to lie: many short ones.
    a, b, both = pairs(ours, program, [f"--profile={folder}/p"], repeat * 5, 2, "pair", ROUNDS // 3, loops)
    line("profile, half computing", a, b, f"{100 * statistics.median(y / x for x, y in both) - 100:+.2f} %", "aim 2 %")


def timeline(ours, program, folder, repeat):
    a, b, both = pairs(ours, program, ["--timeline", f"{folder}/t", "--timeline-events", "1024"], repeat, 1, "self", ROUNDS * 2)
    # MPI_Irecv, MPI_Send, the receive that MPI_Wait completes, and MPI_Wait.
    line("timeline, 4 events", a, b, f"{statistics.median(y - x for x, y in both) / 4:.1f} ns an event", f"aim 100 ns; {4e3 / b:.1f} million a second")


def check(ours, program, _, repeat):
    for level in ("single", "multiple"):
        a, b, both = pairs(ours, program, ["--check"], repeat, 2, "pair", ROUNDS // 2, 0, level)
        line(f"check, {level}", a, b, f"{statistics.median(y / x for x, y in both):.2f} times", "aim 3 times")


def abi(ours, program, folder, repeat):
    for who in contender.contenders(ours.launch[:-len("/bin/mpiexec")]):
        if who.why_not:
            print(f"{who.title:28} {who.why_not}")
            continue
        built = program if who.name == "pliant" else who.build("observe", folder)
        a, b, both = pairs(ours, built, [f"--profile={folder}/p"], repeat, 1, "self", ROUNDS * 2)
        line(f"profile, 3 calls, {who.title}", a, b, f"{statistics.median(y - x for x, y in both) / 3:.1f} ns a call", "")


PARTS = {"profile": profile, "timeline": timeline, "check": check, "abi": abi}


def main():
    words = argparse.ArgumentParser(usage=__doc__)
    words.add_argument("--build", required=True)
    words.add_argument("--quick", action="store_true")
    words.add_argument("parts", nargs="*", choices=[[], *PARTS])
    args = words.parse_args()
    ours = contender.pliant(os.path.abspath(args.build))
    with tempfile.TemporaryDirectory() as folder:
        program = ours.build("observe", folder)
        print(f"{'':28} {'without':>11} {'with':>11}")
        for name in args.parts or PARTS:
            PARTS[name](ours, program, folder, 5 if args.quick else 21)


main()
