#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong on several (virtual) hosts: each has its own message, in time, and nothing is left."""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import BUILD, MPIEXEC, PROBE, check, status

HOSTS_PROBE = os.path.join(BUILD, "tests", "bin", "hosts_probe")
C = open_cluster(4)
ALL = ["--hosts", "vc1:1,vc2:2,vc3:1"]


def paragraph(r, *words):
    """Exactly one paragraph of mpiexec, with these words."""
    check(r.err.count("mpiexec: ") == 1, f"not one paragraph: {r}")
    check(all(w in r.words for w in words), f"lacks one of {words}: {r}")


def ranks():
    r = HostRun(C, *ALL, PROBE, "init", "only", 2, "sleep", "0.3", "warn", "last words", "kill", "SEGV", "end", "sleep", 60)
    check(r.rc == 139 and r.seconds < 25, r)
    paragraph(r, "rank 2 (process ", " on host vc2, program ", "signal 11, SIGSEGV", "3 others")
    check(r.err.startswith("last words\nmpiexec: rank 2"), r)
    r = HostRun(C, *ALL, PROBE, "init", "only", 3, "print", "before the end", "abort", 7, "end", "sleep", 60)
    check(r.rc == 7 and r.out == "before the end\n", r)
    paragraph(r, "rank 3", "on host vc3", "ended the job with code 7")
    r = HostRun(C, *ALL, PROBE, "init", "only", 1, "exit", 0, "end", "sleep", 60)
    check(r.rc == 1, r)
    paragraph(r, "rank 1", "without having called MPI_Finalize")
    # Before MPI_Init, while those of other hosts come to it later.
    r = HostRun(C, *ALL, "sh", "-c", f"test $PLIANT_RANK = 1 && exit 5; exec {PROBE} sleep 0.3 init sleep 60")
    check(r.rc == 5, r)
    paragraph(r, "rank 1", "exit status 5, before MPI_Init")
    r = HostRun(C, "--on-failure=continue", *ALL, PROBE, "init", "only", 1, "kill", "SEGV", "end", "sleep", "0.3", "print",
                "done", "final")
    check(r.rc == 139 and r.out == "done\n" * 3, r)
    r = HostRun(C, "--timeout", 10, *ALL, PROBE, "init", "only", 0, "final", "exit", 0, "end", "sleep", 60)
    check(r.rc == 124 and "3 are between MPI_Init and MPI_Finalize, 1 ended" in r.words, r)
    # Helpers that run away from their process group.
    r = HostRun(C, *ALL, "sh", "-c", "setsid sleep 60 & setsid sleep 60 & kill -9 $$")
    check(r.rc == 137, r)


def programs():
    """A program, or a directory, that only some hosts have: /dev/shm is private to each."""
    path = "/dev/shm/only_here"
    C.popen("vc1", ["cp", "/bin/true", path]).wait()
    r = HostRun(C, *ALL, path)
    check(r.rc == 2, r)
    check("host vc2: cannot run /dev/shm/only_here: there is no such file" in r.words
          or "host vc3: cannot run /dev/shm/only_here: there is no such file" in r.words, r)
    C.popen("vc1", ["mkdir", "/dev/shm/dir"]).wait()
    r = HostRun(C, *ALL, "true", cwd="/dev/shm/dir")  # there when mpiexec starts, in vc1
    check(r.rc == 2 and "cannot change to the directory mpiexec was started in, /dev/shm/dir" in r.words, r)
    C.popen("vc1", ["rm", "-r", path, "/dev/shm/dir"]).wait()


def launchers():
    r = HostRun(C, "--hosts", "vc1:1,nohost:1", "true")
    check(r.rc == 1 and r.seconds < 20, r)
    paragraph(r, "host nohost cannot be reached", "Could not resolve hostname", "Is the name spelled")
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", "true", launcher="/nowhere/rsh")
    check(r.rc == 1, r)
    paragraph(r, "host vc2 cannot be reached: cannot run /nowhere/rsh", "--launcher")
    for words, hint in (("Permission denied (publickey).", "ssh-copy-id"),
                        ("Host key verification failed.", "once by hand"),
                        ("connect to host vc2 port 22: Connection refused", "no ssh server listens"),
                        ("something else", "Try by hand what mpiexec -v shows")):
        with tempfile.NamedTemporaryFile("w", suffix=".sh", dir="/tmp") as f:
            f.write(f"#!/bin/sh\necho 'ssh: {words}' >&2\nexit 255\n")
            f.flush()
            r = HostRun(C, "--hosts", "vc1:1,vc2:1", "true", launcher=f"sh {f.name}")
            check(r.rc == 1, r)
            paragraph(r, "host vc2 cannot be reached", words, hint)
    r = HostRun(C, "-v", "--hosts", "vc1:1,vc2:1", "true")
    check(r.rc == 0 and f"starting the daemon of host vc2: {C.launcher} vc2 {MPIEXEC} --as-daemon 1" in r.words, r)
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", "true", env={"PLIANT_NET": "shm"})
    check(r.rc == 2, r)
    paragraph(r, "PLIANT_NET=shm is for jobs on one host, and this one has 2")
    r = HostRun(C, "--launch-agent", "/nowhere/agent", *ALL, "true")
    check(r.rc == 1, r)
    paragraph(r, "there is no mpiexec of Pliant MPI at /nowhere/agent", "--launch-agent")
    r = HostRun(C, "--launcher", "slurm", *ALL, "true", launcher="slurm")
    check(r.rc == 2 and "needs an allocation of Slurm" in r.words, r)


def versions():
    with open(MPIEXEC, "rb") as f:
        image = f.read()
    version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=True).stdout.split()[3]
    other = "9" * len(version)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mpiexec")
        with open(path, "wb") as f:
            f.write(image.replace(version.encode() + b"\0", other.encode() + b"\0"))
        os.chmod(path, 0o755)
        r = HostRun(C, "--launch-agent", path, "--hosts", "vc1:1,vc2:1", "true")
        check(r.rc == 1, r)
        paragraph(r, f"host vc2 has another version of Pliant MPI at {path}", other, version)


# On vc2 the job's memory looks as if another version had made it; then it becomes the program.
OTHER_MEMORY = """
import os, struct, sys
if os.uname().nodename == "vc2":
    fds = [int(fd) for fd in os.listdir("/proc/self/fd") if os.path.lexists("/proc/self/fd/" + fd)]
    job = [fd for fd in fds if "memfd:pliant" in os.readlink(f"/proc/self/fd/{fd}")][0]
    os.pwrite(job, struct.pack("I", struct.unpack("I", os.pread(job, 4, 4))[0] + 1), 4)
os.execv(sys.argv[1], sys.argv[1:])
"""


def library():
    """A program that finds another library on one of the hosts."""
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", sys.executable, "-c", OTHER_MEMORY, HOSTS_PROBE, "waiting")
    check(r.rc == 16 and "MPI_Init: the shared memory of the job was made by another version of Pliant MPI" in r.words, r)
    check("rank 1 (process " in r.words and "on host vc2" in r.words and "exit status 16" in r.words, r)
    check("The others go on until one of them is in MPI." in r.words, r)


def firewall():
    """One that says no, and one that says nothing."""
    for rule, undo in ((["ip", "route", "add", "prohibit", "10.77.0.1"], ["ip", "route", "del", "prohibit", "10.77.0.1"]),
                       (["ip", "neigh", "replace", "10.77.0.1", "lladdr", "02:00:00:00:00:77", "dev", "eth0"],
                        ["ip", "neigh", "del", "10.77.0.1", "dev", "eth0"])):
        check(C.popen("vc2", rule).wait() == 0, rule)
        r = HostRun(C, "--hosts", "vc1:1,vc2:1", "true")
        check(r.rc == 1 and r.seconds < 30, r)
        paragraph(r, "host vc2 was reached, but its daemon cannot connect to mpiexec here", "10.77.0.1", "firewall")
        check(C.popen("vc2", undo).wait() == 0, undo)


def ranks_apart():
    """Two hosts that mpiexec reaches, but not each other; who waits for the other learns it."""
    for rule, undo, why in ((["ip", "route", "add", "prohibit", "10.77.0.3"], ["ip", "route", "del", "prohibit", "10.77.0.3"],
                             "Permission denied (a firewall?)"),
                            (["ip", "neigh", "replace", "10.77.0.3", "lladdr", "02:00:00:00:00:77", "dev", "eth0"],
                             ["ip", "neigh", "del", "10.77.0.3", "dev", "eth0"], "no answer (a firewall?)")):
        check(C.popen("vc2", rule).wait() == 0, rule)
        r = HostRun(C, "--timeout", 60, "--hosts", "vc1:1,vc2:1,vc3:1", HOSTS_PROBE, "slow_ring")
        check(r.rc not in (0, 124) and r.seconds < 30, r)
        check("rank 2 on host vc3 is lost: host vc3 cannot be reached: 10.77.0.3:" in r.words and why in r.words, r)
        check("MPI_Send: send on MPI_COMM_WORLD failed: a peer process has aborted or cannot be reached" in r.words, r)
        check(C.popen("vc2", undo).wait() == 0, undo)


def strangers():
    """Who does not know the secret gets nowhere, and disturbs nobody."""
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *ALL, PROBE, "init", "print", "up", "flush", "cat", "final"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # until its standard input ends
    for _ in range(4):
        p.stdout.readline()
    script = """
import os, re, socket
ports = set()
for name in ("/proc/net/tcp", "/proc/net/tcp6"):
    for line in open(name).readlines()[1:]:
        words = line.split()
        if words[3] == "0A":
            ports.add(int(words[1].split(":")[1], 16))
assert len(ports) >= 2, ports
for port in ports:
    for junk in (b"", b"x", os.urandom(68), os.urandom(5000)):
        s = socket.create_connection(("vc1", port), 5)
        try:
            s.sendall(junk)
            s.settimeout(0.2)
            s.recv(100)
        except OSError:
            pass
        s.close()
print(len(ports))
"""
    q = C.popen("vc1", [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    check(int(q.communicate()[0] or 0) >= 2, "the ports were not found")
    p.communicate()
    check(p.returncode == 0, p.returncode)


def killed():
    """mpiexec, or a daemon, is killed: nothing survives."""
    args = [MPIEXEC, "--launcher", C.launcher, *ALL, "sh", "-c", "echo up; setsid sleep 60"]
    p = C.popen("vc1", args, stdout=subprocess.PIPE, text=True)
    for _ in range(4):
        p.stdout.readline()
    os.kill(C.inner(p), signal.SIGKILL)
    p.communicate()
    check(not left_behind(C, C.names), left_behind(C, C.names, 0))
    p = C.popen("vc1", args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(4):
        p.stdout.readline()
    C.popen("vc2", ["sh", "-c", "kill -9 $(pgrep -f 'mpiexec --as-daemon')"]).wait()
    err = " ".join(p.communicate()[1].split())
    check(p.returncode == 1 and "host vc2 is lost" in err, f"{p.returncode} {err}")
    check(not left_behind(C, C.names), left_behind(C, C.names, 0))


with C:
    for part in [globals()[w] for w in sys.argv[1:]] or (ranks, programs, launchers, versions, library, firewall, ranks_apart, strangers, killed):
        begin = time.monotonic()
        part()
        check(not left_behind(C, C.names), f"{part.__name__}: left are {left_behind(C, C.names, 0)}")
        print(f"{part.__name__} {time.monotonic() - begin:.2f} s", flush=True)
sys.exit(status())
