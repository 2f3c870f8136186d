#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Virtual hosts with a slow network between them: frames take as long as they should, and MPI works."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, open_cluster
from launch import BUILD, check, status

PING = """
import socket, sys, threading, time
if sys.argv[1] == "0":
    c = socket.create_server(("", 5555)).accept()[0]
    c.sendall(c.recv(1))
else:
    for _ in range(400):
        try:
            s = socket.create_connection(("vc1", 5555), 10)
            break
        except OSError:
            time.sleep(0.05)
    begin = time.monotonic()
    s.sendall(b"x")
    s.recv(1)
    print((time.monotonic() - begin) * 1000)
"""

with open_cluster(2, delay_ms=10, rate="200mbit") as C:
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", "sh", "-c", f"exec {sys.executable} -c '{PING}' $PLIANT_RANK")
    check(r.rc == 0 and float(r.out) >= 40, f"each host adds 10 ms to what comes and goes: {r}")
    r = HostRun(C, "--timeout", 60, "--hosts", "vc1:2,vc2:2", os.path.join(BUILD, "tests", "bin", "mpi.p2p_pairs"))
    check(r.rc == 0, r)
sys.exit(status())
