#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec names a deadlock, with the near miss, and is silent about programs that only take long."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW

MPICTL = os.path.join(BUILD, "bin", "mpictl")
PROBE = os.path.join(BUILD, "tests", "bin", "hang_probe")
STATUS = 123
LIMIT = str(60 * SLOW)  # seconds
bad = 0

ENDPOINTS = [r"rank 0 \(endpoint rank 0, thread \d+\) is in MPI_Barrier on ends, called at hang_probe.c:\d+",
             r"rank 0 \(endpoint rank 1, thread \d+\) is in MPI_Barrier on ends, called at hang_probe.c:\d+",
             r"rank 1 \(endpoint rank 3, thread \d+\) receives from rank 0 \(an endpoint of rank 0\), "
             r"tag 9, on ends, called at hang_probe.c:\d+",
             r"clue: rank 0 \(endpoint rank 0, thread \d+\) is in MPI_Barrier on ends, rank 1 "
             r"\(endpoint rank 3, thread \d+\) is not"]

# program, ranks, what the report must say
MISTAKES = [
    ("both_receive", 2, [r"rank 0 receives from rank 1, tag 7, on MPI_COMM_WORLD",
                         r"rank 1 receives from rank 0, tag 7"]),
    ("wrong_tag", 2, [r"near miss: rank 1 has a message from rank 0 with tag 7, but asks for tag 8"]),
    ("wrong_tag_ssend", 2, [r"rank 0 sends 4 bytes to rank 1, tag 7",
                            r"near miss: .*tag 7.*tag 8"]),
    ("wrong_source", 3, [r"near miss: rank 0 has a message from rank 1 with tag 5, but asks for one "
                         r"from rank 2", r"rank 2 is in MPI_Barrier"]),
    ("crossed_collectives", 2, [r"clue: rank 0 is in MPI_Barrier on MPI_COMM_WORLD, rank 1 in "
                                r"MPI_Barrier on other"]),
    ("one_leaves", 2, [r"rank 1 has ended", r"clue: rank 0 waits for rank 1, which has ended"]),
    ("head_to_head", 2, [r"clue: ranks 0 and 1 both send to each other"]),
    ("wrong_comm", 2, [r"rank 0 sends 4 bytes to rank 1.*on other",
                       r"near miss: rank 0 sends to rank 1 on other, which receives on MPI_COMM_WORLD"
                       r"|of another communicator"]),
    ("not_everybody", 3, [r"is in MPI_Allreduce on MPI_COMM_WORLD", r"clue: rank 1 is in MPI_Allreduce"]),
    ("bcast_long", 2, [r"rank 1 is in MPI_Bcast on MPI_COMM_WORLD, root 1", r"rank 0 receives from rank 1, tag 3"]),
    ("bcast_ahead", 3, [r"rank 0 is in MPI_Bcast on MPI_COMM_WORLD, root 0",
                        r"rank 1 receives from rank 0, tag 2"]),
    ("scatter_ahead", 3, [r"rank 0 is in MPI_Scatter on MPI_COMM_WORLD, root 0",
                          r"rank 1 receives from rank 0, tag 2"]),
    ("gather_ahead", 3, [r"rank 0 is in MPI_Gather on MPI_COMM_WORLD, root 1",
                         r"rank 1 receives from rank 0, tag 2"]),
    ("probe_in_vain", 2, [r"rank 0 probes for any rank, tag 99"]),
    ("endpoints", 2, ENDPOINTS),
    ("endpoints_of_one", 2, [r"rank 0 \(endpoint rank 1, thread \d+\) receives from any rank, tag 4, on "
                             r"an endpoint communicator without a name",
                             r"rank 1 \(endpoint rank 3, thread \d+\) receives"]),
    ("second_sleep", 2, [r"rank 0 \(thread \d+\) receives from rank 1, tag 7, on MPI_COMM_WORLD",
                         r"rank 0 \(thread \d+\) receives from rank 0.*, tag 5",
                         r"rank 1 receives from rank 0, tag 7"]),
]
HEALTHY = [("system_calls", 2), ("long_computation", 2), ("probe_loop", 2), ("test_loop", 2),
           ("late_start", 2), ("other_thread", 2), ("stopped", 2), ("work_after_finalize", 2),
           ("slow_ring", 3), ("stopped_asleep", 2), ("late_reader", 3)]

OVER_TCP = ("stopped", "stopped_asleep", "slow_ring")  # also where messages lie in sockets


def fail(what, text):
    global bad
    bad += 1
    print(f"failed: {what}\n{text}", file=sys.stderr)


def start(name, ranks, *options, words=(), **env):
    command = [MPIEXEC, "--timeout", LIMIT, "-n", str(ranks), *options, PROBE, name, *words]
    if name == "late_start":
        command = [MPIEXEC, "--timeout", LIMIT, "-n", "1", PROBE, name, "late", ":", "-n", "1", PROBE, name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, **env})


RANKS_OF_NOBODY = [r"rank 1 has no process left that could call MPI_Init",
                   r"clue: with --ranks-per-proc=2 each process must start the others of its 2 ranks itself"]


def main():
    runs = [(m, start(m[0], m[1])) for m in MISTAKES]
    runs.append((("not_everybody", 4, RANKS_OF_NOBODY), start("not_everybody", 4, "--ranks-per-proc", "2")))
    runs.append((("endpoints", 2, ENDPOINTS), start("endpoints", 2, "--elastic", "1:4")))  # with a daemon
    parts = [r"rank 1 is in MPI_Allreduce on MPI_COMM_WORLD, called at hang_probe.c:\d+\n  \(3 more like the last\)\n  rank 5 is in MPI_Allreduce"]
    runs.append((("parts_of_hosts", 6, parts), start("parts_of_hosts", 6, PLIANT_FAKE_HOSTS="2")))
    for (name, _, wanted), p in runs:
        out = p.communicate()[0]
        if p.returncode != STATUS:
            fail(f"{name} ended with {p.returncode}, not {STATUS}", out)
        for pattern in wanted + [r"^mpiexec: deadlock:"]:
            if not re.search(pattern, out, re.M):
                fail(f"{name}: the report lacks {pattern}", out)
        if "called at hang_probe.c:" not in out and name != "head_to_head":
            fail(f"{name}: no place in the source", out)
    runs = [(h, start(*h)) for h in HEALTHY]
    runs += [(h, start(*h, PLIANT_FAKE_HOSTS="2")) for h in HEALTHY if h[0] in OVER_TCP]
    for (name, _), p in runs:
        out = p.communicate()[0]
        if p.returncode != 0 or "done" not in out or "deadlock" in out:
            fail(f"{name} is healthy but ended with {p.returncode}", out)
    paused()
    polling()
    out = start("different_collectives", 2).communicate()[0]
    if "MPI_Bcast" not in out or "MPI_COMM_WORLD" not in out or "done" in out:
        fail("different_collectives: neither an error nor a deadlock", out)
    looking()
    looking("--elastic", "1:4")  # with a daemon
    return 1 if bad else 0


POLLING = [
    ("both_poll", [r"rank 0 receives from rank 1, tag 7, on MPI_COMM_WORLD, which it polls by MPI_Test, called at "
                   r"hang_probe.c:\d+", r"rank 1 receives .*MPI_Test"]),
    ("one_probes", [r"rank 0 probes for rank 1, tag 9, on MPI_COMM_WORLD, which it polls by MPI_Iprobe, called at "
                    r"hang_probe.c:\d+", r"rank 1 receives from rank 0, tag 5, on MPI_COMM_WORLD, called at"]),
]


def polling():
    """Ranks that poll in vain are told of; the job ends only where that was asked for."""
    abort = ["--on-poll-deadlock=abort"]
    runs = [(m, env, start(m[0], 2, *abort, PLIANT_POLL_DEADLOCK="1", **env))
            for m in POLLING for env in ({}, {"PLIANT_FAKE_HOSTS": "2"})]
    runs += [(m, {}, start(m[0], 2, *abort, "--elastic", "1:4", PLIANT_POLL_DEADLOCK="1")) for m in POLLING[:1]]
    alive = start("poll_slowly", 2, *abort, PLIANT_POLL_DEADLOCK="1", PLIANT_FAKE_HOSTS="2")
    warned = start("poll_gives_up", 2, PLIANT_POLL_DEADLOCK="1")
    quiet = start("poll_gives_up", 2, "--on-poll-deadlock=ignore", PLIANT_POLL_DEADLOCK="1")
    for (name, wanted), env, p in runs:
        out = p.communicate()[0]
        for pattern in wanted + [r"^mpiexec: deadlock: for 1 seconds"]:
            if p.returncode != STATUS or not re.search(pattern, out, re.M):
                fail(f"{name} {env} ended with {p.returncode}; the report needs {pattern}", out)
    for what, p, n in (("poll_slowly", alive, 0), ("poll_gives_up", warned, 1), ("an ignored poll", quiet, 0)):
        out = p.communicate()[0]
        if p.returncode != 0 or "done" not in out or out.count("looks like a deadlock") != n or \
                "mpiexec: deadlock" in out:
            fail(f"{what} ended with {p.returncode}", out)


def paused():
    """Ranks that are stopped for longer than a deadlock takes to be reported, wherever they are, are not one."""
    p = start("paused_rounds", 7, PLIANT_FAKE_HOSTS="2")
    pids, out = [], ""
    while len(pids) < 7:
        line = p.stdout.readline()
        if line == "":
            break
        out += line
        pids += [int(n) for n in re.findall(r"^pid (\d+)", line)]
    for pid in pids[:4]:
        try:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(1.3)
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            break
    out += p.communicate()[0]
    if p.returncode != 0 or "done" not in out or "deadlock" in out:
        fail(f"paused_rounds is healthy but ended with {p.returncode}", out)


def looking(*options):
    """--on-deadlock=report tells and leaves the job; mpictl shows the same picture of it."""
    long = "x" * 600
    p = start("wrong_tag", 2, "--on-deadlock=report", *options, words=[long, "last"])
    told = ""
    while "near miss" not in told:
        line = p.stdout.readline()
        if line == "":
            fail("--on-deadlock=report ended the job", told)
            return
        told += line
    listed = subprocess.run([MPICTL, "list"], stdout=subprocess.PIPE, text=True).stdout
    if not re.search(rf"^ *{p.pid} .*wrong_tag {long} last$", listed, re.M):
        fail(f"mpictl list does not show {p.pid}", listed)
    seen = subprocess.run([MPICTL, "status", str(p.pid)], stdout=subprocess.PIPE, text=True).stdout
    if "near miss: rank 1 has a message" not in seen or "rank 0 receives from rank 1, tag 8" not in seen \
            or "called at hang_probe.c:" not in seen:
        fail("mpictl status", seen)
    time.sleep(1)  # time enough to say it a second time
    if p.poll() is not None:
        fail("--on-deadlock=report ended the job", "")
    p.terminate()
    out = told + p.communicate()[0]
    if out.count("deadlock:") != 1:
        fail("--on-deadlock=report", out)
    for args, code in ((["status", "1"], 2), (["status", "x"], 2), (["fly"], 2), (["--help"], 0)):
        rc = subprocess.run([MPICTL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode
        if rc != code:
            fail(f"mpictl {args} gave {rc}, not {code}", "")


sys.exit(main())
