#!/usr/bin/env python3
"""PMPI tools that nobody here wrote, unmodified, on this library: the trace that each makes of a program is the one that it makes on its own MPI.

usage: tools_world.py [--build DIR] [--work DIR]

EZTrace comes from Debian's packages (network), which are unpacked into a folder and not installed. It is there for MPICH and for Open MPI,
and both run with mpiexec --tool; once more with --profile and --check besides. Score-P and mpiP are no packages of Debian 12.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PACKAGES = ["libeztrace0", "libopen-trace-format2-10", "otf2-tools"]
PROGRAM = """
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20; i++) {
        MPI_Irecv(&sum, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &request);
        MPI_Send(&i, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return sum == 19 * size ? 0 : 1;
}
"""


def unpack(work):
    """The packages, in a folder; where their libraries are."""
    root = work / "root"
    for name in PACKAGES:
        subprocess.run(["apt-get", "download", name], cwd=work, check=True, capture_output=True)
        for package in work.glob(name + "_*.deb"):
            subprocess.run(["dpkg", "-x", package, root], check=True)
    return next(root.glob("usr/lib/*/libeztrace-lib.so")).parent


def events(work, libraries, trace):
    """How many events of each kind the trace has."""
    p = subprocess.run([work / "root/usr/bin/otf2-print", trace / "eztrace_log.otf2"], env={**os.environ, "LD_LIBRARY_PATH": str(libraries)},
                       capture_output=True, text=True, check=True)
    return collections.Counter(re.findall(r"^(ENTER|LEAVE|MPI_[A-Z_]+) ", p.stdout, re.M))


def trace_of(work, libraries, name, command):
    """Run it in a folder of its own; the events, and what was printed."""
    folder = work / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    p = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, "LD_LIBRARY_PATH": str(libraries)}, capture_output=True,
                       text=True, check=False, timeout=120)
    made = list(folder.glob("*_trace"))
    if p.returncode != 0 or len(made) != 1:
        return collections.Counter(), p.stdout + p.stderr
    return events(work, libraries, made[0]), p.stdout + p.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    args = parser.parse_args()
    work = (args.work or pathlib.Path(tempfile.mkdtemp())).absolute()
    work.mkdir(exist_ok=True)
    n_bad = 0
    try:
        libraries = unpack(work)
        (work / "program.c").write_text(PROGRAM, encoding="ascii")
        mpiexec = [args.build.absolute() / "bin" / "mpiexec", "--timeout", 60, "-x", f"LD_LIBRARY_PATH={libraries}"]
        for mpi, preload in (("openmpi", ["--allow-run-as-root", "--oversubscribe", "-x"]), ("mpich", ["-genv"])):
            program, tool = work / f"program.{mpi}", libraries / f"libeztrace-{mpi}.so"
            subprocess.run([f"mpicc.{mpi}", "-g", "-o", program, work / "program.c"], check=True)
            how = [*preload, f"LD_PRELOAD={tool}"] if mpi == "openmpi" else [*preload, "LD_PRELOAD", tool]
            theirs, said = trace_of(work, libraries, f"{mpi}.own", [f"mpirun.{mpi}", *how, "-n", 2, program])
            for more in ([], ["--profile", "--check"]):
                ours, also = trace_of(work, libraries, f"{mpi}.ours", [*mpiexec, "--tool", tool, *more, "-n", 2, program])
                is_same = sum(ours.values()) > 100 and ours == theirs
                n_bad += not is_same
                print(f"EZTrace of {mpi} {' '.join(more):18} {'the same' if is_same else 'DIFFERS'}: {sum(ours.values())} events, {dict(ours)}")
                if not is_same:
                    print(f"  on its own MPI: {dict(theirs)}\n{said}\n{also}")
    finally:
        if args.work is None:
            shutil.rmtree(work)
    sys.exit(n_bad != 0)


if __name__ == "__main__":
    main()
