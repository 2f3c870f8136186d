#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run fuzz targets of a build one after another and print how many inputs each took: run.py --build DIR [--seconds N | --runs N] [REGEX].
Findings are left in DIR/findings; each comes with the command that repeats it."""
import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--build", default="build-fuzz")
    a.add_argument("--seconds", type=int, default=60, help="for each target")
    a.add_argument("--runs", type=int, help="so many inputs for each, however long that takes")
    a.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    a.add_argument("which", nargs="?", default="")
    o = a.parse_args()
    bins, found = os.path.join(o.build, "tests", "bin"), os.path.join(o.build, "findings")
    os.makedirs(found, exist_ok=True)
    env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
    names = sorted(n for n in os.listdir(bins) if n.startswith("fuzz.") and re.search(o.which, n))
    bad = []
    for name in names:
        how = f"-runs={o.runs}" if o.runs else f"-max_total_time={o.seconds}"
        r = subprocess.run([os.path.join(bins, name), how, f"-seed={o.seed}", f"-artifact_prefix={found}/",
                            os.path.join(HERE, "corpus", name[5:])], env=env, capture_output=True, text=True, errors="replace", check=False)
        print(f"{name}: {(r.stdout.strip().splitlines() or ['failed'])[-1]}", flush=True)
        if r.returncode != 0:
            bad.append(name)
            print(r.stderr[-3000:], flush=True)
    if not names:
        sys.exit(f"no fuzz target of {bins} is called '{o.which}'")
    sys.exit(f"seed {o.seed}: {', '.join(bad)} failed" if bad else 0)


main()
