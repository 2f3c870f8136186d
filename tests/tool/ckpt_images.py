#!/usr/bin/env python3
"""A checkpoint that is called complete can be restored, and a restart finds the last one that can: files without a name,
a program that was built anew, sockets, ranks and launchers that are told to end while images are written.

usage: ckpt_images.py [PART...]"""
import glob
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import (MPICTL, PROBE, criu_first, finish, gate, let_go, numbers, open_gate, restart, result, shut_gate,
                        skip_reason, start, tidy, undisturbed, wait_for)
from launch import BUILD, Run, cases, check, nothing_left

FILES = os.path.join(BUILD, "tests", "bin", "ckpt_files_probe")


def words(text):
    return " ".join(text.split())


def checkpointed(env, d, what, program=FILES, n=4):
    """A job of the probe that has one checkpoint, or was refused one: the process, what it printed, and mpictl."""
    images = os.path.join(d, what)
    p = start(env, "--checkpoint-dir", images, "-n", n, program, what, images)
    text = wait_for(p, "ready")
    return p, text, images


def unlinked(env, d):
    """Files of one name without a name, in all ranks: CRIU gives each a name for a moment, and they must not meet. The same
    of the program itself, which was built anew; and of folders."""
    program = os.path.join(d, "program")
    for what in ("unlinked", "homeless"):
        shutil.copy(FILES, program)
        p, text, images = checkpointed(env, d, what, program)
        os.unlink(program)
        shutil.copy(FILES, program)
        r = Run("checkpoint", p.pid, tool=MPICTL)
        check(r.rc == 0, f"{what}: {r}")
        text = let_go(p, images, text)
        check(p.returncode == 0 and "all is well" in text, f"{what}: {p.returncode}\n{text}")
        for i in range(3):
            rc, text = restart(env, images)
            check(rc == 0 and "all is well" in text, f"{what} {i}: {rc}\n{text}")
        tidy(images)
        check(not glob.glob(os.path.join(d, "*restored*")) + glob.glob(os.path.join(d, "*.cr*")), f"{os.listdir(d)}")


def ghosts(env, d):
    """A CRIU or an mpiexec that is killed in the middle of a restart leaves the names that it had made for such files: they
    go with the attempt, or with the next checkpoint there."""
    path = criu_first(d, 'if [ "$1" = restore ]; then\n    name=$(grep -ao "unlinked.file.restored-[0-9a-f]*" $dir/files.img)\n'
                         f'    echo x > {d}/$name.cr.1.ghost; echo x > {d}/$name.cr_link\n'
                         f'    [ -e {d}/failing ] && exit 1\n    touch {d}/busy; sleep 300\nfi')

    def left():
        return glob.glob(os.path.join(d, "*restored-*"))

    p, text, images = checkpointed(env, d, "unlinked", FILES, 2)
    check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "a checkpoint")
    let_go(p, images, text)
    p = start({**env, **path}, "--restart", images)
    while not os.path.exists(os.path.join(d, "busy")) and p.poll() is None:
        time.sleep(0.01)
    p.kill()
    text = finish(p)
    check(p.returncode == -signal.SIGKILL and left(), f"mpiexec was killed: {p.returncode} {os.listdir(d)}\n{text}")
    nothing_left(env)
    shut_gate(images)
    p = start(env, "--restart", images)
    wait_for(p, "going on from")
    check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "the next one")
    text = let_go(p, images)
    check(p.returncode == 0 and "all is well" in text and not left(), f"{p.returncode} {os.listdir(d)}\n{text}")
    open(os.path.join(d, "failing"), "w", encoding="ascii").close()
    rc, text = restart({**env, **path}, os.path.join(images, "1"))
    check(rc == 1 and "cannot be restored" in text and not left(), f"{rc} {os.listdir(d)}\n{text}")
    tidy(images)


def rebuilt(env, d):
    """The program is another one since the checkpoint: that is said, and no file is touched."""
    program = os.path.join(d, "program")
    shutil.copy(FILES, program)
    p, text, images = checkpointed(env, d, "plain", program, 2)
    check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "a checkpoint")
    let_go(p, images, text)
    os.unlink(program)
    shutil.copy(PROBE, program)
    rc, text = restart(env, images)
    check(rc == 1 and f"had {program} open" in words(text) and "was built anew" in words(text), f"{rc}\n{text}")
    tidy(images)


def sockets(env, d):
    """Sockets of the program: which descriptor, and its address; the job goes on. What CRIU refuses is said in its first
    words, not its last."""
    for what, want in (("listen", r"rank \d cannot be written: its descriptor \d+ is a TCP socket that listens at 127.0.0.1:"),
                       ("connect", r"rank \d cannot be written: its descriptor \d+ is a TCP socket, connected from 127.0.0.1:\d+ to"),
                       ("linked", r"rank \d could not be written: Can't create link remap for \S+/linked\.\d\.")):
        p, text, images = checkpointed(env, d, what, FILES, 2)
        r = Run("checkpoint", p.pid, tool=MPICTL)
        check(r.rc == 1 and re.search(want, r.words), f"{what}: {r}")
        text = let_go(p, images, text)
        check(p.returncode == 0 and "all is well" in text, f"{what}: {p.returncode}\n{text}")
        check(numbers(images) == [], f"{os.listdir(images)}")
        tidy(images)


def spawning(env, d):
    """Ranks that spawn processes all the time: what they ask of mpiexec while all stand still is done when they go on."""
    p, text, images = checkpointed(env, d, "spawn", FILES, 2)
    n_made = 0
    for _ in range(8):
        r = Run("checkpoint", p.pid, tool=MPICTL)
        n_made += r.rc == 0
        check(r.rc == 0 or "a process that a rank has spawned is running" in r.words, f"{r}")
    text = let_go(p, images, text)
    check(p.returncode == 0 and "all is well" in text, f"{p.returncode}\n{text}")
    if n_made > 0:
        rc, text = restart(env, images)
        check(rc == 0 and "all is well" in text, f"{rc}\n{text}")
    tidy(images)


def forked(env, d):
    """A rank whose child has its descriptors, too: no checkpoint, but the job goes on."""
    p, text, images = checkpointed(env, d, "forked", FILES, 2)
    r = Run("checkpoint", p.pid, tool=MPICTL)
    check(r.rc == 1 and "rank 0 has children that share its connection to mpiexec" in r.words, f"{r}")
    text = let_go(p, images, text)
    check(p.returncode == 0 and "all is well" in text, f"{p.returncode}\n{text}")
    tidy(images)


def told_to_end(env, d):
    """A rank gets SIGTERM while it is written, from somebody else than mpiexec: what was written would end as soon as it is
    restored, and is no checkpoint. The one before it stays."""
    path = criu_first(d, f'[ "$1" != dump ] || [ ! -e {d}/now ] || kill -TERM $pid')
    images = os.path.join(d, "images")
    want = undisturbed(env, 20, 5)
    p = start({**env, **path}, "--checkpoint-dir", images, "-n", 2, PROBE, 20, 5, gate(images))
    text = wait_for(p, "step 3 ")
    check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "a checkpoint")
    open(os.path.join(d, "now"), "w", encoding="ascii").close()
    r = Run("checkpoint", p.pid, tool=MPICTL)
    check(r.rc != 0 and (r.rc == 2 or "was told to end (signal 15" in r.words), f"{r}")
    text = let_go(p, images, text)
    check(p.returncode == 143 and "was told to end (signal 15" in words(text), f"{p.returncode}\n{text}")
    check(numbers(images) == [1], f"{os.listdir(images)}")
    tidy(images)
    rc, text = restart(env, images)
    check(rc == 0 and result(text) == (want, 2), f"{rc}\n{text}\nwanted {want}")


def ended(env, d):
    """mpiexec is told to end at any moment of a checkpoint: whatever it leaves can be restored."""
    want = undisturbed(env, 20, 5)
    for i in range(4):
        images = os.path.join(d, str(i))
        p = start(env, "--checkpoint-dir", images, "-n", 2, PROBE, 20, 5, "mb=8", gate(images))
        text = wait_for(p, "step 3 ")
        check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "the first")
        c = subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not glob.glob(os.path.join(images, ".temp-*")) and c.poll() is None:
            time.sleep(0.001)
        pause = random.random() * 0.3
        time.sleep(pause)  # any moment will do
        p.send_signal((signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[i % 3])
        finish(p, text)
        c.wait()
        nothing_left(env, f"{pause}")
        tidy(images)
        open_gate(images)
        rc, text = restart(env, images)
        check(rc == 0 and result(text) == (want, 2), f"{pause} {numbers(images)}: {rc}\n{text}\nwanted {want}")


def fallen_back(env, d):
    """CRIU cannot restore the newest checkpoint: that is said, with the reason, and the one before it taken, which is then
    kept beside new ones; but not when the newest was named."""
    path = criu_first(d, 'if [ "$1" = restore ] && [[ "$dir" == */2/* ]]; then\n'
                         '    echo "(00.01) Error (criu/files.c:1): the first word" > $5/$7\n'
                         '    echo "(00.02) Error (criu/cr-restore.c:2): Restoring FAILED." >> $5/$7\n    exit 1\nfi')
    want = undisturbed(env, 20, 5)
    images = os.path.join(d, "images")
    p = start(env, "--checkpoint-dir", images, "-n", 2, PROBE, 20, 5, gate(images))
    text = wait_for(p, "step 3 ")
    for _ in range(2):
        check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "a checkpoint")
    text = let_go(p, images, text)
    rc, text = restart({**env, **path}, os.path.join(images, "2"))
    check(rc == 1 and "cannot be restored: the first word" in words(text) and "is tried" not in text, f"{rc}\n{text}")
    tidy(images)
    shut_gate(images)
    p = start({**env, **path}, "--restart", images, "-n", 3)
    text = wait_for(p, "step 15 of 3")
    check("cannot be restored: the first word" in words(text) and
          "checkpoint 2 cannot be restored; the one before it, 1, is tried" in words(text), text)
    check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "another one")
    text = let_go(p, images, text)
    check(p.returncode == 0 and result(text) == (want, 3), f"{p.returncode}\n{text}\nwanted {want}")
    check(numbers(images) == [1, 2, 3], f"{os.listdir(images)}")
    tidy(images)


def trusted(env, d):
    """A checkpoint names commands, so one that somebody else may write is refused, with what to do; the job that writes
    there is told before."""
    images, want = os.path.join(d, "images"), undisturbed(env, 20, 5)
    p = start(env, "--checkpoint-dir", images, "--checkpoint-mode", "state", "-n", 2, PROBE, 20, 5, "state", "call=8")
    text = finish(p)
    check(p.returncode == 0 and result(text)[0] == want and "will refuse" not in text, f"{p.returncode}\n{text}")
    one = os.path.join(images, "1")
    manifest = os.path.join(one, "manifest")
    check(stat.S_IMODE(os.stat(manifest).st_mode) == 0o600, "the manifest is of the user alone")
    for path, mode in ((images, 0o777), (one, 0o770), (manifest, 0o666), (manifest, 0o660)):
        was = stat.S_IMODE(os.stat(path).st_mode)
        os.chmod(path, mode)
        for where in (images, one):
            rc, text = restart(env, where)
            check(rc == 1 and f"{path} may be written by other users (mode {mode:o})" in words(text) and "chmod go-w" in words(text),
                  f"{path} {mode:o}: {rc}\n{text}")
        os.chmod(path, was)
    os.chmod(images, 0o1777)  # as /tmp: nobody can change what is another's
    rc, text = restart(env, images)
    check(rc == 0 and result(text) == (want, 2), f"{rc}\n{text}")
    os.chmod(images, 0o777)
    p = start(env, "--checkpoint-dir", images, "--checkpoint-mode", "state", "-n", 1, PROBE, 2, 1, "state")
    text = finish(p)
    check(p.returncode == 0 and "will refuse these checkpoints" in words(text), f"{p.returncode}\n{text}")
    os.chmod(images, 0o700)
    if os.geteuid() == 0:
        os.chown(manifest, 65534, 65534)
        rc, text = restart(env, images)
        check(rc == 1 and f"{manifest} belongs to user 65534" in words(text), f"{rc}\n{text}")


reason = skip_reason()
if reason is not None:
    print(f"images are not tested: {reason}")
sys.exit(cases((trusted, unlinked, ghosts, rebuilt, sockets, spawning, forked, told_to_end, ended, fallen_back),
               (unlinked, ghosts, rebuilt, sockets, spawning, forked, told_to_end, ended, fallen_back) if reason else ()))
