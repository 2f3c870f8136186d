#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts primes with a number of ranks that changes while it runs.

    mpiexec --elastic 1:4 -n 2 python3 elastic.py          # it asks for 4 ranks, and later for 1
    mpiexec --elastic 1:8 -n 2 python3 elastic.py 0 &      # it asks for nothing:
    mpictl grow 6                                          # another terminal decides

mpi4py does not know the extensions of Pliant MPI. They are called by ctypes, in the library that mpi4py is linked to,
with the addresses of mpi4py's handles. Needs mpi4py and numpy.
"""
import ctypes
import sys

import numpy as np
from mpi4py import MPI

BLOCK, BLOCKS = 2000, 100
PLANS = {BLOCKS // 3: 4, BLOCKS * 2 // 3: 1}  # after so many blocks: this many ranks

library = ctypes.CDLL(MPI.__file__)  # finds functions of the libraries that it needs, too


def call(name, *args):
    code = getattr(library, name)(*args)
    if code != MPI.SUCCESS:
        raise MPI.Exception(code)


def number_from(name, *args):
    out = ctypes.c_int()
    call(name, *args, ctypes.byref(out))
    return out.value


def handle(comm):
    """The MPI_Comm in a communicator of mpi4py: an int or a pointer, as its MPI has it."""
    return (ctypes.c_int if MPI._sizeof(comm) == 4 else ctypes.c_void_p).from_address(MPI._addressof(comm))


def world_at(version):
    comm = MPI.Intracomm()
    call("MPIX_Comm_world_at", ctypes.c_int(version), ctypes.byref(handle(comm)))
    return comm


def primes_in(numbers):
    divisors = np.arange(2, int(numbers[-1] ** 0.5) + 1) if len(numbers) else np.arange(0)
    is_prime = numbers > 1
    for d in divisors:
        is_prime &= (numbers % d != 0) | (numbers == d)
    return int(is_prime.sum())


def main():
    plans = PLANS if len(sys.argv) == 1 else {}
    world = MPI.COMM_WORLD
    version = number_from("MPIX_Comm_world_version", handle(world))
    block = total = 0
    sizes = [world.size]
    if version > 0:  # this rank came later: rank 0, which never leaves, says how far the others are
        block, total, sizes = world.bcast(None)
    while block < BLOCKS:
        if plans.get(block, world.size) != world.size:
            call("MPIX_World_resize", handle(world), ctypes.c_int(plans[block]))
        # One version after the other: each may have new ranks that wait in it.
        newest = min(number_from("MPIX_World_version"), version + 1)
        if world.allreduce(newest, op=MPI.MIN) > version:
            version += 1
            after = world_at(version)
            if after == MPI.COMM_NULL:
                return  # this rank is to leave; the others have all it knows
            sizes.append(after.size)
            if after.size > world.size:
                after.bcast((block, total, sizes))
            world = after
            continue
        numbers = np.arange(block * BLOCK, (block + 1) * BLOCK)
        total += world.allreduce(primes_in(np.array_split(numbers, world.size)[world.rank]))
        block += 1
    if world.rank == 0:
        print(f"{total} primes below {BLOCK * BLOCKS}, with {', '.join(map(str, sizes))} ranks", flush=True)


main()
