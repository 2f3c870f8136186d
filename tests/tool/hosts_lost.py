#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts that vanish, and deadlocks across hosts: reported in seconds, and nothing is left."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import BUILD, MPIEXEC, SLOW, check, status

MPICTL = os.path.join(BUILD, "bin", "mpictl")
HOSTS_PROBE = os.path.join(BUILD, "tests", "bin", "hosts_probe")
C = open_cluster(4)
ALL = ["--hosts", "vc1:1,vc2:2,vc3:1"]


def vanish(host, how, *program):
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *ALL, *program], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
    for _ in range(4):
        p.stdout.readline()
    begin = time.monotonic()
    how(host)
    try:
        err = p.communicate(timeout=60 * SLOW)[1]
    except subprocess.TimeoutExpired:
        os.kill(C.inner(p), signal.SIGKILL)
        err = "mpiexec did not end\n" + p.communicate()[1]
    seconds = time.monotonic() - begin
    err = " ".join(err.split())
    check(p.returncode not in (0, None) and f"host {host} is lost" in err and seconds < 20 * SLOW,
          f"{how.__name__} {host}: {p.returncode} after {seconds:.1f} s: {err}")
    print(f"  {how.__name__} {host}: noticed after {seconds:.1f} s", flush=True)


def lost():
    """A cable is pulled, a host crashes: the job ends in seconds, and so does what is cut off."""
    def cut(host):
        C.link(host, "down")

    plain = ["sh", "-c", "echo up; sleep 100"]
    for program in (plain, [HOSTS_PROBE, "barriers"], [HOSTS_PROBE, "waiting"]):
        vanish("vc3", cut, *program)
        check(not left_behind(C, C.names, 30), f"after a cut: {left_behind(C, C.names, 0)}")
        C.link("vc3", "up")
    vanish("vc3", C.crash, *plain)
    C.restart("vc3")
    vanish("vc3", C.crash, HOSTS_PROBE, "barriers")
    rest = ["vc1", "vc2", "vc4"]
    check(not left_behind(C, rest), left_behind(C, rest, 0))


def deadlock():
    r = HostRun(C, "--timeout", 60, *ALL, HOSTS_PROBE, "deadlock")
    check(r.rc == 123 and "mpiexec: deadlock:" in r.err, r)
    for rank in range(4):
        check(f"rank {rank} receives from rank {(rank + 1) % 4}, tag 7, on MPI_COMM_WORLD" in r.words, r)
    check("called at hosts_probe.c:" in r.words, r)
    r = HostRun(C, "--timeout", 60, *ALL, HOSTS_PROBE, "slow_ring")
    check(r.rc == 0 and r.out == "done\n" * 4 and r.err == "", r)


def looked_at():
    """mpictl status shows what the ranks of all hosts wait for, where mpiexec is."""
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *ALL, HOSTS_PROBE, "waiting"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
    out, end = "", time.monotonic() + 60 * SLOW
    want = [f"rank {r} is in MPI_Bcast on MPI_COMM_WORLD" for r in (1, 3)] + ["rank 0 is not waiting in MPI"]
    while not all(w in out for w in want) and time.monotonic() < end and p.poll() is None:
        out = C.popen("vc1", [MPICTL, "status"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).communicate()[0]
    check(all(w in out for w in want) and "on all hosts: 4 processes are between" in out, out)
    os.kill(C.inner(p), signal.SIGTERM)
    p.communicate(timeout=60 * SLOW)


def ended():
    """All ranks have ended, and nobody has read what they wrote: they wait for nothing."""
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--hosts", "vc1:1,vc2:1", "sh", "-c",
                        "head -c 65535 /dev/zero | tr '\\0' x; echo"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4 * SLOW)  # looks for deadlocks are 0.4 s apart, and the third would have told of one
    check(p.poll() is None, "all was written at once, which shows nothing")
    out, err = p.communicate(timeout=60 * SLOW)
    check(p.returncode == 0 and out == ("x" * 65535 + "\n") * 2 and err == "",
          f"{p.returncode} after {len(out)} bytes: {err}")


with C:
    for part in (deadlock, looked_at, ended, lost):
        begin = time.monotonic()
        part()
        print(f"{part.__name__} {time.monotonic() - begin:.2f} s", flush=True)
sys.exit(status())
