#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on several (virtual) hosts that outlive ranks, daemons and whole hosts."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, HostRun, left_behind, open_cluster
from launch import MPIEXEC, SLOW, check, status

C = open_cluster(4)
BIN = os.path.join(BUILD, "tests", "bin")
WORLD, PROBE = os.path.join(BIN, "mpi.fail_world"), os.path.join(BIN, "fail_probe")
ALL = ["--hosts", "vc1:1,vc2:2,vc3:1"]


def ranks():
    """One rank dies, on each of the hosts, while the others wait for it in different ways."""
    for how in ("barrier", "large", "recv", "any", "rendezvous", "agree"):
        for victim in (0, 2, 3):
            r = HostRun(C, "--on-failure=shrink", *ALL, WORLD, how, victim)
            known = [float(x) for x in re.findall(r"knew after (\S+) ms", r.out)]
            check(r.rc == 0 and len(known) == 3 and max(known) < 5000 * SLOW, f"{how} {victim}: {r}")
            check(f"rank {victim} (process" in r.words and "The others go on." in r.words, r)


def start(*args):
    """A job whose ranks say that they are up."""
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *args], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
    for _ in range(4):
        p.stdout.readline()
    return p


def end(p):
    begin = time.monotonic()
    try:
        out, err = p.communicate(timeout=60 * SLOW)
    except subprocess.TimeoutExpired:
        os.kill(C.inner(p), signal.SIGKILL)
        out, err = p.communicate()
        err += " mpiexec did not end"
    return p.returncode, out, " ".join(err.split()), time.monotonic() - begin


def kill_daemon(host):
    """mpiexec --as-daemon of a host; its ranks die with it."""
    C.popen(host, ["sh", "-c", "kill -9 $(pgrep -f '[m]piexec --as-daemon')"]).wait()


def cut(host):
    C.link(host, "down")


def crash(host):
    C.crash(host)


def lost():
    """A daemon dies, a cable is pulled, a host crashes: its ranks died, for those who are left."""
    for how, what in ((kill_daemon, "barrier"), (kill_daemon, "any"), (cut, "large"), (cut, "recv"),
                      (crash, "send"), (crash, "agree")):
        for host, gone in (("vc3", "3"), ("vc2", "1 2")):
            if host == "vc2" and what in ("recv", "send"):
                continue  # nobody waits for those
            p = start("--on-failure=shrink", *ALL, PROBE, "lose", what)
            how(host)
            rc, out, err, seconds = end(p)
            stay = [r for r in range(4) if str(r) not in gone.split()]
            lines = [f"rank {r}: failed, lost {gone}, {len(stay)} left" for r in stay]
            words = f"{how.__name__} {host} {what}: {rc} after {seconds:.1f} s\n{out}\n{err}"
            # Two ranks of a host are told one after the other: who is quick knows of the first only.
            first = [line.replace(f"lost {gone}", f"lost {gone.split()[0]}") for line in lines]
            check(rc == 0 and all(a in out or b in out for a, b in zip(lines, first)), words)
            check(f"host {host} is lost" in err and "The others go on." in err, words)
            check(re.search(rf"rank {gone[0]} \((process \d+ )?on host {host}\) is gone with its host", out), words)
            check(seconds < 25 * SLOW, words)
            print(f"  {how.__name__} {host} in {what}: over after {seconds:.1f} s", flush=True)
            if how is cut:
                check(not left_behind(C, C.names, 30), f"after a cut: {left_behind(C, C.names, 0)}")
                C.link(host, "up")
            elif how is crash:
                C.restart(host)
    check(not left_behind(C, C.names), left_behind(C, C.names, 0))


def rows(late, versions):
    """What the ranks print at the end, for each version in which that may be."""
    return [{f"rank {i} of 4: 20 steps, version {v}{', came later' if i in late else ''}" for i in range(4)} for v in versions]


def respawn():
    """Others take the places of those who died: on the same host, or elsewhere when that is lost."""
    for deaths, late in (("2 5 0", (2,)), ("0 5 0 3 9 1", (0, 3)), ("1 5 0 2 5 0", (1, 2)), ("3 5 0 3 9 1", (3,))):
        r = HostRun(C, "--on-failure=respawn", *ALL, PROBE, "respawn", *deaths.split())
        # Who dies together is replaced together, or one after the other.
        wants = rows(late, (1, 2) if deaths == "1 5 0 2 5 0" else (len(deaths.split()) // 3,))
        check(r.rc == 0 and set(r.out.splitlines()) in wants, f"{deaths}: {r}")


def respawn_elsewhere():
    """A host is lost with one rank, or with two: others take their places on the hosts that are left."""
    for deaths, late in (("3 5 0", (3,)), ("2 5 0", (1, 2))):
        r = HostRun(C, "--on-failure=respawn", *ALL, PROBE, "respawn", *deaths.split(), env={"FAIL_HOST": "1"})
        wants = rows(late, range(1, len(late) + 1))
        check(r.rc == 0 and set(r.out.splitlines()) in wants and "is lost" in r.words, f"{deaths}: {r}")


def aborted():
    """MPI_Abort of a communicator with members on two hosts, and of a rank that is then replaced."""
    r = HostRun(C, "--on-failure=shrink", *ALL, PROBE, "group", "half")
    # Each of the two who live names the one that it has heard of by then, or both.
    check(r.rc == 0 and r.out.count("goes on with 2\n") == 2 and
          all(line.count("was ended by MPI_Abort with code 5") in (1, 2) for line in r.out.splitlines() if "MPI_Barrier" in line) and
          r.out.count("MPI_Barrier") == 2 and
          "rank 1 called MPI_Abort with code 5 on a communicator of 2: its members end, the others go on." in r.words, r)
    r = HostRun(C, "--on-failure=shrink", *ALL, PROBE, "group", "all")
    check(r.rc == 5 and "goes on" not in r.out, r)
    r = HostRun(C, "--on-failure=respawn", *ALL, PROBE, "respawn", "2", "5", "0", env={"FAIL_ABORT": "1"})
    want = {f"rank {i} of 4: 20 steps, version 1{', came later' if i == 2 else ''}" for i in range(4)}
    check(r.rc == 0 and set(r.out.splitlines()) == want and "rank 2 called MPI_Abort with code 3" in r.words, r)


with C:
    for part in [globals()[w] for w in sys.argv[1:]] or (ranks, aborted, respawn, respawn_elsewhere, lost):
        begin = time.monotonic()
        part()
        print(f"{part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    check(not left_behind(C, C.names), left_behind(C, C.names, 0))
sys.exit(status())
