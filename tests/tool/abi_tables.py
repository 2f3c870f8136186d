#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the tables of other MPIs' ABIs (api/*.abi) with the installed MPIs: constants, structs, symbols."""
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["SOURCE_DIR"], os.environ["BUILD_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "api"))
import gen_abi

# Names that a header may have no more; the library has them for older programs.
NOT_IN_HEADER = {"MPI_LB", "MPI_UB"}
n_failed = 0


def check(condition, what):
    global n_failed
    if not condition:
        n_failed += 1
        print(f"failed: {what}", flush=True)


def compare_header(mpi, abi, here):
    """Each constant as the other MPI's compiler sees it."""
    lines = ["#include <mpi.h>", "#include <stddef.h>", "#include <stdio.h>", "int main(int argc, char **argv)", "{",
             "    if (argc > 9) {", "        MPI_Init(&argc, &argv); // so that the library is asked for", "    }"]
    for name, (_, value) in abi.const.items():
        if value in abi.objects:  # some are there only where the Fortran compiler has the type
            lines += [f"#ifdef {name}", f'    printf("{name} %d\\n", (void *){name} == (void *)&{value});', "#endif"]
        elif name not in NOT_IN_HEADER and name not in abi.newer and name not in abi.own:
            lines.append(f'    printf("{name} %d\\n", (int)(size_t){name} == (int){value});')
    size, source, tag, error = abi.status
    lines.append(f'    printf("MPI_Status %d\\n", sizeof(MPI_Status) == {size} && offsetof(MPI_Status, MPI_SOURCE) == {source} '
                 f"&& offsetof(MPI_Status, MPI_TAG) == {tag} && offsetof(MPI_Status, MPI_ERROR) == {error});")
    for ctype, encoding in abi.handles.items():
        if mpi == "mpich" or ctype != "MPI_Session":
            want = "void *" if encoding == "pointer" else "int"
            lines.append(f'    printf("{ctype} %d\\n", sizeof({ctype}) == sizeof({want}));')
    for ctype in ("MPI_Aint", "MPI_Offset", "MPI_Count"):
        lines.append(f'    printf("{ctype} %d\\n", sizeof({ctype}) == 8);')
    lines += ["    return 0;", "}", ""]
    path = os.path.join(here, mpi + ".c")
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines))
    subprocess.run([f"mpicc.{mpi}", "-w", "-std=c99", "-o", path[:-2], path], check=True)
    rows = subprocess.run([path[:-2]], capture_output=True, text=True, check=True).stdout.splitlines()
    for row in rows:
        check(row.endswith(" 1"), f"{mpi}: {row.split()[0]} differs")
    return len(rows)


def listed(path):
    """Name, version (empty: it has none), kind and size of what a library offers."""
    done = subprocess.run(["nm", "-DS", "--defined-only", "--with-symbol-versions", path], capture_output=True, text=True, check=True)
    for word in (line.split() for line in done.stdout.splitlines()):
        if len(word) == 4:
            name, _, version = word[3].partition("@")
            yield name, version.lstrip("@"), word[2], int(word[1], 16)


def symbols(path):
    return {name: (kind, size) for name, _, kind, size in listed(path)}


def compare_versions(real, ours):
    """A symbol that the real library has with a version is in ours with that version; others have none."""
    theirs = {name: version for name, version, _, _ in listed(real)}
    for name, version, _, _ in listed(ours):
        check(theirs.get(name, version) == version, f"{name} has the version '{theirs.get(name)}' in {real}, and '{version}' in {ours}")


def real_library(program, *begins):
    """The library that a program of this MPI loads."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return next(line.split("=>")[1].split()[0] for line in out.splitlines() if line.split()[0].startswith(begins))


def compare_symbols(mpi, abi, here):
    """Every MPI function of the real library is in ours; variables of the table have its sizes."""
    theirs, mine = real_library(os.path.join(here, mpi), "libmpich.", "libmpi."), os.path.join(BUILD, "lib", "pliant", mpi, abi.library)
    real, ours = symbols(theirs), symbols(mine)
    compare_versions(theirs, mine)
    for name, (kind, size) in real.items():
        if name.startswith(("MPI_", "PMPI_", "MPIX_", "PMPIX_")) and not name.endswith(("_F90", "_FN")) and name != "MPI_CONVERSION_FN_NULL":
            check(name in ours, f"{mpi}: {name} is not there")
            check(kind not in "BDR" or ours.get(name, ("", 0))[1] == size, f"{mpi}: {name} has another size")
    for name, size in abi.objects.items():
        # Programs copy the objects of handles, whose size must be the same; of others it differs between releases.
        fits = name not in real or real[name][1] == size or (not name.startswith("ompi_mpi_") and size > real[name][1])
        check(fits, f"{mpi}: {name} has {real.get(name)}, not {size} bytes")
        check(ours.get(name, ("", 0))[1] == size, f"{mpi}: our {name} has another size")
    return len(ours)


def compare_fortran(abi, here):
    """The numbers of handles as Open MPI's compiler sees them, and every procedure of its Fortran library."""
    path = os.path.join(here, "numbers.f90")
    with open(path, "w", encoding="ascii") as f:
        f.write("program numbers\n  use mpi\n  integer :: ierror\n  if (command_argument_count() > 9) call MPI_Init(ierror)\n")
        f.writelines(f"  print '(a, l2)', '{name}', {name} == {number}\n" for name, number in abi.fortran.items()
                     if name not in abi.own and name not in abi.newer)
        f.write("end program\n")
    program = path[:-4]
    subprocess.run(["mpif90.openmpi", "-w", "-o", program, path], check=True, cwd=here)
    rows = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    for row in rows:
        check(row.endswith(" T"), f"openmpi: {row.split()[0]} has another number in Fortran")
    theirs = real_library(program, "libmpi_mpifh.")
    mine = os.path.join(BUILD, "lib", "pliant", "openmpi", "libmpi_mpifh.so.40")
    real, ours = symbols(theirs), symbols(mine)
    compare_versions(theirs, mine)
    for name in real:
        is_internal = name in ("ompi_intercept_extra_state_t_class", "mpiext_pcollreq_mpifh_dummy")
        check(is_internal or name in ours, f"openmpi: {name} is not there")
    check(len(rows) > 90 and len(real) > 1000, "openmpi: numbers and procedures of Fortran were compared")


def main():
    n_there = 0
    with tempfile.TemporaryDirectory(dir=BUILD) as here:
        for mpi in ("mpich", "openmpi"):
            if shutil.which(f"mpicc.{mpi}"):
                n_there += 1
                abi = gen_abi.Abi(os.path.join(SOURCE, "api", mpi + ".abi"))
                print(f"{mpi}: {compare_header(mpi, abi, here)} values, {compare_symbols(mpi, abi, here)} symbols")
        if shutil.which("mpif90.openmpi") and shutil.which("gfortran"):
            compare_fortran(gen_abi.Abi(os.path.join(SOURCE, "api", "openmpi.abi")), here)
    if n_there == 0:
        print("there is neither mpicc.mpich nor mpicc.openmpi")
        sys.exit(77)
    sys.exit(1 if n_failed else 0)


main()
