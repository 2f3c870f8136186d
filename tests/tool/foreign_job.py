#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs built by the real mpicc of MPICH and of Open MPI have what jobs of this MPI have: reports of hangs that name the program's
line, several hosts and transports, endpoints, a world that grows, checkpoints, survivors of a failure, processes that are started later,
records and replays, profiles, timelines and checks. --ranks-per-proc, which is for programs that start others, gets a sentence."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, SOURCE, Run, check, sanitizer_behind, sanitizer_flags, status
from ucx_env import TCP, has_ucx

THERE = [abi for abi in ("mpich", "openmpi") if shutil.which(f"mpicc.{abi}")]
if not THERE:
    print("there is neither mpicc.mpich nor mpicc.openmpi")
    sys.exit(77)
JOB = os.path.join(SOURCE, "tests", "abi", "foreign_job.c")
here = tempfile.mkdtemp()


def build(abi):
    to = os.path.join(here, abi)
    subprocess.run([f"mpicc.{abi}", "-g", "-w", *sanitizer_flags(), "-o", to, JOB], check=True)
    return to


def line_of(text):
    with open(JOB, encoding="ascii") as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


def several_hosts(program):
    """Two hosts that are one: their ranks share no memory."""
    for env in ({}, {"PLIANT_FAKE_HOSTS": "2"}, {"PLIANT_NET": "tcp"}, *([TCP] if has_ucx() else [])):
        r = Run("-n", 4, program, "work", env=env, timeout=120)
        check(r.rc == 0 and r.out == "right with 4\n", f"{env}: {r}")


def hang(program):
    r = Run("-n", 2, program, "hang", timeout=120)
    check(r.rc == 123 and "rank 0 receives from rank 1, tag 77" in r.err and f"called at foreign_job.c:{line_of('// the hang')}" in r.err, r)


def endpoints(program):
    for env in ({}, {"PLIANT_FAKE_HOSTS": "2"}):
        r = Run("--endpoints", 2, "-n", 2, program, "endpoints", env=env, timeout=120)
        check(r.rc == 0 and r.out == "right with 2\n", f"{env}: {r}")


def observe(program):
    """What others see of a job: who sent when, where the time goes, what is wrong."""
    record, timeline = os.path.join(here, "record"), os.path.join(here, "timeline.json")
    first = Run("--record", record, "-n", 3, program, "order", timeout=120)
    check(first.rc == 0 and first.out.endswith("right with 3\n"), first)
    for _ in range(2):
        r = Run("--replay", record, "-n", 3, program, "order", timeout=120)
        check(r.rc == 0 and r.out == first.out, f"not as before: {first.out}{r}")
    shutil.rmtree(record)
    r = Run("--profile", "-n", 2, program, "work", timeout=120)
    check(r.rc == 0 and "right with 2\n" in r.out and f"MPI_Allreduce foreign_job.c:{line_of('&sum, 1')}" in r.out + r.err, r)
    r = Run(f"--timeline={timeline}", "-n", 2, program, "work", timeout=120)
    check(r.rc == 0 and r.out == "right with 2\n", r)
    with open(timeline, encoding="utf-8") as f:
        names = {e.get("name") for e in json.load(f)["traceEvents"]}
    check({"MPI_Allreduce", "MPI_Sendrecv"} <= names, names)
    os.unlink(timeline)
    r = Run("--check", "-n", 2, program, "work", timeout=120)
    check(r.rc == 0 and r.out == "right with 2\n" and r.err == "", r)
    r = Run("--check", "-n", 2, program, "mistake", timeout=120)
    check(f"MPI_Irecv at foreign_job.c:{line_of('// the mistake')} receives into 1 MPI_INT what rank" in r.words
          and "sent as 1 MPI_FLOAT" in r.words, r)


def survive(program):
    r = Run("--on-failure=shrink", "-n", 4, program, "lose", timeout=120)
    check(r.out == "right with 3\n" and "rank 1 (process" in r.words and "SIGKILL" in r.words, r)


def start(program, others):
    for env in ({}, {"PLIANT_NET": "tcp"}):
        r = Run("-n", 2, program, "start", others, env=env, timeout=120)
        check(r.rc == 0 and r.out == "right with 4\n", f"{others}: {env}: {r}")


def ranks_per_proc(program):
    r = Run("--ranks-per-proc", 2, "-n", 4, program, "work", timeout=120)
    check(r.rc != 0 and "run it without --ranks-per-proc" in r.words, r)
    r = Run("--ranks-per-proc", 2, "--on-poll-deadlock=abort", "-n", 4, program, "poll", env={"PLIANT_POLL_DEADLOCK": "1"}, timeout=120)
    check(r.rc == 123 and "run it without --ranks-per-proc" in r.words, r)


def elastic(program):
    r = Run("--elastic", "2:4", "-n", 2, program, "grow", timeout=120)
    check(r.rc == 0 and r.out == "right with 3\n", r)


def checkpoint(program):
    folder, go = os.path.join(here, "ckpt"), os.path.join(here, "go")
    p = subprocess.Popen([MPIEXEC, "--checkpoint-dir", folder, "-n", "2", program, "wait", go], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, text=True)
    check(p.stdout.readline() == "ready\n", "the job has begun")
    r = Run("checkpoint", p.pid, tool=os.path.join(BUILD, "bin", "mpictl"), timeout=120)
    check(r.rc == 0, r)
    p.send_signal(signal.SIGKILL)
    p.communicate()
    with open(go, "w", encoding="ascii"):
        pass
    r = Run("--restart", folder, timeout=120)
    check(r.rc == 0 and r.out == "right with 2\n", r)
    os.unlink(go)
    shutil.rmtree(folder)


def can_checkpoint():
    return SLOW == 1 and shutil.which("criu") and subprocess.run(["criu", "check"], capture_output=True, check=False).returncode == 0


sanitizer_behind()
made = {abi: build(abi) for abi in THERE}
for abi in THERE:
    several_hosts(made[abi])
    hang(made[abi])
    endpoints(made[abi])
    ranks_per_proc(made[abi])
    elastic(made[abi])
    observe(made[abi])
    survive(made[abi])
    start(made[abi], made[THERE[-1]] if abi == THERE[0] else made[THERE[0]])
    if can_checkpoint():
        checkpoint(made[abi])
shutil.rmtree(here)
sys.exit(status())
