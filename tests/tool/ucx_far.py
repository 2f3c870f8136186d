#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Access to far memory by UCX, over its TCP and its shared memory, from UPC and from MPI's windows: right, in order, and an owner that dies is named."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SLOW, SOURCE, Run, check, mark, nothing_left, status
from ucx_env import MIXED, SHM, TCP, need_ucx

sys.path.insert(0, os.path.join(SOURCE, "tests", "upc"))
import run as upc_run  # noqa: E402



def far():
    """UPC's access to far memory: by UCX in any case, where UCX thinks so, and by messages."""
    tests = upc_run.__file__
    for env in ({**TCP, "PLIANT_UCX_RMA": "always"}, {**SHM, "PLIANT_UCX_RMA": "always"}, TCP,
                {**TCP, "PLIANT_UCX_RMA": "never"}, {**MIXED, "PLIANT_UCX_RMA": "always"}):
        r = subprocess.run([sys.executable, tests, "--bin", os.path.join(BUILD, "bin"), "--quick", "--modes",
                            "proc,far,net", "run/far.upc"], capture_output=True, text=True, check=False,
                           env={**os.environ, **env}, timeout=240 * SLOW)
        check(r.returncode == 0 and "4 of 4 cases pass" in r.stdout, f"{env}: {r.stdout} {r.stderr}")


def threads():
    """The same from OS threads, which have a worker of UCX each."""
    upcrun = os.path.join(BUILD, "bin", "upcrun")
    with tempfile.TemporaryDirectory() as at:
        for case in upc_run.load(os.path.join(upc_run.HERE, "run", "far.upc")):
            exe, source = os.path.join(at, case.name), os.path.join(at, case.name + ".upc")
            with open(source, "w", encoding="utf-8") as f:
                f.write(case.text)
            subprocess.run([os.path.join(BUILD, "bin", "upcc"), "-pthreads", "-O1", "-I", upc_run.HERE, source, "-o", exe],
                           check=True)
            for env in ({**TCP, "PLIANT_UPC_FAR": "1"}, MIXED):
                r = Run("-n", 4, "-p", 2, exe, env={**env, "PLIANT_UCX_RMA": "always"}, tool=upcrun)
                check(r.rc == 0 and r.out == "ok\n" and r.err == "", f"{case.name} {env}: {r}")


def windows():
    """MPI's windows by UCX: right in all kinds of epoch, and most accesses to contiguous memory do go by UCX; none does
    where the user says never, nor without a device where UCX is to be used where it is better."""
    for env, ways in ((TCP, "some"), (SHM, "some"), (MIXED, "some"), ({**TCP, "PLIANT_UCX_RMA": "never"}, "none"),
                      ({**TCP, "PLIANT_UCX_RMA": "auto"}, "none")):
        env = {"PLIANT_UCX_RMA": "always", "PLIANT_LOG": "debug", **env}
        r = Run("-n", 3, os.path.join(BUILD, "tests", "bin", "mpi.win_far"), env=env)
        check(r.rc == 0, f"{env}: {r}")
        n = [int(x) for x in re.findall(r"(\d+) one-sided accesses went by UCX", r.words)]
        check(sum(n) > 100 if ways == "some" else sum(n) == 0, f"{env}: {n}")
    for name in ("win_basic", "win_passive", "win_target", "win_threads"):
        r = Run("-n", 3, os.path.join(BUILD, "tests", "bin", "mpi." + name), env={**TCP, "PLIANT_UCX_RMA": "always"})
        check(r.rc == 0 and r.err == "", f"{name}: {r}")


FAR_DEATH = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <upc.h>
#include <upc_atomic.h>
enum { LEN = 1 << 20 };
shared[LEN / 8] long data[LEN / 8 * THREADS];
static long mine[LEN / 8];
int main(int argc, char **argv)
{
    long one = 1, old;
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD, 0);
    upc_barrier;
    if (MYTHREAD == 1) {
        alarm(1); // dies while it serves the other
        upc_barrier;
    }
    for (;;) {
        switch (argv[1][0]) {
        case 'g':
            upc_memget(mine, &data[LEN / 8], LEN);
            break;
        case 'p':
            upc_memput(&data[LEN / 8], mine, LEN);
            break;
        default:
            upc_atomic_relaxed(d, &old, UPC_ADD, &data[LEN / 8], &one, NULL);
        }
    }
}
"""


def far_death():
    """The owner dies in the middle: the other one is told, in seconds, and nothing is left."""
    with tempfile.TemporaryDirectory() as at:
        with open(os.path.join(at, "death.upc"), "w", encoding="utf-8") as f:
            f.write(FAR_DEATH)
        exe = os.path.join(at, "death")
        subprocess.run([os.path.join(BUILD, "bin", "upcc"), "-o", exe, f.name], check=True)
        for env in (TCP, SHM):
            env = {**env, "PLIANT_UPC_FAR": "1", "PLIANT_UCX_RMA": "always"}
            r = Run("-n", 2, exe, "get", env=env)
            check(r.rc == 142 and "SIGALRM" in r.words and "is lost" not in r.words, r)
            for what in ("get", "put", "add"):
                named = mark()
                r = Run("--on-failure=continue", "-n", 2, exe, what, env={**env, **named, "PLIANT_LOG": "debug"})
                check("of member 1 is reached by UCX" in r.words, r)
                check("UPC thread 0: " in r.words and "thread 1 cannot be reached: one-sided access" in r.words, r)
                check(r.seconds < 20 * SLOW, f"it took {r.seconds} s")
                nothing_left(named, "processes were left")


need_ucx()
for test in [globals()[w] for w in sys.argv[1:]] or (far, threads, windows, far_death):
    test()
sys.exit(status())
