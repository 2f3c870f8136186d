#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs under limits on address space, files and processor time, and under valgrind: they run wherever what they use fits,
and a process too many is refused with the reason."""
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, Run, check, status

if SLOW != 1:
    print("skipped: programs with a sanitizer need more addresses than these limits leave, and do not run in valgrind")
    sys.exit(77)

BIN = os.path.join(BUILD, "tests", "bin")
SPAWN, PAIRS, FRESH = (os.path.join(BIN, name) for name in ("spawn_probe", "mpi.p2p_pairs", "onecopy_probe"))
WINDOWS = os.path.join(BIN, "mpi.win_basic")


def limited(limit, *command):
    return Run("-c", f'ulimit {limit}; exec "$@"', "sh", *command, tool="/bin/sh")


def n_children(r):
    return len(re.findall(r"^child \d+ of", r.out, re.MULTILINE))


def addresses():
    """Whatever the limit is: ranks talk, make windows, and grow by as many as there is room for."""
    for gb in (1, 4, 100, 168, 180, 200):
        r = limited(f"-v {gb}000000", MPIEXEC, "-n", 2, SPAWN, "spawn", 2)
        check(r.rc == 0 and n_children(r) == 2, f"{gb} GB: {r}")
    for gb in (4, 180):
        r = limited(f"-v {gb}000000", MPIEXEC, "-n", 3, WINDOWS)
        check(r.rc == 0, f"{gb} GB: {r}")
        r = limited(f"-v {gb}000000", SPAWN, "spawn", 1)
        check(r.rc == 0 and n_children(r) == 1, f"{gb} GB without mpiexec: {r}")
    r = limited("-v 1000000", MPIEXEC, "-n", 1, SPAWN, "spawn", 40)
    check("refused" in r.out + r.err and "there is room for, because a process of the job runs under valgrind or with a "
          "limit on address space" in " ".join((r.out + r.err).split()), r)
    # A limit of the rank alone, which mpiexec does not know of.
    r = Run("-n", 2, "sh", "-c", f"ulimit -v 4000000; exec {SPAWN} spawn 3")
    check(r.rc == 0 and n_children(r) == 3, r)
    r = Run("-n", 1, "sh", "-c", f"ulimit -v 1000000; exec {SPAWN} spawn 40")
    check("there is room for" in " ".join((r.out + r.err).split()), r)
    r = limited("-v 100000", MPIEXEC, "-n", 3, "true")
    check(r.rc == 1 and "ulimit -v" in r.words, r)
    r = limited("-v 100000", PAIRS)
    check(r.rc != 0 and "(ulimit -v)? The error handler" in r.words, r)


def files():
    """A soft limit does not count for memory; a hard one is named, and nobody dies of a signal."""
    for limit in ("-S -f 10", "-f 220000"):
        r = limited(limit, MPIEXEC, "-n", 2, PAIRS)
        check(r.rc == 0, f"ulimit {limit}: {r}")
        r = limited(limit, PAIRS)
        check(r.rc == 0, f"ulimit {limit}: {r}")
    r = limited("-f 10", MPIEXEC, "-n", 2, "true")
    check(r.rc == 1 and "ulimit -f unlimited" in r.words, r)
    r = limited("-f 10", PAIRS)
    check(r.rc > 0 and "ulimit -f unlimited" in r.words, r)
    # Output that grows beyond the limit: said, and not a silent death.
    with tempfile.TemporaryDirectory() as folder:
        r = limited("-S -f 100", "sh", "-c", f'exec {MPIEXEC} -n 1 sh -c "yes | head -c 1000000" >{folder}/out')
        check(r.rc == 1 and "standard output could not be written: File too large" in r.words, r)


def processor_time():
    """The kernel ends with SIGKILL whom a hard limit stops: it is named beside the lack of memory."""
    for limit, said in (("-t 100", True), ("-S -t 100", False)):
        r = limited(limit, MPIEXEC, "-n", 2, "sh", "-c", "kill -KILL $$")
        check(r.rc == 137 and "for lack of memory" in r.words and ("may have 100 s here (ulimit -t)" in r.words) == said, f"{limit}: {r}")


def valgrind():
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: not tried")
        return
    strict = ("valgrind", "-q", "--leak-check=full", "--error-exitcode=77")
    r = Run("-n", 2, *strict, SPAWN, "spawn", 1, timeout=200)
    check(r.rc == 0 and n_children(r) == 1 and "==" not in r.err, r)
    r = Run(*strict[1:], PAIRS, tool="valgrind", timeout=200)
    check(r.rc == 0 and r.err == "", r)
    r = Run("-n", 1, PAIRS, ":", "-n", 1, *strict, PAIRS, timeout=200)
    check(r.rc == 0 and r.err == "", r)
    r = Run("-n", 1, *strict, SPAWN, "spawn", 40, timeout=200)
    check("runs under valgrind" in " ".join((r.out + r.err).split()), r)
    # Nobody writes what it does not see, into memory that has not been written before.
    for way in ("auto", "cma"):
        r = Run("-n", 2, *strict, FRESH, "fresh", timeout=200, env={"PLIANT_ONECOPY": way, "PLIANT_COLL": "gather:cma,scatter:cma"})
        check(r.rc == 0 and "==" not in r.err, r)
    r = Run("-n", 1, FRESH, "fresh", ":", "-n", 1, *strict, FRESH, "fresh", timeout=200, env={"PLIANT_ONECOPY": "cma"})
    check(r.rc == 0 and "==" not in r.err, r)
    r = Run("-q", MPIEXEC, "-n", 1, "true", tool="valgrind", timeout=200)  # a newer one may run it
    check(r.rc == 0 or (r.rc == 1 and "let it run the program: mpiexec -n 4 valgrind ./a.out" in r.words and "seccomp" not in r.err), r)


CALLS = {"pidfd_open": {}, "memfd_create": {"aarch64": 279, "x86_64": 319}, "signalfd": {"aarch64": 74, "x86_64": 289}}


def forbid(call):
    """In a child, as the seccomp profile of a container may do it."""
    class Program(ctypes.Structure):
        _fields_ = [("n", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
    code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0,  # load the number of the system call
                       0x15, 0, 1, CALLS[call].get(os.uname().machine, 434),  # pidfd_open has this one on every machine
                       0x06, 0, 0, 0x00050001,     # fails with EPERM
                       0x06, 0, 0, 0x7fff0000)     # any other is allowed
    text = ctypes.create_string_buffer(code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(Program(4, ctypes.addressof(text))), 0, 0) != 0:
        os._exit(78)


def sandbox():
    """Who forbids it is named, and not the program."""
    here, there = ["-n", "2", "true"], ["--hosts", "no.such.host:1", "true"]
    for call, args, said in (("pidfd_open", here, "refuses pidfd_open (Operation not permitted)"),
                             ("pidfd_open", there, "refuses pidfd_open (Operation not permitted)"),
                             ("memfd_create", here, "Operation not permitted; does the seccomp profile of a container forbid memfd_create?"),
                             ("signalfd", here, "by signalfd: Operation not permitted; does the seccomp")):
        if CALLS[call] and os.uname().machine not in CALLS[call]:
            continue
        p = subprocess.run([MPIEXEC, *args], capture_output=True, text=True, check=False, preexec_fn=lambda c=call: forbid(c))
        words = " ".join(p.stderr.split())
        if p.returncode == 78:
            print("a seccomp filter cannot be set here: not tried")
            return
        check(p.returncode == 1 and said in words and "true:" not in words and "ulimit" not in words, p)


addresses()
files()
processor_time()
sandbox()
valgrind()
sys.exit(status())
