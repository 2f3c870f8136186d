#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Processes that a job on several (virtual) hosts spawns: where they go, hints, refusals, deaths, and nothing is left."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, HostRun, left_behind, open_cluster
from launch import MPIEXEC, check, status

C = open_cluster(3)
BIN = os.path.join(BUILD, "tests", "bin")
PROBE, ALL = os.path.join(BIN, "spawn_probe"), ["--hosts", "vc1:1,vc2:2,vc3:1"]
CHILD = re.compile(r"child (\d+) of (\d+) part (\d+) on (\w+) in (\S+) one=(.*) local (\d+) of (\d+)")


def spawn(*words, options=(), hosts=("vc1:1,vc2:1,vc3:1")):
    r = HostRun(C, "--hosts", hosts, *options, PROBE, "spawn", *words)
    found = sorted((CHILD.fullmatch(line).groups() for line in r.out.splitlines() if line.startswith("child")),
                   key=lambda c: int(c[0]))
    return r, found


def places(r, found, want):
    check(r.rc == 0 and [c[3] for c in found] == want, f"{want}: {r}")
    check([int(c[0]) for c in found] == list(range(len(want))), r)
    for host in set(want):  # numbers on each host count from 0
        here = [(int(c[6]), int(c[7])) for c in found if c[3] == host]
        check(here == [(i, len(here)) for i in range(len(here))], f"{host}: {r}")


def corpus():
    """The programs that try everything, which know nothing of hosts."""
    for hosts, n, args in (("vc1:1,vc2:1", 2, ["mpi.dyn_spawn"]), ("vc1:2,vc2:2,vc3:2", 5, ["mpi.dyn_spawn"]),
                           ("vc1:1,vc2:1", 2, ["mpi.dyn_cycles", "600", "2"]),
                           ("vc1:1,vc2:1", 2, ["mpi.dyn_ports"]), ("vc1:2,vc2:2,vc3:2", 5, ["mpi.dyn_ports"]),
                           ("vc1:1,vc2:1", 2, ["mpi.dyn_join"])):
        r = HostRun(C, "--hosts", hosts, "-n", n, "--timeout", 120, os.path.join(BIN, args[0]), *args[1:], timeout=150)
        check(r.rc == 0, r)


def strangers():
    """A job that was started separately meets another where all who take part are on one host, and is told where not."""
    ports = os.path.join(BIN, "mpi.dyn_ports")
    for hosts, why in (("vc2:1,vc1:1", "rank 0 of the communicator is on host vc2, the root on vc1"),
                       ("vc1:1,vc2:1", "the port is on host vc2 and this process on vc1")):
        server = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--hosts", hosts, ports, "serve", hosts, "1"])
        r = HostRun(C, "-n", 1, ports, "call", hosts, "1")
        check(r.rc == 1 and why in r.words, r)
        os.kill(C.inner(server), signal.SIGTERM)
        server.wait()


def where():
    places(*spawn("3"), ["vc1", "vc2", "vc3"])
    places(*spawn("6"), ["vc1"] * 2 + ["vc2"] * 2 + ["vc3"] * 2)
    places(*spawn("6", options=["--map-by", "node"]), ["vc1", "vc2", "vc3"] * 2)
    # Those with free slots first; then all by their slots.
    places(*spawn("3", hosts="vc1:1,vc2:3,vc3:2", options=["-n", 3, "--map-by", "node"]), ["vc2", "vc2", "vc3"])
    places(*spawn("8", hosts="vc1:1,vc2:2,vc3:1"), ["vc1"] * 2 + ["vc2"] * 4 + ["vc3"] * 2)
    places(*spawn("2,1,2", "host=vc3", "/", "host=vc2", "/", "host=localhost"), ["vc3", "vc3", "vc2", "vc1", "vc1"])
    places(*spawn("2,2", "host=vc2.some.domain"), ["vc2", "vc2", "vc1", "vc3"])


def spare():
    """Hosts of the list without a rank: a job that may grow has them too, and can do without them."""
    elastic = ["-n", 1, "--elastic", "1:8"]
    places(*spawn("3", hosts="vc1:1,vc2:1,vc3:2", options=elastic), ["vc2", "vc3", "vc3"])
    places(*spawn("2", "host=vc3", hosts="vc1:1,vc2:1,vc3:2", options=elastic), ["vc3", "vc3"])
    places(*spawn("2", hosts="vc1:1,vc2:1,vc3:2", options=["-n", 1]), ["vc1", "vc1"])
    r, _ = spawn("2", "host=vc3", hosts="vc1:1,vc2:1,vc3:2", options=["-n", 1])
    check("host vc3 is not of this job, which runs on one host" in r.out, r)
    r = HostRun(C, "--hosts", "vc1:1,vc2:1,vc3:2", *elastic, "--timeout", 60, os.path.join(BIN, "mpi.dyn_spawn"), timeout=90)
    check(r.rc == 0, r)


def hints():
    r, found = spawn("3,1", "env=ONE=two words", "wdir=/tmp", "/", f"path={BIN}", "program=spawn_probe", "host=vc2")
    check(r.rc == 0 and [c[4] for c in found] == ["/tmp"] * 3 + [os.getcwd()], r)
    check([c[5] for c in found] == ["two words"] * 3 + ["-"], r)
    # /dev/shm is private to each host: here is what only one has.
    C.popen("vc3", ["mkdir", "/dev/shm/there"]).wait()
    C.popen("vc3", ["cp", PROBE, "/dev/shm/only_there"]).wait()
    r, found = spawn("2", "host=vc3", "wdir=/dev/shm/there", "program=/dev/shm/only_there")
    check(r.rc == 0 and [c[3:5] for c in found] == [("vc3", "/dev/shm/there")] * 2, r)
    r, found = spawn("3", "program=/dev/shm/only_there")
    check(r.rc == 0 and not found and re.search("refused: .*host vc[12]: cannot run /dev/shm/only_there: there is no such "
                                                "file", r.out), r)
    r, found = spawn("3", "wdir=/dev/shm/there")
    check(r.rc == 0 and not found and "/dev/shm/there: there is no such directory" in r.out, r)
    C.popen("vc3", ["rm", "-r", "/dev/shm/there", "/dev/shm/only_there"]).wait()
    r, found = spawn("1", "host=vc9")
    check(r.rc == 0 and "refused" in r.out and "host vc9 cannot be reached" in r.out, r)


def deaths():
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", os.path.join(BIN, "mpi.dyn_crash"))
    check(r.rc == 128 + signal.SIGSEGV and r.err.count("mpiexec: ") == 1, r)
    check("rank 1 of 2 that were spawned (process " in r.words and " on host vc2, program " in r.words, r)
    r = HostRun(C, *ALL, PROBE, "hang")
    check(r.rc == 123 and "deadlock: every rank that is left waits inside MPI" in r.words, r)
    check("rank 0 receives from rank 0, tag 0" in r.words and "rank 4 receives from rank 0 (0 in MPI_COMM_WORLD), tag 0, on "
          "MPI_COMM_PARENT, called at spawn_probe.c" in r.words, r)


def killed():
    """mpiexec, or a daemon, is killed while spawned processes are at work."""
    for who in ("head", "daemon"):
        p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *ALL, PROBE, "sleep"], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True)
        lines = [p.stdout.readline() for _ in range(4)]
        check(all(line.startswith("child") for line in lines), lines)
        if who == "head":
            os.kill(C.inner(p), signal.SIGKILL)
        else:
            C.popen("vc2", ["sh", "-c", "kill -9 $(pgrep -f 'mpiexec --as-daemon')"]).wait()
        err = " ".join(p.communicate()[1].split())
        check(who == "head" or "host vc2 is lost: " in err and " 4 ranks ran there" in err, f"{p.returncode} {err}")
        check(not left_behind(C, C.names), f"{who}: {left_behind(C, C.names, 0)}")


with C:
    for part in (corpus, strangers, where, spare, hints, deaths, killed):
        begin = time.monotonic()
        part()
        check(not left_behind(C, C.names), f"{part.__name__}: left are {left_behind(C, C.names, 0)}")
        print(f"{part.__name__} {time.monotonic() - begin:.2f} s", flush=True)
sys.exit(status())
