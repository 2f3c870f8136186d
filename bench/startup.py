#!/usr/bin/env python3
"""Measures start-up: time and memory over the number of ranks, beside MPICH and Open MPI.

usage: startup.py [--build DIR] [--most N] [--runs R] [--quick] [--ours] [--one-host] [--docs FILE]

For n = 1, 2, 4, ... ranks on this host: from the launch to the return of MPI_Init at the last rank;
MPI_Session_init itself, a communicator of oneself, of the world, a sparse world; memory of a rank and of
all. Then, as root, the same with 16 ranks on each of 1, 2, 4 and 8 virtual hosts, and the connections between them. Writes DIR/bench/startup.json and startup.html (with plots), and with --docs a page in Markdown with
the same plots beside it.
"""
import argparse
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from contender import contenders, run_once, version_of  # noqa: E402
from run import machine  # noqa: E402
from startup_hosts import measure_hosts  # noqa: E402
from startup_report import write_all  # noqa: E402

HEAD, ROW = 64, 10 * 8
MODES = ("init", "session", "sparse", "meet", "meet2")
# The others need seconds, and descriptors by the thousand: they stop where this host stops them.
MOST = {"pliant": 512, "mpich": 256, "openmpi": 64}
LIMIT_S = 120
GIVE_UP_S = 60  # an implementation that took this long is not asked for twice as many


def rows_of(data, n):
    for i in range(n):
        values = struct.unpack_from("<6Q4q", data, HEAD + i * ROW)
        yield values[:6], values[6:]


def one_run(contender, program, mode, n, folder, launch=None, env=None):
    """One job: a dictionary of numbers, or RuntimeError. launch: what starts it, when it is not on this host alone."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix="board-") as board:
        board.truncate(HEAD + n * ROW)
        begin_with = launch or [contender.launch, *contender.free, "-n", str(n)]
        start = time.monotonic_ns()
        _, wall = run_once([*begin_with, program, mode, board.name, str(n)], program, LIMIT_S, env or contender.env)
        with open(board.name, "rb") as f:
            data = f.read()
    ready, done, wrong = struct.unpack_from("<3I", data, 0)
    if ready != n or done != n or wrong:
        raise RuntimeError(f"{ready} of {n} ranks were ready" if not wrong else "a sum was wrong")
    times, facts = zip(*rows_of(data, n))
    seconds = [[(t - start) / 1e9 for t in row] for row in times]
    out = {"wall": wall, "entered": max(r[0] for r in seconds),
           "pss": statistics.mean(f[0] for f in facts), "pss_node": sum(f[0] for f in facts),
           "private": statistics.median(f[1] for f in facts),
           "call": statistics.median((row[1] - row[5]) / 1e3 for row in times),
           "ready": max(r[1] for r in seconds), "sockets": statistics.mean(f[3] for f in facts)}
    if mode in ("session", "meet"):
        out["self"] = statistics.median(row[2] / 1e3 for row in times)
    if mode != "init":
        out["made"] = max(r[3] for r in seconds)
        out["connections"] = statistics.mean(f[2] for f in facts)
    return out


def measure(contender, program, args, folder, results):
    limit = min(args.most, MOST[contender.name])
    for mode in MODES if contender.name != "openmpi" else MODES[:1]:  # Debian's has no sessions
        n = 1
        while n <= limit:
            runs = []
            begin = time.monotonic()
            try:
                repeat = args.runs if n <= 64 or contender.name == "pliant" else 1
                for _ in range(repeat):
                    runs.append(one_run(contender, program, mode, n, folder))
            except RuntimeError as e:
                results["failed"].append([contender.name, mode, n, str(e)])
                print(f"{contender.name} {mode} ranks={n}: {e}", flush=True)
                break
            row = {key: statistics.median(r[key] for r in runs) for key in runs[0]}
            row.update(mpi=contender.name, mode=mode, n=n, runs=len(runs))
            results["rows"].append(row)
            print(f"startup mpi={contender.name} mode={mode} ranks={n} runs={len(runs)} "
                  f"ready={row['ready'] * 1e3:.1f} ms call={row['call']:.1f} us "
                  f"pss={row['pss']:.0f} kB", flush=True)
            if (time.monotonic() - begin) / len(runs) > GIVE_UP_S:
                break
            n *= 2


def install(build, folder):
    """The others are installed, so be it here: a library copied as a whole is mapped in larger pieces than one
    that was just linked."""
    prefix = os.path.join(folder, "installed")
    shutil.rmtree(prefix, ignore_errors=True)
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], stdout=subprocess.DEVNULL, check=True)
    return prefix


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--most", type=int, default=512, help="ranks (512)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each, the median counts (3)")
    parser.add_argument("--quick", action="store_true", help="up to 64 ranks, one run")
    parser.add_argument("--ours", action="store_true", help="leave the others out")
    parser.add_argument("--one-host", action="store_true", help="leave the virtual hosts out")
    parser.add_argument("--docs", help="write a page of Markdown here, and its plots beside it")
    args = parser.parse_args()
    if args.quick:
        args.most, args.runs = min(args.most, 64), 1
    build = os.path.abspath(args.build)
    folder = os.path.join(build, "bench")
    os.makedirs(folder, exist_ok=True)
    results = {"rows": [], "failed": [], "machine": machine(), "when": time.strftime("%Y-%m-%d"),
               "versions": {}, "titles": {}, "hosts": []}
    programs = []
    for c in contenders(install(build, folder)):
        if c.why_not or (args.ours and c.name != "pliant"):
            continue
        results["versions"][c.name], results["titles"][c.name] = version_of(c), c.title
        try:
            program = c.build("startup", folder)
        except RuntimeError as e:
            results["failed"].append([c.name, "build", 0, str(e)])
            continue
        programs.append((c, program))
        measure(c, program, args, folder, results)
    if os.geteuid() == 0 and not args.one_host:
        measure_hosts(results, args, folder, [(c, p) for c, p in programs if c.name == "pliant" or not args.ours], one_run)
    with open(os.path.join(folder, "startup.json"), "w", encoding="utf-8") as out:
        json.dump(results, out, indent=1)
    write_all(results, folder, args.docs)
    print(f"report: {os.path.relpath(os.path.join(folder, 'startup.html'))}")


if __name__ == "__main__":
    main()
