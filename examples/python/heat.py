#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Heat in a plate, with numpy arrays that MPI sends and receives without a copy.

    mpiexec -n 4 python3 heat.py [STEPS]

Each rank has a block of rows and one more on either side, which it gets from its neighbours. The answer does not
depend on the number of ranks. Needs mpi4py and numpy.
"""
import sys

import numpy as np
from mpi4py import MPI

SIDE = 120


def main():
    world = MPI.COMM_WORLD
    rank, size = world.rank, world.size
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    first, end = SIDE * rank // size, SIDE * (rank + 1) // size
    plate = np.zeros((end - first + 2, SIDE + 2))
    if rank == 0:
        plate[0, :] = 1  # the plate is warm at one side
    above = rank - 1 if rank > 0 else MPI.PROC_NULL
    below = rank + 1 if rank < size - 1 else MPI.PROC_NULL
    for _ in range(steps):
        world.Sendrecv(plate[1], above, recvbuf=plate[-1], source=below)
        world.Sendrecv(plate[-2], below, recvbuf=plate[0], source=above)
        plate[1:-1, 1:-1] = (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]) / 4

    # All rows to rank 0; blocks differ in size.
    inner = np.ascontiguousarray(plate[1:-1, 1:-1])
    counts = world.gather(inner.size)
    whole = np.empty((SIDE, SIDE)) if rank == 0 else None
    world.Gatherv(inner, (whole, counts) if rank == 0 else None)
    if rank == 0:
        print(f"{size} ranks, {steps} steps: the heat is {whole.sum():.9f}", flush=True)


main()
