#!/usr/bin/env python3
"""The Fortran tests of this library, run over the library of another MPI that has the standard ABI.

The programs of tests/fortran are built with mpifort as always; they then run with libmpi_abi from the folder of --lib,
under that MPI's own mpiexec. A program with C variables that the ABI lacks is left out; the extensions are left
out by the programs themselves.
Checks that fail because that library does something else than the standard says are named in KNOWN, each with its reason; all
other checks of their program must pass.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

RANKS = {"One": 1, "Two": 2, "Three": 3}
KEEPS_SUCCESS = "after an error handler of the program has returned, the call returns MPI_SUCCESS, not the error"
NO_DATAREP = "data representations of the program are taken for the native one"
# By the first line of MPI_Get_library_version: checks that fail, and what that library does.
KNOWN = {
    r"MPICH Version: *5\.1\.0a1": {
        "the call returns the code that its error handler got": KEEPS_SUCCESS,
        "MPI_Send returns its error after an error handler": KEEPS_SUCCESS,
        "MPI_File_open returns the code that its error handler got": KEEPS_SUCCESS,
        "MPI_File_read returns the code that its error handler got": KEEPS_SUCCESS,
        "MPI_Win_lock returns the code that its error handler got": KEEPS_SUCCESS,
        "MPI_Group_from_session_pset returns the code that its error handler got": KEEPS_SUCCESS,
        "the conversions were called": NO_DATAREP,
        "what is in the file": NO_DATAREP,
    },
}
HELLO = """program hello
  use mpi_f08
  implicit none
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: text
  integer :: n, end
  call MPI_Get_library_version(text, n)
  end = index(text(:n), char(10))
  print '(a)', text(:merge(end - 1, n, end > 0))
end program
"""


def link_library(lib, to):
    """A folder in which the programs find that library, whatever the number in its name is."""
    have = sorted(p for p in lib.glob("libmpi_abi.so*") if p.exists())
    if not have:
        sys.exit(f"fortran_abi: {lib} has no libmpi_abi.so; --lib names the folder that has that of the other MPI")
    for number in (0, 1):
        (to / f"libmpi_abi.so.{number}").symlink_to(have[0].resolve())


def built(args, source, to):
    flags = ["-w", "-fallow-argument-mismatch"] if source.stem.startswith("mpif_") else ["-w"]
    p = subprocess.run([args.build / "bin" / "mpifort", "-g", "-O0", *flags, "-J", to.parent, "-o", to, source], text=True, check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if p.returncode != 0:
        print(p.stdout)
        sys.exit(f"fortran_abi: {source} cannot be built")
    return to


def judged(text, status, known):
    """Whether a program passes, and what is to be said of it. A check in known may fail, and no other."""
    failed = sorted(set(re.findall(r"^ *failed: (.*?) *$", text, re.M)))
    if status == 0 and "all good" in text and not failed:
        return True, ", but ".join(["passes", *re.findall(r"^ *(left out: .*?) *$", text, re.M)])
    if failed and all(check in known for check in failed) and re.search(r"^STOP 1|called MPI_Abort", text, re.M):
        reasons = sorted({known[check] for check in failed})
        return True, "passes but for " + "; ".join(
            ", ".join(f"'{check}'" for check in failed if known[check] == why) + f": {why}" for why in reasons)
    return False, "fails"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"), help="the build folder of this library")
    p.add_argument("--lib", type=pathlib.Path, required=True, help="the folder with the other MPI's libmpi_abi.so")
    p.add_argument("--mpiexec", help="its mpiexec; else that of ../bin beside the folder, else that of the PATH")
    p.add_argument("--limit", type=int, default=200, help="seconds that one program may take")
    args = p.parse_args()
    args.build, args.lib = args.build.resolve(), args.lib.resolve()
    beside = args.lib.parent / "bin" / "mpiexec"
    mpiexec = args.mpiexec or (str(beside) if beside.exists() else "mpiexec")
    tests = pathlib.Path(__file__).resolve().parents[1] / "fortran"
    n_failed = 0
    with tempfile.TemporaryDirectory(prefix="fortran-abi.") as made:
        work = pathlib.Path(made)
        link_library(args.lib, work)
        env = dict(os.environ, LD_LIBRARY_PATH=f"{work}:{args.lib}")
        (work / "hello.f90").write_text(HELLO)
        said = subprocess.run([mpiexec, "-n", "1", built(args, work / "hello.f90", work / "hello")], env=env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(f"over: {said.stdout.strip()}", flush=True)
        if said.returncode != 0 or "Pliant" in said.stdout:
            sys.exit("fortran_abi: a first program does not run over that library")
        known = {check: why for name, checks in KNOWN.items() if re.match(name, said.stdout.strip()) for check, why in checks.items()}
        for source in sorted(tests.glob("*.f*")):
            if "MPI_F_STATUS_IGNORE" in source.read_text():
                print(f"{source.name:24} left out: it needs variables of mpi.h that the ABI does not have", flush=True)
                continue
            word = re.search(r"(One|Two|Three) ranks?\.$", source.read_text().splitlines()[0])
            if not word:
                print(f"{source.name:24} left out: it tries what the ABI does not have", flush=True)
                continue
            ranks = RANKS[word.group(1)]
            program = built(args, source, work / source.stem)
            try:
                done = subprocess.run([mpiexec, "-n", str(ranks), program], env=env, cwd=work, text=True, check=False,
                                      timeout=args.limit, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                text = done.stdout
                good, says = judged(text, done.returncode, known)
            except subprocess.TimeoutExpired as late:
                good, says = False, "fails"
                text = f"{(late.stdout or b'').decode(errors='replace')}\nno end within {args.limit} s"
            print(f"{source.name:24} {ranks} ranks  {says}", flush=True)
            if not good:
                n_failed += 1
                print(text)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
