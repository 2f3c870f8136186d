#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec inside an allocation of Slurm, without options: its variables are understood, and srun starts the
daemons. Here srun is a script that does what srun does for mpiexec: one process on each host, all with the same
standard input."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import MPIEXEC, PROBE, check, status

SRUN = r"""#!/usr/bin/env python3
import os, subprocess, sys
nodes = [a.split("=", 1)[1].split(",") for a in sys.argv if a.startswith("--nodelist=")][0]
command = sys.argv[[a.startswith("-") for a in sys.argv[1:]].index(False) + 1:]
assert f"--nodes={len(nodes)}" in sys.argv and f"--ntasks={len(nodes)}" in sys.argv and "--ntasks-per-node=1" in sys.argv
if os.environ.get("SRUN_FAILS"):
    sys.exit("srun: error: Unable to create step for job 7: Invalid node name specified")
each = [subprocess.Popen([*os.environ["RSH"].split(), n, f"SLURMD_NODENAME={n} SLURM_NODEID={i} " + " ".join(command)],
                         stdin=subprocess.PIPE) for i, n in enumerate(nodes)]
while data := os.read(0, 65536):
    for p in each:
        p.stdin.write(data)
        p.stdin.flush()
for p in each:
    p.stdin.close()
sys.exit(max(p.wait() for p in each))
"""
C = open_cluster(4)
WHERE = ["sh", "-c", "echo $PLIANT_RANK $(hostname)"]


class Inside(HostRun):
    """mpiexec without --launcher, in an allocation."""

    def __init__(self, nodes, tasks, *args, **more):
        env = {"SLURM_JOB_NODELIST": nodes, "SLURM_TASKS_PER_NODE": tasks, "SLURM_JOB_ID": "7", "RSH": C.launcher,
               "PATH": folder + ":" + os.environ["PATH"], **more}
        super().__init__(C, *args, env=env, launcher="slurm")


with C, tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "srun"), "w", encoding="utf-8") as f:
        f.write(SRUN)
    os.chmod(os.path.join(folder, "srun"), 0o755)
    for nodes, tasks, args, want in (("vc[1-3]", "2(x2),1", [], "11223"), ("vc1,vc[2,4]", "1(x3)", [], "124"),
                                     ("vc[2-3]", "2(x2)", ["-n", 3], "223"), ("vc[1-4]", "1(x4)", ["-ppn", 2], "11223344"),
                                     ("vc[1-2]", "4(x2)", ["-n", 4], "1111"), ("vc3", "2", [], "33")):
        r = Inside(nodes, tasks, *args, *WHERE)
        rows = sorted((int(w[0]), w[1]) for w in map(str.split, r.out.splitlines()))
        check(r.rc == 0 and "".join(h[2:] for _, h in rows) == want, f"{nodes} {tasks} {args}: not {want}: {r}")
    r = Inside("vc[1-3]", "1(x3)", PROBE, "init", "only", 1, "exit", 6, "end", "sleep", 60)
    check(r.rc == 6 and "on host vc2" in r.words, r)
    r = Inside("vc[1-3]", "1(x3)", "true", SRUN_FAILS="1")
    check(r.rc == 1 and "Unable to create step" in r.words, r)
    r = Inside("vc[1-", "1(x3)", "true")
    check(r.rc == 2 and "SLURM_JOB_NODELIST" in r.words, r)
    for nodes, tasks, word in (("n[-1]", "1", "is not understood"), ("n[0-99999]", "1", "more than 65536 hosts"),
                               ("-oProxyCommand=x", "1", "not the name of a host"), ("a b", "1", "not the name of a host"),
                               ("vc1", "-1", "tasks per node")):
        r = Inside(nodes, tasks, "true")
        check(r.rc == 2 and word in r.words, r)
    check(not left_behind(C, C.names), left_behind(C, C.names, 0))
    check(os.path.exists(MPIEXEC), MPIEXEC)
sys.exit(status())
