#!/usr/bin/env python3
"""Output of ranks: lines are never mixed, nothing is lost or added, and memory stays bounded."""
import collections
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import MPIEXEC, PROBE, SLOW, Run, check, gone, mark, nothing_left, status


def whole_lines():
    n, each = 16, 400
    r = Run("-n", n, PROBE, "init", "barrier", "lines", each, "final")
    rows = r.out.splitlines()
    check(r.rc == 0 and len(rows) == n * each, f"{len(rows)} lines")
    shape = re.compile(r"line (\d+) of rank (\d+): the quick brown fox jumps over the lazy dog")
    seen = collections.defaultdict(list)
    for row in rows:
        m = shape.fullmatch(row)
        check(m, f"mixed line: {row!r}")
        if m:
            seen[int(m.group(2))].append(int(m.group(1)))
    check(all(v == list(range(each)) for v in seen.values()), "order within a rank")


def pieces_of_lines():
    # Each rank writes its line in pieces with pauses, so that they would mix.
    r = Run("-n", 6, PROBE, "init", "barrier", "partial", "a-", "sleep", "0.05", "partial", "b-",
            "sleep", "0.05", "print", "c", "final")
    check(r.out == "a-b-c\n" * 6, r)
    r = Run("-n", 1, PROBE, "partial", "no newline")
    check(r.out == "no newline", r)
    r = Run("-n", 3, PROBE, "init", "barrier", "partial", "no newline", "final")
    check(r.out == "no newline\nno newline\nno newline", r)
    r = Run("-n", 2, "-l", PROBE, "init", "partial", "x", "final")
    check(sorted(r.out.split("\n")) == ["[0] x", "[1] x"], r)
    r = Run("-n", 2, "-l", PROBE, "init", "print", "", "print", "y", "warn", "e", "final")
    check(sorted(r.out.splitlines()) == ["[0] ", "[0] y", "[1] ", "[1] y"], r)
    check(sorted(r.err.splitlines()) == ["[0] e", "[1] e"], r)
    r = Run("-n", 1, "-l", "--color=always", PROBE, "print", "y")
    check(r.out == "\033[31m[0]\033[0m y\n", repr(r.out))


def long_lines():
    size = 3_000_000
    r = Run("-n", 3, PROBE, "init", "barrier", "flood", size, "print", "", "final")
    check(r.rc == 0, r.err)
    rows = r.out.splitlines()
    check(sorted(rows) == [c * size for c in "abc"],
          f"{len(rows)} lines of {[len(x) for x in rows[:9]]}")
    blob = os.urandom(1_000_000)
    r = Run("-n", 2, PROBE, "cat", stdin=blob, text=False)
    check(r.out == blob, "binary data came through changed")
    # The owner of an endless line falls silent while the other has much to say: no deadlock.
    r = Run("-n", 2, PROBE, "init", "barrier", "only", "0", "flood", 100000, "sleep", 2, "print", "",
            "end", "only", "1", "sleep", "0.2", "lines", 5000, "end", "final")
    check(r.rc == 0 and r.out.count("lazy dog\n") == 5000 and r.out.count("a" * 1000) == 100, r.rc)


def same_file():
    # Standard output and error in one pipe: lines of both stay whole.
    p = subprocess.run([MPIEXEC, "-n", "4", "sh", "-c",
                        "for i in 1 2 3 4 5 6 7 8 9; do echo out out out; echo err err err >&2; done"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                       check=False)
    check(collections.Counter(p.stdout.splitlines()) == {"out out out": 36, "err err err": 36},
          p.stdout)


def memory_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1))


def slow_reader():
    env = mark()
    p = subprocess.Popen([MPIEXEC, "-n", "4", PROBE, "init", "flood", "20000000", "print", "",
                          "final"], stdout=subprocess.PIPE, env={**os.environ, **env})
    time.sleep(0.5)
    grown = memory_of(p.pid)
    check(grown < 30000 * SLOW, f"mpiexec holds {grown} kB while nobody reads")
    total = 0
    while True:
        piece = os.read(p.stdout.fileno(), 1 << 20)
        if not piece:
            break
        total += len(piece)
    check(p.wait(30) == 0 and total == 4 * 20000001, f"{total} bytes")
    p.stdout.close()
    # A rank that dies is noticed although nobody reads.
    p = subprocess.Popen([MPIEXEC, "-n", "2", PROBE, "init", "barrier", "only", "0", "flood",
                          "20000000", "end", "only", "1", "sleep", "0.2", "kill", "SEGV"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **env})
    begin = time.monotonic()
    line = p.stderr.readline()
    check(b"rank 1" in line and time.monotonic() - begin < 20 * SLOW, line)
    left = gone(env, name="mpiexec_probe")
    check(not left, left)
    p.kill()
    p.communicate()
    # The reader goes away: mpiexec ends as any program would, without a word.
    p = subprocess.run(["bash", "-c", f"{MPIEXEC} -n 2 {PROBE} init lines 1000000 final | head -n 1;"
                        " echo ${PIPESTATUS[0]}"], capture_output=True, text=True, timeout=60,
                       check=False)
    check(p.stdout.splitlines()[1:] == ["141"] and p.stderr == "", p)
    nothing_left(env, "processes are left")


def full_disk():
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "wb") as full:
        p = subprocess.run([MPIEXEC, "-n", "2", PROBE, "print", "x"], stdout=full,
                           stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    check(p.returncode == 1 and "standard output" in p.stderr, p)


class Terminal:
    """mpiexec on a terminal of its own."""

    def __init__(self, *args, **env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.environ.pop("NO_COLOR", None)
            os.environ.update(env)
            os.execv(MPIEXEC, [MPIEXEC, *args])
        self.seen = b""

    def wait_for(self, want, seconds=20.0):
        """Read up to and with these bytes; None when they do not come."""
        begin = time.monotonic()
        while want not in self.seen:
            if time.monotonic() > begin + seconds * SLOW:
                return None
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.fd, 65536)
                except OSError:
                    return None  # the terminal was closed
        self.seen = self.seen.partition(want)[2]
        return want

    def status(self):
        self.wait_for(b"never said")
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def on_a_terminal():
    # Lines are shown when complete (stdio would hold them back), prompts too, and answers arrive.
    t = Terminal("-n", "2", "-l", "sh", "-c",
                 "test $PLIANT_RANK = 1 && exit; printf 'name? '; read x; echo hello $x;"
                 f"exec {PROBE} init print early await USR1 final")
    check(t.wait_for(b"\033[31m[0]\033[0m name? ") is not None, f"no prompt: {t.seen}")
    os.write(t.fd, b"Ada\n")
    check(t.wait_for(b"hello Ada\r\n") is not None, f"no answer: {t.seen}")
    check(t.wait_for(b"early\r\n") is not None, f"a line is held back: {t.seen}")
    check(t.wait_for(b"ready\r\n") is not None, t.seen)
    os.kill(t.pid, signal.SIGUSR1)
    check(t.status() == 0, "exit status")


def colours():
    """Labels have colours on a terminal only, not on one without escapes, and not where NO_COLOR says so; an empty NO_COLOR says nothing."""
    plain, coloured = b"[0] x\r\n", b"\033[31m[0]\033[0m x\r\n"
    for env, options, want in (({}, (), coloured), ({"NO_COLOR": "1"}, (), plain), ({"NO_COLOR": ""}, (), coloured),
                               ({"TERM": "dumb"}, (), plain), ({"TERM": ""}, (), plain), ({"TERM": "dumb"}, ("--color=always",), coloured),
                               ({}, ("--color=never",), plain), ({"NO_COLOR": "1"}, ("--color=always",), coloured)):
        t = Terminal("-n", "1", "-l", *options, PROBE, "print", "x", **env)
        check(t.wait_for(want) is not None, f"{env} {options}: {t.seen}")
        check(t.status() == 0, f"exit status: {env} {options}")
    r = Run("-n", 1, "-l", PROBE, "print", "x")
    check(r.out == "[0] x\n", f"colours in a pipe: {r}")


for part in (whole_lines, pieces_of_lines, long_lines, same_file, slow_reader, full_disk,
             on_a_terminal, colours):
    begin_part = time.monotonic()
    part()
    print(f"{part.__name__} {time.monotonic() - begin_part:.2f} s", flush=True)
sys.exit(status())
