#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs built by the real mpicc of MPICH and of Open MPI have what jobs of this MPI have: reports of hangs that name the program's
line, several hosts and transports, endpoints, a world that grows, shrinks and is cloned, checkpoints, also of programs of three MPIs in one
world and with other numbers of ranks afterwards, survivors of a failure, processes that are started later, records and replays, profiles,
timelines, checks, metrics and stacks. --ranks-per-proc, which is for programs that start others, gets a sentence."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, SOURCE, Run, check, criu_works, sanitizer_behind, sanitizer_flags, status
from ucx_env import TCP, has_ucx

THERE = [abi for abi in ("mpich", "openmpi") if shutil.which(f"mpicc.{abi}")]
if not THERE:
    print("there is neither mpicc.mpich nor mpicc.openmpi")
    sys.exit(77)
JOB = os.path.join(SOURCE, "tests", "abi", "foreign_job.c")
here = tempfile.mkdtemp()
GO = os.path.join(here, "go")


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
    for words in (["grow"], ["clone"]):
        r = Run("--elastic", "2:4", "-n", 2, program, *words, timeout=120)
        check(r.rc == 0 and r.out == f"right with {3 if words == ['grow'] else 4}\n", r)


def begin(*words):
    """A job that waits until the file go is there; its mpiexec, and the lines it has said."""
    p = subprocess.Popen([MPIEXEC, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(p.stdout.readline() == "ready\n", "the job has begun")
    return p


def ctl(*words):
    r = Run(*words, tool=os.path.join(BUILD, "bin", "mpictl"), timeout=120)
    check(r.rc == 0, r)
    return r.out


@contextlib.contextmanager
def gone_on():
    """The file go is there, until the job has ended."""
    with open(GO, "w", encoding="ascii"):
        yield
    os.unlink(GO)


def resized(program):
    """A job of two ranks that mpictl makes larger, and smaller."""
    for order, n in (("grow", 3), ("shrink", 1)):
        p = begin("--elastic", "1:4", "-n", 2, program, "follow", GO)
        ctl(order, 1, p.pid)
        with gone_on():
            out, err = p.communicate(timeout=120 * SLOW)
        check(p.returncode == 0 and out == f"right with {n}\n", f"{order}: {out}{err}")


def watched(program):
    """What others see of a running job."""
    p = begin("--metrics", "127.0.0.1:0", "-n", 2, program, "wait", GO)
    address = p.stderr.readline().split()[-1]
    ranks = json.loads(ctl("watch", "--json", "--count", 1, p.pid))["ranks"]
    check([r["rank"] for r in ranks] == [0, 1] and all(r["messages_sent"] > 0 for r in ranks), ranks)
    with urllib.request.urlopen(address, timeout=60) as f:
        metrics = f.read().decode()
    check(re.search(r'pliant_rank_sent_messages_total\{rank="1",[^}]*\} [1-9]', metrics), metrics)
    stack = ctl("stack", 0, p.pid)
    check("main at foreign_job.c:" in stack, stack)
    with gone_on():
        p.communicate(timeout=120 * SLOW)
    check(p.returncode == 0, "the job ends well")


def state(program):
    """What the program registers is saved, and comes back with another number of ranks."""
    folder = os.path.join(here, "state")
    for words, n in ((["--checkpoint-dir", folder, "--checkpoint-mode", "state", "-n", 2, program, "state"], 2), (["--restart", folder, "-n", 3], 3)):
        r = Run(*words, timeout=120)
        check(r.rc == 0 and r.out == f"right with {n}\n", r)
    shutil.rmtree(folder)


def checkpoint(words, restarts):
    """A job that is killed after a checkpoint goes on, as often as there are pairs of options and a number of ranks."""
    folder = os.path.join(here, "ckpt")
    p = begin("--checkpoint-dir", folder, *words)
    ctl("checkpoint", p.pid)
    p.send_signal(signal.SIGKILL)
    p.communicate()
    with gone_on():
        for options, n in restarts:
            r = Run("--restart", folder, *options, timeout=120)
            check(r.rc == 0 and r.out == f"right with {n}\n", f"{words} {options}: {r}")
    shutil.rmtree(folder)


def can_checkpoint():
    return SLOW == 1 and criu_works()


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
    resized(made[abi])
    state(made[abi])
    watched(made[abi])
    if can_checkpoint():
        checkpoint(["-n", 2, made[abi], "follow", GO], [(["-n", 3], 3), (["-n", 1], 1)])
if can_checkpoint():
    standard = os.path.join(here, "standard")
    subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-g", "-w", "-o", standard, JOB], check=True)
    programs = [standard, *made.values()]
    line = [word for program in programs for word in (":", "-n", 1, program, "wait", GO)][1:]
    checkpoint(line, [([], len(programs))])
shutil.rmtree(here)
sys.exit(status())
