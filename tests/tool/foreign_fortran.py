#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fortran programs built by the real mpif90 of MPICH and of Open MPI run on this MPI, by each of the three interfaces and in one world."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SOURCE, Run, check, sanitizer_flags, status

# The library that tells a Fortran program of each, and how it is offered.
LIBRARY = {"mpich": ("libmpichfort.so.12", "the installed one is used, above ours"),
           "openmpi": ("libmpi_mpifh.so.40", "/pliant/openmpi/libmpi_mpifh.so.40")}
THERE = [abi for abi in LIBRARY if shutil.which(f"mpif90.{abi}") and shutil.which("gfortran")]
if not THERE:
    print("there is neither mpif90.mpich nor mpif90.openmpi")
    sys.exit(77)

here = tempfile.mkdtemp()


def build(abi, name, source, *flags):
    """In a folder of its own: the modules of the programs have the same names."""
    folder = os.path.join(here, abi, name)
    os.makedirs(folder)
    to = os.path.join(folder, "program")
    subprocess.run([f"mpif90.{abi}", "-w", "-fallow-argument-mismatch", "-ffree-line-length-none", *sanitizer_flags(), *flags, "-o", to,
                    os.path.join(SOURCE, "tests", "abi", source)], check=True, cwd=folder)
    return to


def try_all(abi):
    programs = {"mpif.h": build(abi, "header", "foreign_fortran.F90"),
                "mpi": build(abi, "module", "foreign_fortran.F90", "-DMODULE_MPI"),
                "mpi_f08": build(abi, "f08", "foreign_f08.f90")}
    if abi == "openmpi":  # at a fixed address it has copies of the library's variables
        programs["fixed"] = build(abi, "fixed", "foreign_fortran.F90", "-fno-pie", "-no-pie")
    for interface, program in programs.items():
        r = Run("-n", 2, "-x", "LD_BIND_NOW=1", program, "file", cwd=here, timeout=120)
        check(r.rc == 0 and r.out == "all is well\n" and r.err == "", f"{abi}, {interface}: {r}")
    other = "openmpi" if abi == "mpich" else "mpich"
    r = Run("-n", 1, f"--abi={other}", programs["mpi"])
    check(r.rc == 2 and f"which --abi={other} does not offer" in r.words, r)
    r = Run("--abi", programs["mpi_f08"], tool=os.path.join(BUILD, "bin", "mpiinfo"))
    check(r.rc == 0 and LIBRARY[abi][0] in r.out and LIBRARY[abi][1] in r.out, r)
    return programs


def sessions(abi):
    """Open MPI 4 has none: the program is linked to our library, which has what Open MPI 5 has."""
    library = os.path.join(BUILD, "lib", "pliant", "openmpi", "libmpi_mpifh.so.40")
    flags = {"mpich": [], "openmpi": ["-DOF_OPENMPI", "-Wl,--no-as-needed,--allow-shlib-undefined", library]}[abi]
    r = Run("-n", 2, build(abi, "sessions", "foreign_sessions.F90", *flags), timeout=120)
    check(r.rc == 0 and r.out == "all is well\n" and r.err == "", f"{abi}: {r}")


made = {abi: try_all(abi) for abi in THERE}
for one in THERE:
    sessions(one)
first, last = made[THERE[0]], made[THERE[-1]]
r = Run("-n", 1, first["mpif.h"], "file", ":", "-n", 1, last["mpi"], "file", cwd=here, timeout=120)
check(r.rc == 0 and r.out == "all is well\n", r)
check(not os.path.exists(os.path.join(here, "file")), "the file is still there")
shutil.rmtree(here)
sys.exit(status())
