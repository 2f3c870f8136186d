#!/usr/bin/env python3
"""What clones of ranks do to the job: their output, exit status, crashes; nothing is left behind."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, Run, carriers, check, clean_up, mark, nothing_left, status

PROBE = os.path.join(BUILD, "tests", "bin", "fork_probe")


def run(env, what, *args, n=2, **kw):
    r = Run("--label", *args, "--timeout", 40 * SLOW, "-n", n, PROBE, what, env=env, **kw)
    nothing_left(env, f"{what} left behind")
    return r


def output(env):
    r = run(env, "")
    check(r.rc == 0, f"{r}")
    lines = sorted(r.out.split("\n"))
    # What was printed before is there once, in the line of the rank that printed it.
    want = sorted([f"[{i}] before, without an end of line; rank {i} of 4" for i in (0, 1)] +
                  [f"[{i}]  rank {i} of 4" for i in (2, 3)] + [""])
    check(lines == want, f"{r}")
    r = run(env, "children")
    check(r.rc == 0 and len(re.findall(r"waits for -1", r.out)) == 4, f"{r}")
    r = run(env, "input", stdin="A\n" * 10)
    # Rank 0 has the input; the others, and clones of rank 0 too, have none.
    check(r.rc == 0 and "rank 0 reads 65" in r.out and r.out.count("reads -1") == 3, f"{r}")


def threads(env):
    """Other threads are in the clones as they are in the ranks, over both transports, and beside work on all cores."""
    for net in ("shm", "tcp"):
        for i in range(5):
            what = ("threads", "multiple", "work", "work", "multiple")[i]
            r = run({**env, "PLIANT_NET": net}, what, n=2 + i % 2)
            check(r.rc == 0 and r.out.count("has good threads") == 4 + i % 2, f"{net}: {r}")


def failures(env):
    r = run(env, "crash")
    check(r.rc == 128 + signal.SIGSEGV and re.search(r"rank [23] .*SIGSEGV", r.words), f"{r}")
    r = run(env, "abort")
    check(r.rc == 9 and "rank 3" in r.words and "MPI_Abort with code 9" in r.words, f"{r}")
    r = run(env, "exit")
    check(r.rc == 5 and "rank 2" in r.words and "exit status 5" in r.words, f"{r}")
    r = run(env, "late")
    check(r.rc == 7 and "rank 3" in r.words and "exit status 7, after MPI_Finalize" in r.words, f"{r}")
    r = run(env, "early")
    check(r.rc == 0 and r.err == "", f"parents end first: {r}")
    r = run(env, "hang")
    check(r.rc != 0 and "deadlock" in r.words and "rank 2" in r.words, f"{r}")


def refused(env):
    for what, words in (("dies", "rank 0 was forked, but the clone could not become a rank"),
                        ("waits", "rank 0 has a thread in calls of MPI")):
        r = run(env, what)
        check(r.rc == 0 and r.out.count("MPI_Fork: " + words) == 2, f"{what}: {r}")
        check(what != "waits" or "received 1" in r.out, f"{what}: {r}")
    r = run(env, "", "--elastic", "1:3")
    check(r.rc == 0 and r.out.count("4 ranks are outside --elastic 1:3") == 2, f"{r}")
    r = run(env, "", n=1)
    check(r.rc == 0 and "m = 2, but it must be 1 to 1" in r.out, f"{r}")
    r = Run("", tool=PROBE, env=env)
    check(r.rc == 0 and "MPI_Fork" in r.out, f"without mpiexec: {r}")
    r = run({**env, "PLIANT_NET": "tcp"}, "")
    check(r.rc == 0 and r.out.count(" of 4\n") == 4, f"{r}")


def killed(env):
    """mpiexec is killed: clones go with it. One clone is killed: the job ends, and says who."""
    for whom in ("mpiexec", "clone"):
        p = subprocess.Popen([MPIEXEC, "-n", "2", PROBE, "sleep"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, **env})
        for _ in range(4):
            check(p.stderr.readline() == "asleep\n", "the ranks are there")
        ranks = sorted(pid for pid, name in carriers(env) if name == "fork_probe")
        check(len(ranks) == 4, f"four of them: {ranks}")
        os.kill(p.pid if whom == "mpiexec" else ranks[-1], signal.SIGKILL)
        err = " ".join(p.communicate(timeout=60 * SLOW)[1].split())
        check(whom == "mpiexec" or ("was killed" in err and re.search("rank [0-3] ", err)), err)
        nothing_left(env)


def main():
    env = mark()
    try:
        output(env)
        threads(env)
        failures(env)
        refused(env)
        killed(env)
    finally:
        clean_up(env)
    return status()


sys.exit(main())
