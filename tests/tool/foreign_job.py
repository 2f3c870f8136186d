#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs built by the real mpicc of MPICH and of Open MPI have what jobs of this MPI have: reports of hangs that name the program's
line, several hosts, a world that grows, checkpoints, and a sentence where several ranks in a process are asked for."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, SOURCE, Run, check, sanitizer_flags, status

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
    for env in ({}, {"PLIANT_FAKE_HOSTS": "2"}, {"PLIANT_NET": "tcp"}):
        r = Run("-n", 4, program, "work", env=env, timeout=120)
        check(r.rc == 0 and r.out == "right with 4\n", f"{env}: {r}")


def hang(program):
    r = Run("-n", 2, program, "hang", timeout=120)
    check(r.rc == 123 and "rank 0 receives from rank 1, tag 77" in r.err and f"called at foreign_job.c:{line_of('// the hang')}" in r.err, r)


def endpoints(program):
    r = Run("--ranks-per-proc", 2, "-n", 4, program, "work", timeout=120)
    check(r.rc != 0 and "run it without --ranks-per-proc" in r.words, r)


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


for abi in THERE:
    made = build(abi)
    several_hosts(made)
    hang(made)
    endpoints(made)
    elastic(made)
    if can_checkpoint():
        checkpoint(made)
shutil.rmtree(here)
sys.exit(status())
