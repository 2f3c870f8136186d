#!/usr/bin/env python3
"""Fails when a line of the measurements has got slower, beside the peers, than it was.

usage: check.py [--build DIR] [--store] [--runs N] [--ratios FILE] [--results FILE] [NAME...]

Runs bench/run.py for the NAMEs (the small ones of bench/check.py without any) and compares each line's ratio to the better
peer with the one in bench/ratios.json for this kind of machine. Runs alternate between the implementations, so a
ratio says more than a time. A line may differ by as much as its own ratios spread, when they were
stored and now, and by a tenth. --store keeps what was measured; --results judges a results.json instead of measuring.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from results import UNITS_HIGHER  # noqa: E402

USUAL = ["lat", "rate", "match", "strided", "rma", "tcp_lat", "barrier2", "allreduce2", "bcast2", "allgather2", "alltoall2",
         "gather2", "scatter2", "reduce2", "reduce_scatter2", "scan2", "counts2", "nonblocking2", "neighbor2",
         "barrier4", "allreduce4", "poll4", "ring16"]
RUNS = 7
LEAST = 0.10  # below this no difference counts
PEERS = ("mpich", "openmpi")


def kind_of_machine():
    return f"{platform.machine()}-{os.cpu_count()}"


def quartiles(values):
    """Median, and the distance of the upper from the lower quartile as a part of it."""
    middle = statistics.median(values)
    if len(values) < 3:
        return middle, (max(values) - min(values)) / middle
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, (high - low) / middle


def ratios_of(row):
    """Our time divided by that of the better peer, round by round; []: one of them is missing."""
    ours = row["runs"].get("pliant", [])
    others = [row["runs"][p] for p in PEERS if row["runs"].get(p)]
    if not ours or not others or any(len(o) != len(ours) for o in others) or min(map(min, [ours, *others])) <= 0:
        return []
    if row["unit"] in UNITS_HIGHER:
        best = max(others, key=statistics.median)
        return [b / o for o, b in zip(ours, best)]
    best = min(others, key=statistics.median)
    return [o / b for o, b in zip(ours, best)]


def measured(path):
    """{line: {"ratio", "spread"}} of a results.json."""
    with open(path, encoding="utf-8") as f:
        rows = json.load(f)["numbers"]
    out = {}
    for row in rows:
        ratios = ratios_of(row)
        if ratios:
            middle, spread = quartiles(ratios)
            out[f"{row['name']} {row['params']}"] = {"ratio": round(middle, 4), "spread": round(spread, 4)}
    return out


def allowed(before, now):
    """The largest ratio that is not slower."""
    return before["ratio"] * (1 + max(LEAST, before["spread"] + now["spread"]))


def judge(before, now):
    """Print each line that both have; how many are slower."""
    slow = 0
    print(f"{'line':48} {'stored':>8} {'now':>8} {'allowed':>8}")
    for line, n in now.items():
        b = before.get(line)
        if b is None:
            print(f"{line:48} {'-':>8} {n['ratio']:8.3f} {'-':>8}  new")
            continue
        is_slow = n["ratio"] > allowed(b, n)
        slow += is_slow
        print(f"{line:48} {b['ratio']:8.3f} {n['ratio']:8.3f} {allowed(b, n):8.3f}{'  SLOWER' if is_slow else ''}")
    return slow


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        return {}
    except ValueError as e:
        sys.exit(f"bench-check: {path} cannot be read as JSON: {e}; restore it or make it anew with --store")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--store", action="store_true", help="keep what is measured as what later runs are judged by")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--ratios", default=os.path.join(HERE, "ratios.json"))
    parser.add_argument("--results", help="judge this results.json and measure nothing")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    path = args.results or os.path.join(args.build, "bench", "results.json")
    if not args.results:
        subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--build", args.build, "--quick", "--runs",
                        str(args.runs), *(args.names or USUAL)], check=True, stdout=subprocess.DEVNULL)
    now, stored, kind = measured(path), load(args.ratios), kind_of_machine()
    if not now:
        sys.exit("bench-check: nothing can be compared: MPICH and Open MPI are the measure, and neither ran")
    if args.store:
        stored[kind] = {**stored.get(kind, {}), **now}
        with open(args.ratios, "w", encoding="utf-8") as f:
            json.dump(stored, f, indent=1, sort_keys=True)
            f.write("\n")
        print(f"{len(now)} lines of {kind} are in {os.path.relpath(args.ratios)}")
        return 0
    if kind not in stored:
        print(f"bench-check: no ratios are stored for a machine of {os.cpu_count()} {platform.machine()} cores; "
              "make bench-check STORE=1 keeps those of this one")
        return 77
    slow = judge(stored[kind], now)
    print(f"\n{slow} of {len(now)} lines slower than they may be")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
