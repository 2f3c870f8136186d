#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages by UCX between (virtual) hosts: they arrive; a deadlock is named; a host that vanishes is noticed."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import BUILD, MPIEXEC, SLOW, check, status

BIN = os.path.join(BUILD, "tests", "bin")
PROBE = os.path.join(BIN, "hosts_probe")
ENV = {"PLIANT_NET": "shm+ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0", "UCX_LOG_LEVEL": "fatal"}
ALL = ["--hosts", "vc1:1,vc2:2,vc3:1"]


def programs():
    for program, where in (("p2p_modes", "vc1:1,vc2:1"), ("type_send", "vc1:1,vc3:1"), ("coll_move", "vc1:2,vc2:1,vc3:2")):
        r = HostRun(C, "--hosts", where, os.path.join(BIN, "mpi." + program), env=ENV)
        check(r.rc == 0 and r.err == "", f"{program}: {r}")


def deadlock():
    r = HostRun(C, "--timeout", 60 * SLOW, *ALL, PROBE, "deadlock", env=ENV, timeout=90)
    check(r.rc == 123 and "mpiexec: deadlock:" in r.err, r)
    r = HostRun(C, "--timeout", 60 * SLOW, *ALL, PROBE, "slow_ring", env=ENV, timeout=90)
    check(r.rc == 0 and r.out == "done\n" * 4 and r.err == "", r)


def vanish(how, word):
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *ALL, PROBE, "barriers"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, env={**os.environ, **ENV})
    for _ in range(4):
        p.stdout.readline()
    begin = time.monotonic()
    how()
    try:
        err = p.communicate(timeout=60 * SLOW)[1]
    except subprocess.TimeoutExpired:
        os.kill(C.inner(p), signal.SIGKILL)
        err = "mpiexec did not end\n" + p.communicate()[1]
    check(p.returncode not in (0, None) and "host vc3 is lost" in " ".join(err.split()), f"{word}: {p.returncode} {err}")
    print(f"  {word}: noticed after {time.monotonic() - begin:.1f} s", flush=True)


def lost():
    vanish(lambda: C.link("vc3", "down"), "cut")
    check(not left_behind(C, C.names, 30), f"after a cut: {left_behind(C, C.names, 0)}")
    C.link("vc3", "up")
    vanish(lambda: C.crash("vc3"), "crash")
    check(not left_behind(C, ["vc1", "vc2"]), left_behind(C, ["vc1", "vc2"], 0))


INFO = subprocess.run([os.path.join(BUILD, "bin", "mpiinfo"), "--network"], capture_output=True, text=True,
                      check=True).stdout
if "ucx          version" not in INFO:
    print("skipped:", INFO.split("\n")[1])
    sys.exit(77)
C = open_cluster(3)
with C:
    for part in [globals()[w] for w in sys.argv[1:]] or (programs, deadlock, lost):
        part()
sys.exit(status())
