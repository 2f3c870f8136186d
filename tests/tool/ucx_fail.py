#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs whose messages go by UCX outlive ranks, are told of a resize, and have their ranks cloned."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SLOW, Run, check, status
from ucx_env import MIXED, TCP, need_ucx

BIN = os.path.join(BUILD, "tests", "bin")
LIMIT = ("--timeout", 60 * SLOW)
DEATHS = ("recv 2", "recv_large 2", "any 2", "small 2", "large 2", "bcast 2", "persistent 2", "waitall 2", "mprobe 2",
          "eager 2", "isends 2", "rendezvous 2", "ssend 2", "pending 2", "revoke 0", "storm 0", "during_agree 0")


def run(net, n, *args):
    """The program logs that it uses UCX; all else it says is a complaint."""
    r = Run(*LIMIT, "-n", n, *args, env={**net, "PLIANT_LOG": "debug"}, timeout=90 * SLOW)
    check(r.rc == 0 and "uses UCX: PLIANT_NET=" in r.err, f"{net} {args}: {r.rc} {r.out} {r.err}")


def die():
    for case in DEATHS:
        run(TCP, 4, "--on-failure=shrink", os.path.join(BIN, "mpi.fail_world"), *case.split())
    for case in ("recv_large 2", "storm 0"):
        run(MIXED, 4, "--on-failure=shrink", os.path.join(BIN, "mpi.fail_world"), *case.split())
    for case in ("held", "access", "post"):
        run(TCP, 4, "--on-failure=shrink", os.path.join(BIN, "mpi.fail_win"), case, "create")
    run(TCP, 6, "--on-failure=shrink", os.path.join(BIN, "mpi.fail_inter"), "allreduce", 4)
    # A way to a process that was never gone.
    run(TCP, 2, "--on-failure=shrink", os.path.join(BIN, "mpi.fail_inter"), "revoke", 3, "spawn")


def unguarded():
    """Where UCX does not see that the other side dies it is not used."""
    r = Run(*LIMIT, "-n", 2, "--on-failure=shrink", os.path.join(BIN, "mpi.fail_agree"), "once",
            env={**TCP, "UCX_TLS": "posix,self", "UCX_LOG_LEVEL": "fatal"}, timeout=90 * SLOW)
    check(r.rc != 0 and "UCX cannot connect to it" in r.words, r)


def told():
    for net in (TCP, MIXED):
        run(net, 4, "--elastic", "1:8", "--on-resize=error", os.path.join(BIN, "mpi.elastic_told"))


def cloned():
    for n, args in ((2, ("once", 2)), (5, ("once", 4)), (3, ("again",)), (3, ("refuse",))):
        run(TCP, n, os.path.join(BIN, "mpi.fork_world"), *args)
    run(MIXED, 4, os.path.join(BIN, "mpi.fork_world"), "once", 3)
    # On one host, where UCX is loaded, clones have memory of windows of their own.
    here = {"PLIANT_NET": "shm+ucx", "UCX_TLS": "tcp,self", "PLIANT_UCX_RMA": "never"}
    for n, args in ((3, ("all",)), (3, ("some", 2)), (2, ("twice",))):
        r = Run(*LIMIT, "-n", n, os.path.join(BIN, "mpi.fork_win"), *args, env=here, timeout=90 * SLOW)
        check(r.rc == 0 and r.err == "", f"{args}: {r}")


need_ucx()
for part in [globals()[w] for w in sys.argv[1:]] or (die, unguarded, told, cloned):
    part()
sys.exit(status())
