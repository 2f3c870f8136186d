#!/usr/bin/env python3
"""Sessions that cannot go on say why: string tags that differ, sets that do not exist, wrong --pset."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import PROBE, Run, check, status

SOURCE = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Session s;
    MPI_Group g;
    MPI_Comm c;
    int rank;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
    MPI_Group_from_session_pset(s, argc > 1 ? argv[1] : "mpi://WORLD", &g);
    MPI_Group_rank(g, &rank);
    MPI_Comm_create_from_group(g, rank == 0 ? "apples" : "pears", MPI_INFO_NULL,
                               MPI_ERRORS_ARE_FATAL, &c);
    MPI_Session_finalize(&s);
    return 0;
}
"""

with tempfile.TemporaryDirectory() as folder:
    path, program = os.path.join(folder, "tags.c"), os.path.join(folder, "tags")
    with open(path, "w", encoding="utf-8") as f:
        f.write(SOURCE)
    mpicc = os.path.join(os.environ["BUILD_DIR"], "bin", "mpicc")
    subprocess.run([mpicc, "-o", program, path], check=True)
    run = Run("-n", "3", program)
    check(run.rc == 123, f"tags that differ end with {run.rc}")
    for word in ("deadlock", "MPI_Comm_create_from_group", "'apples'", "'pears'"):
        check(word in run.words, f"'{word}' is missing in: {run.err}")
    run = Run("-n", "2", program, "mpi://WORDL")
    check(run.rc not in (0, 123), "a set that does not exist is no success")
    for word in ("MPI_Group_from_session_pset", "'mpi://WORDL'", "did you mean 'mpi://WORLD'"):
        check(word in run.words, f"'{word}' is missing in: {run.err}")

for wrong, words in (
        ("io", ("--pset", "'io'")),
        ("=0", ("'=0'",)),
        ("io=", ("'io='",)),
        ("io=0-9", ("rank 9", "0 to 3")),
        ("io=2-1", ("backwards",)),
        ("io=0;1", ("comma",)),
        ("io=x", ("numbers and ranges",)),
        ("mpi://x=0", ("belong to MPI",))):
    run = Run("-n", "4", "--pset", wrong, PROBE, "print", "started")
    check(run.rc == 2 and "started" not in run.out, f"--pset {wrong}: exit status {run.rc}")
    for word in words:
        check(word in run.words, f"--pset {wrong}: '{word}' is missing in: {run.err}")
run = Run("-n", "4", "--pset", "io=0", "--pset", "io=1", PROBE, "print", "started")
check(run.rc == 2 and "twice" in run.words, f"a set named twice: {run.err}")

# Hardware sets follow the binding; a made-up machine shows which.
run = Run("-n", "8", "--dry-run", "--bind-to", "core", "--map-by", "socket", "--pset", "io=0-2,7",
          PROBE, env={"HWLOC_SYNTHETIC": "pack:2 numa:1 core:4 pu:1"})
for line in ("set mpi://hw/socket/0: 0,2,4,6", "set mpi://hw/socket/1: 1,3,5,7",
             "set mpi://hw/numa/1: 1,3,5,7", "set mpi://hw/core/0: 0", "set mpi://hw/core/7: 7",
             "set io: 0-2,7"):
    check(line in run.out, f"'{line}' is missing in: {run.out}{run.err}")
sys.exit(status())
