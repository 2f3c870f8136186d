#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The virtual hosts themselves: several sets at once, nothing is left when a test is killed, and a reason where they
cannot be had."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import cluster, open_cluster
from launch import SLOW, SOURCE, check, gone, mark, status

PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable  # one that others may run too
FOLDER = os.path.join(SOURCE, "tests", "vcluster")
# A test that makes hosts, starts something in one, says where they are, and waits to be killed.
VICTIM = f"""
import sys, time
sys.path.insert(0, {FOLDER!r})
import cluster
c = cluster.Cluster(2, delay_ms=1)
c.popen("vc2", ["sleep", "1000"])
print(c.folder, flush=True)
time.sleep(1000)
"""


def name_of(c, host):
    return c.popen(host, ["uname", "-n"], stdout=subprocess.PIPE, text=True).communicate()[0].strip()


def talk(c, port):
    """What vc2 hears from vc1."""
    listen = f"import socket; s = socket.create_server(('', {port})); print('up', flush=True); print(s.accept()[0].recv(9))"
    call = f"import socket; socket.create_connection(('vc2', {port}), 20).sendall(b'hello')"
    q = c.popen("vc2", [sys.executable, "-c", listen], stdout=subprocess.PIPE, text=True)
    q.stdout.readline()
    c.popen("vc1", [sys.executable, "-c", call]).wait()
    return q.communicate()[0].strip()


def both():
    """Two sets with the same names and addresses do not know of each other."""
    with open_cluster(2) as one, open_cluster(3) as two:
        check([name_of(c, h) for c in (one, two) for h in ("vc1", "vc2")] == ["vc1", "vc2"] * 2, "names are mixed up")
        one.crash("vc1")
        check([talk(two, port) for port in (7001, 7002)] == ["b'hello'"] * 2, "the others are disturbed")


def killed():
    named = mark()
    p = subprocess.Popen([sys.executable, "-c", VICTIM], stdout=subprocess.PIPE, text=True, env={**os.environ, **named})
    folder = p.stdout.readline().strip()
    check(os.path.isdir(folder), "no hosts were made")
    p.kill()
    p.wait()
    left = gone(named)
    check(not left, f"left are {left}")
    end = time.monotonic() + 10 * SLOW
    while os.path.exists(folder) and time.monotonic() < end:
        time.sleep(0.05)
    check(not os.path.exists(folder), f"{folder} is left")


def refused():
    """Somebody who may not make hosts is told why, and so is a test."""
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if shutil.which("setpriv") is None or subprocess.run([*other, PYTHON, "-c", ""], check=False).returncode != 0:
        print("another user cannot run Python here: not tried")
        return
    for command, word in (([os.path.join(FOLDER, "vcluster"), "--folder=/nowhere/at/all", "up", "2"], "vcluster: "),
                          ([os.path.join(SOURCE, "tests", "tool", "hosts_nets.py")], "skipped: ")):
        p = subprocess.run([*other, PYTHON, *command], env={**os.environ, "HOME": "/"}, capture_output=True,
                           text=True, check=False)
        said = p.stdout + p.stderr
        check(p.returncode == cluster.SKIP and f"{word}making virtual hosts needs root" in said, f"{p.returncode} {said}")


for part in (both, killed, refused):
    part()
sys.exit(status())
