#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Incremental checkpoints of jobs on several (virtual) hosts whose ranks have endpoints: restarts from each of a chain; a full disk
in the middle; and checkpoints, of registered state and of processes, by those who are left when ranks have died."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import MPICTL, finish, numbers, skip_reason, tidy, wait_for
from ckpt_chain import size, sums
from hosts import HostRun, left_behind, open_cluster, small_disk
from launch import BUILD, MPIEXEC, SLOW, cases, check

HOSTS = ["vc1", "vc2", "vc3"]
SMALL, HAS_SMALL = small_disk()
C = open_cluster(len(HOSTS))
PAGES, FAIL = (os.path.join(BUILD, "tests", "bin", p) for p in ("ckpt_pages_probe", "ckpt_fail_probe"))


def all_gone():
    left = left_behind(C, HOSTS)
    check(not left, f"left behind: {left}")


def chain(env, d):
    """Restarts from each, on the same hosts, on others, and on one; the last one goes on with the chain."""
    images, other = os.path.join(d, "images"), os.path.join(d, "other")
    r = HostRun(C, "--hosts", "vc1:2,vc2:1", "--checkpoint-dir", images, "--checkpoint-increments", 2, "--checkpoint-keep", 4, PAGES,
                24, 1, 4, 3, env=env)
    good = sums(r.out)
    check(r.rc == 0 and len(good) == 12 and all(v[0] == "saved" for v in good.values()), r)
    check(numbers(images) == [1, 2, 3, 4], f"{numbers(images)}")
    for i in (2, 3):
        check(size(images, i) <= size(images, 1) // 10, f"{i}: {size(images, i)} of {size(images, 1)} bytes")
    check(size(images, 4) > size(images, 1) // 2, "after two incremental ones comes a whole one")
    for i, hosts in ((1, "vc1,vc2"), (2, "vc3"), (3, "vc3,vc1"), (4, "vc2,vc1")):
        r = HostRun(C, "--restart", os.path.join(images, str(i)), "--hosts", hosts, "--checkpoint-dir", other, env=env)
        check(r.rc == 0 and sums(r.out) == {k: v for k, v in good.items() if k[0] >= i}, f"{i} on {hosts}: {r}")
    tidy(images)
    all_gone()


def full_disk(env, d):
    """No room for what has changed on one of the hosts: the job goes on, and what was there before is good."""
    if not HAS_SMALL:
        print("full_disk: skipped, a small file system cannot be mounted here")
        return
    r = HostRun(C, "--hosts", "vc1:1,vc2:1", "--checkpoint-dir", SMALL, "--checkpoint-increments", 99, "--checkpoint-keep", 99, PAGES,
                1, 90, 12, 2, env=env)
    good = sums(r.out)
    last = max(numbers(SMALL), default=0)
    check(r.rc == 0 and good[(1, 0)][0] == "saved" and good[(12, 0)][0] == "not saved" and "No space left" in r.words, r)
    check(1 < last < 12, f"it became full in the middle of a chain: {numbers(SMALL)}")
    for i in (1, last):
        r = HostRun(C, "--restart", os.path.join(SMALL, str(i)), "--checkpoint-dir", d, env=env)
        check(r.rc == 0 and sums(r.out)[(i, 1)][1] == good[(i, 1)][1], f"{i}: {r}")
    tidy(SMALL)
    for i in numbers(SMALL):
        shutil.rmtree(os.path.join(SMALL, str(i)))
    all_gone()


def survivors(env, d):
    """A rank dies; those who are left, or who came, save what they registered, and any number of ranks goes on from it."""
    for where in (("-n", 4), ("--hosts", "vc1:2,vc2:2")):
        for how, n, total in (("shrink", 3, 6), ("respawn", 4, 10)):
            state = os.path.join(d, how + where[0])
            r = HostRun(C, f"--on-failure={how}", "--checkpoint-dir", state, "--checkpoint-mode", "state", *map(str, where), FAIL, how,
                        "state", env=env)
            check(r.rc == 0 and f"saved by {n} ranks, 0 pieces, sum {total}\n" in r.out, f"{how} {where}: {r}")
            for again in (n, 2):
                r = HostRun(C, "--restart", state, "-n", again, env=env)
                check(r.rc == 0 and f"restored by {again} ranks, {n} pieces, sum {total}\n" in r.out, f"{how} {where} -n {again}: {r}")
            tidy(state)
    all_gone()


def survivors_images(env, d):
    """The same with images: a restart has those who were left, and survives the next death, there and elsewhere."""
    for how, first, second in (("shrink", 3, 2), ("respawn", 4, 4)):
        images = os.path.join(d, how)
        r = HostRun(C, f"--on-failure={how}", "--checkpoint-dir", images, "--hosts", "vc1:2,vc2:2", FAIL, how, env=env)
        want = [f"rank {i} of {first} counts {first}, restarted 0" for i in range(first)]
        check(r.rc == 0 and sorted(re.findall("^rank . of .*$", r.out, re.M)) == want, f"{how}: {r}")
        for hosts in (() if how == "shrink" else ("--hosts", "vc3,vc2"),):
            r = HostRun(C, "--restart", os.path.join(images, "1"), *hosts, env=env)
            want = [(f"{second} counts {second}", "1")] * (3 if how == "respawn" else second)
            want += [(f"{second} counts {second}", "0")] * (how == "respawn")  # who came after the restart
            check(r.rc == 0 and sorted(re.findall("^rank . of (.*), restarted (.)$", r.out, re.M)) == sorted(want), f"{how}: {r}")
        tidy(images)
    all_gone()


def agreed(env, d):
    """In the middle of an agreement: the votes that mpiexec has are in the checkpoint."""
    images, gate = os.path.join(d, "images"), os.path.join(d, "gate")
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--on-failure=shrink", "--checkpoint-dir", images, "--hosts", "vc1:2,vc2:2",
                        FAIL, "agree", gate], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env={**os.environ, **env})
    text = wait_for(p, "the first is 7, code 0")
    order = C.popen("vc1", [MPICTL, "checkpoint"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = order.communicate(timeout=60 * SLOW)[0]
    check(order.returncode == 0, said)
    open(gate, "w", encoding="ascii").close()
    text = finish(p, text)
    want = [f"rank {i} agrees on 0, code 0" for i in range(4)]
    check(p.returncode == 0 and sorted(re.findall("^rank . agrees.*$", text, re.M)) == want, f"{p.returncode}\n{text}")
    r = HostRun(C, "--timeout", 60 * SLOW, "--restart", images, env=env)
    check(r.rc == 0 and sorted(re.findall("^rank . agrees.*$", r.out, re.M)) == want, r)
    tidy(images)
    all_gone()


if __name__ == "__main__":
    reason = skip_reason()
    if reason is not None:
        print(f"images are not tested: {reason}")
    sys.exit(cases((chain, full_disk, survivors, survivors_images, agreed),
                   (chain, full_disk, survivors_images, agreed) if reason else ()))
