#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that find too many of them on one core move apart, keep their affinity, and stay where they are bound."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, Run, check, status

PROBE = os.path.join(BUILD, "tests", "bin", "placement_probe")
MOVED = "moved from processor"
LOUD = {"PLIANT_LOG": "debug"}


def cores():
    """That a job may use: the affinity, cut to the control group's share of time."""
    n = len(os.sched_getaffinity(0))
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as f:
            quota, period = f.read().split()
        return n if quota == "max" else min(n, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        return n


def run(env, *args, ranks=2):
    r = Run("-n", ranks, PROBE, *args, env={**LOUD, **env}, timeout=120)
    check(r.rc == 0 and r.out == "", f"{env} {args}: {r}")
    return r.err


def main():
    if cores() < 2:
        print("one core: ranks cannot be apart")
        return 77
    check(MOVED in run({}), "two ranks on one core stayed there")
    # More ranks than cores: all on one would leave the others without work.
    check(MOVED in run({}, ranks=2 * cores()), "four ranks on one core of two stayed there")
    check(MOVED not in run({"PLIANT_SPREAD": "no"}), "a rank moved although it was told not to")
    check(MOVED not in run({}, "bound"), "a rank moved although it was bound")
    run({}, "pinned")
    run({}, "forks")
    # Hosts that share the cores: the processor is seen from the packets.
    check(MOVED in run({"PLIANT_FAKE_HOSTS": "2"}), "two ranks of two hosts on one core stayed there")
    return status()


sys.exit(main())
