#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds applications from Debian's sources with this MPI and with the two others, runs them, and compares what they say.

usage: apps_world.py --build BUILD [--work DIR] [--docs PAGE] [--no-install] [NAME]...

The sources are those of the authors, as Debian keeps them (apt-get source --tar-only; deb-src lines and a network). Each application is built
and run in a folder of its own, which is removed at the end unless --work names it. The status is 1 if one cannot be built with this MPI,
fails on it, or answers otherwise than on the others.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from compare import LAUNCHER, Outcome, bash, install, missing, same, write_page

BEGIN = "<!-- applications: make test-apps writes from here -->"
NEEDED = "dpkg-dev make gcc openmpi-bin libopenmpi-dev mpich libmpich-dev"


@dataclasses.dataclass
class App:
    """`build` and `run` are for bash, in a copy of the sources: $CC is the compiler, $RUN starts the ranks, $JOBS compilers may run at once."""

    name: str
    source: str
    packages: str
    ranks: int
    what: str
    build: str
    run: str
    answer: str
    reads: tuple = ()
    tolerance: float = 1e-6


# Open MPI 4 has no longer the names of MPI-1 that HPL uses.
HPCC = """find . -name '*.c' -exec sed -i 's/MPI_Address *(/MPI_Get_address(/; s/MPI_Type_struct *(/MPI_Type_create_struct(/' {} +
cat >hpl/Make.here <<END
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir -p
RM = rm -f
TOUCH = touch
ARCH = here
TOPdir = ../../..
INCdir = \\$(TOPdir)/include
BINdir = \\$(TOPdir)/bin/here
LIBdir = \\$(TOPdir)/lib/here
HPLlib = \\$(LIBdir)/libhpl.a
LAlib = -lblas
F2CDEFS = -DAdd_ -DStringSunStyle -DF77_INTEGER=int
HPL_INCLUDES = -I\\$(INCdir) -I\\$(INCdir)/here
HPL_LIBS = \\$(HPLlib) \\$(LAlib)
HPL_DEFS = \\$(F2CDEFS) \\$(HPL_INCLUDES)
CC = $CC
CCNOOPT = \\$(HPL_DEFS)
CCFLAGS = \\$(HPL_DEFS) -O2 -w
LINKER = $CC
LINKFLAGS = -lm
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
END
make -j$JOBS arch=here LAlib='-lblas -lm'
sed -e 's/^1000 /200 /' -e '0,/^2            Ps/s//1            Ps/' _hpccinf.txt >hpccinf.txt"""
# The part of FFTW that uses MPI and its test program; the transforms of single ranks are those of Debian's library of the same release.
FFTW = """./configure -q --disable-fortran --disable-doc CC=gcc CFLAGS=-O2
rm -f mpi/testsched.c
ls mpi/*.c tests/fftw-bench.c tests/hook.c libbench2/*.c | xargs -P $JOBS -I{} $CC -O2 -w -DHAVE_CONFIG_H -I. -Iapi -Impi -c {} -o {}.o
ar rc bench.a libbench2/*.o
$CC -o mpi-bench mpi/*.o tests/*.o bench.a -lfftw3 -lm"""
FFTW_CHECKS = "$RUN ./mpi-bench -v -oestimate " + " ".join("--verify " + p for p in ("32x24x10", "obc60x30", "ifc60x30", "ofr4x12x18v3", "ibr10x12x5x12v2", "ik15o00x20e10"))
APPS = [
    App("netpipe", "netpipe", "", 2, "messages of up to 64 bytes", 'make mpi MPICC="$CC" CFLAGS="-O2 -w"', "$RUN ./NPmpi -u 64 -n 200 -o np.out", r"(?<=: )[ ]+\d+ bytes"),
    App("hpcc", "hpcc", "libblas-dev", 2, "all its tests, with a small input", HPCC, "$RUN ./hpcc", r"(?m)^(?!CPU).*(PASSED|FAILED)|(Success=\d+)",
        reads=("hpccoutf.txt",)),
    App("fftw", "fftw3", "libfftw3-dev", 4, "its checks of six transforms in two to four dimensions", FFTW, FFTW_CHECKS, r"(?m)^\S+(?= \d)"),
]


def fetch(app, tars, env):
    """The archive of the authors' sources, or None and what apt-get said."""
    def have():
        return sorted(tars.glob(f"{app.source}_*.orig.tar.*"))
    said = ""
    for _ in range(0 if have() else 2):
        r = subprocess.run(["apt-get", "source", "-qq", "--download-only", "--tar-only", app.source], cwd=tars, env=env, capture_output=True, text=True, check=False)
        said = r.stderr
        if have():
            break
    return (have() or [None])[0], said


def build_app(app, mpi, archive, work, args):
    """Its folder and None, or why it could not be built."""
    folder = work / f"{app.name}.{mpi}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["tar", "-xf", archive, "--strip-components=1"], cwd=folder, check=True)
    compiler = f"{args.build}/bin/mpicc" if mpi == "pliant" else f"mpicc.{mpi}"
    env = {**os.environ, "CC": compiler, "JOBS": str(args.jobs)}
    status, said = bash("set -e\n" + app.build, folder, env, args.limit)
    return folder, None if status == 0 else Outcome(status, said, 0, "$^")


def run_app(app, mpi, folder, args):
    launcher = f"{args.build}/bin/mpiexec" if mpi == "pliant" else LAUNCHER[mpi]
    env = {**os.environ, "RUN": f"{launcher} -n {app.ranks}", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in app.reads:
        (folder / name).unlink(missing_ok=True)
    begin = time.monotonic()
    status, said = bash(app.run, folder, env, args.limit)
    seconds = time.monotonic() - begin
    for name in app.reads:
        if (folder / name).exists():
            said += (folder / name).read_text(errors="replace")
    return Outcome(status, said, seconds, app.answer)


def try_app(app, archive, work, args):
    """What it came to with each MPI: the best run of several, which take turns."""
    best, folders = {}, {}
    for mpi in ("pliant", "mpich", "openmpi"):
        folders[mpi], failed = build_app(app, mpi, archive, work, args)
        if failed:
            failed.why = "is not built: " + failed.why
            best[mpi] = failed
        print(f"{mpi}: {'not built' if failed else 'built'}; ", end="", flush=True)
    for _ in range(args.repeat):
        for mpi, folder in folders.items():
            if mpi in best and best[mpi].why:
                continue
            got = run_app(app, mpi, folder, args)
            if got.why or mpi not in best or got.seconds < best[mpi].seconds:
                best[mpi] = got
    for folder in folders.values():
        if not args.work:
            shutil.rmtree(folder, ignore_errors=True)
    return best


def table_line(app, best):
    """(the line of the table, whether all is as it should be)"""
    mine, others = best["pliant"], [best[m] for m in ("mpich", "openmpi")]
    good = not mine.why and all(o.why or same(mine.answer, o.answer, app.tolerance) for o in others)
    cells = [f"{o.seconds:.1f}" if not o.why else o.why for o in (mine, *others)]
    word = "the same answer" if good else mine.why or "another answer"
    return f"| {app.name} | {app.what} | {app.ranks} | {word} | {' | '.join(cells)} |", good


def run_all(args, apps, work):
    lines = ["| application | what it does | ranks | on Pliant MPI | seconds | with MPICH | with Open MPI |", "|---|---|---|---|---|---|---|"]
    failed = left_out = 0
    tars = work / "tars"
    tars.mkdir(exist_ok=True)
    for i, app in enumerate(apps):
        print(f"[{i + 1}/{len(apps)}] {app.name}: ", end="", flush=True)
        archive, said = fetch(app, tars, os.environ)
        if archive is None:
            print(f"left out, apt-get source does not give it: {said.strip().splitlines()[-1:] or ''}. It needs a deb-src line in /etc/apt", flush=True)
            left_out += 1
            continue
        best = try_app(app, archive, work, args)
        line, good = table_line(app, best)
        lines.append(line)
        failed += not good
        print(re.sub(r"^\| \S+ \|", "", line), flush=True)
        if not good:
            print("    " + "\n    ".join(best["pliant"].said.strip().splitlines()[-8:]), flush=True)
    return lines, failed, left_out


def main():
    words = argparse.ArgumentParser(usage=__doc__)
    words.add_argument("--build", required=True, type=lambda p: pathlib.Path(p).resolve())
    words.add_argument("--work", type=lambda p: pathlib.Path(p).resolve(), help="a folder for everything, which is kept")
    words.add_argument("--docs", type=pathlib.Path, help="the page whose table is written anew when all have run")
    words.add_argument("--no-install", action="store_true")
    words.add_argument("--limit", type=float, default=1800, help="seconds for one build or one program")
    words.add_argument("--repeat", type=int, default=3, help="runs of each, in turn; the best time counts")
    words.add_argument("--jobs", type=int, default=os.cpu_count())
    words.add_argument("names", nargs="*")
    args = words.parse_args()
    unknown = set(args.names) - {a.name for a in APPS}
    if unknown:
        sys.exit(f"apps_world: there is no application {', '.join(sorted(unknown))}; there are {', '.join(a.name for a in APPS)}")
    if shutil.which("apt-get") is None:
        sys.exit("apps_world: the sources come from Debian by apt-get, which this system does not have")
    apps = [a for a in APPS if not args.names or a.name in args.names]
    work = args.work or pathlib.Path(tempfile.mkdtemp(prefix="apps-world-", dir="/var/tmp"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        print(f"apps_world: {len(apps)} applications are built three times each in {work}; this takes minutes on an idle machine", flush=True)
        need = sorted({p for a in apps for p in (a.packages + " " + NEEDED).split()})
        if not args.no_install:
            install("apps_world", missing(need), work)
        absent = missing(need)
        if absent:
            sys.exit(f"apps_world: these packages are missing: {' '.join(absent)}")
        lines, failed, left_out = run_all(args, apps, work)
        print("\n".join(lines))
        if args.docs and not args.names and not left_out:
            write_page(args.docs, BEGIN, lines)
        print(f"apps_world: {len(apps) - failed - left_out} of {len(apps)} build and run as they should; {left_out} were left out")
        return 1 if failed else 0
    finally:
        if not args.work:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
