#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec inside an allocation of PBS, without options: PBS_NODEFILE has a line for every slot, and ssh starts the
daemons. Here ssh is a script that enters virtual hosts; it drops ssh's options and wants the rest as ssh does. The
same with pbs_tmrsh, PBS's own command of that kind, by --launcher."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, left_behind, open_cluster
from launch import MPIEXEC, SLOW, check, status

RSH = """#!/bin/sh
while :; do case $1 in -o|-l|-p) shift 2;; -*) shift;; *) break;; esac; done
echo "${{0##*/}}" >>{folder}/used
exec {launcher} "$@"
"""
WHERE = ["sh", "-c", "echo $PLIANT_RANK $(hostname)"]
C = open_cluster(3)


class Inside:
    """mpiexec in an allocation with these lines."""

    def __init__(self, lines, *args):
        nodes = os.path.join(folder, "nodes")
        with open(nodes, "w", encoding="ascii") as f:
            f.write("".join(f"{line}\n" for line in lines))
        env = {**os.environ, "PBS_NODEFILE": nodes, "PBS_JOBID": "7.test", "PBS_ENVIRONMENT": "PBS_BATCH",
               "PATH": folder + ":" + os.environ["PATH"]}
        p = C.popen("vc1", [MPIEXEC, *args], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)
        self.out, self.err = p.communicate(timeout=60 * SLOW)
        self.rc = p.returncode

    def __str__(self):
        return f"rc {self.rc}\n{self.out}\n{self.err}"

    def places(self):
        rows = sorted((int(w[0]), w[1]) for w in map(str.split, self.out.splitlines()))
        return "".join(h[2:] for _, h in rows)


with C, tempfile.TemporaryDirectory() as folder:
    for name in ("ssh", "pbs_tmrsh"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(RSH.format(launcher=C.launcher, folder=folder))
        os.chmod(os.path.join(folder, name), 0o755)
    two = ["vc1", "vc1", "vc2", "vc2"]
    for lines, options, want in ((two, [], "1122"), (["vc3"], [], "3"), (["vc2", "vc3", "vc3"], ["-n", 2], "23"),
                                 (two, ["-ppn", 1], "12"), (["vc1", "vc2", "vc3"], ["-n", 3, "--map-by", "node"], "123"),
                                 (two, ["--launcher", "pbs_tmrsh"], "1122")):
        r = Inside(lines, *options, *WHERE)
        check(r.rc == 0 and r.places() == want, f"{lines} {options}: not {want}: {r}")
    with open(os.path.join(folder, "used"), encoding="ascii") as f:
        check(set(f.read().split()) == {"ssh", "pbs_tmrsh"}, "one of the ways was not used")
    r = Inside([*two, "vc3", "vc3"], os.path.join(BUILD, "tests", "bin", "mpi.net_hosts"), 3)
    check(r.rc == 0, r)
    r = Inside(["vc1", "vc9"], "true")
    check(r.rc != 0 and "vc9" in r.err, r)
    check(not left_behind(C, C.names), left_behind(C, C.names, 0))
sys.exit(status())
