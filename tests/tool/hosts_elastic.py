#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A job on several (virtual) hosts changes its size; what fails on the way, on whichever host, leaves it as it was."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, HostRun, left_behind, open_cluster
from launch import MPIEXEC, SLOW, SOURCE, check, status

C = open_cluster(3)
BIN = os.path.join(BUILD, "tests", "bin")
MPICTL, WORLD = os.path.join(BUILD, "bin", "mpictl"), os.path.join(BIN, "mpi.elastic_world")
TOLD = os.path.join(BIN, "mpi.elastic_told")
ALL = ["--hosts", "vc1:1,vc2:1,vc3:1"]


def ctl(*args, on="vc1"):
    p = C.popen(on, [MPICTL, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out = p.communicate(timeout=60 * SLOW)[0]
    return p.returncode, out


def start(*args, env=None):
    """The job, once all its ranks run."""
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *map(str, args)], stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, env={**os.environ, **(env or {})})
    end = time.monotonic() + 60 * SLOW
    n = args[args.index("-n") + 1] if "-n" in args else 3
    begun = f"{n} process{'es are' if n > 1 else ' is'} between"
    while begun not in ctl("status")[1] and p.poll() is None:
        check(time.monotonic() < end, "the job begins")
        time.sleep(0.02)
    return p


def finish(p, rc, *words):
    out = p.communicate(timeout=60 * SLOW)[0]
    check(p.returncode == rc and all(w in " ".join(out.split()) for w in words), f"rc {p.returncode}, not {rc} {words}\n{out}")


def change(want_rc, want, *args):
    rc, out = ctl(*args)
    check(rc == want_rc and want in out, f"{args}: {rc} {out}")


def by_program():
    for n in (2, 3):
        r = HostRun(C, "--hosts", ",".join(f"vc{i + 1}:1" for i in range(n)), "-n", 2, "--elastic", "1:6", WORLD, "call")
        check(r.rc == 0, r)


def by_mpictl():
    p = start(*ALL, "--elastic", "2:8", WORLD, "poll", 4)
    change(0, "version 1, of 5 ranks", "grow", 2)
    change(0, "version 2, of 8 ranks", "resize", 8)
    change(0, "version 3, of 2 ranks\nthe ranks that left are gone", "shrink", 6)
    change(1, "9 ranks are outside --elastic 2:8", "grow", 7)
    rc, out = ctl("status")
    check(rc == 0 and "the world is version 3, of 2 ranks" in out and "6 have ended" in out, out)
    for host in ("vc1", "vc2"):
        rc, out = ctl("list", on=host)
        check(rc == 0 and "this host's part" in out, out)
    change(0, "version 4, of 7 ranks", "resize", 7)
    finish(p, 0, "version 4 of 7 ranks")


def where():
    """New ranks go to hosts with room, which those who left have made."""
    show = 'echo "rank $PLIANT_RANK on $(hostname)" >&2; exec "$@"'
    p = start("--hosts", "vc1:2,vc2:2,vc3:2", "-n", 6, "--elastic", "1:6", "sh", "-c", show, "sh", WORLD, "poll", 2)
    change(0, "version 1, of 2 ranks", "shrink", 4)
    change(0, "version 2, of 6 ranks", "grow", 4)
    out = p.communicate(timeout=60 * SLOW)[0]
    found = sorted(re.findall(r"rank (\d) on (vc\d)", out))
    check(p.returncode == 0 and found == sorted([*zip("012345", ("vc1",) * 2 + ("vc2",) * 2 + ("vc3",) * 2)] +
                                                [*zip("2345", ("vc2",) * 2 + ("vc3",) * 2)]), f"{found}\n{out}")


def spare():
    """From one rank over all hosts of the list and back to one; a host that nobody is on any more may go."""
    p = start("--hosts", "vc1:1,vc2:2,vc3:1", "-n", 1, "--elastic", "1:8", WORLD, "poll", 3)
    change(0, "version 1, of 4 ranks", "resize", 4)
    change(0, "version 2, of 1 rank\nthe ranks that left are gone", "shrink", 3)
    C.popen("vc3", ["sh", "-c", "kill -9 $(pgrep -f 'mpiexec --as-daemon')"]).wait()
    end = time.monotonic() + 60 * SLOW
    rc = 1
    while rc != 0 and time.monotonic() < end:  # until mpiexec has noticed
        rc, out = ctl("resize", 3)
    check(rc == 0 and "version 3, of 3 ranks" in out, out)
    finish(p, 0, "version 3 of 3 ranks")


def told():
    """--on-resize=error: once at every rank, in calls that wait and in collectives; by the program and by mpictl."""
    for hosts in ("vc1:2,vc2:2", "vc1:1,vc2:2,vc3:4", "vc3:1,vc1:4"):
        for _ in range(3):
            r = HostRun(C, "--hosts", hosts, "--elastic", "1:8", "--on-resize=error", "-n", 4, TOLD)
            check(r.rc == 0, f"{hosts}: {r}")
    with tempfile.TemporaryDirectory() as d:
        program = os.path.join(d, "told")
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-O1", "-o", program,
                        os.path.join(SOURCE, "examples", "elastic", "told.c"), "-lm"], check=True)
        want = re.search(r"at the end: (sum \S+)", HostRun(C, "--hosts", "vc1:2", program, 600).out)
        p = start(*ALL, "--elastic", "1:8", "--on-resize=error", program, 600, 3)
        for args, now in ((("grow", 3), "version 1, of 6 ranks"), (("shrink", 4), "version 2, of 2 ranks"),
                          (("resize", 4), "version 3, of 4 ranks")):
            rc, out = ctl(*args)
            end = time.monotonic() + 60 * SLOW
            while "not all ranks have heard" in out and time.monotonic() < end:
                rc, out = ctl(*args)
            check(rc == 0 and now in out, f"{args}: {rc} {out}")
        finish(p, 0, "600 items, 3 changes, 4 ranks at the end", want.group(1) if want else "an answer")


def next_world():
    """MPIX_World_next and redistribution plans: resizes, failures that are dropped or replaced, and both at once."""
    program = os.path.join(BIN, "mpi.world_next")
    for hosts, n, how, *options in (("vc1:1,vc2:2,vc3:3", 2, "call", "--elastic", "1:6"),
                                    ("vc1:2,vc2:2,vc3:1", 5, "shrink", "--on-failure=shrink"),
                                    ("vc1:2,vc2:2", 4, "respawn", "--on-failure=respawn"),
                                    ("vc1:3,vc2:2,vc3:3", 4, "both", "--elastic", "1:8", "--on-failure=shrink")):
        r = HostRun(C, "--hosts", hosts, "-n", n, *options, program, how)
        check(r.rc == 0 and "check" not in r.out, f"{how}: {r}")


def new_rank_dies():
    """One that ends before MPI_Init, on another host: the world stays, and can be resized later."""
    flag = "/dev/shm/die"
    script = f"[ $PLIANT_RANK = 4 ] && [ -e {flag} ] && exit 3; exec {WORLD} poll 1"
    p = start(*ALL, "--elastic", "1:8", "sh", "-c", script)
    C.popen("vc2", ["touch", flag]).wait()
    change(1, "a new rank ended before it was in MPI_Init; the world stays as it was", "grow", 3)
    check(p.poll() is None, "the job goes on")
    C.popen("vc2", ["rm", flag]).wait()
    change(0, "version 1, of 6 ranks", "grow", 3)
    finish(p, 0, "version 1 of 6 ranks")


def faults():
    """Somebody is killed at each step: a new rank, mpiexec, a daemon. All are at one version, or nobody is there any more."""
    for point, want in (("init_ready:4", "as it was"), ("init_told:4", None), ("mpiexec_coming:0", None),
                        ("mpiexec_commit:0", None), ("mpiexec_committed:0", None), ("mpiexec_commit:2", None),
                        ("mpiexec_committed:3", None)):
        p = start(*ALL, "--elastic", "1:8", WORLD, "poll", 1, env={"PLIANT_FAULT": point})
        rc, out = ctl("grow", 3)
        check(want is None or (rc == 1 and want in out), f"{point}: {rc} {out}")
        if want is not None:
            check(p.poll() is None, f"{point}: the job goes on")
            change(0, "version 1, of 5 ranks", "grow", 2)  # processes 6 and 7: the fault is not theirs
            finish(p, 0, "version 1 of 5 ranks")
        elif point == "init_told:4":  # before or behind the point from which the version counts
            end = time.monotonic() + 20 * SLOW
            while p.poll() is None and rc == 1 and time.monotonic() < end:
                rc = ctl("grow", 2)[0]
            said = p.communicate(timeout=60 * SLOW)[0]
            check(p.returncode in (0, 128 + signal.SIGKILL), f"{point}: {p.returncode} {said}")
        else:
            said = p.communicate(timeout=60 * SLOW)[0]
            check(p.returncode != 0, f"{point}: {p.returncode} {said}")
        check(not left_behind(C, C.names), f"{point}: left are {left_behind(C, C.names, 0)}")


def cable():
    """A host vanishes while new ranks are on their way: the job ends, and nobody is left on the others."""
    p = start(*ALL, "--elastic", "1:8", "sh", "-c", f"[ $PLIANT_RANK -lt 3 ] || sleep 600; exec {WORLD} poll 9")
    c = C.popen("vc1", [MPICTL, "grow", "3"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    time.sleep(0.3)
    C.crash("vc3")
    finish(p, 1, "host vc3 is lost")
    c.communicate(timeout=60 * SLOW)
    check(c.returncode != 0, "a resize that cannot be")
    check(not left_behind(C, ["vc1", "vc2"]), f"left are {left_behind(C, ['vc1', 'vc2'], 0)}")


with C:
    for part in [globals()[w] for w in sys.argv[1:]] or (by_program, by_mpictl, where, spare, told, next_world, new_rank_dies, faults, cable):
        begin = time.monotonic()
        part()
        check(part is cable or not left_behind(C, C.names), f"{part.__name__}: left are {left_behind(C, C.names, 0)}")
        print(f"{part.__name__} {time.monotonic() - begin:.2f} s", flush=True)
sys.exit(status())
