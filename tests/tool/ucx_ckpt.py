#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of jobs whose messages go by UCX: it is left before each and used again after it, with nothing lost."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import checkpoint
from checkpoint import MPICTL, PROBE, finish, flooded, skip_reason, start, wait_for
from launch import Run, cases, check
from ucx_env import MIXED, SHM, TCP, need_ucx


def flood(env, d):
    """Much on its way: over UCX's TCP, beside shared memory of ours, over UCX's shared memory."""
    flooded(env, d, (TCP, 3), (MIXED, 4), (SHM, 2))


def left(env, d):
    """It is used before, left by all, and used again after a checkpoint; and left at the end. Once more of both where the
    machine is so busy that an attempt takes two seconds."""
    p = start({**env, **TCP, "PLIANT_LOG": "debug"}, "--checkpoint-dir", d, "-n", 2, PROBE, 20, 1, "call=10")
    text = finish(p)
    check(p.returncode == 0 and "checkpoint called: made" in text, text)
    n_first, n_again, n_left = (text.count(w) for w in ("lane 0 uses UCX: PLIANT_NET=ucx", "lane 0 uses UCX again", "has left UCX"))
    check(n_first == 2 and n_again >= 2 and n_left == n_first + n_again, f"{n_first} {n_again} {n_left}: {text}")


def late(env, d):
    """A rank that calls MPI seldom is waited for."""
    p = start({**env, **TCP}, "--checkpoint-dir", d, "-n", 2, PROBE, 5, 1500)
    text = wait_for(p, "step 1 ")
    r = Run("checkpoint", p.pid, tool=MPICTL)
    check(r.rc == 0, r)
    text = finish(p, text)
    check(p.returncode == 0, text)


def sender(env, d):
    """Rank 0 only sends, and its small messages need no answer."""
    gate = os.path.join(d, "open")
    p = start({**env, **TCP}, "--checkpoint-dir", os.path.join(d, "c"), "-n", 2, PROBE, 10, 1, "gate=" + gate)
    text = wait_for(p, "step 4 ")
    for _ in range(3):
        r = Run("checkpoint", p.pid, tool=MPICTL)
        check(r.rc == 0, r)
    with open(gate, "w", encoding="utf-8"):
        pass
    text = finish(p, text)
    check(p.returncode == 0, text)


def by_call(env, d):
    checkpoint.by_call({**env, **TCP}, d)


def forked(env, d):
    checkpoint.forked({**env, **TCP}, d)


def by_interval(env, d):
    checkpoint.by_interval({**env, **TCP}, d)


def state(env, d):
    checkpoint.state({**env, **TCP}, d)


need_ucx()
reason = skip_reason()
if reason is not None:
    print(f"only registered state is tested: {reason}")
images = (flood, left, late, sender, by_call, forked, by_interval)
sys.exit(cases((state, *images), images if reason else ()))
