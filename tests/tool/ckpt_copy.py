#!/usr/bin/env python3
"""Copies of ranks are written while the ranks go on: what they hold is of one moment, and whatever a copy cannot have makes the
ranks stand still.

usage: ckpt_copy.py [PART...]"""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import MPICTL, criu_first, let_go, numbers, restart, skip_reason, start, tidy, wait_for
from launch import BUILD, Run, cases, check, nothing_left

PROBE = os.path.join(BUILD, "tests", "bin", "ckpt_copy_probe")
COPIED = "writing images of copies; the ranks go on"
LIMIT_S = 60


def begin(env, d, what="", *options):
    """(the job, what it said up to its first steps, the folder of its checkpoints)"""
    images, table = os.path.join(d, f"images{what}"), os.path.join(d, "numbers")
    with open(table, "wb") as f:
        for i in range(512):
            f.write(i.to_bytes(8, sys.byteorder))
    p = start(env, "-v", "--checkpoint-dir", images, *options, "-n", 2, PROBE, table, images + ".gate", what)
    return p, wait_for(p, "step "), images


def wait_until(condition, what):
    end = time.monotonic() + LIMIT_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    check(condition(), f"{what} did not come")


def last_step(text):
    return max(map(int, re.findall(r"^step (\d+)$", text, re.M)), default=0)


def ends_well(rc, text):
    return rc == 0 and all(f"rank {i} is well" in text for i in range(2))


def slow_criu(d):
    """CRIU that waits for the file `go` before it writes a process."""
    return criu_first(d, f'if [ "$1" = dump ]; then touch {d}/dumping.$$; for i in $(seq 1200); do [ -e {d}/go ] && break; sleep .05; done; fi')


def go_on(env, d, n_more=600):
    """The ranks work on before CRIU has begun, and a restart has what they and their files were when they were copied."""
    env = {**env, **slow_criu(d)}
    p, text, images = begin(env, d, "file")
    order = subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_until(lambda: any(n.startswith("dumping.") for n in os.listdir(d)), "CRIU")
    text += wait_for(p, COPIED) if COPIED not in text else ""
    at_copy = last_step(text)
    while last_step(text) < at_copy + n_more and "step " in (more := wait_for(p, "step ")):  # with 600 every page has changed
        text += more
    check(order.poll() is None and numbers(images) == [], "the checkpoint waits for CRIU")
    open(os.path.join(d, "go"), "w", encoding="ascii").close()
    said, _ = order.communicate(timeout=LIMIT_S)
    check(order.returncode == 0, said)
    text = let_go(p, images, text)
    check(ends_well(p.returncode, text), f"{p.returncode}\n{text}")
    rc, after = restart(env, images)
    steps = list(map(int, re.findall(r"is well at step (\d+)$", after, re.M)))
    check(ends_well(rc, after) and max(steps) < at_copy + n_more // 2, f"{rc}, copied near step {at_copy}\n{after}")
    tidy(images)


def go_on_tcp(env, d):
    """The same where they are connected: a copy has connections and an epoll of its own."""
    go_on({**env, "PLIANT_NET": "tcp"}, d, 64)


def one_file(env, d):
    """A file that all ranks write to, one of them until long after the others were copied: it has one length in all images."""
    p, text, images = begin(env, d, "onefile")
    for _ in range(2):
        check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "a checkpoint")
    text = let_go(p, images, text)
    check(ends_well(p.returncode, text) and text.count(COPIED) == 2, f"{p.returncode}\n{text}")
    rc, after = restart(env, images)
    check(ends_well(rc, after), f"{rc}\n{after}")
    tidy(images)


def scratch(env, d):
    """A file grows and loses its name after the copies were made: its contents are not those of the copy, so the ranks stand still."""
    env = {**env, **slow_criu(d)}
    p, text, images = begin(env, d, "scratch")
    with subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as order:
        wait_until(lambda: any(n.startswith("dumping.") for n in os.listdir(d)), "CRIU")
        open(images + ".gate.scratch", "w", encoding="ascii").close()
        wait_until(lambda: not any(n.startswith("numbers.") for n in os.listdir(d)), "files without a name")
        open(os.path.join(d, "go"), "w", encoding="ascii").close()
        said, _ = order.communicate(timeout=LIMIT_S)
        check(order.returncode == 0, said)
    text = " ".join(let_go(p, images, text).split())
    check(ends_well(p.returncode, text) and "a file was written to and has lost its name meanwhile" in text, f"{p.returncode}\n{text}")
    rc, after = restart(env, images)
    check(ends_well(rc, after), f"{rc}\n{after}")
    tidy(images)


def ended(env, d):
    """The job ends while its copies are written: that is a checkpoint all the same."""
    env = {**env, **slow_criu(d)}
    p, text, images = begin(env, d)
    with subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        wait_until(lambda: any(n.startswith("dumping.") for n in os.listdir(d)), "CRIU")
        open(images + ".gate", "w", encoding="ascii").close()
        text += wait_for(p, "is well")
        open(os.path.join(d, "go"), "w", encoding="ascii").close()
        text += p.stdout.read()
        p.wait(timeout=LIMIT_S)
    check(ends_well(p.returncode, text) and numbers(images) == [1], f"{p.returncode}\n{text}")
    rc, after = restart(env, images)
    check(ends_well(rc, after), f"{rc}\n{after}")
    tidy(images)


def gone(env, d):
    """Ranks end while others are not back yet, and clones while their copies wait to be written: all are in the checkpoint."""
    hold = os.path.join(d, "hold")
    open(hold, "w", encoding="ascii").close()
    p, text, images = begin({**env, "PLIANT_FAULT": f"freeze_called:1@{hold}"}, d, "apart")
    with subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as order:
        wait_until(lambda: os.path.exists(hold + ".held"), "rank 1")
        open(images + ".gate.early", "w", encoding="ascii").close()
        text += wait_for(p, "rank 0 is well")
        os.unlink(hold + ".held")
        check(order.wait(timeout=LIMIT_S) == 0, "the checkpoint")
    text = let_go(p, images, text)
    check(ends_well(p.returncode, text) and COPIED in text, f"{p.returncode}\n{text}")
    rc, after = restart(env, images)
    check(ends_well(rc, after), f"{rc}\n{after}")
    tidy(images)
    env = {**env, **slow_criu(d)}
    p, text, images = begin(env, d, "clones")
    with subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as order:
        wait_until(lambda: any(n.startswith("dumping.") for n in os.listdir(d)), "CRIU")
        open(images + ".gate.early", "w", encoding="ascii").close()
        while not all(f"rank {i} is well" in text for i in (2, 3)) and (more := wait_for(p, "is well")):
            text += more
        open(os.path.join(d, "go"), "w", encoding="ascii").close()
        check(order.wait(timeout=LIMIT_S) == 0, "the checkpoint")
    text = let_go(p, images, text)
    check(ends_well(p.returncode, text) and COPIED in text, f"{p.returncode}\n{text}")
    rc, after = restart(env, images)
    check(ends_well(rc, after) and all(f"rank {i} is well" in after for i in (2, 3)), f"{rc}\n{after}")
    tidy(images)


def unwritable(env, d):
    """CRIU cannot write a copy: that is said, and the ranks stand still instead."""
    env = {**env, **criu_first(d, f'[ "$1" != dump ] || ! mkdir {d}/first 2>/dev/null || exit 1')}
    p, text, images = begin(env, d)
    check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "a checkpoint")
    text = " ".join(let_go(p, images, text).split())
    check(ends_well(p.returncode, text) and "the ranks stand still for another attempt" in text, f"{p.returncode}\n{text}")
    rc, after = restart(env, images)
    check(ends_well(rc, after), f"{rc}\n{after}")
    tidy(images)


def hindered(env, d):
    """What a copy would not have, or would share: the ranks stand still, and restarts are as good. Without it they do not,
    nor with threads, which a copy makes anew, or with files that grow while it is written."""
    for what in ("", "threads", "file", "pipe", "timer", "lockedfile", "shared", "locked", "standstill"):
        options = ("--checkpoint-standstill",) if what == "standstill" else ()
        p, text, images = begin(env, d, what, *options)
        check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, f"{what}: a checkpoint")
        text = let_go(p, images, text)
        check(ends_well(p.returncode, text) and (COPIED in text) == (what in ("", "threads", "file")), f"{what}: {p.returncode}\n{text}")
        rc, after = restart(env, images)
        check(ends_well(rc, after), f"{what}: {rc}\n{after}")
        tidy(images)
        nothing_left(env)


reason = skip_reason()
if reason is not None:
    print(f"skipped: {reason}")
    sys.exit(77)
sys.exit(cases((go_on, go_on_tcp, one_file, scratch, ended, gone, unwritable, hindered)))
