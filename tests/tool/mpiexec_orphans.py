#!/usr/bin/env python3
"""Ranks and mpiexec are killed at random moments, many times: no process and no file is left."""
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import MPIEXEC, PROBE, SLOW, carriers, check, clean_up, gone, mark, shm_files, status

SHAPES = [
    ("-n", "6", PROBE, "init", "barrier", "lines", "50", "sleep", "60"),
    ("-n", "4", "sh", "-c", f"sleep 0.01; {PROBE} init barrier sleep 60; sleep 60"),
    ("-n", "4", "sh", "-c", f"{PROBE} setsid init sleep 60; true"),
    ("-n", "4", "--ranks-per-proc=2", "sh", "-c",
     f"{PROBE} init sleep 60 & {PROBE} init sleep 60 & wait"),
    ("-n", "3", "sh", "-c", "sleep 60 & (sleep 60; true) & sleep 60"),
    ("-n", "3", "sh", "-c", "setsid sh -c 'sleep 60; true' & sleep 60"),
    ("-n", "4", PROBE, "init", "ignore", "TERM", "ignore", "HUP", "sleep", "60"),
    ("-n", "2", MPIEXEC, "-n", "2", PROBE, "init", "sleep", "60"),
    ("-n", "2", "--ranks-per-proc=2", PROBE, "fork", "init", "sleep", "60"),
]



def some_rank(env, rng):
    ranks = [pid for pid, name in carriers(env) if name in ("mpiexec_probe", "sh", "sleep")]
    return rng.choice(ranks) if ranks else None


def one_round(n, rng):
    env = mark()
    p = subprocess.Popen([MPIEXEC, *SHAPES[n % len(SHAPES)]], env={**os.environ, **env},
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rng.choice((0, 0.002, 0.01, 0.05, 0.1)) * rng.random() * SLOW)
    victim = p.pid if n % 3 else some_rank(env, rng)
    try:
        if victim is not None:
            os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        pass
    time.sleep(0.005 * rng.random())
    if n % 3 == 0:
        # The rank's death ends a job of MPI programs; the others are ended by mpiexec's.
        try:
            p.wait(0.3 * rng.random())
        except subprocess.TimeoutExpired:
            p.send_signal(rng.choice((signal.SIGKILL, signal.SIGTERM)))
    try:
        p.wait(30 * SLOW)
    except subprocess.TimeoutExpired:
        check(False, f"round {n}: mpiexec does not end")
        p.kill()
    left = gone(env, 10)
    check(not left, f"round {n}, {SHAPES[n % len(SHAPES)]}: {left} left")
    clean_up(env)


def without_keeper(shape):
    """Ranks die with mpiexec even when the process that sees to the rest was killed before."""
    env = mark()
    p = subprocess.Popen([MPIEXEC, *shape], env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for _ in range(int(shape[1])):
        p.stdout.readline()
    keepers, end = [], time.monotonic() + 10 * SLOW
    while not keepers and time.monotonic() < end:  # it may get to run, and to give itself a name, after the ranks
        keepers = [pid for pid, name in carriers(env) if name == "pliant-watchdog"]
    check(len(keepers) == 1, f"{keepers} keepers")
    for pid in keepers + [p.pid]:
        os.kill(pid, signal.SIGKILL)
    p.wait()
    p.stdout.close()
    end = time.monotonic() + 10
    while [c for c in carriers(env) if c[1] == "mpiexec_probe"] and time.monotonic() < end:
        time.sleep(0.01)
    left = [c for c in carriers(env) if c[1] == "mpiexec_probe"]
    check(not left, f"{shape}: {left} left")
    clean_up(env)


rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 90
seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
print(f"{rounds} rounds, seed {seed}", flush=True)
source = random.Random(seed)
before = shm_files()
for number in range(rounds):
    one_round(number, source)
ready = f"{PROBE} init print ready flush sleep 60"
without_keeper(("-n", "3", *ready.split()))
without_keeper(("-n", "3", "sh", "-c", ready + "; true"))
without_keeper(("-n", "3", "setsid", "-w", *ready.split()))
without_keeper(("-n", "4", "--ranks-per-proc=2", "sh", "-c", f"{ready} & {ready} & wait"))
check(shm_files() <= before, f"files are left: {shm_files() - before}")
sys.exit(status())
