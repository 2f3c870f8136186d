#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sessions without a world, in plain Python: nothing but ctypes and the library.

    mpiexec -n 5 python3 sessions.py
    mpiexec -n 5 --pset work=1-4 python3 sessions.py work      # a process set of the command line

Every process opens a session, which waits for nobody. Members of a process set make a communicator of it; others take no
part. The numbers of the handles are those of the standard ABI of MPI 5.0, the same for every MPI that has it.
"""
import ctypes
import sys

INFO_NULL, ERRORS_ARE_FATAL = 0x130, 0x141
INT64_T, SUM, UNDEFINED = 0x258, 0x21, -32766

library = ctypes.CDLL("libmpi_abi.so.1")  # mpiexec lets the loader find it


def handle(value=0):
    return ctypes.c_void_p(value)


def call(name, *args):
    code = getattr(library, name)(*args)
    if code != 0:
        raise RuntimeError(f"{name} failed with code {code}")


def number_from(name, *args):
    out = ctypes.c_int()
    call(name, *args, ctypes.byref(out))
    return out.value


def sum_over(comm, value):
    mine, total = ctypes.c_int64(value), ctypes.c_int64()
    call("MPI_Allreduce", ctypes.byref(mine), ctypes.byref(total), 1, handle(INT64_T), handle(SUM), comm)
    return total.value


def main():
    pset = sys.argv[1] if len(sys.argv) > 1 else "mpi://WORLD"
    session, group, comm = handle(), handle(), handle()
    call("MPI_Session_init", handle(INFO_NULL), handle(ERRORS_ARE_FATAL), ctypes.byref(session))
    call("MPI_Group_from_session_pset", session, pset.encode(), ctypes.byref(group))
    rank, size = number_from("MPI_Group_rank", group), number_from("MPI_Group_size", group)
    if rank != UNDEFINED:  # collective over the members of the group alone
        call("MPI_Comm_create_from_group", group, b"example", handle(INFO_NULL), handle(ERRORS_ARE_FATAL),
             ctypes.byref(comm))
        total = sum_over(comm, rank + 1)
        if rank == 0:
            print(f"{size} members of {pset}: the sum is {total}, it should be {size * (size + 1) // 2}", flush=True)
        call("MPI_Comm_free", ctypes.byref(comm))
    call("MPI_Group_free", ctypes.byref(group))
    call("MPI_Session_finalize", ctypes.byref(session))


main()
