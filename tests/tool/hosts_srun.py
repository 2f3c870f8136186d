#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A real Slurm with a node in each of three virtual hosts: ranks that srun starts, by PMI and by PMIx, and
mpiexec without any option inside an allocation."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, open_cluster
from launch import MPIEXEC, SLOW, check, status
from slurm_node import Slurm, why_not

BIN = os.path.join(BUILD, "tests", "bin")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def srun(s, plugin):
    for program, n, where, env, *args in (
            ("mpi.net_hosts", 6, "block", {}, 3), ("mpi.p2p_pairs", 5, "cyclic", {}), ("mpi.coll_move", 5, "block", {}),
            ("mpi.session_groups", 4, "block", {}), ("mpi.p2p_pairs", 4, "block", {"PLIANT_NET": "tcp"})):
        rc, out = s.run("srun", f"--mpi={plugin}", "-N", 3, "-n", n, f"--ntasks-per-node={(n + 2) // 3}",
                        f"--distribution={where}", os.path.join(BIN, program), *args, env=env, timeout=60 * SLOW)
        check(rc == 0, f"srun --mpi={plugin} -n {n} {where} {program}: rc {rc}\n{out}")
    rc, out = s.run("srun", f"--mpi={plugin}", "-N", 3, "-n", 3, os.path.join(BIN, "mpi.obj_fatal"), "default",
                    timeout=60 * SLOW)
    check(rc != 0 and "MPI_" in out, f"srun --mpi={plugin}: an error ended with {rc}\n{out}")


def inside(s):
    """Nothing but mpiexec: hosts, slots and the way to start daemons come from the allocation."""
    where = ["sh", "-c", "echo rank $PLIANT_RANK $(hostname)"]
    for ask, options, want in ((["-N", 3, "--ntasks-per-node=2"], [], "112233"), (["-N", 2, "-n", 3], [], "112"),
                               (["-N", 3, "--ntasks-per-node=2"], ["-n", 3], "112"),
                               (["-N", 3, "--ntasks-per-node=1"], ["-ppn", 2], "112233")):
        rc, out = s.run("salloc", "-Q", *ask, MPIEXEC, *options, *where, timeout=60 * SLOW)
        rows = sorted((int(w[1]), w[2]) for w in map(str.split, out.splitlines()) if w[:1] == ["rank"])
        check(rc == 0 and "".join(h[2:] for _, h in rows) == want, f"salloc {ask} mpiexec {options}: {rc}\n{out}")
    rc, out = s.run("salloc", "-Q", "-N", 3, "--ntasks-per-node=2", MPIEXEC, os.path.join(BIN, "mpi.net_hosts"), 3,
                    timeout=60 * SLOW)
    check(rc == 0, f"mpiexec in an allocation: {rc}\n{out}")


def main():
    if why_not():
        skip(why_not())
    with open_cluster(3) as c, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        s = Slurm(folder, c)
        if not s.up():
            skip("Slurm does not come up in virtual hosts:\n" + s.logs())
        plugins = s.run("srun", "--mpi=list")[1]
        for plugin in ("pmi2", "pmix"):
            if re.search(rf"\b{plugin}\b", plugins):
                srun(s, plugin)
            else:
                print(f"this Slurm has no plugin {plugin}: not tried")
        inside(s)
        if status() != 0:
            print(s.logs())
    return status()


sys.exit(main())
