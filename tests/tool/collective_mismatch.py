#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that call different collectives, or name different roots, are told so without --check, and none goes on with wrong data."""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW

PROBE = os.path.join(BUILD, "tests", "bin", "mismatch_probe")
SENTENCE = "collective calls must be the same in all ranks"
NEW, OLD = 0, 10  # collectives called before on the communicator: it has no board yet, or one

# what rank 0 calls, what the others call, calls before, what must be said beside the sentence
CASES = [
    ("bcast0", "allreduce", NEW, r"mismatch: .* rank 0 is in MPI_Barrier \(mismatch_probe.c:\d+\), rank 1 in MPI_Allreduce \(mismatch_probe.c:\d+\)"),
    ("allreduce", "bcast0", NEW, r"mismatch: .* rank 0 is in MPI_Allreduce \(mismatch_probe.c:\d+\), rank 1 in MPI_Bcast with root 0 \(mismatch_probe.c:\d+\)"),
    ("allreduce", "bcast0", OLD, r"MPI_Allreduce.*MPI_Bcast with root 0|MPI_Bcast with root 0.*MPI_Allreduce"),
    ("bcast0", "bcast1", NEW, r"MPI_Bcast with root [01] on communicator MPI_COMM_WORLD, which this rank did not"),
    ("bcast0", "bcast1", OLD, r"MPI_Bcast with root 0.*MPI_Bcast with root 1|MPI_Bcast with root 1.*MPI_Bcast with root 0|different collectives"),
    ("bcast1", "bcast0", NEW, r"mismatch: .* rank 0 is in MPI_Bcast with root 1 .* rank 1 in MPI_Bcast with root 0 "),
    ("reduce0", "reduce1", NEW, r"mismatch: .* rank 0 is in MPI_Reduce with root 0 .* rank 1 in MPI_Reduce with root 1 "),
    ("reduce0", "reduce1", OLD, r"MPI_Reduce with root [01].*MPI_Reduce with root [01]"),
    ("reduce1", "reduce0", OLD, r"named different roots, before MPI_Barrier"),
    ("gather0", "gather1", NEW, r"mismatch: .*MPI_Gather with root 0 .*MPI_Gather with root 1 "),
    ("gather1", "gather0", OLD, r"different collectives"),
    ("gatherv0", "gather0", OLD, r"MPI_Gatherv? with root 0.*MPI_Gatherv? with root 0"),
    ("scatter0", "scatter1", NEW, r"MPI_Scatter with root [01]"),
    ("scatter0", "scatter1", OLD, r"MPI_Scatter with root|different collectives"),
    ("allgather", "alltoall", NEW, r"mismatch: .* rank 0 is in MPI_Allgather .* rank 1 in MPI_Alltoall "),
    ("allgather", "alltoall", OLD, r"MPI_Allgather.*MPI_Alltoall|MPI_Alltoall.*MPI_Allgather"),
    ("scan", "allreduce", NEW, r"mismatch: .*MPI_Allreduce"),
    ("bcast0", "gather0", NEW, r"rank [12] called MPI_Gather with root 0 on communicator MPI_COMM_WORLD, which this rank did not"),
    ("bcast0", "gather0", OLD, r"different collectives before MPI_Barrier"),
    ("bcast0", "barrier", NEW, r"mismatch: .* left out a collective before"),
    ("barrier", "ibarrier", OLD, r"mismatch: .* rank 0 is in MPI_Barrier .* rank 1 in MPI_Ibarrier "),
    ("ibcast0", "allreduce", NEW, r"mismatch: .*MPI_Barrier.*MPI_Allreduce"),
]


def run(case):
    first, others, warm, pattern = case
    r = subprocess.run([MPIEXEC, "--timeout", str(60 * SLOW), "-n", "3", PROBE, first, others, str(warm)],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    said = re.sub(r"\s+", " ", r.stdout)
    return SENTENCE in said and re.search(pattern, said), f"{first} {others} {warm}: status {r.returncode}; wanted {pattern}\n{r.stdout}"


def main():
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for good, text in pool.map(run, CASES):
            if not good:
                bad += 1
                print("failed: " + text, file=sys.stderr)
    r = subprocess.run([MPIEXEC, "-n", "3", PROBE, "allreduce", "allreduce", "10"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if r.returncode != 0 or r.stdout != "done\n":
        bad += 1
        print(f"failed: calls that are the same: status {r.returncode}\n{r.stdout}", file=sys.stderr)
    for _ in range(5):
        r = subprocess.run([MPIEXEC, "-n", "2", PROBE, "bcast0", "bcast1", "0", "last"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if SENTENCE not in re.sub(r"\s+", " ", r.stdout):
            bad += 1
            print(f"failed: two roots in the last call: status {r.returncode}\n{r.stdout}", file=sys.stderr)
    return 1 if bad else 0


sys.exit(main())
