#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on several hosts that somebody else's launcher has started: Hydra's mpiexec, which speaks PMI-1, and
Open MPI's, which speaks PMIx. Ranks of a host share memory, the others meet over TCP."""
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, left_behind, open_cluster
from launch import SLOW, check, status

BIN = os.path.join(BUILD, "tests", "bin")
# What these launchers take for ssh: options, a host, a command.
RSH = """#!/bin/sh
while :; do case $1 in -*) shift;; *) break;; esac; done
exec {launcher} "$@"
"""
C = open_cluster(3)


def hydra(rsh, n, cyclic):
    each = (n + 2) // 3
    hosts = ",".join(C.names if cyclic else [f"{h}:{each}" for h in C.names])
    return ["mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", rsh, "-hosts", hosts, "-n", n]


def openmpi(rsh, n, cyclic):
    hosts = ",".join(f"{h}:{n}" for h in C.names) if cyclic else ",".join(f"{h}:{(n + 2) // 3}" for h in C.names)
    return ["mpiexec.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent", rsh, "--mca", "oob_tcp_if_include",
            "eth0", "--host", hosts, "--map-by", "node" if cyclic else "slot", "-n", n]


class Run:
    def __init__(self, command, env):
        p = C.popen("vc1", command, env={**os.environ, **env}, text=True, errors="replace", stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            self.out = p.communicate(timeout=60 * SLOW)[0]
        except subprocess.TimeoutExpired:
            os.kill(C.inner(p), 9)
            self.out = p.communicate()[0] + "\n(ended by the test)"
        self.rc, self.command = p.returncode, " ".join(map(str, command))

    def __str__(self):
        return f"{self.command}: rc {self.rc}\n{self.out}"


def programs(start, rsh):
    rows = [("mpi.net_hosts", 6, False, {}, 3), ("mpi.p2p_pairs", 5, True, {}), ("mpi.session_groups", 4, False, {})]
    if start is hydra:  # the rest does not depend on who starts
        rows += [("mpi.coll_move", 5, False, {}), ("mpi.comm_inter", 5, True, {}),
                 ("mpi.p2p_pairs", 4, False, {"PLIANT_NET": "tcp"}), ("mpi.net_away", 2, True, {}, 0, 7)]
    for program, n, cyclic, env, *args in rows:
        r = Run([*start(rsh, n, cyclic), os.path.join(BIN, program), *args], env)
        check(r.rc == 0, r)
    r = Run([*start(rsh, 3, True), os.path.join(BIN, "mpi.obj_fatal"), "default"], {})
    check(r.rc != 0 and "MPI_" in r.out, r)


def lost(rsh):
    """A host vanishes without a word, and no daemon of ours is there to notice: ranks do, with data under way and without."""
    for mode in ("barriers", "deadlock"):
        p = C.popen("vc1", ["mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", rsh, "-hosts", "vc1,vc2", "-n", "2",
                            os.path.join(BIN, "hosts_probe"), mode],
                    text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check([p.stdout.readline() for _ in range(2)] == ["up\n"] * 2, f"{mode} does not start")
        begin = time.monotonic()
        C.link("vc2", "down")
        said = ""
        while "is lost" not in said and time.monotonic() - begin < 30 * SLOW:
            if select.select([p.stdout], [], [], 1)[0]:
                line = p.stdout.readline()
                said += line
                if not line:
                    break
        check("rank 1 on host vc2 is lost: its host " in said, f"{mode}: {said}")
        print(f"  {mode}: noticed after {time.monotonic() - begin:.1f} s", flush=True)
        C.crash("vc2")  # what was cut off goes with it
        C.restart("vc2")
        try:
            p.wait(20 * SLOW)
        except subprocess.TimeoutExpired:
            os.kill(C.inner(p), 9)  # Hydra itself may wait for the host for ever
        p.communicate()
        C.popen("vc1", ["sh", "-c", "kill $(pgrep -f 'vcluster.* rsh vc2')"], stderr=subprocess.DEVNULL).wait()


with C, tempfile.TemporaryDirectory() as folder:
    rsh = os.path.join(folder, "rsh")
    with open(rsh, "w", encoding="utf-8") as f:
        f.write(RSH.format(launcher=C.launcher))
    os.chmod(rsh, 0o755)
    tried = 0
    for start in (hydra, openmpi):
        if shutil.which(start(rsh, 1, False)[0]) is None:
            print(f"{start.__name__} is not installed: not tried")
            continue
        tried += 1
        programs(start, rsh)
        if start is hydra:
            lost(rsh)
        check(not left_behind(C, C.names), left_behind(C, C.names, 0))
    if tried == 0:
        print("skipped: neither Hydra nor Open MPI is installed")
        sys.exit(77)
sys.exit(status())
