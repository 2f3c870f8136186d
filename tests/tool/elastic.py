#!/usr/bin/env python3
"""mpictl changes the size of a running job; what fails on the way leaves it as it was."""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, Run, carriers, check, clean_up, inside, mark, nothing_left, status

MPICTL = os.path.join(BUILD, "bin", "mpictl")
PROBE = os.path.join(BUILD, "tests", "bin", "fork_probe")
WORLD = os.path.join(BUILD, "tests", "bin", "mpi.elastic_world")


def start(env, *args):
    p = subprocess.Popen([MPIEXEC, *map(str, args)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         env={**os.environ, **env})
    for _ in range(3000):  # until mpictl finds the job
        if ctl("status", p.pid).rc == 0:
            break
        time.sleep(0.01)
    return p


def ctl(*args):
    return Run(*args, tool=MPICTL)


def other_user(job):
    """The control socket is for the owner of the job alone, and who is not is told so."""
    for words, want in ((["grow", "1", str(job)], "belongs to another user"), ([str(job), "top"], "is no mpiexec of yours")):
        try:
            r = subprocess.run([MPICTL, *words], user=65534, group=65534, extra_groups=[], text=True,
                               capture_output=True, check=False, timeout=60 * SLOW)
        except PermissionError:  # no right to be somebody else, or he cannot see the program
            print("skipped: another user")
            return
        check(r.returncode == 2 and want in r.stderr and r.stdout == "", f"another user: {r}")


def grow_and_shrink(env):
    p = start(env, "--elastic", "2:8", "-n", 2, WORLD, "poll", 4)
    for args, want in ((("grow", 2), "version 1, of 4 ranks"), (("resize", 8), "version 2, of 8 ranks"),
                       (("shrink", 5), "version 3, of 3 ranks")):
        r = ctl(*args, p.pid)
        check(r.rc == 0 and want in r.out, f"{args}: {r}")
        check(args[0] != "shrink" or "the ranks that left are gone" in r.out, f"{args}: {r}")
    for args, want in ((("grow", 6), "9 ranks are outside --elastic 2:8"), (("shrink", 2), "outside"),
                       (("shrink", 99), "99 ranks cannot leave a job with --elastic 2:8; there are 3 now")):
        r = ctl(*args, p.pid)
        check(r.rc == 1 and want in r.err, f"{args}: {r}")
    r = ctl("status", p.pid)
    check("version 3, of 3 ranks" in r.out and f"job {p.pid}, 3 ranks" in r.out, f"status: {r}")
    r = ctl("list")
    check([str(p.pid), "3", "ranks"] in [line.split()[:3] for line in r.out.splitlines()], f"list: {r}")
    check("--as-daemon" not in r.out, f"list: one job, not two: {r}")
    other_user(p.pid)
    r = ctl(p.pid, "resize", 5)  # the job may come first
    check(r.rc == 0, f"last: {r}")
    out, _ = p.communicate(timeout=60 * SLOW)
    check(p.returncode == 0 and "version 4 of 5 ranks" in out, f"rc {p.returncode}\n{out}")


def notice(env):
    """Ranks that are to leave know it; one that stays is named, by mpictl and by mpiexec."""
    p = start(env, "--elastic", "1:4", "-n", 3, PROBE, "stubborn")
    r = ctl("shrink", 2, p.pid, "--wait", 1)
    check(r.rc == 1 and "version 1, of 1 rank\n" in r.out and "still there: rank 1 (process" in r.out and
          "rank 2 (process" in r.out, f"shrink: {r}")
    r = ctl("migrate", 0, "nowhere", p.pid)
    check(r.rc == 1 and "start the job with mpiexec --movable, or with images as checkpoints (--checkpoint-dir DIR)"
          in " ".join(r.err.split()), f"migrate: {r}")
    os.kill(p.pid, signal.SIGTERM)
    out, _ = p.communicate(timeout=60 * SLOW)
    check("rank 1 has its notice\n" in out and "rank 2 has its notice\n" in out and
          "rank 0 has" not in out, out)
    check("told so, and still there: rank 1" in " ".join(out.split()), out)
    nothing_left(env)


def new_rank_dies(env):
    """A new rank that ends before MPI_Init: the world stays as it was, and can be resized later."""
    with tempfile.TemporaryDirectory() as d:
        flag = os.path.join(d, "die")
        script = f"[ $PLIANT_RANK -ge 2 ] && [ -e {flag} ] && exit 3; exec {WORLD} poll 1"
        p = start(env, "--elastic", "1:4", "-n", 2, "sh", "-c", script)
        with open(flag, "w", encoding="utf-8"):
            pass
        r = ctl("grow", 2, p.pid)
        check(r.rc == 1 and "stays as it was" in r.err, f"grow: {r}")
        check(p.poll() is None, "the job goes on")
        os.unlink(flag)
        r = ctl("grow", 1, p.pid)
        check(r.rc == 0 and "version 1, of 3 ranks" in r.out, f"grow again: {r}")
        out, _ = p.communicate(timeout=60 * SLOW)
        check(p.returncode == 0 and "version 1 of 3 ranks" in out, f"rc {p.returncode}\n{out}")


def killed(env):
    """mpiexec dies while new ranks are on their way: nobody is left."""
    p = start(env, "--elastic", "1:4", "-n", 2, "sh", "-c",
              f"[ $PLIANT_RANK -lt 2 ] || sleep 60; exec {WORLD} poll 9")
    c = subprocess.Popen([MPICTL, "grow", "2", str(p.pid)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    while len([1 for _, name in carriers(env) if name == "sleep"]) < 2 and c.poll() is None:
        time.sleep(0.01)
    p.send_signal(signal.SIGKILL)
    _, err = c.communicate(timeout=60 * SLOW)
    check(c.returncode == 2 and "did not answer" in err, f"mpictl: {c.returncode} {err}")
    p.communicate()
    nothing_left(env)


def on_terminal(*args):
    """An order that waits for its turn, which it says: the process, the terminal, and what was said so far."""
    ours, theirs = os.openpty()
    c = subprocess.Popen([MPICTL, *map(str, args)], stdout=subprocess.PIPE, stderr=theirs, text=True, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    text = b""
    while b"waiting for" not in text or b"ends the wait" not in text:
        text += os.read(ours, 1000)
    return c, ours, text


def turns(env):
    """Orders that wait are carried out in the order in which they came, however many they are; a look waits for none."""
    with tempfile.TemporaryDirectory() as d:
        flag = os.path.join(d, "go")
        p = start(env, "--elastic", "1:8", "-n", 2, "sh", "-c",
                  f"[ $PLIANT_RANK -ne 2 ] || while [ ! -e {flag} ]; do sleep 0.05; done; exec {WORLD} poll 5")
        first = subprocess.Popen([MPICTL, "grow", "1", str(p.pid)], stdout=subprocess.PIPE, text=True)
        while not any(name == "sleep" for _, name in carriers(env)) and first.poll() is None:
            time.sleep(0.01)
        # In another order the sizes would be others.
        orders = [on_terminal(*args, p.pid) for args in (("grow", 1), ("resize", 7), ("shrink", 2), ("resize", 4))]
        check(b"is being resized already" in orders[0][2], orders[0][2])
        for _, _, text in orders[1:]:
            check(b"other requests to this job came before" in text, text)
        check(ctl("status", p.pid).rc == 0, "status")
        given_up, ours, _ = orders.pop(2)
        given_up.send_signal(signal.SIGINT)
        check(given_up.wait() == -signal.SIGINT, f"^C: {given_up.returncode}")
        given_up.stdout.close()
        os.close(ours)
        with open(flag, "w", encoding="utf-8"):
            pass
        check("version 1, of 3 ranks" in first.communicate(timeout=60 * SLOW)[0], "first")
        for (c, ours, _), want in zip(orders, ("version 2, of 4 ranks", "version 3, of 7 ranks", "version 4, of 4 ranks")):
            said = c.communicate(timeout=60 * SLOW)[0]
            os.close(ours)
            check(c.returncode == 0 and want in said, f"{want}: {said}")
        check(ctl("grow", 1, p.pid).rc == 0, "last")
        out, _ = p.communicate(timeout=60 * SLOW)
        check(p.returncode == 0 and "version 5 of 5 ranks" in out, f"rc {p.returncode}\n{out}")
    nothing_left(env)


def waits(env):
    """An order waits while the job is busy with another, no longer than it is told, and ^C ends the wait."""
    with tempfile.TemporaryDirectory() as d:
        flag = os.path.join(d, "go")
        p = start(env, "--elastic", "1:8", "-n", 2, "sh", "-c",
                  f"[ $PLIANT_RANK -lt 2 ] || while [ ! -e {flag} ]; do sleep 0.05; done; exec {WORLD} poll 2")
        first = subprocess.Popen([MPICTL, "grow", "1", str(p.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not any(name == "sleep" for _, name in carriers(env)) and first.poll() is None:
            time.sleep(0.01)
        r = ctl("grow", 1, p.pid, "--timeout", 0)
        check(r.rc == 1 and r.err == "mpictl: the job is being resized already\n", r)
        r = ctl("grow", 1, p.pid, "--timeout", 1)
        check(r.rc == 1 and r.err == "mpictl: the job is being resized already; given up after 1 s (--timeout)\n" and
              r.seconds >= 1, r)
        shown, ours, text = on_terminal("grow", 1, p.pid)
        check(b"is being resized already" in text, text)
        shown.send_signal(signal.SIGINT)
        check(shown.wait() == -signal.SIGINT, f"^C: {shown.returncode}")
        shown.stdout.close()
        os.close(ours)
        second = subprocess.Popen([MPICTL, "grow", "1", str(p.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(first.poll() is None and second.poll() is None, "both wait")
        with open(flag, "w", encoding="utf-8"):
            pass
        said = "".join(c.communicate(timeout=60 * SLOW)[0] for c in (first, second))
        check("version 1, of 3 ranks" in said and "version 2, of 4 ranks" in said, said)
        out, _ = p.communicate(timeout=60 * SLOW)
        check(p.returncode == 0 and "version 2 of 4 ranks" in out, f"rc {p.returncode}\n{out}")
    nothing_left(env)


def refuse(env):
    p = start(env, "-n", 2, WORLD, "poll", 9)
    r = ctl("grow", 1, p.pid)
    check(r.rc == 2 and "--elastic" in r.err, f"a job of fixed size: {r}")
    r = ctl("stop", p.pid)
    check(r.rc == 0, f"stop: {r}")
    p.communicate(timeout=60 * SLOW)
    check(p.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM), f"stopped: {p.returncode}")
    for args, want in ((("list", "7"), "'list' does not take 1 argument;"), (("grow",), "'grow' does not take 0"),
                       (("frob",), "no command 'frob'"), (("frob", "1", "2", "3"), "no command 'frob'"),
                       (("grow", "x"), "'x' is not a number of ranks"), (("status", "x"), "'x' is not the process")):
        r = ctl(*args)
        check(r.rc == 2 and want in r.err, f"{args}: {r}")
    for bad in ("3", "4:2", "0:2", "2:x"):
        r = Run("--elastic", bad, "-n", "1", "true")
        check(r.rc == 2 and "--elastic" in r.err, f"{bad}: {r}")
    for n, less in ((2, "2:4"), (5, "3:5")):
        r = Run("--elastic", "3:4", "-n", n, "true")
        said = " ".join(r.err.split())
        check(r.rc == 2 and f"{n} ranks are outside --elastic 3:4;" in said and f"or --elastic {less}" in said, f"-n {n}: {r}")
    r = Run("--elastic", "1:2", "--impi", "127.0.0.1:9", "--impi-rank", "0", "-n", "1", "true")
    check(r.rc == 2 and "exclude each other" in r.err, f"with --impi: {r}")


def endpoints(env):
    """MPI_COMM_ENDPOINTS of ranks that come later: the others would have to take part."""
    p = start(env, "--elastic", "1:4", "--endpoints", 2, "-n", 2, WORLD, "poll", 9)
    ctl("grow", 1, p.pid)
    out = p.communicate(timeout=60 * SLOW)[0]
    check(p.returncode not in (0, 123) and "MPI_COMM_ENDPOINTS in a process that came to a running job" in out,
          f"rc {p.returncode}: {out}")
    nothing_left(env)


def taken(env):
    """Another process has the name on which mpiexec would listen: it takes the next one and leaves nothing."""
    with socket.socket(socket.AF_UNIX) as s:
        p = subprocess.run([MPIEXEC, "--elastic", "1:2", "-n", "1", "true"], env={**os.environ, **env}, text=True,
                           capture_output=True, check=False, pass_fds=(s.fileno(),), timeout=60 * SLOW,
                           preexec_fn=lambda: s.bind(f"\0pliant-mpiexec-{os.stat('/proc/self/ns/pid').st_ino}-{os.getpid()}"))
    check(p.returncode == 0 and not p.stderr, f"{p}")
    nothing_left(env)


def same_number(env):
    """Two containers on one network: both mpiexecs are process 1, and mpictl beside each finds its own."""
    words = inside("same_number")
    if words is None:
        return
    jobs = [subprocess.Popen([*words, MPIEXEC, "--elastic", "1:4", "-n", str(n), "sh", "-c", f"{MPICTL} resize {n} 1; cat"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env={**os.environ, **env}) for n in (1, 2)]
    said = [p.stdout.readline() for p in jobs]  # mpictl of rank 0 of each, while the other job is there
    out = [p.communicate("", timeout=60 * SLOW)[0] for p in jobs]
    for i, p in enumerate(jobs):
        check(p.returncode == 0 and f"of {i + 1} rank" in said[i] + out[i], f"rc {p.returncode}\n{said[i]}{out[i]}")


def main():
    env = mark()
    try:
        grow_and_shrink(env)
        notice(env)
        new_rank_dies(env)
        killed(env)
        waits(env)
        turns(env)
        refuse(env)
        endpoints(env)
        taken(env)
        same_number(env)
    finally:
        clean_up(env)
    return status()


sys.exit(main())
