#!/usr/bin/env python3
"""Fortran with everything else: threads, endpoints, sessions, worlds that change, failures, checkpoints, files, several hosts, and the
reports of --check, --profile and --timeline, which name lines of the Fortran source."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from checkpoint import skip_reason
from lib.launch import BUILD, SOURCE, Run, check, sanitizer_behind, sanitizer_flags, status

PROGRAM_SOURCE = os.path.join(SOURCE, "tests", "fortran", "features.f90")


def line_of(mark):
    """The line of the source that ends with a mark."""
    for n, line in enumerate(open(PROGRAM_SOURCE, encoding="ascii"), 1):
        if line.rstrip().endswith(f"! {mark}"):
            return f"features.f90:{n}"
    return f"no line with {mark}"


# OpenMP's runtime is not built for a sanitizer of threads, which then sees races in its barrier.
HAS_OPENMP = "-fsanitize=thread" not in sanitizer_flags()
OPENMP = ["threads", "endpoints", "endpoint_ranks"]


def good(mode, *options, env=None, after=()):
    if mode in OPENMP and not HAS_OPENMP:
        print(f"{mode} is left out: the thread sanitizer does not know OpenMP's barriers")
        return None
    r = Run(*options, program, mode, *after, env=env)
    check(r.rc == 0 and f"{mode}: all good" in r.out, f"{mode} {options} {env}: {r}", 2)
    return r


def plain():
    for mode in ("threads", "endpoints", "endpoint_ranks", "sessions", "fork"):
        good(mode, "-n", 2)
    good("files", "-n", 2, after=[os.path.join(folder, "data")])


def hosts():
    """On three pretended hosts all goes over TCP."""
    env = {"PLIANT_FAKE_HOSTS": "3"}
    for mode in ("threads", "endpoints", "sessions"):
        good(mode, "-n", 3, env=env)
    good("files", "-n", 3, env=env, after=[os.path.join(folder, "data")])


def changes():
    r = good("world", "--elastic", "1:4", "-n", 2)
    check("world of 4\nworld of 1\n" in r.out, r)
    good("failure", "--on-failure=shrink", "-n", 3)


def checkpoints():
    place = os.path.join(folder, "state")
    r = Run("--checkpoint-dir", place, "--checkpoint-mode", "state", "-n", 2, program, "state")
    check(r.rc != 0 and "checkpoint 1, the state of 2 ranks" in r.words, r)
    for ranks in (1, 2, 3):
        r = Run("--restart", place, "-n", ranks)
        check(r.rc == 0 and "state: all good" in r.out, f"{ranks} ranks: {r}")
    reason = skip_reason()
    if reason:
        print(f"images are not tried: {reason}")
        return
    place = os.path.join(folder, "images")
    r = Run("--checkpoint-dir", place, "-n", 2, program, "image")
    check(r.rc != 0 and "checkpoint 1 of 2 ranks" in r.words, r)
    r = Run("--restart", place)
    check(r.rc == 0 and "image: all good" in r.out, r)


def reports():
    r = Run("--check", "-n", 2, program, "mistake")
    check("[type]" in r.err and line_of("here: type") in r.err and line_of("there: type") in r.err, r)
    r = Run("-n", 2, program, "hang")
    check(r.rc == 123 and f"called at {line_of('the line of the deadlock')}" in r.words, r)
    if not HAS_OPENMP:
        return
    r = Run("--profile", "-n", 2, program, "endpoints")
    check(r.rc == 0 and f"MPI_Iallreduce {line_of('reduced by threads')}" in r.err, r)
    name = os.path.join(folder, "t.json")
    r = Run("--timeline", name, "-n", 2, program, "threads")
    with open(name, encoding="utf-8") as f:
        text = f.read()
    events = json.loads(text)
    events = events["traceEvents"] if isinstance(events, dict) else events
    check(r.rc == 0 and sum(e.get("name") == "MPI_Waitall" for e in events) >= 2 and line_of("sent by threads") in text, r)


def main():
    sanitizer_behind()
    for part in (plain, hosts, changes, checkpoints, reports):
        part()
    sys.exit(status())


if shutil.which("gfortran") is None:
    print("skipped: there is no gfortran")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "features")
    command = [os.path.join(BUILD, "bin", "mpifort"), "-g", "-O1", "-fopenmp", "-Wall", "-Werror", "-Wno-unused-dummy-argument",
               "-o", program, PROGRAM_SOURCE]
    subprocess.run(command, check=True, env={**os.environ, "PLIANT_FC": "gfortran"}, cwd=folder)
    main()
