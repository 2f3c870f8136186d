#!/usr/bin/env python3
"""The examples of worlds that change: their answers are those of worlds that do not."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, SOURCE, Run, check, clean_up, mark, nothing_left, status

BIN = os.path.join(BUILD, "bin")
MPICTL = os.path.join(BIN, "mpictl")
STEPS = "600"


def soap(env, folder):
    for n, most, want in ((1, 8, ("1", "2", "4", "8")), (2, 5, ("2", "4")), (3, 6, ("3", "6"))):
        r = Run("--timeout", 100 * SLOW, "-n", n, os.path.join(folder, "soap"), most, env=env, timeout=110)
        ranks = re.findall(r"^ *(\d+) ranks, ", r.out, re.M)
        check(r.rc == 0 and tuple(ranks) == want and "the error fell as it should" in r.out, f"{r}")
    r = Run("--elastic", "1:3", "-n", 2, os.path.join(folder, "soap"), 4, env=env)
    check(r.rc == 0 and "no finer grid: MPI_Fork: 4 ranks are outside --elastic 1:3" in r.out, f"{r}")
    nothing_left(env)


def answer_of(text):
    found = re.search(r"sum (\S+), digest (\S+)", text)
    return found.groups() if found else text


def resize(env, folder):
    """2 -> 8 -> 3 ranks, and the same to the last bit."""
    program = os.path.join(folder, "resize")
    fixed = {n: answer_of(Run("-n", n, program, STEPS, env=env).out) for n in (1, 2, 3)}
    check(len(set(fixed.values())) == 1 and len(fixed[1]) == 2, f"{fixed}")
    p = subprocess.Popen([MPIEXEC, "--elastic", "1:8", "-n", "2", program, STEPS, "2"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, env={**os.environ, **env})
    while Run("status", p.pid, tool=MPICTL).rc != 0 and p.poll() is None:
        time.sleep(0.01)
    for args, want in ((("grow", 6), "version 1, of 8 ranks"), (("shrink", 5), "version 2, of 3 ranks")):
        r = Run(*args, p.pid, tool=MPICTL)
        check(r.rc == 0 and want in r.out, f"{args}: {r}")
    out, _ = p.communicate(timeout=100 * SLOW)
    check(p.returncode == 0 and f"{STEPS} steps, 2 changes, 3 ranks at the end" in out, out)
    check(answer_of(out) == fixed[1], f"{out}, but should be {fixed[1]}")
    nothing_left(env)


def told(env, folder):
    """2 -> 5 -> 1 -> 3 ranks, told by the status of calls."""
    program = os.path.join(folder, "told")
    fixed = {answer(Run("-n", n, program, STEPS, env=env).out) for n in (1, 2, 3)}
    check(len(fixed) == 1 and None not in fixed, f"{fixed}")
    p = subprocess.Popen([MPIEXEC, "--elastic", "1:8", "--on-resize=error", "-n", "2", program, STEPS, "3"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, env={**os.environ, **env})
    while Run("status", p.pid, tool=MPICTL).rc != 0 and p.poll() is None:
        time.sleep(0.01)
    for args, want in ((("grow", 3), "version 1, of 5 ranks"), (("shrink", 4), "version 2, of 1 rank"),
                       (("resize", 3), "version 3, of 3 ranks")):
        r = Run(*args, p.pid, tool=MPICTL)
        end = time.monotonic() + 60 * SLOW
        while "not all ranks have heard" in r.err and time.monotonic() < end:  # the last one may not be known to all yet
            time.sleep(0.01)
            r = Run(*args, p.pid, tool=MPICTL)
        check(r.rc == 0 and want in r.out, f"{args}: {r}")
    out, _ = p.communicate(timeout=100 * SLOW)
    check(p.returncode == 0 and f"{STEPS} items, 3 changes, 3 ranks at the end" in out, out)
    check(answer(out) in fixed, f"{out}, but should be {fixed}")
    nothing_left(env)


def answer(text):
    found = re.search(r"at the end: sum (\S+)", text)
    return found.group(1) if found else None


def survive(env, folder):
    """Ranks die, and the answer is the same to the last bit."""
    program = os.path.join(folder, "survive")
    digests = set()
    for args, end in ((("-n", 1, program), "0 losses, 1 ranks"), (("-n", 4, program), "0 losses, 4 ranks"),
                      (("-n", 4, program, 300, 2, 155), "1 losses, 3 ranks"),
                      (("-n", 5, program, 300, 0, 41, 4, 200, 2, 289), "3 losses, 2 ranks"),
                      (("-n", 2, program, 300, 1, 0), None)):
        args = args if len(args) > 3 else (*args, 300)
        r = Run("--on-failure=shrink", *args, env=env)
        found = re.search(r"300 steps, (.*) at the end: digest (\S+)", r.out)
        check(r.rc == 0 and found and end in (None, found.group(1)), f"{args} {r}")
        digests.add(found.group(2) if found else r.out)
    check(len(digests) == 1, f"{digests}")
    r = Run("--on-failure=shrink", "-n", 4, program, 300, 1, 155, 2, 155, env=env)
    check(r.rc == 1 and "points are lost with their copies" in r.err, f"{r}")
    nothing_left(env)


def restart(env, folder):
    """Without a checkpoint the script says so, and does not restart from nothing."""
    mpiexec = os.path.join(folder, "mpiexec")
    for end, said in (("1", "no checkpoint could be made"), ("0", "give it more steps")):
        with open(mpiexec, "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\n[ "$1" != --checkpoint-dir ] || exit {end}\nexec {MPIEXEC} "$@"\n')
        os.chmod(mpiexec, 0o700)
        r = subprocess.run(["sh", os.path.join(folder, "restart.sh"), "10"], capture_output=True, text=True, check=False,
                           env={**os.environ, **env, "MPIEXEC": mpiexec})
        check(r.returncode == 1 and said in r.stderr and "restarted" not in r.stdout and "differ" not in r.stderr, f"{end}: {r}")
    nothing_left(env)


def main():
    env = mark()
    with tempfile.TemporaryDirectory() as d:
        folder = os.path.join(d, "elastic")
        shutil.copytree(os.path.join(SOURCE, "examples", "elastic"), folder)
        made = subprocess.run(["make", "-s", "-C", folder], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": BIN + ":" + os.environ["PATH"]})
        check(made.returncode == 0 and made.stderr == "", made.stderr)
        try:
            soap(env, folder)
            resize(env, folder)
            survive(env, folder)
            told(env, folder)
            restart(env, folder)
        finally:
            clean_up(env)
    return status()


sys.exit(main())
