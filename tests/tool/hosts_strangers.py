#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Strangers between mpiexec and its daemons: who listens where a daemon might call, who passes a handshake on, who alters
what follows, who listens to all that passes, and who calls mpiexec and says nothing. None of them gets in, and none keeps a job from running."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, cluster, left_behind, on_host, open_cluster
from launch import BUILD, MPIEXEC, PROBE, SLOW, check, status

TCP_PROBE = os.path.join(BUILD, "tests", "bin", "tcp_probe")
AS_OTHER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
OTHER = [*AS_OTHER, sys.executable, "-c"]
PORTS = {"PLIANT_TCP_PORTS": "40000-40020"}
ONLY = "10.77.0.1,10.77.0.2,10.77.0.3"  # without what a test adds
JOB = ["--hosts", "vc2:1,vc3:1", PROBE, "init", "print", "up", "final"]

# Listens at an address and a port. For each call: silent says nothing, junk what makes no sense; the others call mpiexec at another of its addresses
# and pass all through. up, down: one byte is changed on its way, long after the handshake (216 bytes); inject: bytes are added.
# What goes down is little: 80 bytes that greet, then what is to be run; the last of it says that the job is over.
RELAY = """
import select, socket, sys
how, here, port, there = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
s = socket.create_server((here, port))
print("up", flush=True)
pairs, n, held, done = {}, {}, [], False
while True:
    for x in select.select([s, *pairs], [], [])[0]:
        if x is s:
            c = s.accept()[0]
            print("called", flush=True)
            if how in ("silent", "junk"):
                held.append(c)
                c.sendall(bytes(80 if how == "junk" else 0))
                continue
            u = socket.create_connection((there, port))
            pairs[c], pairs[u] = u, c
            n[c], n[u] = 0, 0
            is_up = {c: True, u: False} if len(pairs) == 2 else {**is_up, c: True, u: False}
            continue
        try:
            data = x.recv(65536)
        except OSError:
            data = b""
        if not data:
            y = pairs.pop(x)
            pairs.pop(y, None)
            x.close()
            y.close()
            continue
        n[x] += len(data)
        if not done and n[x] > (400 if is_up[x] else 200) and how == ("up" if is_up[x] else "down"):
            done, data = True, data[:-1] + bytes([data[-1] ^ 1])
        if not done and n[x] > 200 and how == "inject" and not is_up[x]:
            done, data = True, data + bytes(64)
        if not done and how == "repeat" and is_up[x] and n[x] > 400:
            done, data = True, data + data
        try:
            pairs[x].sendall(data)
        except OSError:
            pass
"""

# Keeps so many silent connections to a port, until its input ends; who is hung up on calls again.
KNOCK = """
import resource, select, socket, sys
port, want, there = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
live, n, ep = {}, 0, select.epoll()
ep.register(0, select.EPOLLIN)
print("up", flush=True)
while True:
    for _ in range(64):
        if len(live) < want:
            s = socket.socket()
            try:
                s.connect((there, port))
            except OSError:
                s.close()
                break
            live[s.fileno()], n = s, n + 1
            ep.register(s.fileno(), select.EPOLLIN)
    for fd, _ in ep.poll(0.001):
        if fd == 0:
            print(n)
            sys.exit()
        ep.unregister(fd)
        live.pop(fd).close()
"""


# Takes all that passes a network device until its input ends, and prints which of some words it has seen.
LISTEN = """
import select, socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(("eth0", 0))
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
s.setblocking(False)
words, seen, n, is_over = [w.encode() for w in sys.argv[1:]], set(), 0, False
print("up", flush=True)
while True:
    try:
        packet = s.recv(1 << 16)
    except BlockingIOError:
        if is_over:
            break
        is_over = sys.stdin in select.select([s, sys.stdin], [], [])[0]
        continue
    n += 1
    seen.update(w.decode() for w in words if w in packet)
print(n, *sorted(seen))
"""


class Stranger:
    """A script that another user (or root, of a device between two hosts) runs in a host until the end of the block; `said` is all its output then."""

    def __init__(self, host, script, *args, who=None):
        self.p = C.popen(host, [*(who or OTHER), script, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
        self.pid = C.inner(self.p)
        self.said = self.p.stdout.readline()
        check(self.said == "up\n", f"the stranger does not start: {self.said}")
        self.patience = 0.2 if script is RELAY else 60 * SLOW  # a relay does not look at its input

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.stdin.close()
        try:
            self.p.wait(self.patience)
        except subprocess.TimeoutExpired:
            os.kill(self.pid, 9)
        self.said += self.p.stdout.read()
        self.p.wait()


def runs(what, *args, n=2, **kw):
    r = HostRun(C, *(args or JOB), env=PORTS, **kw)
    check(r.rc == 0 and r.out == "up\n" * n and r.err == "", f"{what}: {r}")
    return r


def loopback():
    """A daemon does not call its own host's loopback, so a listener there gets nothing, and holds nothing up."""
    for how in ("silent", "pass"):
        with Stranger("vc2", RELAY, how, "127.0.0.1", 40000, "10.77.0.1") as s:
            runs(how)
        check("called" not in s.said, f"{how}: a daemon called a stranger: {s.said}")
    # A daemon on mpiexec's own host may call the loopback.
    runs("on this host too", "--hosts", "vc1:1,vc2:1", *JOB[2:])


def two_jobs():
    """A second job whose ports are of the same range, where a daemon of the first has its host's first port."""
    one = C.popen("vc3", [MPIEXEC, "--launcher", C.launcher, "--hosts", "vc3:1,vc2:1", "sh", "-c", "echo up; cat"],
                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **PORTS}, text=True)
    for _ in range(2):
        check(one.stdout.readline() == "up\n", "the first job does not start")
    runs("a second job", "--hosts", "vc1:1,vc2:1", *JOB[2:])
    one.communicate()
    check(one.returncode == 0, "the first job does not end well")


def between():
    """Somebody who really is between the two hosts: passing all on is no use to him, and all else ends the link."""
    mac = C.popen("vc3", ["ip", "-br", "link", "show", "eth0"], stdout=subprocess.PIPE, text=True).communicate()[0].split()[2]
    on_host(C, "vc1", "ip", "addr", "add", "10.77.0.101/24", "dev", "eth0")
    on_host(C, "vc3", "ip", "addr", "add", "10.77.0.1/32", "dev", "lo")
    on_host(C, "vc2", "ip", "neigh", "replace", "10.77.0.1", "lladdr", mac, "dev", "eth0")
    chatty = ["--hosts", "vc2:2", PROBE, "init", "flood", 100000, "print", "", "sleep", 0.2, "final"]
    for how, want in (("pass", None), ("up", "what came over its connection is not what it sent"),
                      ("repeat", "what came over its connection is not what it sent"),
                      ("down", "what was sent to it is not what came there"),
                      ("inject", "what was sent to it is not what came there")):
        with Stranger("vc3", RELAY, how, "10.77.0.1", 40000, "10.77.0.101") as s:
            r = HostRun(C, *chatty, env={**PORTS, "PLIANT_TCP_IF": ONLY})
        check("called" in s.said, f"{how}: the daemon's call went elsewhere: {s.said}")
        if want is None:
            check(r.rc == 0 and len(r.out) > 200000 and r.err == "", f"{how}: rc {r.rc} {r.err}")
        else:
            check(r.rc != 0 and want in r.words and "host vc2 is lost" in r.words, f"{how}: rc {r.rc} {r.err}")
    # He cannot answer in place of mpiexec either.
    with Stranger("vc3", RELAY, "junk", "10.77.0.1", 40000, "-"):
        p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *chatty], stderr=subprocess.PIPE, text=True,
                    env={**os.environ, **PORTS, "PLIANT_TCP_IF": ONLY})
        err = " ".join(p.communicate(timeout=60 * SLOW)[1].split())
    check(p.returncode == 1 and "10.77.0.1:40000: the listener there is not of this job; 127.0.0.1:40000: not tried, it is "
          "this host's own" in err and "Another program answers" in err, err)
    on_host(C, "vc2", "ip", "neigh", "del", "10.77.0.1", "dev", "eth0")
    on_host(C, "vc3", "ip", "addr", "del", "10.77.0.1/32", "dev", "lo")
    on_host(C, "vc1", "ip", "addr", "del", "10.77.0.101/24", "dev", "eth0")


def same_address():
    """An address that mpiexec's host and the daemon's both have is not called, and the message says so."""
    on_host(C, "vc2", "ip", "addr", "add", "10.77.0.1/32", "dev", "lo")
    r = HostRun(C, *JOB, env={**PORTS, "PLIANT_TCP_IF": ONLY})
    check(r.rc == 1 and "10.77.0.1:40000: not tried, it is this host's own; 127.0.0.1:40000: not tried, it is this host's own"
          in r.words and "PLIANT_TCP_IF chooses others" in r.words, r)
    on_host(C, "vc2", "ip", "addr", "del", "10.77.0.1/32", "dev", "lo")


def listens():
    """A device between the hosts reads messages of ranks unless they are encrypted, and nothing of what passes between mpiexec and its daemons."""
    has_crypto = "libcrypto.so.3" in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    for protect, is_read in ((None, True), ("auth", True), ("encrypt", False)):
        if protect is not None and not has_crypto:
            print("there is no libcrypto.so.3: protected messages are not tried")
            break
        with Stranger("vc2", LISTEN, "said-to-a-rank", "printed-by-a-rank", "in-the-environment", who=[sys.executable, "-c"]) as s:
            r = HostRun(C, "--hosts", "vc1:1,vc2:1", "-n", 2, TCP_PROBE, "tell", "said-to-a-rank", "printed-by-a-rank",
                        env={**PORTS, "IMPI_WORD": "in-the-environment", **({"PLIANT_NET_PROTECT": protect} if protect else {})})
        check(r.rc == 0 and r.out == "heard printed-by-a-rank\n", r)
        n, *seen = s.said.split("\n")[1].split()
        want = (["said-to-a-rank"] if is_read else []) + ([] if has_crypto else ["printed-by-a-rank"])
        check(int(n) > 20 and set(seen) - {"in-the-environment"} == set(want), f"{protect}: of {n} packets {seen} were read, not {want}")
        check(not has_crypto or "in-the-environment" not in seen, f"{protect}: the environment was read")


def knocks():
    """Far more silent callers than mpiexec takes, all the time, on its own host and on another one: daemons get in, from there too."""
    with Stranger("vc1", KNOCK, 40000, 1100, "127.0.0.1") as s, Stranger("vc3", KNOCK, 40000, 300, "10.77.0.1") as far:
        until = time.monotonic() + 3  # one job may be over before the first callers were hung up on
        while time.monotonic() < until:
            runs("knocked at", "--hosts", "vc1:1,vc2:1,vc3:1", *JOB[2:], n=3)
    for one, least in ((s, 100), (far, 10)):  # a call from the other host takes a round trip
        check(int(one.said.split()[-1]) > least, f"nobody knocked: {one.said}")


if shutil.which("setpriv") is None:
    print("skipped: there is no command setpriv (package util-linux)")
    sys.exit(cluster.SKIP)
C = open_cluster(3, delay_ms=2)
with C:
    if subprocess.run([*OTHER, "pass"], check=False).returncode != 0:
        print("skipped: another user cannot run python here")
        sys.exit(cluster.SKIP)
    for part in [globals()[w] for w in sys.argv[1:]] or (loopback, two_jobs, between, same_address, listens, knocks):
        begin = time.monotonic()
        part()
        check(not left_behind(C, C.names), f"{part.__name__}: left are {left_behind(C, C.names, 0)}")
        print(f"{part.__name__} {time.monotonic() - begin:.2f} s", flush=True)
sys.exit(status())
