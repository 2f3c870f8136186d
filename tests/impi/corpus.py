#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's own test programs over one world of Pliant MPI, MPICH and Open MPI.

corpus.py --build DIR --source MPICH [-k REGEX]

MPICH is a copy of MPICH's sources (the folder that has test/mpi). The programs of test/mpi/pt2pt, coll, comm and
datatype are built for each of the three. Those that pass in one job of each alone are run, unmodified, over jobs of
different ones: all of them must pass.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

FOLDERS = ("pt2pt", "coll", "comm", "datatype")
MOST = 8  # ranks: a program that wants more is left out
LIMIT = 90
CONFIG = """#define HAVE_UNISTD_H 1
#define HAVE_STDARG_H 1
#define HAVE_STDIO_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_STRINGS_H 1
#define HAVE_MPI_INIT_THREAD 1
#define MTEST_HAVE_MIN_MPI_VERSION(a, b) (MPI_VERSION > (a) || (MPI_VERSION == (a) && MPI_SUBVERSION >= (b)))
#define F77_NAME_LOWER_USCORE 1
#define HAVE_FLOAT__COMPLEX 1
#define HAVE_DOUBLE__COMPLEX 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_LONG 1
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
"""


def programs(source):
    """Folder, name, number of ranks and arguments of each line that asks for nothing more."""
    for folder in FOLDERS:
        path = os.path.join(source, "test", "mpi", folder, "testlist")
        path = path if os.path.exists(path) else path + ".in"
        with open(path, encoding="utf-8") as f:
            seen = set()
            for line in f:
                words = line.split("#")[0].split()
                if len(words) < 2 or not words[1].isdigit() or words[0].startswith("@") or words[0] in seen:
                    continue
                if any(w.split("=")[0] in ("resultTest", "env", "strict", "mpiversion", "xfail") and
                       w != "strict=false" and not w.startswith("mpiversion=3") for w in words[2:]):
                    continue
                seen.add(words[0])
                yield folder, words[0], int(words[1]), [w[4:] for w in words[2:] if w.startswith("arg=")]


class Corpus:
    def __init__(self, build, source, work):
        self.bin, self.source, self.work = os.path.join(build, "bin"), source, work
        self.mpicc = {"pliant": os.path.join(self.bin, "mpicc"), "mpich": "mpicc.mpich",
                      "openmpi": "mpicc.openmpi"}
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        self.start = {"pliant": [os.path.join(self.bin, "mpiexec")], "mpich": ["mpiexec.mpich"],
                      "openmpi": ["mpiexec.openmpi", *root, "--oversubscribe"]}
        for header, text in (("mpitestconf.h", CONFIG), ("mtest_mpix.h", "")):  # its configure would write them
            with open(os.path.join(work, header), "w", encoding="utf-8") as f:
                f.write(text)

    def path(self, mpi, folder, name):
        return os.path.join(self.work, f"{folder}.{name}.{mpi}")

    def compile(self, mpi, folder, name):
        tests = os.path.join(self.source, "test", "mpi")
        util = [os.path.join(tests, "util", f) for f in ("mtest.c", "mtest_common.c", "mtest_thread.c", "dtypes.c")]
        command = [self.mpicc[mpi], "-w", "-O1", "-I", self.work, "-I", os.path.join(tests, "include"),
                   os.path.join(tests, folder, name + ".c"), *util, "-o", self.path(mpi, folder, name),
                   "-lm", "-lpthread"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def passes(self, command):
        """Whether it says so, and what it said."""
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as late:
            return False, f"it did not end within {LIMIT} s\n{(late.stdout or b'').decode()}"
        return done.returncode == 0 and "No Errors" in done.stdout, done.stdout

    def alone(self, mpi, folder, name, n, args):
        return self.passes([*self.start[mpi], "-n", str(n), self.path(mpi, folder, name), *args])[0]

    def across(self, parts, folder, name, args):
        words = []
        for mpi, n in parts:
            words += [":"] if words else []
            words += ["--mpi", mpi] if mpi != "pliant" else []
            words += ["-n", str(n), self.path(mpi, folder, name), *args]
        return self.passes([os.path.join(self.bin, "impirun"), "--local", *words])


def parts_of(n):
    """Ranks of each, so that every pair of MPIs meets."""
    if n == 1:
        return []
    if n == 2:
        return [[("pliant", 1), ("mpich", 1)], [("mpich", 1), ("openmpi", 1)], [("pliant", 1), ("openmpi", 1)]]
    return [[("pliant", n - 2 * (n // 3)), ("mpich", n // 3), ("openmpi", n // 3)]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("-k", default="")
    given = parser.parse_args()
    if not os.path.isdir(os.path.join(given.source, "test", "mpi")):
        sys.exit(f"'{given.source}' has no folder test/mpi: MPICH=folder (--source) must name a copy of MPICH's sources")
    good, bad, out = [], [], 0
    with tempfile.TemporaryDirectory() as work:
        c = Corpus(os.path.abspath(given.build), os.path.abspath(given.source), work)
        for folder, name, n, args in programs(given.source):
            if n < 2 or n > MOST or not re.search(given.k, f"{folder}/{name}"):
                continue
            if not all(c.compile(m, folder, name) and c.alone(m, folder, name, n, args) for m in c.mpicc):
                out += 1
                continue
            ends = [(parts, *c.across(parts, folder, name, args)) for parts in parts_of(n)]
            lost = [(parts, said) for parts, ok, said in ends if not ok]
            (bad if lost else good).append(f"{folder}/{name}")
            print(f"{folder}/{name} {n}: {'passes' if not lost else 'FAILS'}", flush=True)
            for parts, said in lost:
                print(f"  over {parts}:\n    " + "\n    ".join(said.splitlines()[:12]), flush=True)
    print(f"{len(good)} of {len(good) + len(bad)} programs pass over different MPIs; {out} were left out, since they are "
          f"not built or do not pass in each MPI alone")
    return 1 if bad or not good else 0


sys.exit(main())
