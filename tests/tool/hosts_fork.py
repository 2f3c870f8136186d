#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPI_Fork in a job on several (virtual) hosts, with clones where their parents are; their output, exit status and crashes;
whoever dies on the way, the world stays as it was or the job ends, and nothing is left behind."""
import atexit
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, HostRun, files, left_behind, open_cluster, own_disk
from launch import MPIEXEC, cases, check

HOSTS = ["vc1", "vc2", "vc3"]
PROBE = os.path.join(BUILD, "tests", "bin", "fork_probe")
WORLD = os.path.join(BUILD, "tests", "bin", "mpi.fork_world")
C = open_cluster(len(HOSTS))
IMAGES = tempfile.mkdtemp()  # every host has a directory of its own there
atexit.register(os.rmdir, IMAGES)
HAS_OWN = all([own_disk(C, h, IMAGES) for h in HOSTS])


def run(env, what, *args, hosts="vc1:1,vc2:1", to=(), **kw):
    r = HostRun(C, "--label", *args, "--hosts", hosts, PROBE, what, *to, env={"PLIANT_IMAGE_DIR": IMAGES, **env}, **kw)
    left = left_behind(C, HOSTS) or {h: f for h in HOSTS if (f := files(C, h, IMAGES))}
    check(not left, f"{what} left behind: {left}")
    return r


def world(env, _):
    """All that a fork promises, once and again, in blocks and dealt in turn."""
    for n, args in ((2, ("once", 1)), (2, ("once", 2)), (5, ("once", 5)), (4, ("again",)), (3, ("refuse",))):
        for how in ((), ("--map-by", "node"), ("--movable",)):
            r = HostRun(C, "-n", n, *how, "--hosts", "vc1,vc2,vc3" if n > 2 else "vc1,vc2", WORLD, *args, env=env)
            check(r.rc == 0, f"{n} {args} {how}: {r}")
            left = left_behind(C, HOSTS)
            check(not left, f"{n} {args} {how}: {left}")


def output(env, _, to=()):
    r = run(env, "", to=to)
    want = sorted([f"[{i}] before, without an end of line; rank {i} of 4" for i in (0, 1)] +
                  [f"[{i}]  rank {i} of 4" for i in (2, 3)] + [""])
    check(r.rc == 0 and sorted(r.out.split("\n")) == want, r)
    r = run(env, "children", to=to)
    check(r.rc == 0 and r.out.count("waits for -1") == 4, r)
    r = run(env, "input", to=to, stdin="A\n" * 10)
    check(r.rc == 0 and "rank 0 reads 65" in r.out and r.out.count("reads -1") == 3, r)


def failures(env, _, to=()):
    r = run(env, "crash", to=to)
    check(r.rc == 128 + signal.SIGSEGV and re.search(r"rank [23] .*on host vc[12].*SIGSEGV", r.words), r)
    r = run(env, "abort", to=to)
    check(r.rc == 9 and "rank 3" in r.words and "MPI_Abort with code 9" in r.words, r)
    r = run(env, "exit", to=to)
    check(r.rc == 5 and "rank 2" in r.words and "exit status 5" in r.words, r)
    r = run(env, "late", to=to)
    check(r.rc == 7 and "rank 3" in r.words and "exit status 7, after MPI_Finalize" in r.words, r)
    r = run(env, "early", to=to)
    check(r.rc == 0 and r.err == "", f"parents end first: {r}")
    r = run(env, "hang", to=to)
    check(r.rc != 0 and "deadlock" in r.words and "rank 2" in r.words, r)


def threads(env, _, to=()):
    """Other threads are in the clones, too."""
    for what in ("threads", "work")[len(to):]:  # "work": MPI_THREAD_MULTIPLE, and endpoints
        r = run(env, what, to=to)
        check(r.rc == 0 and r.out.count("has good threads") == 4, f"{what}: {r}")


def refused(env, _):
    for what, words in (("dies", "rank 0 was forked, but the clone could not become a rank"),
                        ("waits", "rank 0 has a thread in calls of MPI")):
        r = run(env, what)
        check(r.rc == 0 and r.out.count("MPI_Fork: " + words) == 2, f"{what}: {r}")
    r = run(env, "", "--elastic", "1:3")
    check(r.rc == 0 and r.out.count("4 ranks are outside --elastic 1:3") == 2, r)


def is_as_before(r):
    return r.rc == 0 and len(re.findall("MPI.?_Fork(_with_info)?: ", r.out)) == 2 and " of 4" not in r.out


def dies(env, _):
    """A rank, a clone, a daemon or mpiexec at each step."""
    faults = [f"fork_{step}:{rank}" for step in ("ask", "split", "made", "agreed", "enter") for rank in (0, 1)]
    for fault in (*faults, "mpiexec_coming", "mpiexec_commit:0", "mpiexec_commit:1", "mpiexec_commit:2",
                  "mpiexec_committed:2", "mpiexec_resized"):
        r = run({**env, "PLIANT_FAULT": fault}, "")
        check(r.rc != 0, f"{fault}: {r}")
    for fault in ("fork_clone:0", "fork_clone:1", "fork_become:2", "fork_become:3"):
        r = run({**env, "PLIANT_FAULT": fault}, "")
        check(is_as_before(r), f"{fault}: {r}")
    for rank in (2, 3):  # just before or just after the moment from which it counts
        r = run({**env, "PLIANT_FAULT": f"fork_ready:{rank}"}, "")
        check(is_as_before(r) or r.rc != 0, f"fork_ready:{rank}: {r}")


def killed(env, _):
    """mpiexec is killed: clones on all hosts go with it."""
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--hosts", "vc1:1,vc2:1", PROBE, "sleep"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                env={**os.environ, **env})
    for _ in range(4):
        check(p.stderr.readline() == "asleep\n", "the ranks are there")
    check(sum(PROBE in words for words in C.processes("vc2")) == 2, f"two on each host: {C.processes('vc2')}")
    os.kill(C.inner(p), signal.SIGKILL)
    p.communicate()
    left = left_behind(C, HOSTS)
    check(not left, f"left behind: {left}")


if __name__ == "__main__":
    sys.exit(cases((world, output, threads, failures, refused, dies, killed)))
