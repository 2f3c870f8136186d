#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that all call one of them at a moment, while it is busy and while strangers call it too: each gets in, and its message with it."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, Run, carriers, check, mark, nothing_left, status

PROBE = os.path.join(BUILD, "tests", "bin", "tcp_probe")
TCP = {"PLIANT_NET": "tcp"}
AS_OTHER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 and shutil.which("setpriv") else []

# Calls ports of this host again and again, says nothing, and keeps the last calls open, until its input ends; prints how many there were.
FLOOD = """
import resource, select, socket, sys
ports, most, kept, n = [int(w) for w in sys.argv[1:]], resource.getrlimit(resource.RLIMIT_NOFILE)[1], [], 0
most = min(most, 3000)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
while True:
    for port in ports:
        s = socket.socket()
        s.setblocking(False)
        try:
            s.connect(("127.0.0.1", port))
        except BlockingIOError:
            pass
        kept.append(s)
        n += 1
        if len(kept) > most - 100:
            kept.pop(0).close()
    if n % 500 < len(ports):
        if n >= 500 and n < 500 + len(ports):
            print("up", flush=True)
        if select.select([0], [], [], 0.01)[0]:
            break
print(n)
"""


def ports_of(pids):
    """The ports on which these processes listen."""
    inodes = set()
    for pid in pids:
        try:
            inodes.update(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            pass
    found = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(name, encoding="ascii") as f:
            for words in (line.split() for line in f.readlines()[1:]):
                if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                    found.add(int(words[1].split(":")[1], 16))
    return found


def doors(env, names, n_port):
    """Ports on which processes of the job that have these names listen, once there are so many."""
    until = time.monotonic() + 60 * SLOW
    while time.monotonic() < until:
        there = carriers(env)
        ports = ports_of(pid for pid, name in there if name in names)
        ports -= ports_of(pid for pid, name in there if name not in names)  # a rank inherits some of Hydra
        if len(ports) >= n_port:
            return ports
        time.sleep(0.05)
    return set()


def flooded(command, names, n_port, n):
    """A job whose ranks meet only when a stranger is at all ports of it."""
    env = {**mark(), **TCP}
    with tempfile.TemporaryDirectory() as here:
        go = os.path.join(here, "go")
        job = subprocess.Popen([*command, "-n", str(n), PROBE, "gather", "2", go], env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ports = doors(env, names, n_port)
        check(len(ports) >= n_port, f"{command}: it listens at {ports} only")
        with subprocess.Popen([*AS_OTHER, sys.executable, "-c", FLOOD, *map(str, ports)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as flood:
            check(flood.stdout.readline() == "up\n", "the stranger does not call")
            with open(go, "w", encoding="ascii"):
                pass
            try:
                out, err = job.communicate(timeout=120 * SLOW)
            except subprocess.TimeoutExpired:
                job.kill()
                out, err = job.communicate()
            n_call = int(flood.communicate()[0])
    check(job.returncode == 0 and out == f"sum {n * (n - 1) // 2}\n", f"{command}: rc {job.returncode} {out} {err}")
    check(n_call > 500, f"only {n_call} calls")
    print(f"{command[0]}: {n} ranks got in beside {n_call} calls of a stranger at {len(ports)} port(s)")
    nothing_left(env)


def crowd():
    """All at one moment, and hang up at once: nothing of a connection that ended is used any more."""
    for _ in range(3):
        r = Run("-n", 64, PROBE, "gather", 0, env=TCP, timeout=120)
        check(r.rc == 0 and r.out == "sum 2016\n" and r.err == "", r)


def at_mpiexec():
    flooded([MPIEXEC], ("mpiexec",), 1, 12)


def at_ranks():
    """Under another launcher each rank listens itself."""
    if shutil.which("mpiexec.hydra") is None:
        print("mpiexec.hydra is not installed (Debian: mpich): not tried")
        return
    flooded(["mpiexec.hydra"], ("tcp_probe",), 4, 4)


for part in [globals()[w] for w in sys.argv[1:]] or (crowd, at_mpiexec, at_ranks):
    part()
sys.exit(status())
