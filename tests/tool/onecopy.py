#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Large messages in one copy: what PLIANT_ONECOPY and PLIANT_LOG say, ranks that cannot read each other's memory
because they are in different pid namespaces, and a sender that dies while it is read."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, Run, check, status

PROBE = os.path.join(BUILD, "tests", "bin", "onecopy_probe")
IS_READ, IS_NOT = "are read from its memory", "cannot read the memory of process"


def once(how, *command, wraps=()):
    r = Run("-n", 2, *wraps, PROBE, "once", *command, env={"PLIANT_ONECOPY": how, "PLIANT_LOG": "info"})
    check(r.rc == 0 and r.out.count("received") == 2, r)
    return r


def said():
    r = once("off")
    check(IS_READ not in r.err and IS_NOT not in r.err, r)
    r = once("cma")
    check(IS_READ in r.words or IS_NOT in r.words, r)
    r = Run("-n", 2, PROBE, "once", env={"PLIANT_ONECOPY": "twice"})
    check("PLIANT_ONECOPY" in r.err and "auto|cma|off" in r.err, r)
    return IS_READ in once("auto").words


def namespaces():
    """Each rank is process 1 of a pid namespace of its own; the number of the other means itself."""
    can = subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, check=False).returncode == 0
    if not can:
        print("not tried: no pid namespaces for this user")
        return
    r = once("cma", wraps=("unshare", "--pid", "--fork", "--kill-child"))
    check(IS_NOT in r.words and IS_READ not in r.words, r)


def dying():
    for ms in (1, 5, 20, 60):
        r = Run("-n", 2, PROBE, "die", ms, env={"PLIANT_ONECOPY": "cma"})
        check(r.rc != 0 and "wrong" not in r.out and "SIGALRM" in r.words, r)


if said():
    namespaces()
else:
    print("not tried: this system lets no process read another's memory")
dying()
sys.exit(status())
