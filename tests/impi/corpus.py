#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's own test programs over one world of Pliant MPI, MPICH and Open MPI.

corpus.py --build DIR --source MPICH [-k REGEX] [-j N] [--work DIR]

MPICH is a copy of MPICH's sources (the folder that has test/mpi). The programs of test/mpi/pt2pt, coll, comm and
datatype are built for each of the three and run, unmodified, over jobs of different ones. All must pass; those that do not
pass in one job of each alone are left out. N of them run at a time. What was built stays in DIR, if it is given.
"""
import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile

FOLDERS = ("pt2pt", "coll", "comm", "datatype")
UTIL = ("mtest", "mtest_common", "mtest_thread", "dtypes")
MOST = 10  # ranks: a program that wants more is left out
LIMIT = 240
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
#define TEST_NEIGHB_COLL 1 /* which programs define for MPICH alone: they would not fit together */
#define TEST_HINDEXED_BLOCK 1
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
        self.tests = os.path.join(source, "test", "mpi")
        for header, text in (("mpitestconf.h", CONFIG), ("mtest_mpix.h", "")):  # its configure would write them
            with open(os.path.join(work, header), "w", encoding="utf-8") as f:
                f.write(text)

    def path(self, mpi, folder, name):
        return os.path.join(self.work, f"{folder}.{name}.{mpi}")

    def mpicc_of(self, mpi, *words):
        include = (self.work, os.path.join(self.tests, "include"))
        return subprocess.run([self.mpicc[mpi], "-w", "-O1", *(f"-I{i}" for i in include), *words], capture_output=True,
                              check=False, start_new_session=True).returncode == 0

    def util(self, mpi, name):
        return os.path.join(self.work, f"{name}.{mpi}.o")

    def compile_util(self):
        """What all programs are linked with."""
        for mpi in self.mpicc:
            for name in (u for u in UTIL if not os.path.exists(self.util(mpi, u))):
                source = os.path.join(self.tests, "util", name + ".c")
                if not self.mpicc_of(mpi, "-c", source, "-o", self.util(mpi, name)):
                    sys.exit(f"{source} cannot be built with {self.mpicc[mpi]}")

    def compile(self, mpi, folder, name):
        path, source = self.path(mpi, folder, name), os.path.join(self.tests, folder, name + ".c")
        if os.path.exists(path):
            return True
        more = []
        if name.startswith("nb") and not os.path.exists(source):  # the same with nonblocking collectives
            source, more = os.path.join(self.tests, folder, name[2:] + ".c"), ["-DUSE_MTEST_NBC"]
        return self.mpicc_of(mpi, *more, source, *(self.util(mpi, u) for u in UTIL), "-o", path, "-lm", "-lpthread")

    def passes(self, command):
        """Whether it says so, and what it said."""
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL,
                             start_new_session=True)
        try:
            said = p.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGTERM)
            return False, f"it did not end within {LIMIT} s\n{p.communicate()[0]}"
        return p.returncode == 0 and "No Errors" in said, said

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


def judge(c, folder, name, n, args):
    """What is left to say of one program: "passes", "FAILS" or "" (left out), and what it said where it failed."""
    if not all([c.compile(m, folder, name) for m in c.mpicc]):
        return "", "it is not built by each MPI"
    ends = [(parts, *c.across(parts, folder, name, args)) for parts in parts_of(n)]
    said = "".join(f"  over {parts}:\n    " + "\n    ".join(text.splitlines()[:12]) + "\n" for parts, ok, text in ends if not ok)
    if not said:
        return "passes", ""
    alone = [m for m in c.mpicc if not c.alone(m, folder, name, n, args)]
    return ("", f"it does not pass in {' and '.join(alone)} alone") if alone else ("FAILS", said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("-k", default="")
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--work")
    given = parser.parse_args()
    if not os.path.isdir(os.path.join(given.source, "test", "mpi")):
        sys.exit(f"'{given.source}' has no folder test/mpi: MPICH=folder (--source) must name a copy of MPICH's sources")
    ends = {"passes": 0, "FAILS": 0, "": 0}
    with tempfile.TemporaryDirectory() as spare, concurrent.futures.ThreadPoolExecutor(given.j) as pool:
        c = Corpus(os.path.abspath(given.build), os.path.abspath(given.source), os.path.abspath(given.work or spare))
        c.compile_util()
        under_way = {pool.submit(judge, c, folder, name, n, args): f"{folder}/{name} {n}"
                     for folder, name, n, args in programs(given.source)
                     if 1 < n <= MOST and re.search(given.k, f"{folder}/{name}")}
        for done in concurrent.futures.as_completed(under_way):
            end, said = done.result()
            ends[end] += 1
            print(f"{under_way[done]}: {end or 'left out: ' + said}" + (f"\n{said}" if end and said else ""), flush=True)
    print(f"{ends['passes']} of {ends['passes'] + ends['FAILS']} programs pass over different MPIs; {ends['']} were left out, "
          f"since they are not built or do not pass in each MPI alone")
    return 1 if ends["FAILS"] > 0 or ends["passes"] == 0 else 0


sys.exit(main())
