#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of ranks on several (virtual) hosts, by TCP and by UCX; a rank goes to another host with its files open."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import MPICTL, finish, skip_reason, wait_for
from hosts import HostRun, left_behind, open_cluster
from launch import BUILD, MPIEXEC, SLOW, cases, check

HOSTS = ["vc1", "vc2", "vc3"]
BIN = os.path.join(BUILD, "tests", "bin")
PROBE = os.path.join(BIN, "io_probe")
UCX = {"PLIANT_NET": "shm+ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0", "UCX_LOG_LEVEL": "fatal"}
C = open_cluster(len(HOSTS))


def has_ucx():
    info = subprocess.run([os.path.join(BUILD, "bin", "mpiinfo"), "--network"], capture_output=True, text=True,
                          check=True).stdout
    return "ucx          version" in info


def programs(env, d):
    """Views, faults and a death between hosts."""
    del d
    for net in ({}, UCX) if has_ucx() else ({},):
        for program, where, args in (("io_model", "vc1:2,vc2:1,vc3:1", ["8", "7"]), ("io_fault", "vc1:1,vc2:2", []),
                                     ("io_basic", "vc1:1,vc3:2", [])):
            # UCX's hooks for calls about memory would go past those of io_fault.
            r = HostRun(C, "--timeout", 60 * SLOW, "--hosts", where, os.path.join(BIN, "mpi." + program), *args,
                        env={**env, **net, "UCX_MEM_MMAP_HOOK_MODE": "none"}, timeout=90)
            check(r.rc == 0 and r.err == "", f"{program} {net}: {r}")
        r = HostRun(C, "--timeout", 60 * SLOW, "--on-failure=shrink", "--hosts", "vc1:2,vc2:2", os.path.join(BIN, "mpi.io_death"),
                    "write", "1", env={**env, **net}, timeout=90)
        check(r.rc == 0 and "others go on" in r.words, f"io_death {net}: {r}")
    check(not left_behind(C, HOSTS), "processes are left")


def moved(env, d):
    """A rank that is in the middle of collective writes."""
    reason = skip_reason()
    if reason:
        print("no rank is moved:", reason)
        return
    name = os.path.join(d, "data")
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--movable", "--hosts", "vc1:2,vc2:1", PROBE, name, name + ".gate"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**os.environ, **env, "PLIANT_IMAGE_DIR": d})
    text = wait_for(p, "step 5 ")
    for rank, host in ((2, "vc3"), (0, "vc2"), (2, "vc1")):
        q = C.popen("vc1", [MPICTL, "migrate", rank, host], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, text=True)
        out = q.communicate(timeout=100 * SLOW)[0]
        check(q.returncode == 0 and out.strip() == f"rank {rank} is on host {host}", out)
    open(name + ".gate", "w", encoding="ascii").close()
    text = finish(p, text)
    check(p.returncode == 0 and "all is well with 3 ranks" in text, f"{p.returncode}\n{text}")
    check(not left_behind(C, HOSTS), "processes are left")


REFUSED = "the job runs on one host, and its ranks share one memory, which none can leave"


def left_host(env, d):
    """All ranks begin on one host, with lines of a log in a mapping or collected. With --movable the rank that has the
    shared pointer goes to another host, and the pointer goes on; without, mpictl says why none can go, and the job goes on."""
    reason = skip_reason()
    if reason:
        print("no rank is moved:", reason)
        return
    share = ["--checkpoint-dir", os.path.join(d, "images")]
    for how, option, rank, host in (("mapped", ["--movable"], 0, "vc2"), ("batch", share, 1, "vc3")):
        name = os.path.join(d, f"data-{how}{len(option)}")
        p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *option, "-n", "3", "--hosts", "vc1:3,vc2:3,vc3:3", PROBE,
                            name, name + ".gate", how],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                    env={**os.environ, **env, "PLIANT_IMAGE_DIR": d})
        text = wait_for(p, "step 5 ")
        q = C.popen("vc1", [MPICTL, "migrate", *(["--together"] if option is share else []), rank, host],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        out = q.communicate(timeout=100 * SLOW)[0]
        if option is share:
            check(q.returncode != 0 and REFUSED in " ".join(out.split()), out)
        else:
            check(q.returncode == 0 and out.strip() == f"rank {rank} is on host {host}", out)
        open(name + ".gate", "w", encoding="ascii").close()
        text = finish(p, text)
        check(p.returncode == 0 and "all is well with 3 ranks" in text, f"{how} {option}: {p.returncode}\n{text}")
    check(not left_behind(C, HOSTS), "processes are left")


if __name__ == "__main__":
    sys.exit(cases((programs, moved, left_host)))
