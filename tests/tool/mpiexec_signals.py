#!/usr/bin/env python3
"""Signals to mpiexec: the job ends, stops and goes on with it, and others are passed on."""
# ctest: alone
import os
import pty
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import MPIEXEC, PROBE, SLOW, check, clean_up, gone, mark, nothing_left, status

ENV = mark()
FULL = {**os.environ, **ENV}


def start(*args, **kw):
    """mpiexec, once every rank has said that it is ready."""
    n = int(args[args.index("-n") + 1])
    p = subprocess.Popen([MPIEXEC, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env=FULL, **kw)
    for _ in range(n):
        check("ready" in p.stdout.readline(), "a rank is ready")
    return p


def is_pending(p, sig):
    """Whether it has not looked at the signal yet: another one would be the same one."""
    with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
        pending = re.search(r"^ShdPnd:\s*(\w+)$", f.read(), re.M).group(1)
    return int(pending, 16) >> (sig - 1) & 1 != 0


def ends_by(sig, *args, within=20, **kw):
    p = start(*args, **kw)
    begin = time.monotonic()
    p.send_signal(sig)
    out, err = p.communicate(timeout=40 * SLOW)
    took = time.monotonic() - begin
    check(p.returncode == -sig, f"{sig!r}: status {p.returncode}, {err}")
    check(took < within * SLOW, f"{sig!r}: took {took:.2f} s")
    left = gone(ENV)
    check(not left, f"{sig!r}: {left} left")
    return out, err


def ending():
    ready = (PROBE, "init", "barrier", "print", "ready", "flush", "sleep", "60")
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        out, err = ends_by(sig, "-n", "4", *ready)
        check(err == "" and out == "", f"{sig!r}: {out}{err}")
    # A rank may tidy up, and has the time it asks for.
    out, _ = ends_by(signal.SIGTERM, "-n", "2", "sh", "-c",
                     "trap 'sleep 0.3; echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    check(out == "tidy\ntidy\n", out)
    # One that does not listen is killed.
    deaf = (PROBE, "init", "ignore", "TERM", "barrier", "print", "ready", "flush", "sleep", "60")
    ends_by(signal.SIGTERM, "-n", "2", "--grace", "0.2", *deaf)
    begin = time.monotonic()
    p = start("-n", "2", "--grace=50", *deaf)
    p.send_signal(signal.SIGINT)
    while is_pending(p, signal.SIGINT):
        time.sleep(0.01)
    time.sleep(0.1)
    check(p.poll() is None, "the first ^C waits for ranks")
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=40)
    check(time.monotonic() - begin < 20 * SLOW and p.returncode == -signal.SIGINT, "the second does not")
    # A stopped rank ends too.
    p = start("-n", "2", PROBE, "init", "barrier", "print", "ready", "flush", "kill", "STOP", "sleep", "60")
    time.sleep(0.05)
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=40)
    check(p.returncode == -signal.SIGTERM and not gone(ENV), "stopped ranks end")


def ignored():
    # As under nohup: what the shell says to ignore stays ignored, and the ranks inherit that.
    p = start("-n", "2", PROBE, "init", "print", "ready", "flush", "sleep", "0.5", "final",
              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    p.send_signal(signal.SIGHUP)
    p.communicate(timeout=40)
    check(p.returncode == 0, f"status {p.returncode} with SIGHUP ignored")
    # And a parent that ignores SIGCHLD does not take the exit statuses away.
    p = start("-n", "2", PROBE, "print", "ready", "exit", "3",
              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    p.communicate(timeout=40)
    check(p.returncode == 3, f"status {p.returncode} with SIGCHLD ignored")


def passed_on():
    for name in ("USR1", "USR2"):
        p = start("-n", "3", PROBE, "init", "await", name, "final")
        p.send_signal(getattr(signal, "SIG" + name))
        out, _ = p.communicate(timeout=40)
        check(p.returncode == 0 and out == f"got {name}\n" * 3, out)
    # Under a wrapper the rank gets it, not the wrapper.
    p = start("-n", "2", "sh", "-c", f"{PROBE} init await USR1 final; echo wrapped")
    p.send_signal(signal.SIGUSR1)
    out, err = p.communicate(timeout=40)
    check(p.returncode == 0 and out.count("got USR1") == 2 and out.count("wrapped") == 2, out + err)


def states(env):
    from launch import carriers
    got = []
    for pid, name in carriers(env):
        if name == "mpiexec_probe":
            with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
                got.append(f.read().rpartition(")")[2].split()[0])
    return got


def eventually(test, seconds=2.0):
    end = time.monotonic() + seconds * SLOW
    while not test():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def stop_and_go():
    p = start("-n", "2", PROBE, "init", "print", "ready", "flush", "sleep", "0.6", "final")
    p.send_signal(signal.SIGTSTP)
    check(eventually(lambda: states(ENV) == ["T", "T"]), f"ranks stop: {states(ENV)}")
    with open(f"/proc/{p.pid}/stat", encoding="latin-1") as f:
        check(f.read().rpartition(")")[2].split()[0] == "T", "mpiexec stops")
    p.send_signal(signal.SIGCONT)
    p.communicate(timeout=40)
    check(p.returncode == 0, "and go on")


def at_a_terminal(what):
    """^C, or closing the terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(MPIEXEC, [MPIEXEC, "-n", "3", PROBE, "init", "barrier", "print", "ready", "sleep",
                            "60"], FULL)
    got = b""
    while got.count(b"ready") < 3:
        got += os.read(fd, 1000)
    begin = time.monotonic()
    what(fd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    check(time.monotonic() - begin < 20 * SLOW, "it ends soon")
    nothing_left(ENV, "processes are left")
    return code


def terminal():
    def interrupt(fd):
        os.write(fd, b"\x03")
    check(at_a_terminal(interrupt) == -signal.SIGINT, "^C")
    # A rank that reads from the terminal itself would hang without a word.
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(MPIEXEC, [MPIEXEC, "-n", "1", "sh", "-c", "read x < /dev/tty"], FULL)
    got = b""
    while b"for that." not in got:
        got += os.read(fd, 1000)
    check(b"SIGTTIN" in got, got)
    os.write(fd, b"\x03")
    check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGINT, "^C after a stop")
    os.close(fd)
    check(at_a_terminal(os.close) in (-signal.SIGHUP, -signal.SIGPIPE), "a closed terminal")


try:
    for part in (ending, ignored, passed_on, stop_and_go, terminal):
        begin_part = time.monotonic()
        part()
        print(f"{part.__name__} {time.monotonic() - begin_part:.2f} s", flush=True)
finally:
    clean_up(ENV)
sys.exit(status())
