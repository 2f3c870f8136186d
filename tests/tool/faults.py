#!/usr/bin/env python3
"""A rank, mpiexec or one of its helpers dies at every step of a fork, a resize and a checkpoint, and the disk is full at
every step of the last: nothing hangs, nothing is left behind, and a checkpoint that was there stays good.

usage: faults.py [PART...]"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import (MPICTL, PROBE, finish, gate, let_go, numbers, open_gate, ranks_of, restart, result, shut_gate,
                        skip_reason, start, tidy, undisturbed, wait_for)
from launch import BUILD, SLOW, Run, carriers, cases, check, nothing_left

FORK = os.path.join(BUILD, "tests", "bin", "fork_probe")
WORLD = os.path.join(BUILD, "tests", "bin", "mpi.elastic_world")
KILLED = 128 + signal.SIGKILL


def fork(env, _):
    """Old ranks are 0 and 1, their clones 2 and 3; fork_clone is the clone of the rank it names."""
    def run(fault):
        r = Run("--timeout", 40 * SLOW, "-n", 2, FORK, "", env={**env, "PLIANT_FAULT": fault})
        nothing_left(env, fault)
        return r

    def is_as_before(r):
        return r.rc == 0 and r.out.count("MPI_Fork: ") == 2 and " of 4" not in r.out

    def is_ended(r):
        return r.rc == KILLED and re.search("rank [0-3] .*was killed by signal 9", r.words)

    for step in ("ask", "split", "made", "agreed", "enter"):
        for rank in (0, 1):
            r = run(f"fork_{step}:{rank}")
            check(is_ended(r) and f"rank {rank} (" in r.words, f"{step}:{rank}: {r}")
    for fault in ("fork_clone:0", "fork_clone:1", "fork_become:2", "fork_become:3"):
        r = run(fault)
        check(is_as_before(r), f"{fault}: {r}")
    for rank in (2, 3):
        r = run(f"fork_ready:{rank}")  # just before or just after the moment from which it counts
        check(is_as_before(r) or is_ended(r), f"fork_ready:{rank}: {r}")
        r = run(f"fork_enter:{rank}")
        check(is_ended(r) and f"rank {rank} (" in r.words, f"fork_enter:{rank}: {r}")
    for step in ("coming", "commit", "committed", "resized"):
        r = run(f"mpiexec_{step}")
        check(r.rc == -signal.SIGKILL, f"mpiexec_{step}: {r}")
    r = run("fork_nowhere")
    check(r.rc == 0 and r.out.count(" of 4") == 4, f"without a fault: {r}")


def elastic(env, fault, *args):
    p = start({**env, "PLIANT_FAULT": fault}, "--elastic", "1:4", "-n", 2, *args)
    while Run("status", p.pid, tool=MPICTL).rc != 0 and p.poll() is None:
        time.sleep(0.01)
    return p


def resize(env, _):
    """New ranks are 2 and 3."""
    for step in ("ready", "told"):
        for rank in (2, 3):
            fault = f"init_{step}:{rank}"
            p = elastic(env, fault, WORLD, "poll", 9)
            r = Run("grow", 2, p.pid, tool=MPICTL)
            if step == "ready" or r.rc != 0:
                check(r.rc == 1 and "stays as it was" in r.err, f"{fault}: {r}")
                r = Run("status", p.pid, tool=MPICTL)
                check(r.rc == 0 and "version" not in r.out, f"{fault}: {r}")
                Run("stop", p.pid, tool=MPICTL)
                finish(p)
            else:  # it counted already when the rank died
                text = finish(p)
                check(p.returncode == KILLED and f"rank {rank} (" in text, f"{fault}: {p.returncode}\n{text}")
            nothing_left(env, fault)
    for step in ("coming", "commit", "committed", "resized"):
        p = elastic(env, f"mpiexec_{step}", WORLD, "poll", 9)
        r = Run("grow", 2, p.pid, tool=MPICTL)
        check(r.rc == 2 and "did not answer" in r.err, f"{step}: {r}")
        finish(p)
        nothing_left(env, step)
    p = elastic(env, "mpiexec_commit", WORLD, "poll", 9)  # a smaller world is the word alone
    r = Run("shrink", 1, p.pid, tool=MPICTL)
    check(r.rc == 2 and "did not answer" in r.err, f"shrink: {r}")
    finish(p)
    nothing_left(env, "shrink")
    # An old rank dies while new ones are on their way.
    p = elastic(env, "", "sh", "-c", f"[ $PLIANT_RANK -lt 2 ] || sleep 60; exec {WORLD} poll 9")
    c = subprocess.Popen([MPICTL, "grow", "2", str(p.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len([1 for _, name in carriers(env) if name == "sleep"]) < 2 and c.poll() is None:
        time.sleep(0.01)
    os.kill(max(pid for pid, name in carriers(env) if name == "mpi.elastic_wor"), signal.SIGKILL)
    text = finish(p)
    check(p.returncode == KILLED and "was killed" in text, f"{p.returncode}\n{text}")
    check(c.wait() != 0, "nobody grew")
    nothing_left(env, "old rank")


def ask(env, d, fault, *options):
    """A job that is asked for a checkpoint and has a fault: mpictl, its exit status and its output."""
    p = start({**env, "PLIANT_FAULT": fault}, "--checkpoint-dir", d, *options, "-n", 2, PROBE, 20, 5, gate(d),
              *(("state",) if "state" in options else ()))
    text = wait_for(p, "step 3 ")
    r = Run("checkpoint", p.pid, tool=MPICTL, timeout=180)  # CRIU may wait long for a core
    text = let_go(p, d, text)
    shut_gate(d)
    nothing_left(env, fault)
    return r, p.returncode, text


def good(env, d, want):
    """The newest checkpoint leads to the same result, and what was left by a killed mpiexec goes with the next one."""
    open_gate(d)
    rc, text = restart(env, d)
    check(rc == 0 and result(text)[0] == want, f"{rc}\n{text}\nwanted {want}")


def faults(env, d, in_rank, in_mpiexec, late, *options):
    """late: points that are passed when all is written."""
    want = undisturbed(env, 20, 5)
    r, rc, text = ask(env, d, "nowhere", *options)
    check(r.rc == 0 and rc == 0 and numbers(d) == [1], f"without a fault: {r}\n{rc}\n{text}")
    for point in in_rank:
        for rank in (0, 1):
            fault, before = f"{point}:{rank}", numbers(d)
            r, rc, text = ask(env, d, fault, *options)
            check(rc == KILLED and f"rank {rank} (" in text, f"{fault}: {r}\n{rc}\n{text}")
            tidy(d)
            check(numbers(d) == before or point in late, f"{fault}: {os.listdir(d)}")
            if numbers(d) != before:  # complete, but its ranks have the fault in them
                shutil.rmtree(os.path.join(d, str(numbers(d)[-1])))
    for point in in_mpiexec:
        before = numbers(d)
        r, rc, text = ask(env, d, point, *options)
        check(r.rc == 2 and rc == -signal.SIGKILL, f"{point}: {r}\n{rc}\n{text}")
        check(numbers(d) == before or point in late, f"{point}: {os.listdir(d)}")
    for point in ("commit_sum", "commit_manifest", "commit_rename", "commit_prune"):
        before = numbers(d)
        r, rc, text = ask(env, d, point, *options)
        check(r.rc == 1 and "was killed" in r.err and rc == 0 and result(text)[0] == want, f"{point}: {r}\n{rc}\n{text}")
        check((numbers(d) == before) == (point != "commit_prune"), f"{point}: {os.listdir(d)}")
        tidy(d)
    good(env, d, want)


def image(env, d):
    faults(env, d, ("freeze_signal", "freeze_told", "freeze_left", "freeze_called", "freeze_back", "freeze_mapped"),
           [f"mpiexec_ckpt_{s}" for s in ("wanted", "stopping", "dumping", "resuming", "committing", "over")],
           ("freeze_called", "freeze_back", "freeze_mapped", "mpiexec_ckpt_over"))


def image_tcp(env, d):
    """With connections between the ranks."""
    faults({**env, "PLIANT_NET": "tcp"}, d, ("freeze_told", "freeze_drain", "freeze_drained", "freeze_back", "freeze_mapped"),
           [f"mpiexec_ckpt_{s}" for s in ("stopping", "draining", "dumping", "resuming")], ("freeze_back", "freeze_mapped"))


def state(env, d):
    faults(env, d, ("state_write", "state_written"),
           ("mpiexec_state_writing", "mpiexec_state_committing"), (), "--checkpoint-mode", "state")


def killed_while_writing(env, d):
    """A rank and mpiexec killed at many moments of a checkpoint: the one before it is good each time."""
    want = undisturbed(env, 40, 10)
    for i, who in enumerate(("rank", "mpiexec") * 2):
        p = start(env, "--checkpoint-dir", d, "-n", 2, PROBE, 40, 10, "mb=30", gate(d))
        wait_for(p, "step 2 ")
        check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "first")
        last = numbers(d)[-1]
        c = subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        temp = os.path.join(d, ".temp-*")
        while not glob.glob(temp) and c.poll() is None:
            time.sleep(0.001)
        time.sleep(0.03 * i)
        ranks = ranks_of(env)
        if who == "mpiexec" or not ranks:
            p.kill()
        else:
            os.kill(min(ranks), signal.SIGKILL)
        finish(p)
        c.wait()
        nothing_left(env, who)
        check(numbers(d)[-1] >= last, f"{who}: {os.listdir(d)}")
    p = start(env, "--restart", d, "--timeout", "90")
    text = let_go(p, d)
    check(p.returncode == 0 and result(text) == (want, 2), f"{p.returncode}\n{text}\nwanted {want}")


def criu_at_work(env, d):
    """mpiexec is killed while CRIU tries out what the system can do, with children that it has stopped."""
    for i in range(16):
        p = start(env, "--checkpoint-dir", d, "-n", 2, PROBE, 20, 5, gate(d))
        wait_for(p, "step 3 ")
        c = subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not glob.glob(os.path.join(d, ".temp-*")) and c.poll() is None:
            pass
        time.sleep(0.006 * i)
        p.kill()
        finish(p)
        c.wait()
        nothing_left(env, f"{6 * i} ms")


def find_criu(d, c):
    """The process of a CRIU that writes below this directory; None: mpictl came back before one was seen."""
    while c.poll() is None:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read()
                if words.startswith(b"criu\0dump\0") and d.encode() in words:
                    return int(pid)
            except OSError:
                pass
    return None


def criu_killed(env, d):
    """CRIU is killed, as by a system without memory: that is said, the job goes on, and the next checkpoint is good."""
    want = undisturbed(env, 300, 10)
    p = start(env, "--checkpoint-dir", d, "-n", 2, PROBE, 300, 10, "mb=64")
    text = wait_for(p, "step 3 ")
    for _ in range(20):
        c = subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        criu = find_criu(d, c)
        if criu is not None:
            os.kill(criu, signal.SIGKILL)
        _, err = c.communicate()
        if c.returncode == 1:
            break
    check(c.returncode == 1 and "CRIU was killed by signal 9" in " ".join(err.split()), f"{c.returncode} {err}")
    check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "the next checkpoint")
    p.kill()
    finish(p, text)
    nothing_left(env, "killed")
    p = start(env, "--restart", d)
    text = finish(p)
    check(p.returncode == 0 and result(text) == (want, 2), f"{p.returncode}\n{text}\nwanted {want}")


def mounted(d, mib):
    """Whether the directory is a small file system now."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "none", d], capture_output=True,
                      check=False).returncode != 0:
        print("a full disk was not tested: a small file system cannot be mounted here")
        return False
    return True


def fill(d, room):
    """Leave so many bytes; the file to remove."""
    ballast, fs = os.path.join(d, "ballast"), os.statvfs(d)
    with open(ballast, "wb") as f:
        os.posix_fallocate(f.fileno(), 0, max(1, fs.f_bavail * fs.f_bsize - room))
    return ballast


def full_state(env, d):
    """The ranks find no room for what they registered, or mpiexec none for the manifest; the job goes on."""
    if not mounted(d, 1):
        return
    try:
        want = undisturbed(env, 20, 5)
        args = ("--checkpoint-mode", "state")
        check(ask(env, d, "", *args)[0].rc == 0 and numbers(d) == [1], "there is room for the first")
        for pages in (0, 1, 2):  # a page for each file
            ballast = fill(d, pages * 4096)
            r, rc, text = ask(env, d, "", *args)
            os.unlink(ballast)
            check(r.rc == 1 and rc == 0 and result(text)[0] == want, f"{pages}: {r}\n{rc}\n{text}")
            check("cannot be written" in " ".join((r.err + text).split()), f"{pages}: {r}\n{text}")
            check(numbers(d) == [1], f"{os.listdir(d)}")
            tidy(d)
        good(env, d, want)
    finally:
        subprocess.run(["umount", d], check=False)


def full(env, d):
    """From no room at all to just enough."""
    if not mounted(d, 64):
        return
    try:
        p = start(env, "--checkpoint-dir", d, "--checkpoint-keep", 1, "-n", 2, PROBE, 20, 10, gate(d))
        text = wait_for(p, "step 3 ")
        check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "there is room for the first")
        size = sum(os.path.getsize(os.path.join(a, f)) for a, _, files in os.walk(d) for f in files)
        n_bad = 0
        for k in range(0, 12):
            ballast = fill(d, size * k // 8)
            r = Run("checkpoint", p.pid, tool=MPICTL, timeout=180)  # CRIU may wait long for a core
            os.unlink(ballast)
            n_bad += r.rc != 0
            check(r.rc == 0 or "written" in r.err or "space" in r.err, f"{k}: {r}")
            tidy(d)
            check(len(numbers(d)) == 1, f"{k}: {os.listdir(d)}")
        check(6 <= n_bad <= 11, f"{n_bad} of 12 times there was no room")
        text = let_go(p, d, text)
        check(p.returncode == 0, f"the job goes on: {p.returncode}\n{text}")
        good(env, d, result(text)[0])
    finally:
        subprocess.run(["umount", d], check=False)


reason = skip_reason()
if reason is not None:
    print(f"images are not tested: {reason}")
sys.exit(cases((fork, resize, state, full_state, image, image_tcp, killed_while_writing, criu_at_work, criu_killed, full),
               (image, image_tcp, killed_while_writing, criu_at_work, criu_killed, full) if reason else ()))
