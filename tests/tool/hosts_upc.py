#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""UPC on several (virtual) hosts: groups of threads with and without MPI ranks, and how they fail."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import MPIEXEC, SLOW, SOURCE, check, status

UPC = os.path.join(SOURCE, "tests", "upc")
sys.path.insert(0, UPC)
from run import load, sources

BIN = os.path.dirname(MPIEXEC)
UPCRUN = os.path.join(BIN, "upcrun")
HYBRID = os.path.join(UPC, "hybrid")
FAULT = """
#include <stdlib.h>
#include <upc.h>
#include <upc_hybrid.h>
int main(int argc, char **argv)
{
    upc_hybrid_t me = upc_hybrid_info();
    upc_barrier;
    if (me.group == 1 && me.thread == 2) {
        if (argc == 2) {
            abort();
        }
        return 0;
    }
    upc_barrier;
    return 0;
}
"""
STUCK = """
#include <mpi.h>
#include <upc.h>
int main(int argc, char **argv)
{
    if (MYTHREAD == 0) {
        int rank, got;
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Recv(&got, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Finalize();
    }
    upc_barrier;
    return 0;
}
"""
C = open_cluster(3)
ALL = ["vc1", "vc2", "vc3"]


def compile_to(folder, source, name, *flags):
    out = os.path.join(folder, name)
    subprocess.run([os.path.join(BIN, "upcc"), "-O1", source, *flags, "-o", out], check=True,
                   timeout=60 * SLOW)
    return out


def group(program, n, *args):
    return [UPCRUN, "-n", n, program, *args]


def run(*words):
    # One task on each host: a group each.
    return HostRun(C, "--hosts", "vc1:1,vc2:1", *map(str, words))


def places(folder):
    triple = compile_to(folder, os.path.join(HYBRID, "triple.upc"), "triple")
    r = run(*group(triple, 3), ":", *group(triple, 2))
    want = ["0/2 0/3 0/2 good", "0/2 1/3 -1/2 good", "0/2 2/3 -1/2 good", "1/2 0/2 1/2 good",
            "1/2 1/2 -1/2 good"]
    check(r.rc == 0 and sorted(r.out.splitlines()) == want, r)
    # More groups than hosts.
    r = run("-n", 3, *group(triple, 2))
    check(r.rc == 0 and sorted(r.out.splitlines()) == [
        f"{g}/3 {t}/2 {g if t == 0 else -1}/3 good" for g in range(3) for t in range(2)], r)
    # All threads with a rank; a group on two hosts.
    r = HostRun(C, "--hosts", "vc1:2,vc2:2", "-n", "4", triple)
    check(r.rc == 0 and sorted(r.out.splitlines()) == [f"0/1 {i}/4 {i}/4 good" for i in range(4)], r)


def where(r):
    """The lines of `triple where`: thread of which group, and its host."""
    return sorted(r.out.splitlines())


def named(folder):
    """HOSTS decides where a group is, without any other list of hosts."""
    triple = os.path.join(folder, "triple")
    for name, text in (("hosts.1", "vc2\n"), ("hosts.2", "vc3\n"), ("hosts.both", "vc2\nvc3\n"),
                       ("hosts.slots", "vc3 slots=1\nvc1 slots=2\n"), ("hosts.far", "vc2\nvc9\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def hosts(name, program=triple, n=2, *more):
        return ["-env", f"HOSTS={folder}/{name}", *map(str, group(program, n, *more))]

    # The lines of the paper: a group on each of two hosts that are not this one.
    r = HostRun(C, *hosts("hosts.1", triple, 2, "where"), ":", *hosts("hosts.2", triple, 2, "where"))
    check(r.rc == 0 and where(r) == [
        "0/2 0/2 0/2 good on vc2", "0/2 1/2 -1/2 good on vc2", "1/2 0/2 1/2 good on vc3",
        "1/2 1/2 -1/2 good on vc3"], r)
    r = HostRun(C, "--ranks-per-proc=2", *hosts("hosts.1", triple, 2, "where"), ":",
                "--ranks-per-proc=2", *hosts("hosts.2", triple, 2, "where"))
    check(r.rc == 0 and where(r) == [
        "0/2 0/2 0/4 good on vc2", "0/2 1/2 1/4 good on vc2", "1/2 0/2 2/4 good on vc3",
        "1/2 1/2 3/4 good on vc3"], r)
    # One group on two hosts: its threads have one rank, or two, or one each.
    for n_rank in (1, 2, 4):
        r = HostRun(C, f"--ranks-per-proc={n_rank}", *hosts("hosts.both", triple, 4, "where"))
        want = [f"0/1 {t}/4 {t if t < n_rank else -1}/{n_rank} good on vc{2 + t // 2}" for t in range(4)]
        check(r.rc == 0 and where(r) == want, r)
    # Two such groups, beside a part that stays here.
    r = HostRun(C, *hosts("hosts.both", triple, 3, "where"), ":", *hosts("hosts.slots", triple, 3, "where"),
                ":", "-n", "1", triple, "where")
    check(r.rc == 0 and where(r) == [
        "0/3 0/3 0/3 good on vc2", "0/3 1/3 -1/3 good on vc2", "0/3 2/3 -1/3 good on vc3",
        "1/3 0/3 1/3 good on vc3", "1/3 1/3 -1/3 good on vc1", "1/3 2/3 -1/3 good on vc1",
        "2/3 0/1 2/3 good on vc1"], r)
    # More groups than one from one part: host after host.
    r = HostRun(C, "-n", "3", *hosts("hosts.both", triple, 2, "where"))
    check(r.rc == 0 and where(r) == [
        f"{k // 2}/3 {k % 2}/2 {k // 2 if k % 2 == 0 else -1}/3 good on vc{2 + k // 3}" for k in range(6)], r)
    # -N takes the first of them; a name that --hosts lacks, or that nobody knows, is refused.
    r = HostRun(C, "-env", f"HOSTS={folder}/hosts.both", UPCRUN, "-N", "1", "-n", "2", triple, "where")
    check(r.rc == 0 and where(r) == ["0/1 0/2 0/1 good on vc2", "0/1 1/2 -1/1 good on vc2"], r)
    r = HostRun(C, "--hosts", "vc1,vc3", *hosts("hosts.1"))
    check(r.rc != 0 and "names host vc2, which is none of those" in r.words, r)
    r = HostRun(C, *hosts("hosts.far"))
    check(r.rc != 0 and "vc9" in r.words, r)
    pthreads = compile_to(folder, os.path.join(HYBRID, "triple.upc"), "triple_pt", "-pthreads")
    # A process on each host, or several, which have one, two or three threads.
    r = HostRun(C, *hosts("hosts.both", pthreads, 2, "where"))
    check(r.rc == 0 and where(r) == ["0/1 0/2 0/1 good on vc2", "0/1 1/2 -1/1 good on vc3"], r)
    for n, each in ((4, 2), (5, 2), (6, 3)):
        words = ["-env", f"HOSTS={folder}/hosts.both", UPCRUN, "-n", n, "-p", each, pthreads, "where"]
        r = HostRun(C, f"--ranks-per-proc={n}", *map(str, words))
        check(r.rc == 0 and where(r) == [
            f"0/1 {t}/{n} {t}/{n} good on vc{2 if t < (n + 1) // 2 else 3}" for t in range(n)], r)
    r = HostRun(C, "--ranks-per-proc=2", *hosts("hosts.1", pthreads, 2, "where"), ":",
                "--ranks-per-proc=2", *hosts("hosts.2", pthreads, 2, "where"))
    check(r.rc == 0 and where(r) == [f"{k // 2}/2 {k % 2}/2 {k}/4 good on vc{2 + k // 2}" for k in range(4)], r)
    r = HostRun(C, "--ranks-per-proc=2", "-env", f"HOSTS={folder}/hosts.both", UPCRUN, "-n", "2", "-p", "1", pthreads)
    check(r.rc == 0 and sorted(r.out.splitlines()) == ["0/1 0/2 0/2 good", "0/1 1/2 1/2 good"], r)


def programs(folder):
    dot = compile_to(folder, os.path.join(HYBRID, "figure3.upc"), "figure3", "-w", "-include", "stdio.h")
    r = run(*group(dot, 2), ":", *group(dot, 2))
    check(r.rc == 0 and r.out == "Dot = 0.000000\n", r)
    nbody = compile_to(folder, os.path.join(SOURCE, "examples", "upc", "nbody.upc"), "nbody", "-lm")
    r = run(*group(nbody, 2, 60, 2, 0.5, 1), ":", *group(nbody, 2, 60, 2, 0.5, 1))
    check(r.rc == 0 and "WRONG" not in r.out and "force" in r.out, r)
    # The same with each group, and its tree, on two hosts.
    both = ["-env", f"HOSTS={folder}/hosts.both"]
    words = [*both, *group(nbody, 2, 60, 2, 0.5, 1), ":", *both, *group(nbody, 2, 60, 2, 0.5, 1)]
    r = HostRun(C, *map(str, words))
    check(r.rc == 0 and "WRONG" not in r.out and "force" in r.out, r)
    # Plain UPC, all of the language's ways to other threads, between threads of which one has a rank.
    for case in load(os.path.join(UPC, "run", "far.upc")):
        program = compile_to(folder, *sources(case, folder), "case", "-I", UPC, "-lm")
        r = HostRun(C, *map(str, [*both, *group(program, 4)]))
        check(r.rc == 0 and r.out == case.out, f"{case.name}: {r}")


def stuck(folder):
    """A deadlock names threads without a rank by group and thread."""
    source = os.path.join(folder, "stuck.upc")
    with open(source, "w", encoding="utf-8") as f:
        f.write(STUCK)
    program = compile_to(folder, source, "stuck", "-g")
    for first, second in (("hosts.1", "hosts.2"), ("hosts.both", "hosts.both")):
        words = ["-env", f"HOSTS={folder}/{first}", *group(program, 2), ":",
                 "-env", f"HOSTS={folder}/{second}", *group(program, 2)]
        r = HostRun(C, *map(str, words))
        check(r.rc == 123 and "deadlock" in r.words, r)
        for g in range(2):
            check(f"rank {g} receives from rank {1 - g}, tag 3, on MPI_COMM_WORLD, called at" in r.words, r)
            check(f"UPC thread 1 of group {g} is in upc_barrier on the UPC threads, called at" in r.words, r)
        check("rank 2" not in r.err and "rank 3" not in r.err, r)


def failures(folder):
    source = os.path.join(folder, "fault.upc")
    with open(source, "w", encoding="utf-8") as f:
        f.write(FAULT)
    fault = compile_to(folder, source, "fault")
    r = run(*group(fault, 3, "now"), ":", *group(fault, 3, "now"))
    check(r.rc == 134 and "UPC thread 2 of group 1" in r.words and "SIGABRT" in r.words, r)
    r = run(*group(fault, 3), ":", *group(fault, 3))
    check(r.rc == 1 and "barrier mismatch detected" in r.words and "the end of main" in r.words, r)
    # A thread without a rank dies on the second host of its group.
    both = ["-env", f"HOSTS={folder}/hosts.both"]
    one = ["-env", f"HOSTS={folder}/hosts.1"]
    r = HostRun(C, *map(str, [*one, *group(fault, 1, "now"), ":", *both, *group(fault, 4, "now")]))
    check(r.rc == 134 and "UPC thread 2 of group 1" in r.words and "on host vc3" in r.words, r)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        places(folder)
        named(folder)
        programs(folder)
        failures(folder)
        stuck(folder)
    check(not left_behind(C, ALL), left_behind(C, ALL, 0))


if __name__ == "__main__":
    main()
    sys.exit(status())
