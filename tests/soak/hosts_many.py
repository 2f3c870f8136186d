#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Start a job on many virtual hosts, run a barrier and end: hosts_many.py [--build DIR] [--hosts N] [--most SECONDS]."""
import argparse
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vcluster"))
import cluster  # noqa: E402


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--build", default="build")
    a.add_argument("--hosts", type=int, default=100)
    a.add_argument("--most", type=float, default=30, help="seconds that the job may take")
    args = a.parse_args()
    args.build = os.path.abspath(args.build)
    try:
        c = cluster.Cluster(args.hosts)
    except cluster.Skip as e:
        print(f"skipped: {e}")
        return cluster.SKIP
    with c:
        begin = time.monotonic()
        p = c.popen("vc1", [os.path.join(args.build, "bin", "mpiexec"), "--launcher", c.launcher, "--hosts", ",".join(c.names), "-n", str(args.hosts),
                            os.path.join(args.build, "tests", "bin", "hosts_probe"), "barrier"], stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        try:
            out = p.communicate(timeout=10 * args.most)[0]
        except subprocess.TimeoutExpired:
            os.kill(c.inner(p), 9)
            out = p.communicate()[0] + "mpiexec did not end"
        seconds = time.monotonic() - begin
        left = {h: q for h in c.names if (q := c.processes(h))}
    print(f"{args.hosts} hosts: exit status {p.returncode} after {seconds:.1f} s")
    if p.returncode != 0 or seconds > args.most or left:
        print(f"{out[-3000:]}\nleft: {left}")
        return 1
    return 0


sys.exit(main())
