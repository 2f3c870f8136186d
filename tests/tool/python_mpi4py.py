#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples with mpi4py, where it and numpy are installed for this Python, built with whichever MPI."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import IS_SANITIZED, SOURCE, Run, check, clean_up, mark, nothing_left, status

FOLDER = os.path.join(SOURCE, "examples", "python")


def main():
    if IS_SANITIZED:
        print("skipped: a sanitizer's library must come first in a program")
        return 77
    r = Run("-c", "import importlib.util as u; print(bool(u.find_spec('mpi4py') and u.find_spec('mpi4py.MPI') "
            "and u.find_spec('numpy')))", tool=sys.executable)
    if r.out != "True\n":
        print(f"skipped: mpi4py and numpy are not installed for {sys.executable}")
        return 77
    env = mark()
    try:
        said = set()
        for n in (1, 3):
            r = Run("-n", n, sys.executable, os.path.join(FOLDER, "heat.py"), 200, env=env, timeout=100)
            check(r.rc == 0 and f"{n} ranks, 200 steps: the heat is " in r.out, r)
            said.add(r.out.partition(": ")[2])
        check(len(said) == 1, f"the answer depends on the number of ranks: {said}")
        elastic = os.path.join(FOLDER, "elastic.py")
        r = Run("--elastic", "1:4", "-n", 2, sys.executable, elastic, env=env, timeout=100)
        check(r.rc == 0 and r.out == "17984 primes below 200000, with 2, 4, 1 ranks\n", r)
        r = Run("-n", 2, sys.executable, elastic, 0, env=env, timeout=100)
        check(r.rc == 0 and r.out == "17984 primes below 200000, with 2 ranks\n", r)
        nothing_left(env)
    finally:
        clean_up(env)
    return status()


sys.exit(main())
