#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs under a real Slurm of one node, started here with its own keys and folders and stopped at the
end: srun with the PMI and the PMIx plugin, and mpiexec inside an allocation."""
import ctypes
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from slurm_node import Slurm, why_not

BUILD = os.environ["BUILD_DIR"]
BIN = os.path.join(BUILD, "tests", "bin")
bad = 0


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def fail(what, text=""):
    global bad
    bad += 1
    print(f"failed: {what}\n{text}", file=sys.stderr)


def jobs(s):
    plugins = s.run("srun", "--mpi=list")[1]
    for plugin in ("pmi2", "pmix"):
        if not re.search(rf"\b{plugin}\b", plugins):
            print(f"this Slurm has no plugin {plugin}: not tried")
            continue
        for program, n in (("mpi.p2p_pairs", 5), ("mpi.session_groups", 4)):
            rc, out = s.run("srun", f"--mpi={plugin}", "-n", str(n), os.path.join(BIN, program))
            if rc != 0:
                fail(f"srun --mpi={plugin} -n {n} {program} ended with {rc}", out)
        rc, out = s.run("srun", f"--mpi={plugin}", "-n", "2", os.path.join(BIN, "mpi.obj_fatal"), "default")
        if rc == 0 or "MPI_" not in out:
            fail(f"srun --mpi={plugin}: an error ended with {rc}", out)


def alone(s):
    """Tasks that cannot find each other are told so, once."""
    rc, out = s.run("srun", "--mpi=none", "-n", "2", os.path.join(BIN, "mpi.p2p_pairs"))
    if out.count("srun has started 2 processes and offers neither PMI-1 nor PMIx") != 1:
        fail(f"srun --mpi=none ended with {rc}", out)
    rc, out = s.run("srun", "--mpi=none", "-n", "1", os.path.join(BIN, "mpi.p2p_pairs"))
    if rc != 0 or "srun" in out:
        fail(f"srun --mpi=none -n 1 ended with {rc}", out)


def adopt():
    """Processes that daemons leave behind become our children, so that nothing outlives the test."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def reap():
    for _ in range(100):
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.1)
        except ChildProcessError:
            return
    fail("Slurm left processes behind")


def main():
    if why_not():
        skip(why_not())
    with tempfile.TemporaryDirectory(prefix="pliant-slurm-") as folder:
        os.chmod(folder, 0o755)
        s = Slurm(folder)
        adopt()
        try:
            if not s.up():
                skip("Slurm does not come up on this machine:\n" + s.logs())
            jobs(s)
            alone(s)
            if bad:
                print(s.logs(), file=sys.stderr)
        finally:
            s.down()
            reap()
    return 1 if bad else 0


sys.exit(main())
