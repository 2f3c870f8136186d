#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on several (virtual) hosts: who runs where, with which environment, input and output."""
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import MPIEXEC, PROBE, check, status

WHERE = ["sh", "-c", "echo $PLIANT_RANK $(hostname) $PLIANT_LOCAL_RANK/$PLIANT_LOCAL_SIZE"]
C = open_cluster(4)


def places(*args, **kw):
    """Host numbers in the order of ranks."""
    r = HostRun(C, *args, *WHERE, **kw)
    check(r.rc == 0, r)
    rows = sorted((int(w[0]), w[1]) for w in map(str.split, r.out.splitlines()))
    check([n for n, _ in rows] == list(range(len(rows))), r)
    return "".join(h[2:] for _, h in rows)


def where():
    for want, args in (
            ("112222", ["--hosts", "vc1:2,vc2:4"]),
            ("112222", ["-n", 6, "-host", "vc1:2,vc2:4"]),
            ("1123", ["-n", 4, "-H", "vc1:2,vc2,vc3"]),
            ("112233", ["-n", 6, "--hosts", "vc1,vc2,vc3"]),
            ("1112233", ["-n", 7, "--hosts", "vc1,vc2,vc3"]),
            ("1122112", ["-n", 7, "--hosts", "vc1:2,vc2:2"]),
            ("1221", ["-n", 4, "--hosts", "vc1:1,vc2:2"]),
            ("112233", ["-ppn", 2, "--hosts", "vc1,vc2,vc3"]),
            ("1122", ["--map-by", "ppr:2:node", "--hosts", "vc1,vc2"]),
            ("2233", ["-n", 4, "-N", 2, "--hosts", "vc2:8,vc3:8"]),
            ("123123", ["-n", 6, "--map-by", "node", "--hosts", "vc1:2,vc2:2,vc3:2"]),
            ("1233", ["-n", 4, "--map-by", "node", "--hosts", "vc1:1,vc2:1,vc3:2"]),
            ("1123", ["--hosts", "vc1,vc1,vc2,vc3"]),
            ("3", ["-n", 1, "--hosts", "vc3:2,vc2:2"]),
            ("22", ["-n", 2, "--ranks-per-proc", 1, "--hosts", "vc2:2"]),
            ("1111", ["--hosts", "localhost:4"]),
            ("1111", ["--hosts", "vc1:4"]),
            ("1122", ["-n", 2, "--hosts", "vc1:2,vc2:2", *WHERE, ":", "-n", 2])):
        got = places(*args)
        check(got == want, f"{args}: ranks on {got}, not {want}")
    with tempfile.NamedTemporaryFile("w") as f:
        for text, want, args in (
                ("vc1:2\n# a comment\n\nvc2:1 # another\n", "112", ["-f"]),
                ("vc1 slots=1 max_slots=2\nvc3 slots=2\n", "133", ["--hostfile"]),
                ("vc1 slots=1 max_slots=1\nvc3 slots=1\n", "1333", ["-n", 4, "--hostfile"]),
                ("vc1 slots = 2\tmax-slots= 2\nvc2 cpu =1\n", "112", ["--hostfile"]),
                ("vc1 user=root slots=1\nvc2 username = root\n", "12", ["--hostfile"]),
                ("vc2\nvc2\nvc3\n", "223", ["-machinefile"])):
            f.seek(0)
            f.truncate()
            f.write(text)
            f.flush()
            got = places(*args, f.name)
            check(got == want, f"{text!r}: ranks on {got}, not {want}")
        f.seek(0)
        f.truncate()
        for line, words in (("vc1 slots=", "'slots=' is not understood"), ("vc1 slots=x", "slots=x needs a whole number"),
                            ("vc1 sockets=2", "'sockets=2' is not understood"), ("^vc1", "not the name of a host"),
                            ("vc1 user=-oProxyCommand=x", "not the name of a user")):
            f.seek(0)
            f.truncate()
            f.write(f"vc2\n{line}\n")
            f.flush()
            r = HostRun(C, "-f", f.name, "true")
            check(r.rc == 2 and words in r.words and ", line 2: " in r.words, r)
        f.seek(0)
        f.truncate()
        f.write("vc1 binding=core:1\n")
        f.flush()
        r = HostRun(C, "-f", f.name, "true")
        check(r.rc == 0 and "'binding=core:1' changes nothing; --bind-to" in r.words, r)
        f.seek(0)
        f.truncate()
        f.write("vc1 max_slots=1\nvc2 max_slots=1 slots=1\n")
        f.flush()
        r = HostRun(C, "-n", 3, "-f", f.name, "true")
        check(r.rc == 2 and "max_slots" in r.words, r)
        # As PBS leaves it.
        got = places(env={"PBS_NODEFILE": f.name})
        check(got == "12", got)
    for bad, words in ((["--hosts", "vc1:x"], "number of ranks"), (["--hosts", ","], "names no host"),
                       (["--hosts", "-rf"], "not the name of a host"),
                       (["--hosts", "vc1,vc2", "--map-by", "board"], "mpiexec: --map-by needs one of core, "),
                       (["--hosts", "vc1,vc2", "--map-by", "node:X"], "mpiexec: only :PE=N"),
                       (["--hosts", "vc1,vc2", "--map-by", "ppr:0:node"], "ppr:N:node puts N ranks on each host"),
                       (["--hosts", "vc1,vc2", "--map-by", "ppr:1:socket"], "ppr:N:node puts N ranks on each host"),
                       (["--hosts", "vc1,vc2", "-ppn", "0"], "-ppn needs a whole number"),
                       (["--hostfile", "/nowhere"], "cannot read the list of hosts /nowhere")):
        r = HostRun(C, *bad, "true")
        check(r.rc == 2 and words in r.words, r)
    r = HostRun(C, "--dry-run", "-n", 2, "--hosts", "vc1:1,vc2:1", "echo", "hi")
    check(r.rc == 0 and r.out == "rank 0: host vc1: echo hi\nrank 1: host vc2: echo hi\n", r)


def local_numbers():
    r = HostRun(C, "-n", 5, "--map-by", "node", "--hosts", "vc1,vc2", "-l", *WHERE)
    check(sorted(r.out.splitlines()) == ["[0] 0 vc1 0/3", "[1] 1 vc2 0/2", "[2] 2 vc1 1/3", "[3] 3 vc2 1/2",
                                         "[4] 4 vc1 2/3"], r)


def surroundings():
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", "-x", "A=1 2", "sh", "-c", "echo $A:$B:$HOSTNAME:$PWD",
                env={"B": "b$'", "HOSTNAME": "vc1"}, cwd="/usr")
    check(sorted(r.out.splitlines()) == ["1 2:b$'::/usr", "1 2:b$':vc1:/usr"], r)
    r = HostRun(C, "--hosts", "vc2:1", "-wdir", "lib", "pwd", cwd="/usr")
    check(r.out == "/usr/lib\n", r)
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", "-env", "HOME", "/x", "sh", "-c", "echo $HOME")
    check(r.out == "/x\n/x\n", r)
    # The secret of the job is on no command line and in no environment.
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", "sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' "
                "'\\n' | grep -a -E -i '[0-9a-f]{32}' | grep -v TEST_MARK; true")
    check(r.out == "", r)


def output():
    n = 20000
    r = HostRun(C, "--hosts", "vc1:1,vc2:2,vc3:1", PROBE, "init", "lines", n, "final")
    check(r.rc == 0, r.err)
    want = sorted(f"line {i} of rank {k}: the quick brown fox jumps over the lazy dog" for i in range(n)
                  for k in range(4))
    check(sorted(r.out.splitlines()) == want, f"{len(r.out.splitlines())} lines, or some were torn")
    r = HostRun(C, "--hosts", "vc2:1,vc3:1", PROBE, "init", "flood", 3000000, "print", "", "final")
    check(sorted(r.out.split()) == ["a" * 3000000, "b" * 3000000], f"{len(r.out)} bytes")
    r = HostRun(C, "-l", "--hosts", "vc2:1,vc3:1", PROBE, "warn", "to err", "partial", "no end")
    check(sorted(r.err.splitlines()) == ["[0] to err", "[1] to err"], r)
    check(sorted(r.out.split("\n")) == ["[0] no end", "[1] no end"], r)


def slow_reader():
    """A reader that takes its time stops the ranks, and mpiexec does not grow."""
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--hosts", "vc2:1,vc3:1", PROBE, "flood", 30000000],
                stdout=subprocess.PIPE)
    p.stdout.read(1)
    time.sleep(0.5)
    with open(f"/proc/{C.inner(p)}/status", encoding="ascii") as f:
        kib = int(f.read().split("VmRSS:")[1].split()[0])
    check(kib < 40000, f"mpiexec holds {kib} KiB")
    rest = p.communicate()[0]
    check(len(rest) in (59999999, 60000000) and p.returncode == 0, f"{len(rest)} bytes, rc {p.returncode}")


def feed():
    data = "".join(f"{i} some input\n" for i in range(50000))
    digest = hashlib.md5(data.encode()).hexdigest()
    for who in (0, 2):
        r = HostRun(C, "--stdin", who, "--hosts", "vc2:2,vc3:1", "sh", "-c", "md5sum", stdin=data)
        nothing = hashlib.md5(b"").hexdigest()
        check(sorted(r.out.split()[::2]) == sorted([digest, nothing, nothing]), r)
    r = HostRun(C, "--stdin", "all", "--hosts", "vc1:1,vc2:2,vc3:1", "md5sum", stdin=data)
    check(r.out.split()[::2] == [digest] * 4, r)
    # One that does not read keeps nobody.
    r = HostRun(C, "--stdin", "all", "--hosts", "vc1:1,vc2:2", "sh", "-c", "test $PLIANT_RANK = 1 || exec md5sum",
                stdin=data)
    check(r.rc == 0 and r.out.split()[::2] == [digest] * 2, r)
    r = HostRun(C, "--hosts", "vc2:1", "true", stdin=data)
    check(r.rc == 0, r)


def parts():
    r = HostRun(C, "--hosts", "vc1:1,vc2:2,vc3:1", "-n", 1, PROBE, "init", "who", "final", ":", "-n", 3, PROBE, "init",
                "who", "final")
    check(sorted(r.out.splitlines()) == [f"native {i} of 4 app {int(i > 0)} cores {os.cpu_count()}" for i in range(4)],
          r)


def beside():
    """Virtual hosts have the same cores, and know it; with others they have not."""
    r = HostRun(C, "--hosts", "vc1:1,vc2:2,vc3:1", "-l", PROBE, "init", "beside", "final")
    check(sorted(r.out.splitlines()) == [f"[{i}] {n} beside" for i, n in enumerate((3, 2, 2, 3))], r)
    if os.cpu_count() > 1:
        with tempfile.NamedTemporaryFile("w", suffix=".sh", dir="/tmp") as f:
            f.write(f"#!/bin/sh\nexec taskset -c 0 {MPIEXEC} \"$@\"\n")
            f.flush()
            os.chmod(f.name, 0o755)
            agent = f.name + ".run"
            os.link(f.name, agent)  # one that is being written cannot be run
        r = HostRun(C, "--hosts", "vc1:1,vc2:1", "--launch-agent", agent, PROBE, "init", "beside", "final")
        os.remove(agent)
        check(r.out == "0 beside\n" * 2, r)


def signals():
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--hosts", "vc1:1,vc2:2", PROBE, "await", "USR1"],
                stdout=subprocess.PIPE, text=True)
    for _ in range(3):
        p.stdout.readline()
    os.kill(C.inner(p), signal.SIGUSR1)
    out = p.communicate()[0]
    check(out == "got USR1\n" * 3 and p.returncode == 0, f"{p.returncode} {out}")
    for sig, rc in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--hosts", "vc1:1,vc2:1", "sh", "-c",
                            "echo up; sleep 60"], stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        p.stdout.readline()
        begin = time.monotonic()
        os.kill(C.inner(p), sig)
        p.communicate()
        check(p.returncode in (rc, -sig) and time.monotonic() - begin < 20, f"{sig}: {p.returncode}")
        check(not left_behind(C, C.names), left_behind(C, C.names, 0))
    # Stopped and continued.
    with tempfile.NamedTemporaryFile() as gate:
        p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--hosts", "vc2:1", "sh", "-c",
                            'echo up; while test -e "$0"; do sleep 0.05; done; echo on', gate.name],
                    stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        os.kill(C.inner(p), signal.SIGTSTP)
        _, how = os.waitpid(p.pid, os.WUNTRACED)  # nsenter stops with it, and passes on what continues it
        check(os.WIFSTOPPED(how), f"stopped: {how}")
        os.kill(p.pid, signal.SIGCONT)
    check(p.communicate()[0] == "on\n" and p.returncode == 0, p.returncode)


def tree():
    """Daemons that start daemons: with a fan of one, a chain."""
    for fan in ("1", "2"):
        r = HostRun(C, "--hosts", "vc1:1,vc2:1,vc3:1,vc4:2", PROBE, "init", "who", "lines", 1000, "final",
                    env={"PLIANT_LAUNCH_FAN": fan})
        check(r.rc == 0 and len(r.out.splitlines()) == 5005, r)
    r = HostRun(C, "--hosts", "vc1:1,vc2:1,vc3:1,vc4:2", PROBE, "init", "only", 4, "exit", 3, "end", "sleep", 60,
                env={"PLIANT_LAUNCH_FAN": "1"})
    check(r.rc == 3 and "rank 4" in r.words and "host vc4" in r.words, r)


def progress():
    """A terminal shows which host has not answered, and nothing of it stays; a pipe gets nothing."""
    with tempfile.TemporaryDirectory() as d:
        gate, late = os.path.join(d, "gate"), os.path.join(d, "late")
        with open(late, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\ncase "$*" in *vc3*) while test -e {gate}; do sleep 0.05; done ;; esac\nexec {C.launcher} "$@"\n')
        os.chmod(late, 0o755)
        for has_terminal in (True, False):
            with open(gate, "w", encoding="utf-8"):
                pass
            ours, theirs = os.openpty() if has_terminal else os.pipe()
            p = C.popen("vc1", [MPIEXEC, "--launcher", late, "--hosts", "vc2:1,vc3:1", "echo", "up"], stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE, stderr=theirs, text=True, env={**os.environ, "TERM": "xterm"})
            os.close(theirs)
            shown = b""
            while has_terminal and b"1 of 2 hosts have answered, not yet: vc3" not in shown:
                shown = shown[-200:] + os.read(ours, 1000)
            time.sleep(0 if has_terminal else 1)
            os.remove(gate)
            check(p.communicate()[0] == "up\nup\n" and p.returncode == 0, p.returncode)
            try:
                while data := os.read(ours, 1000):
                    shown += data
            except OSError:
                pass  # no one has the other end any more
            os.close(ours)
            check(shown.endswith(b"\r\033[K") if has_terminal else shown == b"", f"terminal {has_terminal}: {shown}")


with C:
    for part in (where, local_numbers, surroundings, output, slow_reader, feed, parts, beside, signals, tree, progress):
        begin = time.monotonic()
        part()
        check(not left_behind(C, C.names), f"{part.__name__}: left are {left_behind(C, C.names, 0)}")
        print(f"{part.__name__} {time.monotonic() - begin:.2f} s", flush=True)
sys.exit(status())
