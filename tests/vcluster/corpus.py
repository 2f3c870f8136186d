#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the MPI tests of tests/mpi with their ranks spread over virtual hosts.

    corpus.py [--build DIR] [--hosts N] [--cyclic] [--few] [--srun PLUGIN] [--env NAME=VALUE] [-k REGEX]

--srun has a real Slurm start the ranks, by its plugin pmi2 or pmix, instead of mpiexec. --cyclic deals ranks to the hosts in turn instead of filling one after the other; --few runs each program
once, with few ranks. Prints a line for every test, and at the end those that failed with what they said, and which
programs were left out, and why.
"""
import argparse
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, ".."), os.path.join(HERE, "..", "tool", "lib")]
import cluster  # noqa: E402
import run_list  # noqa: E402
from slurm_node import Slurm, why_not  # noqa: E402

MOST_MEMORY = 4 << 30  # of tests that are run here
# Labels of rows that are not for several hosts.
NOT_HERE = {
    "tcp": "they choose a network, or pretend to have hosts; their programs are run with other rows, or are about that",
    "spawn": "they want room for more processes (tool.hosts_spawn and hosts_elastic run those), or names, clones and "
             "resizes that are told of, which are for one host",
    "onenode": "they are about what ranks of one host share or count",
}


def why_left_out(row):
    """Why a row is not run on several hosts, in words; None: it is."""
    for label, why in NOT_HERE.items():
        if label in row["label"]:
            return why
    if "mem" in row and run_list.size_of(row["mem"]) > MOST_MEMORY:
        return f"they want more than {MOST_MEMORY >> 30} GiB"
    if "/dev/shm" in row.get("args", ""):
        return "their file is in the memory of one host"
    return None


def rows(args):
    """Those to run, and for every reason the programs that are not run at all."""
    folder = os.path.join(HERE, "..", "mpi")
    found, seen, left_out = [], set(), {}
    for path in sorted(glob.glob(os.path.join(folder, "*.list"))):
        with open(path, encoding="utf-8") as f:
            for line in f:
                row = run_list.parse(line, folder)
                if row is None or not re.search(args.k, run_list.test_name(row)):
                    continue
                if why_left_out(row):
                    left_out.setdefault(why_left_out(row), set()).add(row["program"])
                    continue
                if args.few and (row["program"] in seen or not 2 < row["ranks"] < 7 or row.get("serial")):
                    continue
                seen.add(row["program"])
                found.append(row)
    some = {row["program"] for row in found}
    return found, {why: sorted(programs - some) for why, programs in left_out.items() if programs - some}


NOT_SRUN = {"ep_static", "session_late"}  # they look at PLIANT_RANK, which mpiexec sets


def is_for_srun(row):
    """Options of our mpiexec, and sets that it alone makes, are not srun's."""
    return row["program"] not in NOT_SRUN and "launch" not in row and row.get("exit", "0") == "0" and "PLIANT_FAKE_HOSTS" not in "".join(row["env"])


def run_srun(slurm, args, row):
    program = os.path.join(args.build, "tests", "bin", "mpi." + row["program"].replace("/", "."))
    n = row["ranks"]
    rc, out = slurm.run("srun", f"--mpi={args.srun}", "-N", min(n, args.hosts), "-n", n, "--overcommit",
                        f"--distribution={'cyclic' if args.cyclic else 'block'}", program,
                        *shlex.split(row.get("args", "")), timeout=row["timeout"] + 60,
                        env={**dict(e.split("=", 1) for e in row["env"] + args.env)})
    return rc == 0, f"exit status {rc}\n{out}"


def run(c, args, row):
    program = os.path.join(args.build, "tests", "bin", "mpi." + row["program"].replace("/", "."))
    names = c.names[:row["ranks"]]
    command = [os.path.join(args.build, "bin", "mpiexec"), "--launcher", c.launcher, "--hosts", ",".join(names),
               "--timeout", str(row["timeout"]), "-n", str(row["ranks"]),
               *(["--map-by", "node"] if args.cyclic else []), *shlex.split(row.get("launch", "")), program,
               *shlex.split(row.get("args", ""))]
    env = {**os.environ, **dict(e.split("=", 1) for e in row["env"] + args.env)}
    p = c.popen("vc1", command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace")
    try:
        out = p.communicate(timeout=row["timeout"] + 60)[0]
    except subprocess.TimeoutExpired:
        os.kill(c.inner(p), 9)
        out = p.communicate()[0] + "\n(mpiexec did not end)\n"
    is_skipped = p.returncode == 77 and "skipped: " in out  # it says what it would need
    is_good = is_skipped or p.returncode == int(row.get("exit", "0"))
    return is_good, f"exit status {p.returncode}\n{out}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.environ.get("BUILD_DIR", "build"))
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--cyclic", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--srun", choices=("pmi2", "pmix"))
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("-k", default="")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    try:
        c = cluster.Cluster(args.hosts)
    except cluster.Skip as e:
        print(f"skipped: {e}")
        return cluster.SKIP
    if args.srun and why_not():
        print(f"skipped: {why_not()}")
        c.close()
        return cluster.SKIP
    bad, n = [], 0
    with c, tempfile.TemporaryDirectory() as folder:
        slurm = None
        if args.srun:
            os.chmod(folder, 0o755)
            slurm = Slurm(folder, c, cpus=64)
            if not slurm.up():
                print("skipped: Slurm does not come up in virtual hosts:\n" + slurm.logs())
                return cluster.SKIP
        found, left_out = rows(args)
        for row in found:
            if slurm and not is_for_srun(row):
                continue
            begin = time.monotonic()
            is_good, text = run_srun(slurm, args, row) if slurm else run(c, args, row)
            n += 1
            name = run_list.test_name(row)
            print(f"{'ok  ' if is_good else 'FAIL'} {time.monotonic() - begin:6.2f} s  {name}", flush=True)
            if not is_good:
                bad.append((name, text))
        left = {} if slurm else {h: p for h in c.names if (p := c.processes(h))}
        if left:
            bad.append(("processes are left", str(left)))
    for why, programs in left_out.items():
        print(f"left out, for {why}: {', '.join(programs)}")
    for name, text in bad:
        print(f"\n=== {name}: {text[-3000:]}")
    print(f"{n - len(bad)} of {n} tests pass on {args.hosts} hosts{' under srun' if args.srun else ''}")
    return 1 if bad or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
