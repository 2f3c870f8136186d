#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpictl top, watch and stack: who waits for whom is seen from outside, by the owner alone, and the terminal is restored."""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, check, status  # noqa: E402

MPICTL, IMPIRUN = (os.path.join(BUILD, "bin", name) for name in ("mpictl", "impirun"))
PROBE = os.path.join(BUILD, "tests", "bin", "live_probe")
SOURCE = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "live_probe.c"), encoding="utf-8").read()
LINE = f"live_probe.c:{SOURCE[:SOURCE.index('// waits here')].count(chr(10)) + 1}"
folder = tempfile.mkdtemp()


class Job:
    """A job whose first rank is late until it is let go."""

    def __init__(self, *args, tool=MPIEXEC):
        self.file = os.path.join(folder, f"go{time.monotonic_ns()}")
        words = [w if w != "FILE" else self.file for w in args]
        self.process = subprocess.Popen([tool, *words])
        self.pid = str(self.process.pid)

    def go(self):
        open(self.file, "w", encoding="ascii").close()
        check(self.process.wait(timeout=60 * SLOW) == 0, "the job ends well")
        os.unlink(self.file)


def mpictl(*args, **kw):
    return subprocess.run([MPICTL, *args], capture_output=True, text=True, timeout=60 * SLOW, check=False, **kw)


def look(job, is_there):
    """The ranks of the first look for which is_there holds."""
    until = time.monotonic() + 60 * SLOW
    while True:
        r = mpictl("watch", "--json", "--count", "1", job.pid)
        ranks = json.loads(r.stdout)["ranks"] if r.stdout else []
        if is_there(ranks):
            return ranks
        if time.monotonic() > until:
            check(False, f"what was waited for never came: {r.stdout} {r.stderr}", 2)
            return ranks
        time.sleep(0.1)


def waiting(ranks):
    return [r for r in ranks if r["state"] == "waiting"]


def test_late():
    job = Job("-n", "4", PROBE, "late", "FILE")
    ranks = look(job, lambda ranks: len(waiting(ranks)) == 3)
    first, second, third = ranks[0], ranks[1], ranks[2]
    check(first["state"] == "running" and first["waited_for_by"] == 3 and first["messages_sent"] >= 1000, first)
    check(first["bytes_sent"] >= 8000 and first["pid"] > 0 and first["memory"] > 0, first)
    check(second["peer"] == 0 and second["tag"] == 7 and second["communicator"] == "MPI_COMM_WORLD", second)
    check(second["messages_received"] >= 1000 and second["bytes_received"] >= 8000 and second["since_s"] > 0.05, second)
    check(third["call"] == "MPI_Barrier" and "MPI_Barrier on MPI_COMM_WORLD" in third["doing"], third)
    r = mpictl("top", job.pid, stdin=subprocess.DEVNULL)
    check(r.returncode == 0 and "runs; 3 wait for it" in r.stdout and "\033" not in r.stdout, r)
    r = mpictl("top", "--filter", "Barrier", "--sort", "wait", job.pid, stdin=subprocess.DEVNULL)
    check(r.stdout.count("MPI_Barrier") == 2 and "receives" not in r.stdout, r)
    r = mpictl("top", "--sort", "colour", job.pid)
    check(r.returncode == 2 and "is no order" in r.stderr, r)
    stacks(job)
    owner_only(job)
    terminal(job)
    job.go()
    check(mpictl("watch", job.pid).returncode == 2, "the job is gone")


def stacks(job):
    r = mpictl(job.pid, "stack", "1")
    if "libdw.so.1" in r.stdout or "ptrace" in r.stdout:
        print(f"not tried: {r.stdout}")
        return
    check(r.returncode == 0 and LINE in r.stdout and "MPI_Recv" in r.stdout and "rank 1, process" in r.stdout, r)
    r = mpictl(job.pid, "stack")
    check(r.returncode == 0 and "rank 3, process" in r.stdout and "compute_long at live_probe.c" in r.stdout, r)
    r = mpictl(job.pid, "stack", "9")
    check(r.returncode == 1 and "the job has no rank 9" in r.stdout, r)


def owner_only(job):
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if os.geteuid() != 0 or shutil.which("setpriv") is None or subprocess.run([*other, MPICTL, "--version"], capture_output=True,
                                                                              check=False).returncode != 0:
        return
    for words in (["top"], ["watch", "--json"], ["stack"]):
        r = subprocess.run([*other, MPICTL, job.pid, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        check(r.returncode == 2 and r.stdout == "" and "of yours" in r.stderr, f"another user: {words} {r}")


class Screen:
    """mpictl top on a terminal of its own."""

    def __init__(self, *args, no_color=None, term="xterm"):
        self.out = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.pop("NO_COLOR", None)
            os.environ["TERM"] = term
            if no_color is not None:
                os.environ["NO_COLOR"] = no_color
            os.execv(MPICTL, ["mpictl", "top", *args])
        self.size(20, 80)

    def size(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, is_there):
        """Read until it holds for what was drawn since the last call."""
        self.out = ""
        end = time.monotonic() + 60 * SLOW
        while not is_there(self.out) and time.monotonic() < end:
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    self.out += os.read(self.fd, 65536).decode()
                except OSError:
                    break
        check(is_there(self.out), f"on the terminal: {self.out[-2000:]!r}", 2)

    def key(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(w) for w in f.read().split()]


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return [b""]


def terminal(job):
    t = Screen(job.pid)
    t.until(lambda s: "3 wait for it" in s and "\033[33m" in s)
    widest = max(len(line) for line in t.out.replace("\033[K", "").replace("\033[J", "").split("\r\n") if "\033" not in line)
    check(widest <= 80, f"{widest} columns")
    t.size(20, 120)
    t.until(lambda s: "receives from 0 tag 7 on MPI_COMM_WORLD" in s)
    t.key("j")
    t.until(lambda s: "\033[1;31m" in s)
    t.key("\r")
    t.until(lambda s: "any key: back" in s and "rank 1, process" in s)
    t.key("x/Barr\r")
    t.until(lambda s: "filter: Barr" in s and "receives" not in s.split("filter: Barr")[-2])
    t.key("q")
    t.until(lambda s: s.endswith("\033[?25h\033[?1049l"))
    t.close()
    # Whatever ends it: both of its processes are killed in turn, and a signal asks.
    t = Screen("--no-color", job.pid)
    t.until(lambda s: "3 wait for it" in s)
    check("\033[1;31m" not in t.out and "\033[33m" not in t.out, f"colours: {t.out!r}")
    os.kill(children(t.pid)[0], signal.SIGKILL)
    t.until(lambda s: "\033[?25h\033[?1049l" in s)
    check(termios.tcgetattr(t.fd)[3] & termios.ECHO, "echo is on again")
    t.close()
    for sig, no_color in ((signal.SIGKILL, "1"), (signal.SIGTERM, "")):
        t = Screen(job.pid, no_color=no_color)
        t.until(lambda s: "3 wait for it" in s and ("\033[33m" in s or no_color))
        check(("\033[33m" in t.out) == (no_color == ""), f"NO_COLOR={no_color}: {t.out!r}")
        os.kill(t.pid if sig == signal.SIGKILL else children(t.pid)[0], sig)
        t.until(lambda s: "\033[?25h\033[?1049l" in s)
        t.close()
    # A terminal without escapes gets one look, as a file does.
    t = Screen(job.pid, term="dumb")
    t.until(lambda s: "3 wait for it" in s)
    check("\033" not in t.out, f"TERM=dumb: {t.out!r}")
    t.close()


def test_endpoints():
    job = Job("-n", "1", PROBE, "endpoints", "FILE")
    ranks = look(job, lambda ranks: len(waiting(ranks)) == 2)
    check([r["endpoint_rank"] for r in ranks] == [1, 2] and all(r["peer"] == 0 for r in ranks), ranks)
    check("messages_sent" in ranks[0] and "messages_sent" not in ranks[1], ranks)
    job.go()


def test_impi():
    """Ranks of an IMPI client have the numbers that they have in MPI_COMM_WORLD."""
    job = Job("--local", "-n", "1", PROBE, "late", "FILE", ":", "-n", "3", PROBE, "late", "FILE", tool=IMPIRUN)
    until = time.monotonic() + 60 * SLOW
    found = []
    while not found and time.monotonic() < until:
        words = {p: words_of(p) for p in children(job.process.pid)}
        found = [p for p, w in words.items() if w[0].endswith(b"mpiexec") and b"3" in w]  # and is no impirun any more
    job.pid = str(found[0])
    ranks = look(job, lambda ranks: len(waiting(ranks)) == 3)
    check([r["rank"] for r in ranks] == [1, 2, 3] and ranks[0].get("peer") == 0 and ranks[2].get("call") == "MPI_Barrier", ranks)
    r = mpictl(job.pid, "stack", "3")
    check("rank 3, process" in r.stdout and "rank 2" not in r.stdout, r)
    check("the job has no rank 0" in mpictl(job.pid, "stack", "0").stdout, "which is of the other client")
    job.go()


def test_spawned():
    job = Job("-n", "1", PROBE, "spawn", "FILE")
    ranks = look(job, lambda ranks: len(ranks) == 2 and len(waiting(ranks)) == 1)
    check(ranks[1]["state"] == "waiting" and ranks[1]["tag"] == 5 and ranks[1]["memory"] > 0, ranks)
    job.go()


test_late()
test_endpoints()
test_spawned()
test_impi()
os.rmdir(folder)
sys.exit(status())
