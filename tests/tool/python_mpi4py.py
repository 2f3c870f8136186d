#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples with mpi4py, pools of workers, and threads, with the first Python that has mpi4py and numpy, built with whichever MPI."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, IS_SANITIZED, SOURCE, Run, check, clean_up, mark, nothing_left, status

FOLDER = os.path.join(SOURCE, "examples", "python")
# A module that cannot be loaded, such as one of numpy for another Python, counts as absent. mpi4py itself is not loaded: that would call MPI_Init.
ASK = "import importlib.util as u, numpy; print(u.find_spec('mpi4py.MPI').origin)"
POOL = """
from mpi4py.futures import MPIPoolExecutor

def square(x):
    return x * x

if __name__ == "__main__":
    with MPIPoolExecutor(max_workers=2) as pool:
        print(sum(pool.map(square, range(100))))
"""
THREADS = """
import threading
from mpi4py import MPI

world = MPI.COMM_WORLD
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
comms = [world.Dup() for _ in range(3)]
got = [None] * 3

def ring(i):
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    got[i] = [comms[i].sendrecv((i, world.rank, step), dest=right, source=left) for step in range(50)]
    assert got[i] == [(i, left, step) for step in range(50)]

threads = [threading.Thread(target=ring, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
total = world.reduce(sum(map(len, got)), root=0)
if world.rank == 0:
    print("messages", total)
"""

FILES = """
import sys
from mpi4py import MPI
import numpy

world = MPI.COMM_WORLD
mine, found = numpy.full(5000, world.rank, "i4"), numpy.zeros(5000, "i4")
f = MPI.File.Open(world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
f.Iwrite_at_all(world.rank * mine.nbytes, mine).Wait()
f.Read_at_all((world.size - 1 - world.rank) * mine.nbytes, found)
assert (found == world.size - 1 - world.rank).all()
f.Close()
print(world.reduce(1), flush=True)
"""


def find_python():
    """A Python with mpi4py and numpy and the file of mpi4py's module, or None and whom was asked."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    asked = []
    for python in [sys.executable, *(shutil.which("python3", path=d) for d in folders), "/usr/bin/python3"]:
        if python and os.access(python, os.X_OK) and python not in asked:
            asked.append(python)
            r = Run("-c", ASK, tool=python)
            if r.rc == 0:
                return python, r.out.strip()
    return None, ", ".join(asked)


def check_examples(python, env):
    said = set()
    for n in (1, 3):
        r = Run("-n", n, python, os.path.join(FOLDER, "heat.py"), 200, env=env, timeout=100)
        check(r.rc == 0 and f"{n} ranks, 200 steps: the heat is " in r.out, r)
        said.add(r.out.partition(": ")[2])
    check(len(said) == 1, f"the answer depends on the number of ranks: {said}")
    elastic = os.path.join(FOLDER, "elastic.py")
    r = Run("--elastic", "1:4", "-n", 2, python, elastic, env=env, timeout=100)
    check(r.rc == 0 and r.out == "17984 primes below 200000, with 2, 4, 1 ranks\n", r)
    r = Run("-n", 2, python, elastic, 0, env=env, timeout=100)
    check(r.rc == 0 and r.out == "17984 primes below 200000, with 2 ranks\n", r)


def check_pools(python, module, env):
    """Workers that are spawned and workers that are ranks; without mpiexec where mpi4py was built with this MPI."""
    with tempfile.TemporaryDirectory() as d:
        program = os.path.join(d, "pool.py")
        with open(program, "w", encoding="ascii") as f:
            f.write(POOL)
        runs = [Run("-n", 1, python, program, env=env, timeout=100),
                Run("-n", 3, python, "-m", "mpi4py.futures", program, env=env, timeout=100)]
        with open(module, "rb") as f:
            is_ours = BUILD.encode() in f.read()
        if is_ours:
            runs.append(Run(program, tool=python, env=env, timeout=100))
        for r in runs:
            check(r.rc == 0 and r.out == "328350\n", r)


def check_watched(python, env):
    """The module is loaded late, and for itself alone: what watches calls finds the library behind it all the same."""
    with tempfile.TemporaryDirectory() as d:
        for option in (["--profile"], ["--check"], ["--record", os.path.join(d, "record")]):
            r = Run(*option, "-n", 2, python, "-c", FILES, os.path.join(d, "data"), env=env, timeout=100)
            check(r.rc == 0 and sorted(r.out.split()[:2]) == ["2", "None"], f"{option} {r}")
            check(option != ["--profile"] or "MPI_File_" in r.out + r.err, r)
            check(option != ["--check"] or r.err == "", r)


def main():
    if IS_SANITIZED:
        print("skipped: a sanitizer's library must come first in a program")
        return 77
    python, module = find_python()
    if python is None:
        print(f"skipped: none of {module} has mpi4py and numpy; install them by 'apt-get install python3-mpi4py python3-numpy', or in a virtual "
              "environment by 'pip install numpy && MPICC=BUILD/bin/mpicc pip install --no-binary=mpi4py mpi4py'")
        return 77
    env = mark()
    try:
        check_examples(python, env)
        check_pools(python, module, env)
        r = Run("-n", 3, python, "-c", THREADS, env=env, timeout=100)
        check(r.rc == 0 and r.out == "messages 450\n", r)
        check_watched(python, env)
        nothing_left(env)
    finally:
        clean_up(env)
    return status()


sys.exit(main())
