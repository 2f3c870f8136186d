#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages and access to far memory by UCX between (virtual) hosts: they arrive, also where only some hosts use it;
a deadlock is named; a host that vanishes is noticed."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import BUILD, MPIEXEC, SLOW, SOURCE, check, status
from ucx_env import need_ucx

sys.path.insert(0, os.path.join(SOURCE, "tests", "upc"))
import run as upc_run  # noqa: E402

BIN = os.path.join(BUILD, "tests", "bin")
PROBE = os.path.join(BIN, "hosts_probe")
ENV = {"PLIANT_NET": "shm+ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0", "UCX_LOG_LEVEL": "fatal"}
ALL = ["--hosts", "vc1:1,vc2:2,vc3:1"]


def programs():
    for program, where in (("p2p_modes", "vc1:1,vc2:1"), ("type_send", "vc1:1,vc3:1"), ("coll_move", "vc1:2,vc2:1,vc3:2")):
        r = HostRun(C, "--hosts", where, os.path.join(BIN, "mpi." + program), env=ENV)
        check(r.rc == 0 and r.err == "", f"{program}: {r}")


def spawned():
    """Processes that others spawn, on their hosts; the last ones may not have said good bye yet when memory is weighed."""
    for args in (["dyn_spawn"], ["dyn_cycles", "100", "2"]):
        r = HostRun(C, "--hosts", "vc1:1,vc2:1", "--timeout", 60 * SLOW, os.path.join(BIN, "mpi." + args[0]), *args[1:],
                    env=ENV, timeout=90)
        check(r.rc == 0 and r.err == "", f"{args}: {r}")


def deadlock():
    r = HostRun(C, "--timeout", 60 * SLOW, *ALL, PROBE, "deadlock", env=ENV, timeout=90)
    check(r.rc == 123 and "mpiexec: deadlock:" in r.err, r)
    r = HostRun(C, "--timeout", 60 * SLOW, *ALL, PROBE, "slow_ring", env=ENV, timeout=90)
    check(r.rc == 0 and r.out == "done\n" * 4 and r.err == "", r)


# As if the host had a fast network; UCX still has to find eth0.
DEVICE = """net=$(readlink -f /sys/class/net/eth0) && mount -t tmpfs none /sys/class &&
mkdir -p /sys/class/net /sys/class/infiniband/fake0/ports/1 && ln -s $net /sys/class/net/eth0 &&
echo '4: ACTIVE' >/sys/class/infiniband/fake0/ports/1/state"""


def far():
    """UPC's access to far memory where two of three hosts have a device: these reach each other by UCX, and all work."""
    auto = {k: v for k, v in ENV.items() if k != "PLIANT_NET"}
    with tempfile.TemporaryDirectory() as at:
        for case in upc_run.load(os.path.join(upc_run.HERE, "run", "far.upc")):
            exe, source = os.path.join(at, case.name), os.path.join(at, case.name + ".upc")
            with open(source, "w", encoding="utf-8") as f:
                f.write(case.text)
            subprocess.run([os.path.join(BUILD, "bin", "upcc"), "-O1", "-I", upc_run.HERE, source, "-o", exe], check=True)
            r = HostRun(C, *ALL, exe, env={**ENV, "PLIANT_UCX_RMA": "always"})
            check(r.rc == 0 and r.out == "ok\n" and r.err == "", f"{case.name}: {r}")
        for host in ("vc1", "vc2"):
            check(C.popen(host, ["sh", "-c", DEVICE]).wait() == 0, f"no device can be made up in {host}")
        for name in ("order", "counters", "begun"):
            r = HostRun(C, *ALL, os.path.join(at, name), env={**auto, "PLIANT_LOG": "debug"})
            check(r.rc == 0 and r.out == "ok\n", f"{name}: {r}")
            check("uses UCX: device fake0 is up" in r.words and "go over tcp: it does not use UCX" in r.words, r)
            check("of member 1 is reached by a device" in r.words and "of member 3 is reached by messages" in r.words, r)


def windows():
    """MPI's windows between hosts go by UCX; after far() two of the hosts have a device, and need not be told to."""
    exe = os.path.join(BIN, "mpi.win_far")
    for env in ({**ENV, "PLIANT_UCX_RMA": "always"}, {k: v for k, v in ENV.items() if k != "PLIANT_NET"}):
        r = HostRun(C, *ALL, exe, env={**env, "PLIANT_LOG": "debug"})
        check(r.rc == 0, r)
        n = [0] * 4
        for rank, count in re.findall(r"rank (\d): debug: the communicator: (\d+) one-sided accesses went by UCX", r.words):
            n[int(rank)] += int(count)
        # Ranks whose next one is on another host, where both use UCX, and both have a device or the user insists.
        want = [0, 2, 3] if "PLIANT_NET" in env else [0]
        check([rank for rank in range(4) if n[rank] > 50] == want and sum(n[x] for x in range(4) if x not in want) == 0,
              f"{n}: {r}")


def vanish(how, word):
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *ALL, PROBE, "barriers"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, env={**os.environ, **ENV})
    for _ in range(4):
        p.stdout.readline()
    begin = time.monotonic()
    how()
    try:
        err = p.communicate(timeout=60 * SLOW)[1]
    except subprocess.TimeoutExpired:
        os.kill(C.inner(p), signal.SIGKILL)
        err = "mpiexec did not end\n" + p.communicate()[1]
    check(p.returncode not in (0, None) and "host vc3 is lost" in " ".join(err.split()), f"{word}: {p.returncode} {err}")
    print(f"  {word}: noticed after {time.monotonic() - begin:.1f} s", flush=True)


def lost():
    vanish(lambda: C.link("vc3", "down"), "cut")
    check(not left_behind(C, C.names, 30), f"after a cut: {left_behind(C, C.names, 0)}")
    C.link("vc3", "up")
    vanish(lambda: C.crash("vc3"), "crash")
    check(not left_behind(C, ["vc1", "vc2"]), left_behind(C, ["vc1", "vc2"], 0))


need_ucx()
C = open_cluster(3)
with C:
    for part in [globals()[w] for w in sys.argv[1:]] or (programs, spawned, deadlock, far, windows, lost):
        part()
sys.exit(status())
