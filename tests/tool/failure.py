#!/usr/bin/env python3
# ctest: alone
"""Jobs that outlive their ranks: exit status, what is said, what is refused, how soon it is known."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SLOW, Run, check, clean_up, mark, nothing_left, status

BIN = os.path.join(BUILD, "tests", "bin")
WORLD = os.path.join(BIN, "mpi.fail_world")
SHRINK = "--on-failure=shrink"


def say(env):
    """The death is reported, the job goes on, and its status is that of the survivors."""
    r = Run(SHRINK, "-n", 3, WORLD, "recv", 1, env=env)
    check(r.rc == 0, f"{r}")
    check("rank 1 (process" in r.words and "was killed by signal 9, SIGKILL" in r.words and
          "The others go on." in r.words, f"{r}")
    check(len(re.findall(r"rank \d knew after", r.out)) == 2, f"{r}")
    r = Run("-disable-auto-cleanup", "-n", 2, WORLD, "recv", 1, env=env)
    check(r.rc == 0 and "The others go on." in r.words, f"{r}")
    r = Run("-n", 3, WORLD, "recv", 1, env=env)  # as ever
    check(r.rc == 128 + 9 and "The 2 others still at work are ended." in r.words, f"{r}")
    r = Run("--on-failure=abort", "-n", 2, WORLD, "recv", 1, env=env)
    check(r.rc == 128 + 9, f"{r}")
    nothing_left(env)


def ends(env):
    """Nobody is left, somebody aborts, somebody fails afterwards."""
    r = Run(SHRINK, "-n", 2, "sh", "-c", "kill -9 $$", env=env)
    check(r.rc == 128 + 9, f"{r}")
    r = Run(SHRINK, "-n", 2, os.path.join(BIN, "fail_probe"), "abort", env=env)
    check(r.rc == 7 and "MPI_Abort" in r.words, f"{r}")
    r = Run(SHRINK, "-n", 3, os.path.join(BIN, "fail_probe"), "exit", env=env)
    check(r.rc == 0 and "rank 1 (process" in r.out and
          "ended with exit status 3 and without MPI_Finalize" in r.out, f"{r}")
    r = Run(SHRINK, "-n", 3, os.path.join(BIN, "fail_probe"), "fatal", env=env)
    check(r.rc not in (0, 137) and "MPI_Barrier: barrier on communicator MPI_COMM_WORLD failed: rank 1"
          in r.words and "MPI_ERRORS_ARE_FATAL" in r.words, f"{r}")
    nothing_left(env)


def stuck(env):
    """A deadlock of those who live is not laid to the one who died."""
    r = Run(SHRINK, "-n", 3, os.path.join(BIN, "fail_probe"), "stuck", env=env)
    check(r.rc == 123 and "rank 1 has died" in r.words and "rank 2 is not" in r.words and
          "has ended without it" not in r.words, f"{r}")


def group(env):
    """MPI_Abort ends the members of its communicator where the others can go on, else the job."""
    probe = os.path.join(BIN, "fail_probe")
    for what, n, code in (("half", 2, 5), ("self", 4, 5), ("errors", 2, 6)):
        for task in ([], ["sh", "-c", '"$@"; exit $?', "sh"]):
            r = Run(SHRINK, "--timeout", 60 * SLOW, "-n", 5 if n == 4 else 4, *task, probe, "group", what, env=env)
            check(r.rc == 0 and r.out.count(f"goes on with {n}\n") == n and "rank 1 ends it\n" in r.out, f"{what}: {r}")
            check(f"rank 1 called MPI_Abort with code {code} on a communicator of {1 if what == 'self' else 2}: its members "
                  "end, the others go on." in r.words, f"{what}: {r}")
            check(f"was ended by MPI_Abort with code {code}" in r.out, f"{what}: {r}")
            check(what != "errors" or "is MPI_ERRORS_ABORT, so its members end here" in r.words, f"{what}: {r}")
    r = Run(SHRINK, "-n", 4, "--ranks-per-proc", 4, "sh", "-c",
            f"for i in 1 2 3 4; do {probe} group half & done; wait", env=env, timeout=120)
    check(r.rc == 0 and r.out.count("goes on with 2\n") == 2, r)
    r = Run("--on-failure=respawn", "-n", 4, probe, "respawn", 2, 5, 0, env={**env, "FAIL_ABORT": "1"})
    check(r.rc == 0 and "rank 2 of 4: 20 steps, version 1, came later\n" in r.out, r)
    for how in ((SHRINK, "all"), ("--on-failure=abort", "half"), ("--on-failure=abort", "self"), ("--on-failure=abort", "all")):
        r = Run(how[0], "-n", 4, probe, "group", how[1], env=env)
        check(r.rc == 5 and "goes on" not in r.out and "called MPI_Abort with code 5" in r.words, f"{how}: {r}")
    nothing_left(env)


def asleep(env):
    """A rank hears of a revocation when it has looked and is about to sleep: it does not."""
    with tempfile.TemporaryDirectory() as d:
        hold = os.path.join(d, "hold")
        r = Run(SHRINK, "--timeout", 60 * SLOW, "-n", 2, os.path.join(BIN, "mpi.fail_late"), "wait", hold,
                env={**env, "PLIANT_FAULT": f"sleep:1@{hold}"})
        check(r.rc == 0 and not os.listdir(d), f"{r} {os.listdir(d)}")


def refused(env):
    for how in ("shrink", "respawn"):
        r = Run(f"--on-failure={how}", "-n", 2, "--impi", "localhost:1", "--impi-rank", 0, "true", env=env)
        check(r.rc != 0 and "IMPI" in r.words and f"--on-failure={how} is not for" in r.words, f"{r}")
    r = Run("--on-failure=respawn", "-n", 1, "true", ":", "-n", 1, "true", env=env)
    check(r.rc != 0 and "several programs" in r.words, f"{r}")
    r = Run("--on-failure=sink", "-n", 1, "true", env=env)
    check(r.rc != 0 and "abort continue restart shrink respawn end" in r.words, f"{r}")
    r = Run("-n", 2, os.path.join(BIN, "fail_probe"), "revoke", env=env)
    check(r.rc == 0 and "start the job with mpiexec --on-failure=shrink" in r.out, f"{r}")


def respawn(env):
    """Others take the places of those who died, with their numbers."""
    for n, deaths, late, versions in ((3, "1 5 0", (1,), (1,)), (3, "0 5 0 1 9 1", (0, 1), (2,)),
                                      (3, "1 5 0 1 9 1", (1,), (2,)),
                                      # Who dies together is replaced together, or one after the other.
                                      (4, "1 5 0 2 5 0", (1, 2), (1, 2)), (6, "0 5 0 2 5 0 5 5 0", (0, 2, 5), (1, 2, 3))):
        r = Run("--on-failure=respawn", "-n", n, os.path.join(BIN, "fail_probe"), "respawn", *deaths.split(),
                env=env)
        wants = [{f"rank {i} of {n}: 20 steps, version {v}{', came later' if i in late else ''}" for i in range(n)}
                 for v in versions]
        check(r.rc == 0 and set(r.out.splitlines()) in wants, f"{deaths}: {r}")
    with tempfile.TemporaryDirectory() as d:
        flag = os.path.join(d, "die")
        script = f"[ -e {flag} ] && exit 3; touch {flag}; exec {BIN}/fail_probe respawn 0 5 0"
        r = Run("--on-failure=respawn", "-n", 1, "sh", "-c", script, env=env)
        check(r.rc != 0 and "was to take the place" in r.words, f"{r}")
    nothing_left(env)


def resized(env):
    """--on-resize=error: what is refused, and what a program without an error handler gets."""
    r = Run("--on-resize=error", "-n", 1, "true", env=env)
    check(r.rc != 0 and "--on-resize=error needs --elastic" in r.words, f"{r}")
    r = Run("--elastic", "1:4", "--on-resize=error", "--on-failure=shrink", "-n", 1, "true", env=env)
    check(r.rc != 0 and "--on-resize=error is for jobs with --on-failure=abort" in r.words, f"{r}")
    r = Run("--elastic", "1:4", "--on-resize=error", "-n", 2, os.path.join(BIN, "fail_probe"), "deaf", env=env)
    check(r.rc == 0 and "MPI_WORLD_RESIZED cannot be returned" in r.words and
          "MPI_ERRORS_ARE_FATAL" in r.words and r.out == "2 ranks went on\n", f"{r}")
    nothing_left(env)


def soon(env):
    """A death is known within 100 ms: the best of a few runs, because others use the machine too."""
    best = 1e9
    for _ in range(5):
        r = Run(SHRINK, "-n", 4, WORLD, "barrier", 2, env=env, is_timed=True)
        known = [float(x) for x in re.findall(r"knew after (\S+) ms", r.out)]
        check(r.rc == 0 and len(known) == 3, f"{r}")
        best = min(best, max(known, default=1e9))
    print(f"failure_known ranks=4 best_of=5 {best:.1f} ms")
    check(best < 100 * SLOW, f"the last survivor knew after {best} ms")


def main():
    env = mark()
    for test in (say, ends, stuck, group, asleep, refused, respawn, resized, soon):
        test(env)
    clean_up(env)
    return status()


if __name__ == "__main__":
    sys.exit(main())
