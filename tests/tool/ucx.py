#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages by UCX, over its TCP and its shared memory: they arrive, and ranks that die are named."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SLOW, Run, check, mark, nothing_left, status
from ucx_env import MIXED, SHM, TCP, need_ucx

BIN = os.path.join(BUILD, "tests", "bin")
PROBE = os.path.join(BIN, "tcp_probe")


def programs():
    rows = [(TCP, "p2p_modes", 2), (TCP, "p2p_order", 2), (TCP, "type_send", 2), (TCP, "p2p_wait", 2),
            (TCP, "thread_p2p", 2), (TCP, "ep_threads", 2, 5), (TCP, "coll_overlap", 4),
            (SHM, "p2p_modes", 2), (SHM, "type_send", 2), (MIXED, "coll_move", 5), (MIXED, "p2p_order", 2),
            ({**TCP, "PLIANT_EAGER_MAX": "0"}, "p2p_modes", 2),
            ({**TCP, "PLIANT_SPIN": "0", "PLIANT_YIELD": "0"}, "p2p_modes", 2),
            ({**TCP, "PLIANT_UCX_EAGER_MAX": "100"}, "type_send", 2),
            (TCP, "tool_traffic", 2, "ucx", "host"), (SHM, "tool_traffic", 2, "ucx", "host"), (MIXED, "tool_traffic", 2, "ucx", "job")]
    for env, program, n, *args in rows:
        r = Run("-n", n, os.path.join(BIN, "mpi." + program), *args, env=env)
        check(r.rc == 0 and r.err == "", f"{program} {env}: {r}")


def spawned():
    """Processes that come and go: what was held for them is given back."""
    for args in (["dyn_spawn"], ["dyn_cycles", 300]):
        r = Run("-n", 1, "--timeout", 60 * SLOW, os.path.join(BIN, "mpi." + args[0]), *args[1:], env=TCP, timeout=90)
        check(r.rc == 0 and r.err == "", f"{args}: {r}")


def is_ucx():
    """That it is UCX at all, and for messages only: the greeting stays with TCP."""
    r = Run("-n", 2, PROBE, "ring", env={**TCP, "PLIANT_LOG": "debug"})
    check(r.rc == 0 and r.words.count("uses UCX: PLIANT_NET=ucx") == 2, r)


def lost():
    for env in (TCP, SHM):
        for how in ("lose", "unmet"):
            named = mark()
            r = Run("--on-failure=continue", "-n", 3, PROBE, how, env={**env, **named})
            lines = [line for line in r.out.split("\n") if "class" in line]
            check(len(lines) == 2 and all("class aborted" in line for line in lines), r)
            check("rank 2 on host" in r.words and "is lost" in r.words, r)
            nothing_left(named, "processes were left")
    r = Run("-n", 3, PROBE, "lose", env=TCP)
    check(r.rc == 137 and "SIGKILL" in r.words and "is lost" not in r.words, r)


def leave():
    """Ranks that leave early, that look late, and that say one thing and go."""
    for env in (TCP, SHM):
        r = Run("-n", 3, PROBE, "leave", env=env)
        check(r.rc == 0 and r.err == "", r)
        r = Run("-n", 2, PROBE, "slow", 1, env=env)
        check(r.rc == 0 and r.out == "0 wrong\n" and r.err == "", r)
        for n in [2] * 10 + [5] * 2:
            r = Run("-n", n, PROBE, "ring", env=env)
            check(r.rc == 0 and r.err == "" and r.out.count("ok") == n, r)


def cannot():
    r = Run("-n", 2, PROBE, "ring", env={**TCP, "UCX_TLS": "none_such", "UCX_LOG_LEVEL": "fatal"})
    check(r.rc != 0 and "PLIANT_NET=ucx, but UCX cannot" in r.words, r)


need_ucx()
for test in (is_ucx, programs, spawned, lost, leave, cannot):
    test()
sys.exit(status())
