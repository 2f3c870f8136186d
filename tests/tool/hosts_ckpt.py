#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of jobs on several (virtual) hosts: restarted on the same, other, fewer and more hosts they end as a job
that was left alone; whoever dies on the way, the checkpoint before is good and nothing is left behind."""
import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import MPICTL, PROBE, criu_first, finish, gate, let_go, numbers, open_gate, result, shut_gate, skip_reason, spoil, wait_for
from checkpoint import tidy as tidy_folder
from hosts import HostRun, fill, left_behind, open_cluster, small_disk
from launch import BUILD, MPIEXEC, SLOW, cases, check

HOSTS = ["vc1", "vc2", "vc3"]
SMALL, HAS_SMALL = small_disk()
C = open_cluster(len(HOSTS))
STATE = ("--checkpoint-mode", "state")
COPY = os.path.join(BUILD, "tests", "bin", "ckpt_copy_probe")


def undisturbed(*args):
    r = HostRun(C, "-n", 2, PROBE, *args)
    check(r.rc == 0, r)
    return result(r.out)[0]


def start(env, *args):
    return C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *args], stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **env})


def restart(env, where, *args):
    p = start(env, "--restart", where, *args)
    text = finish(p)
    return p.returncode, text


def restart_until(env, d, number, *args):
    """It ends when it has made this checkpoint."""
    shut_gate(d)
    p = start(env, "--restart", d, *args)
    text = let_go(p, d, wait_for(p, f" checkpoint {number}"))
    return p.returncode, text


def mpictl(*args):
    p = C.popen("vc1", [MPICTL, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True)
    return p.communicate(timeout=60 * SLOW)[0], p.returncode


def tidy(d):
    tidy_folder(d)
    left = left_behind(C, HOSTS)
    check(not left, f"left behind: {left}")


def slay(host, name):
    """Kill one process of a host, by how its command line begins."""
    script = 'kill -9 $(ps -e -o pid=,args= | while read p a; do case "$a" in "$0"*) echo $p; break;; esac; done)'
    check(C.popen(host, ["sh", "-c", script, name]).wait() == 0, f"no {name} in {host}")


def state(env, d):
    """mpictl; mpiexec is killed; the same hosts, others, fewer, more ranks, everything on one."""
    want = undisturbed(20, 10)
    p = start(env, "--checkpoint-dir", d, *STATE, "--hosts", "vc1:2,vc2:2", PROBE, 20, 10, "state", gate(d))
    text = wait_for(p, "step 5 ")
    out, rc = mpictl("checkpoint")
    check(rc == 0 and "checkpoint 1 of job" in out, out)
    os.kill(C.inner(p), signal.SIGKILL)
    let_go(p, d, text)
    check(not left_behind(C, HOSTS), "all are gone with mpiexec")
    for n, args in ((4, ()), (4, ("--hosts", "vc3:2,vc2:2")), (3, ("--hosts", "vc3", "-n", 3)),
                    (5, ("-n", 5, "--hosts=vc1,vc2,vc3")), (2, ("-n", 2, "-host", "localhost")),
                    (1, ("-n", 1))):
        rc, text = restart(env, os.path.join(d, "1"), *args)
        check(rc == 0 and result(text) == (want, n), f"{args}: {rc}\n{text}\nwanted {want}")
        check("step 1 " not in text, f"it begins where it was: {text}")
    check(numbers(d) == [1], f"only what was asked for: {os.listdir(d)}")
    tidy(d)


def state_made(env, d):
    """By the program and by the clock, from ranks of any host; the last two are kept; a restarted job makes them too."""
    want = undisturbed(20, 10)
    p = start(env, "--checkpoint-dir", d, *STATE, "--hosts", "vc2:1,vc3:2", PROBE, 20, 10, "state", "call=8", gate(d))
    text = let_go(p, d)
    check(p.returncode == 0 and "checkpoint called: made" in text and result(text) == (want, 3), text)
    check(numbers(d) == [1], f"one was asked for: {os.listdir(d)}")
    rc, text = restart_until(env, d, 3, "--checkpoint-interval", "100ms", "-n", 4)
    check(rc == 0 and result(text) == (want, 4), f"{rc}\n{text}\nwanted {want}")
    last = numbers(d)
    check(len(last) == 2 and last[1] > 2, f"by the clock: {last}\n{text}")
    tidy(d)


def state_dies(env, d):
    """A rank, a daemon, mpiexec dies while state is written or sealed: the one before is good."""
    want = undisturbed(20, 10)
    args = ("--checkpoint-dir", d, *STATE, "--hosts", "vc1:1,vc2:2", PROBE, 20, 10, "state", gate(d))
    open_gate(d)
    p = start(env, *args, "call=5")
    check(result(finish(p)) == (want, 3), "it has its result")
    for fault in ("state_write:2", "state_written:1", "mpiexec_state_writing", "mpiexec_state_committing"):
        p = start({**env, "PLIANT_FAULT": fault}, *args, "call=10")
        text = finish(p)
        check(p.returncode != 0, f"{fault}: {p.returncode}\n{text}")
        # What mpiexec has begun to seal may be sealed before it is seen to be dead: then that one is good, too.
        last = 2 if fault == "mpiexec_state_committing" and numbers(d) == [1, 2] else 1
        rc, text = restart(env, d)
        check(rc == 0 and f"checkpoint {last}" in text and result(text) == (want, 3), f"{fault}: {rc}\n{text}")
        check(numbers(d) == list(range(1, last + 1)), f"{fault}: {os.listdir(d)}")
        if last == 2:
            shutil.rmtree(os.path.join(d, "2"))
    shut_gate(d)
    p = start(env, *args)
    text = wait_for(p, "step 3 ")
    slay("vc2", f"{MPIEXEC} --as-daemon")
    text = let_go(p, d, text)
    check(p.returncode != 0 and "host vc2 is lost" in text, f"{p.returncode}\n{text}")
    rc, text = restart_until(env, d, 2, "--checkpoint-interval", "50ms", "--hosts", "vc3:2,vc1:1")
    check(rc == 0 and numbers(d)[-1] > 1, f"{rc}\n{text}")
    tidy(d)  # also of what mpiexecs left that died


def state_again(env, d):
    """--on-failure=restart: a rank on another host dies, and the job goes on by itself."""
    want = undisturbed(20, 10)
    p = start(env, "--checkpoint-dir", d, *STATE, "--on-failure=restart", "--hosts", "vc1:1,vc2:2", PROBE, 20, 10,
              "state", "call=5", gate(d))
    text = wait_for(p, "step 12 ")
    slay("vc2", PROBE)
    text = let_go(p, d, text)
    check(p.returncode == 0 and "The job is restarted from" in text and result(text) == (want, 3),
          f"{p.returncode}\n{text}\nwanted {want}")
    tidy(d)


def host_lost(env, d, *mode):
    """--on-failure=restart: hosts are lost, one after the other, and the job goes on by itself on those that are left."""
    want = undisturbed(40, 10)
    p = start(env, "--checkpoint-dir", d, *mode, "--on-failure=restart", "--hosts", "vc1:1,vc2:2,vc3:1", PROBE, 40, 10,
              *(("state",) if mode else ()), "call=5", gate(d))
    text = wait_for(p, "step 12 ")
    slay("vc2", f"{MPIEXEC} --as-daemon")
    text += wait_for(p, "going on from")
    text += wait_for(p, "step 25 ")
    slay("vc3", f"{MPIEXEC} --as-daemon")
    text = let_go(p, d, text)
    check(p.returncode == 0 and text.count("The job is restarted from") == 2 and result(text) == (want, 4)
          and "host vc2 is lost" in text and "host vc3 is lost" in text, f"{p.returncode}\n{text}\nwanted {want}")
    tidy(d)


def state_lost(env, d):
    host_lost(env, d, *STATE)


def image_lost(env, d):
    host_lost(env, d)


def state_full(env, d):
    """No room for the state: the program hears it and goes on, the checkpoint before is good."""
    if not HAS_SMALL:
        print("state_full: not tested, a small file system cannot be mounted here")
        return
    ballast = os.path.join(SMALL, "ballast")
    want = undisturbed(20, 10)
    p = start(env, "--checkpoint-dir", SMALL, *STATE, "--hosts", "vc1:1,vc2:1", PROBE, 20, 10, "state", "call=5", gate(d))
    text = wait_for(p, "step 8 ")
    fill(ballast)
    out, rc = mpictl("checkpoint")
    check(rc == 1 and "could not write" in out, out)
    text = let_go(p, d, text)
    check(p.returncode == 0 and result(text) == (want, 2) and "could not write" in text, text)
    os.unlink(ballast)
    rc, text = restart(env, SMALL, "--hosts", "vc3:1,vc2:1")
    check(rc == 0 and result(text) == (want, 2), f"{rc}\n{text}")
    check(numbers(SMALL) == [1], f"{os.listdir(SMALL)}")
    tidy(SMALL)
    shutil.rmtree(os.path.join(SMALL, "1"))


def image(env, d):
    """Processes: by the program and by mpictl, with much on its way; the same hosts, others, fewer, everything on one."""
    want = undisturbed(40, 5)
    p = start(env, "--checkpoint-dir", d, "--hosts", "vc1:2,vc2:2", PROBE, 40, 5, "flood=300", "threads", "mb=1", "call=8",
              gate(d))
    text = wait_for(p, "checkpoint called: ")
    check("checkpoint called: made" in text, text)
    for _ in range(3):
        out, rc = mpictl("checkpoint")
        check(rc == 0, out)
    text = let_go(p, d, text)
    check(p.returncode == 0 and result(text) == (want, 4), f"{p.returncode}\n{text}\nwanted {want}")
    check(numbers(d) == [3, 4], f"kept: {os.listdir(d)}")
    tidy(d)
    for args in ((), ("--hosts", "vc3:2,vc1:2"), ("--hosts", "vc2,vc3"), ("--hosts", "vc3"), ("--hosts", "localhost")):
        rc, text = restart(env, d, *args)
        check(rc == 0 and result(text) == (want, 4), f"{args}: {rc}\n{text}\nwanted {want}")
        tidy(d)
    for n, args in ((3, ()), (6, ()), (5, ("--hosts", "vc3:2,vc1:2"))):
        rc, text = restart(env, d, "-n", n, *args)
        check(rc == 0 and result(text) == (want, n), f"{n}: {rc}\n{text}\nwanted {want}")
        tidy(d)


def image_copied(env, d):
    """Ranks of all hosts go on while copies of them are written, threads or not. A job that ends meanwhile has its checkpoint."""
    table = os.path.join(d, "numbers")
    with open(table, "wb") as f:
        for i in range(512):
            f.write(i.to_bytes(8, sys.byteorder))
    slow = criu_first(d, f'[ "$1" != dump ] || for i in $(seq 600); do [ -e {d}/go ] && break; sleep .05; done')
    for what in ("", "threads"):
        where = os.path.join(d, "images" + what)
        p = start({**env, **slow}, "-v", "--checkpoint-dir", where, "--hosts", "vc1:1,vc2:2", COPY, table, where + ".gate", what)
        text = wait_for(p, "step ")
        order = C.popen("vc1", [MPICTL, "checkpoint"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                        text=True)
        text += wait_for(p, "writing images of copies; the ranks go on") + wait_for(p, "step ") + wait_for(p, "step ")
        check(order.poll() is None and numbers(where) == [], f"it waits for CRIU\n{text}")
        open_gate(where)
        text += "".join(wait_for(p, "is well") for _ in range(3))
        open(os.path.join(d, "go"), "w", encoding="ascii").close()
        text = finish(p, text)
        order.communicate(timeout=60 * SLOW)
        check(p.returncode == 0 and numbers(where) == [1], f"{what}: {p.returncode} {os.listdir(where)}\n{text}")
        rc, text = restart(env, where, *(("--hosts", "vc3") if what else ()))
        check(rc == 0 and all(f"rank {i} is well" in text for i in range(3)), f"{what}: {rc}\n{text}")
        os.unlink(os.path.join(d, "go"))
        tidy(where)


def image_over(env, d):
    """A rank has ended before the checkpoint: the restarted job knows that, and ends when the others do."""
    want = undisturbed(20, 5)
    p = start(env, "--checkpoint-dir", d, "--hosts", "vc1:1,vc2:2", PROBE, 20, 5, "leave", gate(d))
    text = wait_for(p, "step 3 ")
    while ", 1 has ended," not in mpictl("status")[0] and p.poll() is None:
        pass
    out, rc = mpictl("checkpoint")
    check(rc == 0 and "with 2 ranks" in out, out)
    text = let_go(p, d, text)
    check(p.returncode == 0 and result(text)[0] == want, f"{p.returncode}\n{text}\nwanted {want}")
    for args in ((), ("--hosts", "vc3"), ("--hosts", "vc3,vc1")):
        rc, text = restart(env, d, "--timeout", str(60 * SLOW), *args)
        check(rc == 0 and result(text)[0] == want, f"{args}: {rc}\n{text}\nwanted {want}")
        tidy(d)


def slain(env, d, *args, steps=("grow 2",), lost=None):
    """A job that is resized, or loses a host, writes a checkpoint and is killed with its mpiexec."""
    p = start(env, "--elastic", "1:8", "--checkpoint-dir", d, *args, f"gate={d}/go")
    text = wait_for(p, "step 3 ")
    if lost is not None:
        slay(lost, MPIEXEC + " --as-daemon")
    for step in (*steps, "checkpoint"):
        out, rc = mpictl(*step.split())
        check(rc == 0, f"{step}: {out}")
    os.kill(C.inner(p), signal.SIGKILL)
    finish(p, text)
    check(not left_behind(C, HOSTS), "all are gone with mpiexec")
    open(os.path.join(d, "go"), "w", encoding="utf-8").close()


def goes_on(env, d, want, *ways):
    """It is restarted in each of these ways, and ends with so many ranks and the right answer."""
    for now, args in ways:
        rc, text = restart(env, d, *args)
        check(rc == 0 and result(text) == (want, now), f"{args}: {rc}\n{text}\nwanted {want} {now}")


def image_resized(env, d):
    """The world had another size when it was written, also with ranks that had left: it goes on as it was, and with
    another number of ranks, on the same hosts and on others."""
    want = undisturbed(120, 10)
    for steps, n, ways in ((("grow 2",), 4, ((4, ()), (4, ("--hosts=vc3,vc2",)), (4, ("--hosts=vc3",)), (6, ("-n", 6)))),
                           (("grow 4", "shrink 3"), 3, ((3, ()), (2, ("-n", 2, "--hosts=vc2,vc3")))),
                           (("shrink 1 --wait 0",), 1, ((1, ()), (3, ("-n", 3))))):
        slain(env, d, "--hosts", "vc1:1,vc2:1", PROBE, 120, 10, steps=steps)
        goes_on(env, d, want, *ways)
        os.unlink(os.path.join(d, "go"))
    tidy(d)


def image_again_resized(env, d):
    """A restarted job is resized, saved and restarted like any other; clones too."""
    want = undisturbed(120, 10)
    slain(env, d, "--hosts", "vc1:1,vc2:1", PROBE, 120, 10, "fork=2")
    os.unlink(os.path.join(d, "go"))
    p = start(env, "--restart", d)
    text = wait_for(p, "step 40 ")
    for args in (("shrink", "2"), ("grow", "1"), ("checkpoint",)):
        out, rc = mpictl(*args)
        check(rc == 0, f"{args}: {out}\n{text}")
    os.kill(C.inner(p), signal.SIGKILL)
    finish(p, text)
    open(os.path.join(d, "go"), "w", encoding="utf-8").close()
    goes_on(env, d, want, (5, ()), (3, ("-n", 3)))
    tidy(d)


def joined(env, d):
    """Hosts that joined the job: its images know them, and go on there when nobody says where."""
    want = undisturbed(120, 10)
    slain(env, d, "-n", 2, PROBE, 120, 10, steps=("grow 2 --hosts vc2:2", "grow 1 --hosts vc3"))
    for now, args, there in ((5, (), HOSTS), (5, ("--hosts=vc1,vc2",), ["vc1", "vc2"]), (3, ("-n", 3), None),
                             (6, ("-n", 6, "--hosts=vc3",), ["vc3"])):
        os.unlink(os.path.join(d, "go"))
        p = start(env, "--restart", d, *args)
        where, end = None, time.monotonic() + 60 * SLOW
        while where != there and time.monotonic() < end:  # with fewer ranks some leave at once
            where = [h for h in HOSTS if any("ckpt_probe" in x for x in C.processes(h))]
        open(os.path.join(d, "go"), "w", encoding="utf-8").close()
        text = finish(p)
        check(p.returncode == 0 and result(text) == (want, now), f"{args}: {p.returncode}\n{text}\nwanted {want} {now}")
        check(where == there, f"{args}: ranks are on {where}, not {there}")
    shutil.rmtree(os.path.join(d, "1"))
    os.unlink(os.path.join(d, "go"))
    slain(env, d, *STATE, "-n", 2, PROBE, 120, 10, "state", steps=("grow 2 --hosts vc2:2",))
    goes_on(env, d, want, (4, ()), (3, ("-n", 3, "--hosts=vc1,vc3")))
    tidy(d)


def spare_lost(env, d):
    """A host that nobody was on is lost, and a checkpoint made without it."""
    want = undisturbed(100, 10)
    slain(env, d, "--hosts", "vc1:1,vc2:1,vc3:1", "-n", 2, PROBE, 100, 10, steps=(), lost="vc3")
    goes_on(env, d, want, (2, ()), (4, ("-n", 4)))
    tidy(d)


def image_dies(env, d):
    """A rank, a daemon, mpiexec, the process that seals die at each step: the checkpoint before is good."""
    want = undisturbed(20, 5)
    args = ("--checkpoint-dir", d, "--hosts", "vc1:1,vc2:2", PROBE, 20, 5, "flood=50", gate(d))
    open_gate(d)
    p = start(env, *args, "call=5")
    text = finish(p)
    check(result(text) == (want, 3) and numbers(d) == [1], text)
    for fault in ("freeze_told:1", "freeze_drain:0", "freeze_drained:2", "freeze_left:1", "daemon_ckpt_stop:1", "daemon_ckpt_drain:0",
                  "daemon_ckpt_leave:1", "daemon_ckpt_back:0", "mpiexec_ckpt_stopping", "mpiexec_ckpt_draining",
                  "mpiexec_ckpt_dumping", "mpiexec_ckpt_resuming", "mpiexec_ckpt_committing"):
        p = start({**env, "PLIANT_FAULT": fault}, *args, "call=10")
        text = finish(p)
        check(p.returncode != 0, f"{fault}: {p.returncode}\n{text}")
        left = left_behind(C, HOSTS)
        check(not left and numbers(d) == [1], f"{fault}: {left} {os.listdir(d)}")
    for fault in ("commit_sum", "commit_rename"):  # the job goes on
        p = start({**env, "PLIANT_FAULT": fault}, *args, "call=10")
        text = finish(p)
        check(p.returncode == 0 and result(text) == (want, 3) and "was killed" in text, f"{fault}: {p.returncode}\n{text}")
        check(numbers(d) == [1], f"{fault}: {os.listdir(d)}")
    rc, text = restart_until(env, d, 2, "--checkpoint-interval", "100ms")
    check(rc == 0 and result(text) == (want, 3) and numbers(d)[-1] > 1, f"{rc}\n{text}")
    tidy(d)  # also of what mpiexecs left that died


def image_again(env, d):
    """--on-failure=restart with images: a rank dies, the job goes on by itself, and makes checkpoints as before."""
    want = undisturbed(30, 10)
    p = start(env, "--checkpoint-dir", d, "--on-failure=restart", "--hosts", "vc1:1,vc2:2", PROBE, 30, 10, "call=5", gate(d))
    text = wait_for(p, "step 12 ")
    slay("vc2", PROBE)
    text += wait_for(p, "going on from")
    text += wait_for(p, "step 20 ")
    out, rc = mpictl("checkpoint")
    check(rc == 0, out)
    slay("vc1", PROBE)
    text = let_go(p, d, text)
    check(p.returncode == 0 and text.count("The job is restarted from") == 2 and result(text) == (want, 3),
          f"{p.returncode}\n{text}\nwanted {want}")
    tidy(d)


def image_fallen_back(env, d):
    """CRIU cannot restore the newest checkpoint on one of the hosts: the one before it is taken on all."""
    want, images = undisturbed(20, 10), os.path.join(d, "images")
    p = start(env, "--checkpoint-dir", images, "--hosts", "vc1:2,vc2:2", PROBE, 20, 10, gate(images))
    text = wait_for(p, "step 3 ")
    for _ in range(2):
        check(mpictl("checkpoint")[1] == 0, "a checkpoint")
    let_go(p, images, text)
    one = os.path.join("host.1", min(n for n in os.listdir(os.path.join(images, "2", "host.1")) if n.startswith("rank.")))
    spoil(os.path.join(images, "2"), os.path.join(one, "inventory.img"))
    rc, text = restart(env, images)
    words = " ".join(text.split())
    check(rc == 0 and result(text) == (want, 4), f"{rc}\n{text}\nwanted {want}")
    check("cannot be restored: Magic doesn't match" in words and
          "checkpoint 2 cannot be restored; the one before it, 1, is tried" in words, text)
    tidy(images)


def image_ended(env, d):
    """mpiexec is told to end at any moment of a checkpoint: whatever it leaves can be restored."""
    want = undisturbed(20, 10)
    for i in range(3):
        images = os.path.join(d, str(i))
        p = start(env, "--checkpoint-dir", images, "--hosts", "vc1:2,vc2:1", PROBE, 20, 10, "mb=4", gate(images))
        text = wait_for(p, "step 3 ")
        check(mpictl("checkpoint")[1] == 0, "the first")
        c = C.popen("vc1", [MPICTL, "checkpoint"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not glob.glob(os.path.join(images, ".temp-*")) and c.poll() is None:
            time.sleep(0.001)
        pause = random.random() * 0.3
        time.sleep(pause)  # any moment will do
        os.kill(C.inner(p), (signal.SIGTERM, signal.SIGINT)[i % 2])
        text = finish(p, text)
        c.wait()
        tidy(images)
        open_gate(images)
        rc, text = restart(env, images)
        check(rc == 0 and result(text) == (want, 3), f"{pause} {numbers(images)}: {rc}\n{text}\nwanted {want}")


def image_full(env, d):
    """No room for the images of one host: all are called back, the checkpoint before is good."""
    if not HAS_SMALL:
        print("image_full: not tested, a small file system cannot be mounted here")
        return
    ballast = os.path.join(SMALL, "ballast")
    want = undisturbed(20, 10)
    p = start(env, "--checkpoint-dir", SMALL, "--hosts", "vc1:1,vc2:1", PROBE, 20, 10, "call=5", gate(d))
    text = wait_for(p, "step 8 ")
    check(numbers(SMALL) == [1], f"there is room for one: {text}")
    fill(ballast)
    out, rc = mpictl("checkpoint")
    check(rc == 1 and "No space left" in " ".join(out.split()), out)
    text = let_go(p, d, text)
    check(p.returncode == 0 and result(text) == (want, 2), text)
    os.unlink(ballast)
    rc, text = restart(env, SMALL, "--hosts", "vc3:1,vc2:1")
    check(rc == 0 and result(text) == (want, 2), f"{rc}\n{text}")
    tidy(SMALL)
    shutil.rmtree(os.path.join(SMALL, "1"))


def refused(env, d):
    """A directory that hosts do not share, or cannot write; a checkpoint that is not there."""
    for h in ("vc1", "vc2"):
        C.popen(h, ["mkdir", "-p", "/run/both"]).wait()
    C.popen("vc1", ["mkdir", "-p", "/run/one"]).wait()
    for where, words in (("/run/one", "host vc2: --checkpoint-dir /run/one cannot be used: No such file"),
                         ("/run/both", "host vc2: --checkpoint-dir /run/both is another directory than where mpiexec"),
                         ("/proc/nowhere", "cannot be used")):
        r = HostRun(C, "--checkpoint-dir", where, *STATE, "--hosts", "vc1:1,vc2:1", "true")
        check(r.rc != 0 and words in r.words, r)
        if where.startswith("/run"):
            check("share" in r.words, r)
    r = HostRun(C, "--checkpoint-dir", "/run/both/made", *STATE, "-n", 1, PROBE, 5, 1, "state", "call=2")
    check(r.rc == 0 and "checkpoint called: made" in r.out, r)
    r = HostRun(C, "--restart", "/run/both/made", "--checkpoint-dir", d, "-n", 2, "--hosts", "vc1:1,vc2:1")
    check(r.rc != 0 and "host vc2: --restart: the checkpoint /run/both/made/1 is not there" in r.words, r)
    r = HostRun(C, "--checkpoint-dir", d, "--impi", "localhost:1", "--impi-rank", 0, "true")
    check(r.rc == 2 and "exclude each other" in r.words, r)
    tidy(d)


def main():
    reason = skip_reason()
    if reason is not None:
        print(f"images are not tested: {reason}")
    images = (image, image_copied, image_over, image_resized, image_again_resized, joined, spare_lost, image_dies, image_again, image_fallen_back, image_ended, image_lost, image_full)
    return cases((refused, state, state_made, state_dies, state_again, state_lost, state_full, *images), images if reason else ())


if __name__ == "__main__":
    sys.exit(main())
