#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""UPC on several (virtual) hosts: groups of threads with and without MPI ranks, and how they fail."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import MPIEXEC, SLOW, SOURCE, check

BIN = os.path.dirname(MPIEXEC)
UPCRUN = os.path.join(BIN, "upcrun")
HYBRID = os.path.join(SOURCE, "tests", "upc", "hybrid")
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
C = open_cluster(2)


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


def programs(folder):
    dot = compile_to(folder, os.path.join(HYBRID, "figure3.upc"), "figure3", "-w", "-include", "stdio.h")
    r = run(*group(dot, 2), ":", *group(dot, 2))
    check(r.rc == 0 and r.out == "Dot = 0.000000\n", r)
    nbody = compile_to(folder, os.path.join(SOURCE, "examples", "upc", "nbody.upc"), "nbody", "-lm")
    r = run(*group(nbody, 2, 60, 2, 0.5, 1), ":", *group(nbody, 2, 60, 2, 0.5, 1))
    check(r.rc == 0 and "WRONG" not in r.out and "force" in r.out, r)


def failures(folder):
    source = os.path.join(folder, "fault.upc")
    with open(source, "w", encoding="utf-8") as f:
        f.write(FAULT)
    fault = compile_to(folder, source, "fault")
    r = run(*group(fault, 3, "now"), ":", *group(fault, 3, "now"))
    check(r.rc == 134 and "UPC thread 2 of group 1" in r.words and "SIGABRT" in r.words, r)
    r = run(*group(fault, 3), ":", *group(fault, 3))
    check(r.rc == 1 and "barriers do not match" in r.words and "the end of main" in r.words, r)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        places(folder)
        programs(folder)
        failures(folder)
    check(not left_behind(C, ["vc1", "vc2"]), left_behind(C, ["vc1", "vc2"], 0))


if __name__ == "__main__":
    main()
