#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Another user of this host, and mpiexec's and mpictl's sockets and memory: he fills no descriptors, and nobody maps his memory."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, PROBE, SLOW, Run, cases, check

MPICTL = os.path.join(BUILD, "bin", "mpictl")
AS_OTHER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
OTHER = [*AS_OTHER, sys.executable, "-c"]

# Finds the sockets of a process that have names, connects to each 300 times, and keeps what is not hung up on.
CONNECT = """
import socket, sys, time
pid, kept, n = sys.argv[1], [], 0
for line in open("/proc/net/unix"):
    words = line.split()
    if len(words) == 8 and "@pliant" in words[7] and pid in words[7].split("-"):
        n += 1
        for _ in range(300):
            s = socket.socket(socket.AF_UNIX, int(words[4], 16))
            s.settimeout(20)
            while True:
                try:
                    s.connect("\\0" + words[7][1:])
                    break
                except BlockingIOError:
                    time.sleep(0.01)
            kept.append(s)
            if len(kept) % 10 == 0:  # not more at once than a listener holds
                for s in kept[-10:]:
                    try:
                        assert s.recv(1) == b"", "something was said"
                    except ConnectionResetError:
                        pass
print(n, len(kept))
"""

# A memory as mpiexec has, of another user: full of nonsense, and cut short again and again.
MEMORY = """
import os, sys
fd = os.memfd_create("pliant")
os.write(fd, os.urandom(4096))
print("up", flush=True)
while True:
    os.ftruncate(fd, 0)
    os.ftruncate(fd, 1 << 20)
"""


def n_open(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def start(env, d, *args, words=()):
    p = subprocess.Popen([*words, MPIEXEC, *map(str, args), "sh", "-c", "echo up; cat"], env={**os.environ, **env}, cwd=d,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(p.stdout.readline() == "up\n", "the job does not start")
    return p


def end(p):
    out, err = p.communicate("", timeout=60 * SLOW)
    check(p.returncode == 0 and err == "", f"rc {p.returncode} {out} {err}")


def sockets(env, d):
    """Who is not the owner is hung up on at once, whatever he connects to."""
    for args in (["--elastic", "1:4"], ["--checkpoint-dir", os.path.join(d, "ckpt"), "--checkpoint-mode", "state"],
                 ["--checkpoint-dir", os.path.join(d, "ckpt2")])[:3 if shutil.which("criu") else 2]:
        p = start(env, d, *args, "-n", 1)
        before = n_open(p.pid)
        r = subprocess.run([*OTHER, CONNECT, str(p.pid)], capture_output=True, text=True, check=False, timeout=120 * SLOW)
        n, kept = (int(w) for w in r.stdout.split() or ("0", "0"))
        check(r.returncode == 0 and n >= 1 and kept == 300 * n, f"{args}: {r}")
        check(n_open(p.pid) <= before + 10, f"{args}: {before} descriptors became {n_open(p.pid)}")
        end(p)


def no_descriptors(env, d):
    """All descriptors are in use: mpiexec waits for one instead of asking for ever, and goes on when there is one."""
    p = start(env, d, "--elastic", "1:4", "-n", 1, words=["sh", "-c", 'ulimit -n 64; exec "$@"', "-"])
    name = next(w for line in open("/proc/net/unix", encoding="ascii") for w in line.split()[7:]
                if w.startswith("@pliant-mpiexec") and w.endswith(f"-{p.pid}"))
    script = ("import socket, sys, time\nkept = []\nfor _ in range(80):\n    s = socket.socket(socket.AF_UNIX)\n    s.setblocking(False)\n"
              "    try:\n        s.connect('\\0' + sys.argv[1])\n    except BlockingIOError:\n        time.sleep(0.02)\n    kept.append(s)\n"
              "print('up', flush=True)\nsys.stdin.read()\n")
    q = subprocess.Popen([sys.executable, "-c", script, name[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    q.stdout.readline()
    until = time.monotonic() + 30 * SLOW
    while n_open(p.pid) < 60 and time.monotonic() < until:
        time.sleep(0.02)
    check(n_open(p.pid) >= 60, f"only {n_open(p.pid)} descriptors are open")
    ticks = cpu(p.pid)
    time.sleep(1)
    check(cpu(p.pid) - ticks < 20, f"mpiexec took {cpu(p.pid) - ticks} ticks of a second in which nothing happened")
    q.communicate()
    r = Run("status", p.pid, tool=MPICTL)
    check(r.rc == 0, r)
    r = Run("grow", 1, p.pid, tool=MPICTL)
    check("another version" not in r.err, r)
    p.kill()
    p.communicate()


def cpu(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
        words = f.read().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def memory(env, d):
    """mpictl looks at its user's jobs alone, for root too."""
    q = subprocess.Popen([*OTHER, MEMORY], stdout=subprocess.PIPE, text=True, env={**os.environ, **env})
    q.stdout.readline()
    theirs = start(env, "/", "-n", 1, words=AS_OTHER)
    mine = start(env, d, "-n", 1)
    for _ in range(20):
        r = Run("list", tool=MPICTL)
        check(r.rc == 0 and re.search(rf"^{mine.pid} ", r.out, re.M), r)
        check(not re.search(rf"^{theirs.pid} ", r.out, re.M) and str(q.pid) not in r.out + r.err, r)
    for pid in (theirs.pid, q.pid):
        r = Run("status", pid, tool=MPICTL)
        check(r.rc == 2 and "no mpiexec of yours" in r.err, r)
    r = subprocess.run([*AS_OTHER, MPICTL, "list"], capture_output=True, text=True, check=False, env={**os.environ, **env})
    check(re.search(rf"^{theirs.pid} ", r.stdout, re.M) and not re.search(rf"^{mine.pid} ", r.stdout, re.M), r)
    q.send_signal(signal.SIGKILL)
    q.communicate()
    end(theirs)
    end(mine)


# Takes the first names under which mpictl would look for a process, and never answers.
TAKE = """
import os, socket, sys
pid, n = sys.argv[1], int(sys.argv[2])
space = os.stat("/proc/self/ns/pid").st_ino
kept = []
for i in range(n):
    s = socket.socket(socket.AF_UNIX)
    s.bind(f"\\0pliant-mpiexec-{space}-{pid}" + (f"-{i}" if i > 0 else ""))
    s.listen(1)
    kept.append(s)
print("up", flush=True)
sys.stdin.read()
"""


def taken_names(env, d):
    """Another user has the names of sockets that mpiexec would have: it takes the next one, or says so and runs; mpictl asks its own user's process."""
    for n, is_reached in ((1, True), (7, True), (8, False)):
        p = subprocess.Popen(["sh", "-c", 'echo $$; read x; exec "$@"', "-", MPIEXEC, "--elastic", "1:4", "-n", "1", "sh", "-c", "echo up; cat"],
                             env={**os.environ, **env}, cwd=d, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        pid = int(p.stdout.readline())
        q = subprocess.Popen([*OTHER, TAKE, str(pid), str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check(q.stdout.readline() == "up\n", "the names cannot be taken")
        p.stdin.write("\n")
        p.stdin.flush()
        check(p.stdout.readline() == "up\n", f"{n} names taken: the job does not start")
        r = Run("shrink", 1, pid, tool=MPICTL)  # which a job of one rank refuses, once it is asked
        if is_reached:
            check(r.rc != 0 and "another user" not in r.err and "no mpiexec of yours" not in r.err, f"{n} names taken: {r}")
        else:
            check(r.rc == 2 and "belongs to another user (uid 65534)" in r.err, f"{n} names taken: {r}")
        out, err = p.communicate("", timeout=60 * SLOW)
        check(p.returncode == 0, f"rc {p.returncode} {out} {err}")
        check(("have taken all names" in " ".join(err.split())) == (not is_reached), f"{n} names taken: {err}")
        q.communicate()


if shutil.which("setpriv") is None or os.geteuid() != 0:
    print("skipped: it takes root and the command setpriv (package util-linux) to be another user")
    sys.exit(77)
for run in ([*OTHER, "pass"], [*AS_OTHER, MPICTL, "--version"], [*AS_OTHER, PROBE]):
    if subprocess.run(run, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        print(f"skipped: another user cannot run {run[4]} here")
        sys.exit(77)
sys.exit(cases((sockets, no_descriptors, taken_names, memory)))
