#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What --profile and --timeline cost: a ping-pong with as much computing, in turns with and without; the best counts.

usage: observe_cost.py [BUILD_DIR [ROUNDS]]
"""
import os
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
PROBE = os.path.join(BUILD, "tests", "bin", "observe_probe")


def run(*options, loops):
    p = subprocess.run([os.path.join(BUILD, "bin", "mpiexec"), *options, "-n", "2", PROBE, "pingpong", "200000", str(loops)],
                       capture_output=True, text=True, check=True)
    return float(p.stdout)


with tempfile.TemporaryDirectory() as folder:
    ways = {"without": [], "--profile": [f"--profile={folder}/p"], "--timeline": ["--timeline", f"{folder}/t", "--timeline-events", "1024"]}
    # As much computing as messages: loops of a multiplication until the round takes twice as long.
    bare = min(run(loops=0) for _ in range(3))
    loops = 50
    while run(loops=loops) < 2 * bare and loops < 100000:
        loops = loops * 5 // 4
    best = {way: min(run(*options, loops=loops) for _ in range(1)) for way, options in ways.items()}
    for _ in range(ROUNDS):
        for way, options in ways.items():
            best[way] = min(best[way], run(*options, loops=loops))
for way, ns in best.items():
    print(f"{way:12} {ns:8.1f} ns a round of 2 calls on each side, {100 * ns / best['without'] - 100:+.1f} %")
