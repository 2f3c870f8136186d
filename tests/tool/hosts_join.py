#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts that join a job while it runs: for new ranks, for processes that are spawned; and what fails leaves it as it was."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, HostRun, left_behind, open_cluster
from launch import MPIEXEC, SLOW, check, status

C = open_cluster(5)
BIN = os.path.join(BUILD, "tests", "bin")
MPICTL, WORLD, JOIN, SPAWN = (os.path.join(BUILD, "bin", "mpictl"), os.path.join(BIN, "mpi.elastic_world"),
                              os.path.join(BIN, "join_probe"), os.path.join(BIN, "spawn_probe"))
SHOW = ["sh", "-c", 'echo "rank $PLIANT_RANK on $(hostname)" >&2; exec "$@"', "sh"]


def ctl(*args, on="vc1"):
    p = C.popen(on, [MPICTL, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out = p.communicate(timeout=100 * SLOW)[0]
    return p.returncode, out


def start(*args, env=None, launcher=None):
    """The job, once its first ranks run."""
    p = C.popen("vc1", [MPIEXEC, "--launcher", launcher or C.launcher, *map(str, args)], stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, env={**os.environ, **(env or {})})
    begun = re.compile("2 processes are between|rank 1 (?!has not)")  # on several hosts, or on one
    until(lambda: begun.search(ctl("status")[1]) or p.poll() is not None, "the job begins")
    return p


def until(is_so, what):
    end = time.monotonic() + 60 * SLOW
    while not is_so():
        check(time.monotonic() < end, what)
        if time.monotonic() > end:
            return
        time.sleep(0.02)


def change(want_rc, want, *args):
    rc, out = ctl(*args)
    check(rc == want_rc and want in " ".join(out.split()), f"{args}: {rc}, not {want_rc} {want}\n{out}")


def finish(p, rc, *words):
    out = p.communicate(timeout=60 * SLOW)[0]
    check(p.returncode == rc and all(w in " ".join(out.split()) for w in words), f"rc {p.returncode}, not {rc} {words}\n{out}")
    return out


def where(out):
    return sorted(re.findall(r"rank (\d+) on (\w+)", out))


def from_one():
    """A job that was started on one host, without a list, grows over others and shrinks again."""
    p = start("-n", 2, "--elastic", "1:9", *SHOW, WORLD, "poll", 5)
    change(0, "version 1, of 4 ranks", "grow", 2, "--hosts", "vc2:2")
    change(0, "version 2, of 7 ranks", "resize", 7, "--hosts", "vc3,vc4:2")
    rc, out = ctl("status")
    check(rc == 0 and "the world is version 2, of 7 ranks" in out, out)
    check("this host's part" in ctl("list", on="vc4")[1], "a daemon on vc4")
    change(0, "version 3, of 3 ranks the ranks that left are gone", "shrink", 4)
    change(0, "version 4, of 4 ranks", "grow", 1, "--hosts", "vc1")
    change(0, "version 5, of 5 ranks", "grow", 1, "--hosts", "vc4")  # it is of the job already
    out = finish(p, 0, "version 5 of 5 ranks")
    check(where(out) == [("0", "vc1"), ("1", "vc1"), ("2", "vc2"), ("3", "vc1"), ("3", "vc2"), ("4", "vc3"), ("4", "vc4"),
                         ("5", "vc4"), ("6", "vc4")], f"{where(out)}\n{out}")


def to_listed():
    """To hosts of a list, some of which were reached through others; the new one serves for whatever comes later."""
    for fan in (1, 32):
        p = start("--hosts", "vc1:1,vc2:1,vc3:1", "-n", 2, "--elastic", "1:9", *SHOW, WORLD, "poll", 2,
                  env={"PLIANT_LAUNCH_FAN": str(fan)})
        change(0, "version 1, of 4 ranks", "grow", 2, "--hosts", "vc4,vc5")
        change(0, "version 2, of 5 ranks", "grow", 1)
        out = finish(p, 0, "version 2 of 5 ranks")
        check(where(out) == [(str(i), f"vc{h}") for i, h in enumerate((1, 2, 4, 5, 3))], f"{fan}: {where(out)}\n{out}")


def by_program():
    """MPIX_World_resize_with_info; hosts of `add-host` are used where there is room. Names from before are known there."""
    for hints, want in ((["host=vc2:2"], "vc1 vc1 vc2 vc2"), (["host=vc2,vc3"], "vc1 vc1 vc2 vc3"),
                        (["add-host=vc2:4"], "vc1 vc1 vc2 vc2"), (["host=localhost"], "vc1 vc1 vc1 vc1")):
        r = HostRun(C, "-n", "2", "--elastic", "1:4", JOIN, "4", *hints)
        found = [h for _, h in sorted(re.findall(r"rank (\d) of 4 \(4\) on (\w+)", r.out))]
        check(r.rc == 0 and " ".join(found) == want and r.out.count("the port is found") == 4, f"{hints}: {found} {r}")
    r = HostRun(C, "-n", "2", "--elastic", "1:4", JOIN, "4", "host=nowhere")
    check(r.rc == 0 and r.out.count("host nowhere cannot be reached") == 2 and "rank 1 of 2 (2) on vc1" in r.out, r)
    r = HostRun(C, "-n", "2", "--elastic", "1:4", JOIN, "1", "host=vc2")
    check(r.rc == 0 and r.out.count("refused: ") == 2 and "no more than the 2 there are" in r.out, r)


def told():
    """--on-resize=error: the ranks of one host and those of the new one leave the old version together."""
    for _ in range(3):
        r = HostRun(C, "-n", "4", "--elastic", "1:8", "--on-resize=error", os.path.join(BIN, "mpi.elastic_told"))
        check(r.rc == 0, r)


def spawned():
    child = re.compile(r"child (\d+) of \d+ part \d+ on (\w+) ")
    for options, words, want in ((["-n", "1", "--elastic", "1:4"], ["3", "host=vc3"], ["vc3"] * 3),
                                 (["--hosts", "vc1:1,vc2:1"], ["2,1", "host=vc3,vc4", "/", "host=vc2"], ["vc3", "vc4", "vc2"]),
                                 (["--hosts", "vc1:1,vc2:1"], ["4", "add-host=vc5:4"], ["vc5"] * 4)):
        r = HostRun(C, *options, SPAWN, "spawn", *words)
        found = [h for _, h in sorted(child.findall(r.out))]
        check(r.rc == 0 and found == want, f"{words}: {found} {r}")
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", SPAWN, "spawn", "2,1", "host=vc3", "/", "host=nowhere")
    check(r.rc == 0 and "refused: " in r.out and "host nowhere cannot be reached" in r.out and "child" not in r.out, r)
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", SPAWN, "spawn", "1", "host=vc3:many")
    check(r.rc == 0 and "'vc3:many' needs a number of ranks behind the colon" in r.out, r)
    r = HostRun(C, "-n", "1", SPAWN, "spawn", "1", "host=vc3")
    check(r.rc == 0 and "host vc3 is not of this job, which runs on one host" in r.out, r)


def later():
    """What a job has been through, its new host knows too: processes that came and went, sets that were made."""
    p = start("-n", 2, "--elastic", "1:9", WORLD, "poll", 12)
    for i in range(5):
        change(0, f"version {2 * i + 1}, of 4 ranks", "resize", 4)
        change(0, f"version {2 * i + 2}, of 2 ranks", "resize", 2)
    change(0, "version 11, of 5 ranks", "grow", 3, "--hosts", "vc2,vc3")
    change(0, "version 12, of 6 ranks", "grow", 1, "--hosts", "vc4")
    finish(p, 0, "version 12 of 6 ranks")
    # Rows of the many are used again, also with hosts that were not there when they came first.
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", "--timeout", 120, os.path.join(BIN, "mpi.dyn_cycles"), "600", "2", timeout=150)
    check(r.rc == 0, r)


def unreachable():
    """Nobody joins when one cannot; the ranks notice nothing, and the next attempt is as good as the first."""
    p = start("-n", 2, "--elastic", "1:9", *SHOW, WORLD, "poll", 1)
    change(1, "host nowhere cannot be reached", "grow", 1, "--hosts", "nowhere")
    change(1, "host nowhere cannot be reached", "grow", 2, "--hosts", "vc2,nowhere")
    change(1, "'+vc2' is not the name of a host", "grow", 2, "--hosts", "+vc2")
    change(2, "shrink makes none", "shrink", 1, "--hosts", "vc2")
    change(1, "no more than the 2 there are", "resize", 2, "--hosts", "vc2")
    until(lambda: not C.processes("vc2"), "nobody is left on vc2")
    change(0, "version 1, of 4 ranks", "grow", 2, "--hosts", "vc2,vc3")
    out = finish(p, 0, "version 1 of 4 ranks")
    check("nowhere" not in out, f"who asked is told, and nobody else: {out}")
    check(where(out)[2:] == [("2", "vc2"), ("3", "vc3")], out)


def unfit():
    """What is wrong on a host is said of it: a directory or a program that it lacks."""
    C.popen("vc1", ["mkdir", "/dev/shm/here"]).wait()
    C.popen("vc1", ["cp", WORLD, "/dev/shm/here/world"]).wait()
    p = start("-n", 2, "--elastic", "1:9", "/dev/shm/here/world", "poll", 1)
    change(1, "host vc2: cannot run /dev/shm/here/world: there is no such file", "grow", 2, "--hosts", "vc2")
    until(lambda: not C.processes("vc2"), "nobody is left on vc2")
    change(0, "version 1, of 4 ranks", "grow", 2)
    finish(p, 0, "version 1 of 4 ranks")
    p = start("-n", 2, "--elastic", "1:9", "--wdir", "/dev/shm/here", "./world", "poll", 1)
    change(1, "host vc2: ", "grow", 2, "--hosts", "vc2")
    change(0, "version 1, of 3 ranks", "grow", 1)
    finish(p, 0, "version 1 of 3 ranks")
    C.popen("vc1", ["rm", "-r", "/dev/shm/here"]).wait()


def faults():
    """The daemon of the new host dies at each step: the world is as it was. mpiexec does: nobody is left."""
    for point in ("daemon_join_call:1", "daemon_join_hello:1", "daemon_join_replay:1", "daemon_coming:1", "daemon_begun:1"):
        p = start("-n", 2, "--elastic", "1:9", *SHOW, WORLD, "poll", 1, env={"PLIANT_FAULT": point})
        rc, out = ctl("grow", 2, "--hosts", "vc2")
        check(rc == 1 and ("host vc2" in out or "the host of a new rank is lost" in out), f"{point}: {rc} {out}")
        check(p.poll() is None, f"{point}: the job goes on")
        until(lambda: not C.processes("vc2"), f"{point}: nobody is left on vc2")
        change(0, "version 1, of 4 ranks", "grow", 2)
        finish(p, 0, "version 1 of 4 ranks")
    for point in ("mpiexec_joining:0", "mpiexec_join:0", "mpiexec_joined:0", "mpiexec_coming:0", "mpiexec_commit:0",
                  "mpiexec_commit:2", "mpiexec_committed:2"):
        p = start("-n", 2, "--elastic", "1:9", WORLD, "poll", 1, env={"PLIANT_FAULT": point})
        ctl("grow", 2, "--hosts", "vc2")
        said = p.communicate(timeout=60 * SLOW)[0]
        check(p.returncode != 0, f"{point}: {p.returncode} {said}")
        check(not left_behind(C, C.names), f"{point}: left are {left_behind(C, C.names, 0)}")


def cut():
    """What reaches the host is killed before the daemon has called; and a host that vanishes meanwhile, or later."""
    slow = "/dev/shm/slow"  # a shell that waits before it reaches vc3
    C.popen("vc1", ["sh", "-c", f"printf '%s\\n' '#!/bin/sh' 'case $1 in vc3) sleep 600;; esac' 'exec {C.launcher} \"$@\"' "
                    f">{slow}; chmod +x {slow}"]).wait()
    p = start("-n", 2, "--elastic", "1:9", *SHOW, WORLD, "poll", 2, launcher=slow)
    c = C.popen("vc1", [MPICTL, "grow", "2", "--hosts", "vc2,vc3"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until(lambda: C.popen("vc1", ["pgrep", "-f", "^sleep 600"], stdout=subprocess.DEVNULL).wait() == 0, "ssh is on its way")
    C.popen("vc1", ["sh", "-c", "kill -9 -$(ps -o pgid= -p $(pgrep -f '^sleep 600') | tr -d ' ')"]).wait()
    out = c.communicate(timeout=60 * SLOW)[0]
    check(c.returncode == 1 and "host vc3 cannot be reached" in out and "killed by signal 9" in " ".join(out.split()), out)
    until(lambda: not C.processes("vc2"), "nobody is left on vc2")
    change(0, "version 1, of 4 ranks", "grow", 2, "--hosts", "vc2")
    change(0, "version 2, of 5 ranks", "grow", 1, "--hosts", "vc4")
    finish(p, 0, "version 2 of 5 ranks")
    p = start("-n", 2, "--elastic", "1:9", WORLD, "poll", 9)
    change(0, "version 1, of 4 ranks", "grow", 2, "--hosts", "vc2")
    change(0, "version 2, of 5 ranks", "grow", 1, "--hosts", "vc3")
    change(0, "version 3, of 4 ranks the ranks that left are gone", "shrink", 1)
    # Nobody is there any more; the watchdog of the daemon gets to run only when the host has joined again.
    dog = C.popen("vc3", ["pgrep", "-f", "pliant-watchdog"], stdout=subprocess.PIPE, text=True).communicate()[0].strip()
    C.popen("vc3", ["sh", "-c", f"kill -STOP {dog} && kill -9 $(pgrep -f 'mpiexec --as-daemon')"]).wait()
    rc = 1
    end = time.monotonic() + 60 * SLOW
    while rc != 0 and time.monotonic() < end:  # it joins once more, when mpiexec has noticed
        rc, out = ctl("grow", 2, "--hosts", "vc3")
    check(rc == 0 and "of 6 ranks" in out, out)
    C.popen("vc3", ["kill", "-CONT", dog]).wait()
    until(lambda: C.popen("vc3", ["kill", "-0", dog], stderr=subprocess.DEVNULL).wait() != 0, "the watchdog has ended")
    check(len(C.processes("vc3")) >= 4, f"ranks, daemon and its watchdog live on: {C.processes('vc3')}")
    C.crash("vc3")
    finish(p, 1, "host vc3 is lost")
    check(not left_behind(C, ["vc1", "vc2"]), f"left are {left_behind(C, ['vc1', 'vc2'], 0)}")


ALL = (from_one, to_listed, by_program, told, spawned, later, unreachable, unfit, faults, cut)
with C:
    for part in [globals()[w] for w in sys.argv[1:]] or ALL:
        begin = time.monotonic()
        part()
        check(part is cut or not left_behind(C, C.names), f"{part.__name__}: left are {left_behind(C, C.names, 0)}")
        print(f"{part.__name__} {time.monotonic() - begin:.2f} s", flush=True)
sys.exit(status())
