#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages and access to far memory by UCX, over its TCP and its shared memory: they arrive, and ranks that die are named."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SLOW, SOURCE, Run, check, gone, mark, status

BIN = os.path.join(BUILD, "tests", "bin")
PROBE = os.path.join(BIN, "tcp_probe")
INFO = subprocess.run([os.path.join(BUILD, "bin", "mpiinfo"), "--network"], capture_output=True,
                      text=True, check=True).stdout
TCP = {"PLIANT_NET": "ucx", "UCX_TLS": "tcp,self"}
# This UCX looks over no peer in shared memory, and says so, before it does without.
SHM = {"PLIANT_NET": "ucx", "UCX_TLS": "posix,self", "UCX_LOG_LEVEL": "fatal"}
MIXED = {"PLIANT_NET": "shm+ucx", "UCX_TLS": "tcp,self", "PLIANT_FAKE_HOSTS": "2"}


def programs():
    rows = [(TCP, "p2p_modes", 2), (TCP, "p2p_order", 2), (TCP, "type_send", 2), (TCP, "p2p_wait", 2),
            (TCP, "thread_p2p", 2), (TCP, "ep_threads", 2, 5), (TCP, "coll_overlap", 4),
            (SHM, "p2p_modes", 2), (SHM, "type_send", 2), (MIXED, "coll_move", 5), (MIXED, "p2p_order", 2),
            ({**TCP, "PLIANT_EAGER_MAX": "0"}, "p2p_modes", 2),
            ({**TCP, "PLIANT_SPIN": "0", "PLIANT_YIELD": "0"}, "p2p_modes", 2),
            ({**TCP, "PLIANT_UCX_EAGER_MAX": "100"}, "type_send", 2)]
    for env, program, n, *args in rows:
        r = Run("-n", n, os.path.join(BIN, "mpi." + program), *args, env=env)
        check(r.rc == 0 and r.err == "", f"{program} {env}: {r}")


def is_ucx():
    """That it is UCX at all, and for messages only: the greeting stays with TCP."""
    r = Run("-n", 2, PROBE, "ring", env={**TCP, "PLIANT_LOG": "debug"})
    check(r.rc == 0 and r.words.count("uses UCX: PLIANT_NET=ucx") == 2, r)


def lost():
    for env in (TCP, SHM):
        for how in ("lose", "unmet"):
            named = mark()
            r = Run("--on-failure=continue", "-n", 3, PROBE, how, env={**env, **named})
            lines = [line for line in r.out.split("\n") if "class" in line]
            check(len(lines) == 2 and all("class aborted" in line for line in lines), r)
            check("rank 2 on host" in r.words and "is lost" in r.words, r)
            check(not gone(named), "processes were left")
    r = Run("-n", 3, PROBE, "lose", env=TCP)
    check(r.rc == 137 and "SIGKILL" in r.words and "is lost" not in r.words, r)


def leave():
    """Ranks that leave early, that look late, and that say one thing and go."""
    for env in (TCP, SHM):
        r = Run("-n", 3, PROBE, "leave", env=env)
        check(r.rc == 0 and r.err == "", r)
        r = Run("-n", 2, PROBE, "slow", 1, env=env)
        check(r.rc == 0 and r.out == "0 wrong\n" and r.err == "", r)
        for n in [2] * 10 + [5] * 2:
            r = Run("-n", n, PROBE, "ring", env=env)
            check(r.rc == 0 and r.err == "" and r.out.count("ok") == n, r)


def far():
    """UPC's access to far memory: by UCX in any case, where UCX thinks so, and by messages."""
    tests = os.path.join(SOURCE, "tests", "upc", "run.py")
    for env in ({**TCP, "PLIANT_UCX_RMA": "always"}, {**SHM, "PLIANT_UCX_RMA": "always"}, TCP,
                {**TCP, "PLIANT_UCX_RMA": "never"}, {**MIXED, "PLIANT_UCX_RMA": "always"}):
        r = subprocess.run([sys.executable, tests, "--bin", os.path.join(BUILD, "bin"), "--quick", "--modes",
                            "proc,far,net", "run/far.upc"], capture_output=True, text=True, check=False,
                           env={**os.environ, **env}, timeout=240 * SLOW)
        check(r.returncode == 0 and "3 of 3 cases pass" in r.stdout, f"{env}: {r.stdout} {r.stderr}")


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
                check("of member 1 are reached by UCX" in r.words, r)
                check("UPC thread 0: " in r.words and "thread 1 cannot be reached: access to far memory" in r.words, r)
                check(r.seconds < 20 * SLOW, f"it took {r.seconds} s")
                check(not gone(named), "processes were left")


def cannot():
    r = Run("-n", 2, PROBE, "ring", env={**TCP, "UCX_TLS": "none_such", "UCX_LOG_LEVEL": "fatal"})
    check(r.rc != 0 and "PLIANT_NET=ucx, but UCX cannot" in r.words, r)


if "ucx          version" not in INFO:
    print("skipped:", INFO.split("\n")[1])
    sys.exit(77)
for test in [globals()[w] for w in sys.argv[1:]] or (is_ucx, programs, lost, leave, far, far_death, cannot):
    test()
sys.exit(status())
