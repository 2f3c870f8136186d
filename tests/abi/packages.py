#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs of Debian packages, as they are, on this MPI and on their own, and compares what they say.

usage: packages.py --build BUILD [NAME]...

Packages are downloaded into BUILD/packages and unpacked there, not installed; libraries they need must be installed.
Needs a network, apt-get and dpkg. A row has: name, packages, ranks, the MPI's launcher, the command, what it must print.
"""
import argparse
import os
import re
import subprocess
import sys
import time

OPENMPI = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"]
MPICH = ["mpiexec.hydra"]
PYTHON = """
from mpi4py import MPI
c = MPI.COMM_WORLD
n = c.allreduce(c.Get_rank())
d = c.Dup()
all = d.gather(sorted(d.bcast({"a": 1, "b": c.Get_size()}, 0).items()), 0)
if c.Get_rank() == 0:
    print("answer", n, all, flush=True)
d.Free()
"""
ROWS = [
    ("netpipe-openmpi", ["netpipe-openmpi"], 2, OPENMPI, ["{x}/usr/bin/NPopenmpi", "-u", "64", "-o", "{x}/np.out"], r"(?<=: )[ ]+64 bytes"),
    ("netpipe-mpich2", ["netpipe-mpich2"], 2, MPICH, ["{x}/usr/bin/NPmpich2", "-u", "64", "-o", "{x}/np.out"], r"(?<=: )[ ]+64 bytes"),
    ("mpi4py", ["python3-mpi4py"], 3, OPENMPI, ["/usr/bin/python3", "-c", PYTHON], r"answer .*"),
    ("hpcc", ["hpcc"], 2, OPENMPI, ["{x}/usr/bin/hpcc"], r"PASSED|FAILED|Success=\d+"),
]


def fetch(packages, folder):
    os.makedirs(folder, exist_ok=True)
    for package in packages:
        if not any(name.startswith(package + "_") for name in os.listdir(folder)):
            subprocess.run(["apt-get", "-qq", "download", package], cwd=folder, check=True, stderr=subprocess.DEVNULL)
        deb = next(name for name in os.listdir(folder) if name.startswith(package + "_"))
        subprocess.run(["dpkg", "-x", deb, "."], cwd=folder, check=True)
    example = os.path.join(folder, "usr/share/doc/hpcc/examples/_hpccinf.txt")
    if os.path.exists(example):
        with open(example, encoding="ascii") as f, open(os.path.join(folder, "hpccinf.txt"), "w", encoding="ascii") as to:
            to.write(re.sub(r"(?m)^1000 ", "200 ", f.read()).replace("2            Ps", "1            Ps", 1))


def run(launcher, ranks, command, folder, pattern):
    """(the lines that count, seconds), or what went wrong."""
    env = {**os.environ, "PYTHONPATH": os.path.join(folder, "usr/lib/python3/dist-packages")}
    report = os.path.join(folder, "hpccoutf.txt")
    if os.path.exists(report):
        os.remove(report)
    begin = time.monotonic()
    try:
        r = subprocess.run([*launcher, "-n", str(ranks), *command], capture_output=True, text=True, cwd=folder, env=env,
                           timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "did not end in 60 s"
    said = r.stdout + r.stderr
    if os.path.exists(report):
        with open(report, encoding="ascii") as f:
            said += f.read()
    found = sorted(re.findall(pattern, said))
    return (found, time.monotonic() - begin) if r.returncode == 0 and found else f"exit status {r.returncode}: {said[-300:]}"


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--build", required=True)
    words.add_argument("names", nargs="*")
    args = words.parse_args()
    build, failed = os.path.abspath(args.build), 0
    print("| program | on Pliant MPI | seconds | on its own MPI | seconds |\n|---|---|---|---|---|", flush=True)
    for name, packages, ranks, launcher, command, pattern in ROWS:
        if args.names and name not in args.names:
            continue
        folder = os.path.join(build, "packages", name)
        fetch(packages, folder)
        command = [word.replace("{x}", folder) for word in command]
        mine = run([os.path.join(build, "bin", "mpiexec")], ranks, command, folder, pattern)
        own = run(launcher, ranks, command, folder, pattern)
        is_same = isinstance(mine, tuple) and (not isinstance(own, tuple) or mine[0] == own[0])
        failed += not is_same
        cells = [("the same answer" if is_same else "another answer", f"{r[1]:.1f}") if isinstance(r, tuple) else (r.replace("\n", " "), "")
                 for r in (mine, own)]
        print(f"| {name} | {cells[0][0]} | {cells[0][1]} | {cells[1][0]} | {cells[1][1]} |", flush=True)
    return 1 if failed else 0


sys.exit(main())
