#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpictl watch, top and stack, of a job on two virtual hosts: ranks of both are seen."""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import left_behind, open_cluster  # noqa: E402
from launch import BUILD, MPIEXEC, SLOW, check, status  # noqa: E402

MPICTL = os.path.join(BUILD, "bin", "mpictl")
PROBE = os.path.join(BUILD, "tests", "bin", "live_probe")


def mpictl(c, *args):
    p = c.popen("vc1", [MPICTL, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
    return p.communicate(timeout=60 * SLOW)[0]


with open_cluster(2) as c, tempfile.TemporaryDirectory() as folder:
    go = os.path.join(folder, "go")
    job = c.popen("vc1", [MPIEXEC, "--launcher", c.launcher, "--hosts", "vc1:2,vc2:2", "--metrics", ":9100", PROBE, "late", go])
    until = time.monotonic() + 60 * SLOW
    ranks, said = [], ""
    while sum(r["state"] == "waiting" for r in ranks) != 3 and time.monotonic() < until:
        said = mpictl(c, "watch", "--json", "--count", "1")
        ranks = json.loads(said)["ranks"] if said.startswith("{") else []
    check(len(ranks) == 4 and [r["host"] for r in ranks] == ["vc1", "vc1", "vc2", "vc2"], said)
    if len(ranks) == 4:
        check(ranks[0]["waited_for_by"] == 3 and ranks[0]["messages_sent"] >= 1000, said)
        check(ranks[3].get("call") == "MPI_Barrier" and ranks[3]["memory"] > 0 and ranks[3]["since_s"] > 0, said)
    said = mpictl(c, "top")
    check("runs; 3 wait for it" in said and "vc2" in said, said)
    said = mpictl(c, "stack", "3")
    check("libdw.so.1" in said or ("on vc2" in said and "MPI_Barrier" in said and "at live_probe.c:" in said), said)
    get = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9100/metrics', timeout=60).read().decode())"
    said = c.popen("vc1", [sys.executable, "-c", get], stdout=subprocess.PIPE, text=True).communicate(timeout=60 * SLOW)[0]
    for rank, host in enumerate(("vc1", "vc1", "vc2", "vc2")):
        check(f'pliant_rank_waiting{{rank="{rank}",host="{host}"}} {int(rank != 0)}\n' in said, f"rank {rank}: {said}")
    open(go, "w", encoding="ascii").close()
    check(job.wait(timeout=60 * SLOW) == 0, "the job ends well")
    check(not left_behind(c, ["vc1", "vc2"]), "nothing is left on the hosts")
sys.exit(status())
