#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run fuzz targets of a build one after another and print how many inputs each took: run.py --build DIR [--seconds N | --runs N] [--jobs N] [REGEX].
With --jobs each target runs so many times at once, with another seed each, and --runs is what they take together.
Findings are left in DIR/findings; each comes with the command that repeats it."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def run_one(bins, name, how, seed, found):
    env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
    return subprocess.run([os.path.join(bins, name), how, f"-seed={seed}", f"-artifact_prefix={found}/{seed}-", os.path.join(HERE, "corpus", name[5:])],
                          env=env, capture_output=True, text=True, errors="replace", check=False)


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--build", default="build-fuzz")
    a.add_argument("--seconds", type=int, default=60, help="for each target")
    a.add_argument("--runs", type=int, help="so many inputs for each, however long that takes")
    a.add_argument("--jobs", type=int, default=1, help="so many processes for each target")
    a.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    a.add_argument("which", nargs="?", default="")
    o = a.parse_args()
    bins, found = os.path.join(o.build, "tests", "bin"), os.path.join(o.build, "findings")
    os.makedirs(found, exist_ok=True)
    names = sorted(n for n in os.listdir(bins) if n.startswith("fuzz.") and re.search(o.which, n))
    bad = []
    for name in names:
        began = time.monotonic()
        share = -(-o.runs // o.jobs) if o.runs else 0
        how = f"-runs={share}" if o.runs else f"-max_total_time={o.seconds}"
        seeds = [o.seed + 7919 * i for i in range(o.jobs)]
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            done = list(pool.map(lambda seed: run_one(bins, name, how, seed, found), seeds))
        failed = [r for r in done if r.returncode != 0]
        n_input = sum(int(m.group(1)) for m in (re.search(r"(\d+) inputs", r.stdout) for r in done) if m)
        took = time.monotonic() - began
        print(f"{name}: {n_input} inputs in {took:.1f} s, {n_input / took / o.jobs:.0f} each second and process" + (", failed" if failed else ""), flush=True)
        if failed:
            bad.append(name)
            print(failed[0].stderr[-3000:], flush=True)
    if not names:
        sys.exit(f"no fuzz target of {bins} is called '{o.which}'")
    sys.exit(f"seed {o.seed}: {', '.join(bad)} failed" if bad else 0)


main()
