#!/usr/bin/env python3
"""The network side of a job: strangers at the door, ranks that die, leave, or do not look."""
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, Run, check, mark, nothing_left, status

PROBE = os.path.join(BUILD, "tests", "bin", "tcp_probe")
TCP = {"PLIANT_NET": "tcp"}


def listening(pid):
    """The port on which a process listens."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    for line in open("/proc/net/tcp", encoding="ascii").readlines()[1:]:
        f = line.split()
        if f[3] == "0A" and f"socket:[{f[9]}]" in inodes:
            return int(f[1].split(":")[1], 16), f[1].split(":")[0]
    return None, None


def start(args, env):
    """mpiexec under way, and the port of its door."""
    job = subprocess.Popen([MPIEXEC, *map(str, args)], env={**os.environ, **TCP, **env},
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(1000):
        port, address = listening(job.pid)
        if port:
            return job, port, address
        time.sleep(0.01)
    job.kill()
    raise RuntimeError("mpiexec does not listen")


def call(port, data=b""):
    s = socket.create_connection(("127.0.0.1", port), timeout=20 * SLOW)
    s.sendall(data)
    return s


def is_closed(s, limit):
    s.settimeout(limit * SLOW)
    try:
        while s.recv(4096):
            pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


OPEN = struct.pack("<IHH", 0x54494c50, 1, 0x0102) + bytes(32)


def strangers():
    env = mark()
    with tempfile.TemporaryDirectory() as here:
        go = os.path.join(here, "go")
        job, port, address = start(["-n", 4, PROBE, "go", go], env)
        check(address == "0100007F", f"a job on one host listens at {address}, not on the loopback")
        begin = time.monotonic()
        idle = [call(port) for _ in range(300)]            # say nothing
        idle += [call(port, OPEN[:20])]                    # half a greeting
        web = call(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + bytes(100))
        noise = call(port, os.urandom(5000))
        check(is_closed(web, 3) and is_closed(noise, 3), "nonsense was listened to")
        # A greeting as it should be, but without the secret.
        liar = call(port, OPEN)
        liar.settimeout(20 * SLOW)
        reply = b""
        while len(reply) < 72:
            reply += liar.recv(72 - len(reply))
        liar.sendall(struct.pack("<IIBB6x", 1, 0, 0, 0) + os.urandom(32))
        check(is_closed(liar, 3), "a caller without the secret was let in")
        old = call(port, struct.pack("<IHH", 0x54494c50, 99, 0x0102) + bytes(32))
        check(is_closed(old, 3), "another version was let in")
        # The ranks meet all the same.
        open(go, "w", encoding="ascii").close()
        out, err = job.communicate(timeout=60 * SLOW)
        check(job.returncode == 0 and err == "", f"{job.returncode} {err}")
        check(sorted(out.split("\n")[:-1]) == [f"rank {r} ok" for r in range(4)], out)
        for s in idle:
            s.close()
        print(f"with strangers: {time.monotonic() - begin:.1f} s")
    nothing_left(env, "processes were left")


def patience():
    """Who says nothing is dropped after a few seconds, and the job does not notice."""
    env = mark()
    with tempfile.TemporaryDirectory() as here:
        go = os.path.join(here, "go")
        job, port, _ = start(["-n", 2, PROBE, "go", go], env)
        s = call(port)
        check(is_closed(s, 30), "a silent caller was not dropped")
        open(go, "w", encoding="ascii").close()
        out, err = job.communicate(timeout=60 * SLOW)
        check(job.returncode == 0 and err == "" and out.count("ok") == 2, f"{out} {err}")


def lost():
    for how in ("lose", "unmet"):
        env = mark()
        r = Run("--on-failure=continue", "-n", 3, PROBE, how, env={**TCP, **env})
        lines = [line for line in r.out.split("\n") if "class" in line]
        check(len(lines) == 2 and all("class aborted" in line for line in lines), r)
        check("rank 2 on host" in r.words and "is lost" in r.words, r)
        nothing_left(env, "processes were left")
    # By default the launcher speaks first, and the others are silent.
    r = Run("-n", 3, PROBE, "lose", env=TCP)
    check(r.rc == 137 and "SIGKILL" in r.words and "is lost" not in r.words, r)


def slow():
    r = Run("-n", 2, PROBE, "slow", 4, env={**TCP, "PLIANT_TCP_TIMEOUT": "1"})
    check(r.rc == 0 and r.out == "0 wrong\n" and r.err == "", r)


def leave():
    r = Run("-n", 3, PROBE, "leave", env=TCP)
    check(r.rc == 0 and r.err == "", r)


def crossing():
    """Both call at the same moment, say one thing, and leave: nothing is lost on the way."""
    for n in [2] * 30 + [5] * 5:
        r = Run("-n", n, PROBE, "ring", env=TCP)
        check(r.rc == 0 and r.err == "" and r.out.count("ok") == n, r)


def many():
    """A task that starts its ranks itself; ranks that are started by a script."""
    r = Run("-n", 4, "--ranks-per-proc", 2, "sh", "-c", f"{PROBE} ring & {PROBE} ring; wait", env=TCP)
    check(r.rc == 0 and r.out.count("ok") == 4, r)
    r = Run("-n", 3, "sh", "-c", f"{PROBE} ring; true", env=TCP)
    check(r.rc == 0 and r.out.count("ok") == 3, r)


def wrong_settings():
    r = Run("-n", 2, PROBE, "ring", env={**TCP, "PLIANT_TCP_PORTS": "many"})
    check(r.rc == 1 and "is not a range of ports" in r.words, r)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        r = Run("-n", 2, PROBE, "ring", env={**TCP, "PLIANT_TCP_PORTS": f"{port}"})
        check(r.rc == 1 and f"on the ports {port}" in r.words and "in use" in r.words, r)
    r = Run("-rn", MPIEXEC, "-n", 2, PROBE, "ring", env=TCP, tool="unshare")  # a network of its own, whose loopback is down
    check("unshare failed" in r.err or (r.rc == 1 and "needs its loopback, and 127.0.0.1 cannot be reached" in r.words), r)
    r = Run("-rn", MPIEXEC, "--elastic", "1:4", "-n", 2, PROBE, "ring", tool="unshare")  # waits for other hosts too
    check("unshare failed" in r.err or (r.rc == 1 and "no network interface of this host is up" in r.words and "PLIANT_TCP_IF" not in r.err), r)


def protection():
    """Ranks whose settings differ refuse each other by name; what cannot protect is not used."""
    wait = os.path.join(BUILD, "tests", "bin", "mpi.p2p_wait")  # goes on after errors, so that both have their say
    r = Run("-n", 1, "-env", "PLIANT_NET_PROTECT", "encrypt", wait, ":", "-n", 1, wait, env=TCP)
    check(r.rc != 0 and "it has another PLIANT_NET_PROTECT than this process; all ranks need the same" in r.words, r)
    r = Run("-n", 2, PROBE, "ring", env={**TCP, "PLIANT_NET": "ucx", "PLIANT_NET_PROTECT": "auth"})
    check(r.rc != 0 and ("UCX cannot protect messages" in r.words or "was built without UCX" in r.words), r)
    for level in ("auth", "encrypt"):
        r = Run("-n", 5, PROBE, "ring", env={**TCP, "PLIANT_NET_PROTECT": level})
        check(r.rc == 0 and r.err == "" and r.out.count("ok") == 5, r)
    with tempfile.TemporaryDirectory() as folder:  # a host without OpenSSL: what is found in its place cannot be loaded
        with open(os.path.join(folder, "libcrypto.so.3"), "wb"):
            pass
        r = Run("-n", 2, PROBE, "ring", env={**TCP, "PLIANT_NET_PROTECT": "encrypt", "LD_LIBRARY_PATH": folder})
        check(r.rc != 0 and "PLIANT_NET_PROTECT=encrypt needs OpenSSL 3" in r.words and "ok" not in r.out, r)


for test in [globals()[w] for w in sys.argv[1:]] or (strangers, patience, lost, slow, leave, crossing, many, wrong_settings, protection):
    test()
sys.exit(status())
