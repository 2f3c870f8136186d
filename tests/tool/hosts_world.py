#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sessions, windows, resizes and deaths together, on several (virtual) hosts."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, HostRun, left_behind, open_cluster
from launch import check, status

C = open_cluster(4)
BIN = os.path.join(BUILD, "tests", "bin")
SHRINK = "--on-failure=shrink"


def run(hosts, n, options, program, *args):
    r = HostRun(C, "--hosts", hosts, "-n", n, *options, os.path.join(BIN, f"mpi.{program}"), *args)
    check(r.rc == 0, f"{program} {args}: {r}")


def windows():
    """The lock, the holder that dies and those who wait are on three hosts, two or one."""
    for hosts in ("vc1:1,vc2:2,vc3:1", "vc1:3,vc2:1", "vc1:2,vc2:2"):
        for case in ("held", "shared", "access", "post"):
            run(hosts, 4, [SHRINK], "fail_win", case, "allocate")


def groups():
    """Communicators of groups with dead members."""
    run("vc1:2,vc2:2,vc3:2", 6, [SHRINK], "fail_session", 3)


def sessions():
    """Programs without MPI_Init are resized, and their ranks replaced."""
    run("vc1:2,vc2:2,vc3:2", 2, ["--elastic", "1:6"], "session_world", "resize", "hosts")
    run("vc1:1,vc2:1,vc3:1", 3, ["--on-failure=respawn"], "session_world", "respawn", "hosts")


def resizes():
    for case in ("after", "meanwhile"):
        run("vc1:3,vc2:3,vc3:3", 4, ["--elastic", "1:8", SHRINK], "fail_resize", case)


with C:
    for part in [globals()[w] for w in sys.argv[1:]] or (windows, groups, sessions, resizes):
        begin = time.monotonic()
        part()
        print(f"{part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    check(not left_behind(C, C.names), left_behind(C, C.names, 0))
sys.exit(status())
