#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Another user of the (virtual) hosts of a job can neither read, join, disturb nor stop it."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import cluster, left_behind, open_cluster
from launch import BUILD, MPIEXEC, SLOW, check, status

HOSTS_PROBE = os.path.join(BUILD, "tests", "bin", "hosts_probe")
MPICTL = os.path.join(BUILD, "bin", "mpictl")
AS_OTHER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
OTHER = [*AS_OTHER, sys.executable, "-c"]

# What somebody else tries on one host; prints what it got, by process.
TRY = """
import json, os, signal
got = {}
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        words = open(f"/proc/{pid}/cmdline").read().split("\\0")
    except OSError:
        continue
    if int(pid) == os.getpid() or not any("mpiexec" in w or "hosts_probe" in w or "pliant" in w for w in words[:3]):
        continue
    mine = got[" ".join(words)] = []
    for what in ("environ", "mem", "maps", "fd"):
        try:
            os.listdir(f"/proc/{pid}/fd") if what == "fd" else open(f"/proc/{pid}/{what}", "rb").read(1)
            mine.append("read " + what)
        except OSError:
            pass
    for sig in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(int(pid), sig)
            mine.append(f"sent {sig}")
        except PermissionError:
            pass
print(json.dumps(got))
"""

# Holds more connections to every listening port of this host than strangers may, and says nothing over them.
FLOOD = """
import socket, sys
ports = set()
for name in ("/proc/net/tcp", "/proc/net/tcp6"):
    for line in open(name).readlines()[1:]:
        words = line.split()
        if words[3] == "0A":
            ports.add(int(words[1].split(":")[1], 16))
held = []
for port in ports:
    for _ in range(300):
        held.append(socket.create_connection(("localhost", port), 10))
print(len(ports), flush=True)
sys.stdin.read()
"""


def tries(host, pid):
    """What another user gets of all processes of the job in a host: nothing."""
    p = C.popen(host, [*OTHER, TRY], stdout=subprocess.PIPE, text=True)
    got = json.loads(p.communicate()[0] or "{}")
    check(len(got) >= 3, f"{host}: only {list(got)} were tried")
    check(not any(got.values()), f"{host}: {got}")
    if pid is not None:
        for command in (["list"], ["status", pid], ["stop", pid]):
            p = C.popen(host, [*AS_OTHER, MPICTL, *command], stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True)
            said = p.communicate()[0]
            check("hosts_probe" not in said and ("no job of yours" in said or "no mpiexec of yours" in said), f"mpictl {command}: {said}")


if shutil.which("setpriv") is None:
    print("skipped: there is no command setpriv (package util-linux)")
    sys.exit(cluster.SKIP)
C = open_cluster(2)
with C:
    for run in ([*OTHER, "pass"], [*AS_OTHER, MPICTL, "--version"]):
        if subprocess.run(run, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            print(f"skipped: another user cannot run {run[4]} here")
            sys.exit(cluster.SKIP)
    job = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--hosts", "vc1:1,vc2:1", "--stdin", "all", "sh", "-c",
                          f"echo $PPID up; read x; exec {HOSTS_PROBE} slow_ring"],
                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(all("up" in job.stdout.readline() for _ in range(2)), "the job does not start")
    inside = C.popen("vc1", ["pgrep", "-x", "-o", "mpiexec"], stdout=subprocess.PIPE, text=True).communicate()[0].strip()
    tries("vc1", inside)
    tries("vc2", None)
    # The ranks have not met yet: they do while somebody else is at the doors.
    floods = [C.popen(h, [*OTHER, FLOOD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for h in C.names]
    check([int(f.stdout.readline() or 0) for f in floods] == [2, 1], "the doors were not found")
    try:
        out, err = job.communicate("go\n" * 2, timeout=60 * SLOW)
    except subprocess.TimeoutExpired:
        os.kill(C.inner(job), 9)
        out, err = job.communicate()
    check(job.returncode == 0 and out == "done\n" * 2 and err == "", f"{job.returncode} {out} {err}")
    for f in floods:
        f.communicate()
    check(not left_behind(C, C.names), left_behind(C, C.names, 0))
sys.exit(status())
