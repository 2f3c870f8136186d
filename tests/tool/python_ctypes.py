#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Python programs that load the library by its name, with ctypes alone: mpiexec lets the loader find it."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, IS_SANITIZED, SLOW, SOURCE, Run, check, clean_up, mark, nothing_left, status

STANDARD = os.path.join(BUILD, "lib", "pliant", "standard")
SESSIONS = os.path.join(SOURCE, "examples", "python", "sessions.py")
# What a wheel of the standard ABI does, then two more processes of the same program.
SPAWN = """
import ctypes, sys
mpi = ctypes.CDLL("libmpi_abi.so.1")
world, info, null = map(ctypes.c_void_p, (0x101, 0x130, 0x100))
parent, child, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
assert mpi.MPI_Init(None, None) == 0
assert mpi.MPI_Comm_get_parent(ctypes.byref(parent)) == 0
if parent.value == null.value:
    argv, codes = (ctypes.c_char_p * 2)(__file__.encode(), None), (ctypes.c_int * 2)()
    assert mpi.MPI_Comm_spawn(sys.executable.encode(), argv, 2, info, 0, world, ctypes.byref(child), codes) == 0
    assert mpi.MPI_Comm_remote_size(child, ctypes.byref(size)) == 0
    print("spawned", size.value, flush=True)
    mpi.MPI_Comm_disconnect(ctypes.byref(child))
else:
    mpi.MPI_Comm_disconnect(ctypes.byref(parent))
assert mpi.MPI_Finalize() == 0
"""
LOAD = "import ctypes; ctypes.CDLL('libmpi_abi.so.1'); print('loaded')"


def main():
    os.environ.pop("LD_LIBRARY_PATH", None)
    env = mark()
    try:
        for n in (1, 5):
            r = Run("-n", n, sys.executable, SESSIONS, env=env)
            check(r.rc == 0 and r.out == f"{n} members of mpi://WORLD: the sum is {n * (n + 1) // 2}, it should be "
                  f"{n * (n + 1) // 2}\n", r)
        r = Run("-n", 4, "--pset", "work=1-3", sys.executable, SESSIONS, "work", env=env)
        check(r.rc == 0 and r.out == "3 members of work: the sum is 6, it should be 6\n", r)
        for abi in ("auto", "standard", "openmpi"):
            r = Run("-n", 1, f"--abi={abi}", sys.executable, "-c", LOAD, env=env)
            check(r.rc == 0 and r.out == "loaded\n", f"{abi}: {r}")
        r = Run("-n", 1, "--abi=none", sys.executable, "-c", f"import os; print('{STANDARD}' in "
                "os.environ.get('LD_LIBRARY_PATH', ''))", env=env)
        check(r.rc == 0 and r.out == "False\n", f"--abi=none offers a library: {r}")
        with tempfile.TemporaryDirectory() as d:
            program = os.path.join(d, "spawn.py")
            with open(program, "w", encoding="ascii") as f:
                f.write(SPAWN)
            r = Run("-n", 1, sys.executable, program, env=env, timeout=100)
            check(r.rc == 0 and r.out == "spawned 2\n", r)
            # Without mpiexec and without one in PATH: the library that was loaded by this way finds its own.
            r = Run(program, tool=sys.executable, env={**env, "LD_LIBRARY_PATH": STANDARD, "PATH": "/nowhere"},
                    timeout=100 * SLOW)
            check(r.rc == 0 and r.out == "spawned 2\n", r)
        nothing_left(env)
    finally:
        clean_up(env)
    return status()


if IS_SANITIZED:
    print("skipped: a sanitizer's library must come first in a program")
    sys.exit(77)
sys.exit(main())
