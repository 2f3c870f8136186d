#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fortran programs built by the real mpif90 of MPICH run on this MPI, by each of the three interfaces and in one world."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SOURCE, Run, check, status

COMPILER = "mpif90.mpich"
if not shutil.which(COMPILER):
    print(f"there is no {COMPILER}")
    sys.exit(77)

here = tempfile.mkdtemp()


def build(name, source, *flags):
    """In a folder of its own: the modules of the programs have the same names."""
    folder = os.path.join(here, name)
    os.mkdir(folder)
    to = os.path.join(folder, "program")
    subprocess.run([COMPILER, "-w", "-ffree-line-length-none", *flags, "-o", to, os.path.join(SOURCE, "tests", "abi", source)],
                   check=True, cwd=folder)
    return to


programs = {"mpif.h": build("header", "foreign_fortran.F90"), "mpi": build("module", "foreign_fortran.F90", "-DMODULE_MPI"),
            "mpi_f08": build("f08", "foreign_f08.f90")}
for interface, program in programs.items():
    r = Run("-n", 2, program, "file", cwd=here, timeout=120)
    check(r.rc == 0 and r.out == "all is well\n" and r.err == "", f"{interface}: {r}")
r = Run("-n", 1, programs["mpif.h"], "file", ":", "-n", 1, programs["mpi"], "file", cwd=here, timeout=120)
check(r.rc == 0 and r.out == "all is well\n", r)
check(not os.path.exists(os.path.join(here, "file")), "the file is still there")

r = Run("-n", 1, "--abi=openmpi", programs["mpi"])
check(r.rc == 2 and "needs libmpichfort.so.12, which --abi=openmpi does not offer" in r.words, r)
r = Run("--abi", programs["mpi_f08"], tool=os.path.join(BUILD, "bin", "mpiinfo"))
check(r.rc == 0 and "libmpichfort.so.12" in r.out and "the installed one is used, above ours" in r.out, r)
shutil.rmtree(here)
sys.exit(status())
