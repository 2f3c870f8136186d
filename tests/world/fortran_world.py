#!/usr/bin/env python3
"""Fortran programs that nobody here wrote, built with mpifort and mpicc and run.

ScaLAPACK, MUMPS, HDF5, OpenCoarrays and MPICH's own tests come from Debian's source packages (network); a folder such as
scalapack-2.2.1 that already lies in the folder of --work is used as it is. A test of MPICH that fails is built and run by MPICH too, where
that is installed: it counts only where MPICH passes. The NAS Parallel Benchmarks are not in Debian: they run when their folders,
such as NPB3.3-MPI and NPB3.4-MPI, or links to them, are in the folder of --work. What the programs say is printed as a table; --docs puts it into a
page, where rows of programs that were not run stay. BLAS and LAPACK must be there (Debian's liblapack-dev).
"""
import argparse
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

from world import NoSource, World

BEGIN = "<!-- programs of others: make test-fortran-world writes from here -->"
END = "<!-- to here -->"

PBLAS = ["xdpblas1tst", "xdpblas2tst", "xdpblas3tst"]
LIN = ["xdlu", "xdllt", "xdqr", "xdinv", "xdls", "xddblu", "xdptllt"]
EIG = ["xdsep", "xdsvd", "xdtrd", "xdhrd", "xdbrd"]


def text_of(log):
    return open(log, errors="replace").read()


def run_tester(w, package, name, folder, judge, ranks=None, stdin=None, arguments=()):
    """One row: the program must end well, and what it wrote must please judge(text, status), which returns status and a remark."""
    if not w.wanted(name):
        return
    ranks = ranks or w.ranks
    log = w.work / f"{package}.{name}.{ranks}.log".replace(" ", "_")
    log.unlink(missing_ok=True)
    if not (folder / name).exists():
        w.row(package, name, ranks, "not built", 0)
        return
    command = ["mpiexec", "-n", str(ranks), f"./{name}", *arguments]
    if stdin:
        command = ["sh", "-c", f"exec {' '.join(command)} <{stdin}"]
    status, took = w.run(command, folder, log, w.limit)
    says = ""
    if status is not None:
        status, says = judge(text_of(log), status)
    w.row(package, name, ranks, status, took, says)


def blacs_says(text, status):
    """The testers of BLACS end by BLACS_ABORT, so their exit status is never 0."""
    passed = sum(int(n) for n in re.findall(r"(\d+) PASSED", text))
    failed = sum(int(n) for n in re.findall(r"(\d+) FAILED", text))
    end = text.rfind("The final auxiliary test is for BLACS_ABORT")
    if end < 0 or status == 0:
        return status or "no end by BLACS_ABORT", "the last test was not reached"
    return (0 if passed and not failed else "tests fail"), f"{passed} pass, {failed} fail"


def scalapack_says(text, status):
    passed = sum(int(n) for n in re.findall(r"(\d+) tests? completed and passed", text))
    failed = sum(int(n) for n in re.findall(r"(\d+) tests? completed and failed", text))
    if status == 0 and (failed or not passed):
        status = "tests fail" if failed else "no test"
    return status, f"{passed} pass, {failed} fail"


def svd_says(text, status):
    """A line for each test, and no sum."""
    passed, failed = len(re.findall(r"^ *Passed ", text, re.M)), len(re.findall(r"has failed", text))
    if status == 0 and (failed or not passed or "End of tests" not in text):
        status = "tests fail" if failed else "no end of tests"
    return status, f"{passed} pass, {failed} fail"


def pblas_says(text, status):
    """Each routine has a row: tests, passed, failed, skipped."""
    rows = re.findall(r"^ *\|? +P[A-Z0-9]+ +(\d+) +(\d+) +(\d+) +(\d+) *$", text, re.M)
    passed, failed = sum(int(r[1]) for r in rows), sum(int(r[2]) for r in rows)
    if status == 0 and (failed or not passed):
        status = "tests fail" if failed else "no test"
    return status, f"{passed} pass, {failed} fail"


def scalapack_library(w):
    """The library of double precision; its folder."""
    here = w.work / "scalapack.build"
    log = w.work / "scalapack.log"
    if not (here / "built").exists():
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(w.source("scalapack"), here)
        text = (here / "SLmake.inc.example").read_text()
        (here / "SLmake.inc").write_text(re.sub(r"-O\d", "-O1 -w", text))
        # Goals that run at the same time spoil the one archive they write into: the objects are made together, the archive afterwards.
        w.run(["make", "-k", f"-j{w.jobs}", "lib", "PRECISIONS=double"], here, log)
        (here / "libscalapack.a").unlink(missing_ok=True)
        w.must(["make", "lib", "PRECISIONS=double"], here, log)
        (here / "built").touch()
    return here


def scalapack(w):
    here = scalapack_library(w)
    log = w.work / "scalapack.log"
    testers = [("BLACS/TESTING", "all"), ("PBLAS/TESTING", "double"), ("TESTING/LIN", "double"), ("TESTING/EIG", "double")]
    for folder, goal in testers:
        w.must(["make", f"-j{w.jobs}", "-C", folder, goal], here, log)
    for name in ("xFbtest", "xCbtest"):
        run_tester(w, "BLACS", name, here / "BLACS" / "TESTING", blacs_says)
    for name in PBLAS:
        run_tester(w, "PBLAS", name, here / "PBLAS" / "TESTING", pblas_says)
    for name in LIN + EIG:
        run_tester(w, "ScaLAPACK", name, here / "TESTING", svd_says if name == "xdsvd" else scalapack_says)


MUMPS_SETTINGS = """
LPORDDIR = $(topdir)/PORD/lib/
LORDERINGS = -L$(LPORDDIR) -lpord
IORDERINGSC = -I$(topdir)/PORD/include/
ORDERINGSF = -Dpord
ORDERINGSC = -Dpord
LIBEXT = .a
LIBEXT_SHARED = .so
OUTC = -o $(EMPTY)
OUTF = -o $(EMPTY)
RM = rm -f
CC = mpicc
FC = mpifort
FL = mpifort
AR = ar cr $(EMPTY)
RANLIB = ranlib
LIBS = {scalapack}/libscalapack.a -llapack
LIBBLAS = -lblas
LIBOTHERS = -lpthread
CDEFS = -DAdd_
OPTF = -O1 -w
OPTL = -O1
OPTC = -O1 -w
"""


def mumps_says(*solution):
    """A judge that looks for the solution, which the README of the examples names."""
    def judge(text, status):
        found = re.search(r"Solution is\s*:?(.*)", text, re.S)
        numbers = [float(x) for x in re.findall(r"[-+]?\d+\.\d*(?:E[-+]?\d+)?", found.group(1), re.I)] if found else []
        good = len(numbers) >= len(solution) and all(abs(a - b) < 1e-4 for a, b in zip(numbers, solution))
        return (status if status != 0 or good else "wrong solution"), ""
    return judge


def mumps(w):
    library = scalapack_library(w)
    here = w.work / "mumps.build"
    log = w.work / "mumps.log"
    if not (here / "built").exists():
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(w.source("mumps"), here)
        (here / "Makefile.inc").write_text(MUMPS_SETTINGS.replace("{scalapack}", str(library)))
        w.must(["make", "prerequisites"], here, log)
        # Debian's goals make shared libraries too, which are not needed here.
        for goal in ("../include/mumps_int_def.h", "../lib/libmumps_common.a", "../lib/libdmumps.a"):
            w.must(["make", f"-j{w.jobs}", "-C", "src", "ARITH=d", goal], here, log)
        w.must(["make", f"-j{w.jobs}", "-C", "examples", "d"], here, log)
        (here / "built").touch()
    for name, ranks, stdin, solution in (("dsimpletest", 2, "input_simpletest_real", (1, 2, 3, 4, 5)),
                                         ("dsimpletest_save_restore", 2, "input_simpletest_real", (1, 2, 3, 4, 5)),
                                         ("c_example", 3, None, (1, 2)), ("c_example_save_restore", 3, None, (1, 2))):
        run_tester(w, "MUMPS", name, here / "examples", mumps_says(*solution), ranks, stdin)


def hdf5_says(text, status):
    passed, failed = len(re.findall(r"PASSED", text)), len(re.findall(r"FAILED", text))
    if status == 0 and (failed or not passed):
        status = "tests fail" if failed else "no test"
    return status, f"{passed} pass, {failed} fail"


def hdf5(w):
    top = w.source("hdf5")
    here = w.work / "hdf5f.build"
    log = w.work / "hdf5f.log"
    if not (here / "fortran" / "testpar" / "parallel_test").exists():
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        w.must([top / "configure", "--enable-parallel", "--enable-fortran", "--disable-shared", "--disable-hl", "--disable-tools",
                "--disable-dependency-tracking", "CC=mpicc", "FC=mpifort", "CFLAGS=-O1 -w", "FCFLAGS=-O1 -w"], here, log)
        w.must(["make", f"-j{w.jobs}", "-C", "src"], here, log)
        w.must(["make", f"-j{w.jobs}", "-C", "test", "libh5test.la"], here, log)
        # The modules depend on one another and the makefile does not say how.
        w.must(["make", "-C", "fortran/src"], here, log)
        w.must(["make", "-C", "fortran/test", "libh5test_fortran.la"], here, log)
        w.must(["make", "-C", "fortran/testpar", "parallel_test"], here, log)
    run_tester(w, "HDF5", "parallel_test", here / "fortran" / "testpar", hdf5_says)


NAS_SETTINGS = """
MPIFC = mpifort
MPIF77 = mpif77
FLINK = $(MPIFC)
FMPI_LIB =
FMPI_INC =
FFLAGS = -O2 -w -fallow-invalid-boz
FLINKFLAGS = $(FFLAGS)
MPICC = mpicc
CLINK = $(MPICC)
CMPI_LIB =
CMPI_INC =
CFLAGS = -O2 -w
CLINKFLAGS = $(CFLAGS)
CC = cc
BINDIR = ../bin
CONVERTFLAG = -DFORTRAN_REC_SIZE=0
RAND = randi8
"""
# By kernel: on how many ranks it runs. DT has a graph of 5 nodes in class S and of 11 in class W.
NAS = {"bt": (1, 4), "cg": (1, 2, 4), "ep": (1, 2, 4), "ft": (1, 2, 4), "is": (1, 2, 4), "lu": (1, 2, 4), "mg": (1, 2, 4),
       "sp": (1, 4)}
NAS_DT = {"S": 5, "W": 11}
# The files of 3.4.1 and later choose the interface; those before it have mpif.h.
NAS_INTERFACES = {"def": "mpi", "f": "mpif.h", "f08": "mpi_f08"}


def nas_says(text, status):
    words = re.findall(r"Verification\s*=\s*(\w+)", text)
    good = words and all(word == "SUCCESSFUL" for word in words)
    return (status if status != 0 or good else "not verified"), ""


def nas_dt_says(text, status):
    """The main function of DT returns 1 after a run that was verified."""
    return nas_says(text, 0 if status == 1 else status)


def nas_sources(w):
    """Every NPB*-MPI of the folder: 3.3, which has mpif.h, and 3.4 may lie there together."""
    w.folder("NPB*-MPI", "the NAS Parallel Benchmarks, NPB3.4-MPI")
    return sorted(p for p in w.work.glob("NPB*-MPI") if p.is_dir())


def nas_folder(w, source, form):
    """A copy of the source, ready for make, with one of the three interfaces."""
    here = w.work / f"{source.name}.{form}"
    if not (here / "bin").exists():
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(source, here)
        (here / "config" / "make.def").write_text(NAS_SETTINGS)
        (here / "bin").mkdir()
    return here


def nas_kernel(w, here, package, form, kernel, size):
    """One kernel of one size on each of its numbers of ranks. Programs of 3.3 are built for a number of ranks."""
    log = here.with_suffix(here.suffix + ".log")
    fixed = kernel != "dt" and not (here / "BT" / "mpinpb_f.f90").exists()
    for ranks in NAS.get(kernel, (NAS_DT[size],)):
        name = f"{kernel}.{size}.{ranks if fixed else 'x'}"
        if not w.wanted(name):
            continue
        if not (here / "bin" / name).exists():
            w.must(["make", kernel.upper(), f"CLASS={size}", f"F08={form}", f"NPROCS={ranks}"], here, log)
        if kernel == "dt":
            run_tester(w, package, name, here / "bin", nas_dt_says, ranks, arguments=["BH"])
        else:
            run_tester(w, package, name, here / "bin", nas_says, ranks)


def nas(w):
    for source in nas_sources(w):
        version = re.match(r"NPB([\d.]*\d)", source.name)
        label = f"NAS {version.group(1)}" if version else "NAS"
        forms = NAS_INTERFACES if (source / "BT" / "mpinpb_f08.f90").exists() else {"f": "mpif.h"}
        for form, interface in forms.items():
            here = nas_folder(w, source, form)
            for size in "SW":
                for kernel in [*NAS, "dt"]:
                    if kernel not in ("is", "dt"):
                        nas_kernel(w, here, f"{label} with {interface}", form, kernel, size)
                    elif form == "f":  # in C, whatever the form is
                        nas_kernel(w, here, f"{label} in C", form, kernel, size)


def caf_says(text, status):
    found = re.search(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)", text)
    if not found:
        return status or "no test", ""
    failed = re.findall(r"^\s+\d+ - (\S+) \((.+)\)", text, re.M)
    names = ", ".join(f"{name} ({why})" for name, why in failed)
    return status, f"{int(found.group(3)) - int(found.group(2))} of {found.group(3)}" + (f"; not {names}" if names else "")


def coarrays(w):
    """OpenCoarrays' own tests, by its own caf and cafrun."""
    source = w.source("open-coarrays")
    here = w.work / "coarrays.build"
    log = w.work / "coarrays.log"
    if not (here / "built").exists():
        shutil.rmtree(here, ignore_errors=True)
        w.must(["cmake", "-S", source, "-B", here, f"-DMPI_HOME={w.build}", f"-DMPI_C_COMPILER={w.bin}/mpicc",
                f"-DMPI_Fortran_COMPILER={w.bin}/mpifort", f"-DMPIEXEC_EXECUTABLE={w.bin}/mpiexec", "-DCMAKE_BUILD_TYPE=Release",
                "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_Fortran_COMPILER=gfortran"], w.work, log)
        w.must(["make", f"-j{w.jobs}"], here, log)
        (here / "built").touch()
    if w.wanted("ctest"):
        said = w.work / "coarrays.ctest.log"
        said.unlink(missing_ok=True)
        # Its installer would fetch other packages.
        status, took = w.run(["ctest", "--timeout", "200", "-E", "installation|shellcheck"], here, said, 4 * w.limit)
        says = ""
        if status is not None:
            status, says = caf_says(text_of(said), status)
        w.row("OpenCoarrays", "ctest", "1 to 8", status, took, says)


MPICH_FOLDERS = ["f77", "f90", "f08"]
# Rows that MPICH 4.0.2 passes and a library of MPI 5.0 cannot, or not with a module mpi that declares all procedures, as the
# standard has it.
MPICH_UNFIT = {"baseenvf": "knows MPI up to version 4", "baseenvf90": "knows MPI up to version 4",
               "aintf": "declares again what `mpif.h` declares",
               "profile1f90": "has its own `mpi_send` where it uses the module that declares it"}


def mpich_list(places, folder):
    """The test list of a folder: that which configure wrote, else that of the source; None: there is none."""
    return next((p / folder / "testlist" for p in places if (p / folder / "testlist").exists()), None)


def mpich_rows(places, folder):
    """Of a test list: folder, name, ranks, arguments, settings; the test lists of the folders it names follow."""
    for line in open(mpich_list(places, folder)):
        words = re.sub(r"#.*", "", line).split()
        if len(words) == 1 and mpich_list(places, os.path.join(folder, words[0])):
            yield from mpich_rows(places, os.path.join(folder, words[0]))
        elif len(words) >= 2:
            more = [word.partition("=") for word in words[2:]]
            yield folder, words[0], int(words[1]), [v for k, _, v in more if k == "arg"], [v for k, _, v in more if k == "env"]


def mpich_build(w, name, suffix, more):
    """MPICH's tests, configured for the compilers with that suffix; the folder."""
    top = w.source("mpich") / "test" / "mpi"
    here, log = w.work / name, w.work / f"{name}.log"
    if not (here / "built").exists():
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        if not (top / "configure").exists():
            w.must(["./autogen.sh"], top, log)
        w.must([top / "configure", *more, f"CC=mpicc{suffix}", f"F77=mpif77{suffix}", f"FC=mpifort{suffix}", f"MPICC=mpicc{suffix}",
                f"MPIFC=mpifort{suffix}", f"MPIF77=mpif77{suffix}", "--enable-fortran=all", "--disable-cxx", "--enable-strictmpi=no",
                "--disable-dependency-tracking", "CFLAGS=-O1 -w", "FFLAGS=-w", "FCFLAGS=-w"], here, log)
        for folder in ("util", "dtpools"):
            w.must(["make", f"-j{w.jobs}", "-C", folder], here, log)
        # Its configure leaves mpi_f08 to MPICH's own build.
        w.must(["make", "-C", "util", "am_libmtest_f08_la_OBJECTS=mtest_f08.lo", "libmtest_f08.la"], here, log)
        (here / "built").touch()
    return here


def mpich_row(w, here, row, mpiexec):
    """Why a row fails; None: it passes. As MPICH's runtests, any line but `No Errors` is a failure."""
    folder, name, ranks, args, env = row
    log = w.work / f"{here.name}.{folder.replace('/', '.')}.{name}.log"
    log.unlink(missing_ok=True)
    if w.run(["make", name], here / folder, log)[0] != 0:
        return "cannot be built"
    log.unlink()
    own = dict(w.env, **dict(x.split("=", 1) for x in env))
    status, _ = w.run([mpiexec, "-n", str(ranks), f"./{name}", *args], here / folder, log, w.limit, own)
    lines = [line for line in text_of(log).splitlines() if line.strip() and line.strip() not in ("No Errors", "No errors", "Test Passed")]
    if status != 0:
        return "no end" if status is None else f"exit status {status}"
    return "prints something else" if lines or not re.search("No [Ee]rrors", text_of(log)) else None


def mpich(w):
    here = mpich_build(w, "mpich-tests.build", "", [f"--with-mpi={w.build}"])
    version = re.search(r"[\d.]+\d", w.source("mpich").name).group()
    has_peer = all(map(shutil.which, ("mpicc.mpich", "mpifort.mpich", "mpif77.mpich", "mpiexec.mpich")))
    for folder in MPICH_FOLDERS:
        start, good, bad = time.monotonic(), 0, []
        for row in mpich_rows((here, w.source("mpich") / "test" / "mpi"), folder):
            if not w.wanted(row[1]):
                continue
            why = mpich_row(w, here, row, "mpiexec")
            good += why is None
            unfit = MPICH_UNFIT.get(row[1])
            if why is None:
                continue
            if unfit:
                bad.append((row, f"`{row[1]}` {unfit}", False))
            elif has_peer and (theirs := mpich_row(w, mpich_build(w, "mpich-peer.build", ".mpich", []), row, "mpiexec.mpich")):
                bad.append((row, f"`{row[1]}` {why}; MPICH: {theirs}", False))
            else:
                bad.append((row, f"`{row[1]}` {why}", True))
            print(f"  {bad[-1][1]}", flush=True)
        status = "tests fail" if any(counts for _, _, counts in bad) else 0 if good else "no test"
        says = f"{good} of {good + len(bad)}" + ("; not " + ", ".join(text for _, text, _ in bad) if bad else "")
        if good or bad:
            w.row(f"MPICH {version}", f"test/mpi/{folder}", "1 to 8", status, time.monotonic() - start, says)


def together(rows):
    """Rows of one program that differ only in the number of ranks as one, and then programs of one package that are alike; the times
    are added."""
    for same, joined in (((0, 1, 3), 2), ((0, 2, 3), 1)):
        found = {}
        for row in rows:
            key = tuple(row[i] for i in same) + (() if joined == 2 or row[0].startswith("NAS") else (row[1],))
            if key in found:
                old = found[key]
                found[key] = [*old[:joined], old[joined] + (", " if joined == 2 else "`, `") + row[joined], *old[joined + 1:4],
                              str(int(old[4]) + int(row[4]))]
            else:
                found[key] = list(row)
        rows = list(found.values())
    return rows


def write_docs(page, rows):
    text = page.read_text()
    if BEGIN not in text or END not in text:
        sys.exit(f"fortran_world: {page} has no lines {BEGIN} and {END}")
    lines = ["", "| program | ranks | result | s |", "|---|---|---|---|"]
    head, rest = text.split(BEGIN, 1)
    ran = {a for a, *_ in rows}
    # What was not run this time stays.
    lines += [line for line in rest.split(END, 1)[0].splitlines()[3:] if line.startswith("| ") and line[2:].split(",")[0] not in ran]
    lines += [f"| {a}, `{b}` | {n} | {word} | {t} |" for a, b, n, word, t in together(rows)]
    page.write_text(head + BEGIN + "\n".join(lines) + "\n\n" + END + rest.split(END, 1)[1])


PARTS = {"mpich": mpich, "scalapack": scalapack, "mumps": mumps, "hdf5": hdf5, "nas": nas, "coarrays": coarrays}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"), help="the build folder of this library")
    p.add_argument("--work", type=pathlib.Path, help="folder for sources, builds and logs; it is kept. Without it one is made and removed")
    p.add_argument("--docs", type=pathlib.Path, help="page that gets the table")
    p.add_argument("--only", help="programs whose names match")
    p.add_argument("--ranks", type=int, default=4)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--limit", type=int, default=900, help="seconds that one program may take")
    p.add_argument("parts", nargs="*", help=f"{' '.join(PARTS)}; all when none is named")
    args = p.parse_args()
    for part in args.parts:
        if part not in PARTS:
            sys.exit(f"fortran_world: no part is called {part}; there are {' '.join(PARTS)}")
    made = None
    if args.work is None:
        made = tempfile.mkdtemp(prefix="fortran-world.")
        args.work = pathlib.Path(made)
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    w = World(args, "fortran_world")
    left_out = []
    try:
        for part in args.parts or PARTS:
            try:
                PARTS[part](w)
            except NoSource as why:
                if args.parts:
                    raise
                print(why, flush=True)
                left_out.append(part)
    finally:
        if made:
            shutil.rmtree(made, ignore_errors=True)
    if args.docs:
        write_docs(args.docs, w.rows)
    bad = [r for r in w.rows if not r[3].startswith("passes")]
    print(f"{len(w.rows) - len(bad)} of {len(w.rows)} rows pass" + (f"; without sources: {' '.join(left_out)}" if left_out else ""))
    return 1 if bad or not w.rows else 0


if __name__ == "__main__":
    sys.exit(main())
