#!/usr/bin/env python3
"""Incremental checkpoints: how much they write, restarts from each, which ones are removed, damage and a full disk in the
middle of a chain; and checkpoints of jobs that go on after the death of a rank.

usage: ckpt_chain.py [PART...]"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import finish, numbers, restart, skip_reason, start, tidy
from launch import BUILD, cases, check, nothing_left

PAGES = os.path.join(BUILD, "tests", "bin", "ckpt_pages_probe")


def sums(text):
    """What each step of each rank printed."""
    return {(int(a), int(b)): (c, d) for a, b, c, d in
            re.findall(r"^step (\d+) of rank (\d+): (saved|not saved) ([0-9a-f]+)$", text, re.M)}


def run(env, d, increments, keep, *what, n=2):
    p = start(env, "--checkpoint-dir", d, "--checkpoint-increments", increments, "--checkpoint-keep", keep, "-n", n, PAGES, *what)
    text = finish(p)
    check(p.returncode == 0, text)
    return sums(text), text


def size(d, number):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(os.path.join(d, str(number)))
               for name in names if not os.path.islink(os.path.join(at, name)))


def spoil(path):
    with open(path, "r+b") as f:
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes((byte[0] ^ 1,)))


def chain(env, d, **more):
    """A job that changes 1 % writes at most 5 % the second time; each checkpoint of the chain can be restored, also the last
    of a chain that a restored job has made longer."""
    images, other = os.path.join(d, "images"), os.path.join(d, "other")
    env = {**env, **more}
    good, text = run(env, images, 2, 2, 48, 1, 4)
    check(len(good) == 8 and all(v[0] == "saved" for v in good.values()), text)
    check(numbers(images) == [1, 2, 3, 4], f"4 and 3 are kept, and what 3 is based on: {numbers(images)}")
    for i in (2, 3):
        check(size(images, i) <= size(images, 1) // 20, f"{i}: {size(images, i)} of {size(images, 1)} bytes")
    check(size(images, 4) > size(images, 1) // 2, "after two incremental ones comes a whole one")
    for i in (1, 2, 3, 4):
        rc, text = restart(env, os.path.join(images, str(i)), "--checkpoint-dir", other)
        now = sums(text)
        check(rc == 0 and now == {k: v for k, v in good.items() if k[0] >= i}, f"{i}: {rc}\n{text}")
    spoil(os.path.join(images, "1", "rank.1", "pages-1.img"))
    rc, text = restart(env, os.path.join(images, "3"))
    check(rc != 0 and "based on checkpoint 1, which cannot be used" in " ".join(text.split()), f"{rc}\n{text}")
    for i in (1, 2, 3):
        check(os.path.exists(os.path.join(images, str(i), "manifest")), "what is damaged is not removed")
    rc, text = restart(env, images)
    check(rc == 0 and sums(text) == {k: v for k, v in good.items() if k[0] == 4}, f"{rc}\n{text}")
    tidy(images)
    nothing_left(env)


def connected(env, d):
    chain(env, d, PLIANT_NET="tcp")


def longer(env, d):
    """A restored job goes on with the chain it came from; of those that nobody needs none stays."""
    good, _ = run(env, d, 1, 1, 16, 2, 5)
    check(numbers(d) == [5], f"{numbers(d)}")
    rc, text = restart(env, d, "--checkpoint-increments", 3)
    check(rc == 0 and sums(text) == {k: v for k, v in good.items() if k[0] == 5}, f"{rc}\n{text}")
    good, _ = run(env, os.path.join(d, "next"), 9, 1, 16, 2, 3)
    check(numbers(os.path.join(d, "next")) == [1, 2, 3], "all are needed by the last")


def survivors(env, d):
    """A rank dies, the job goes on without it or with another one, and makes a checkpoint: a restart has those who were left,
    and survives the next death."""
    probe = os.path.join(BUILD, "tests", "bin", "ckpt_fail_probe")
    for how, first, second in (("shrink", 3, 2), ("respawn", 4, 4)):
        images = os.path.join(d, how)
        p = start(env, f"--on-failure={how}", "--checkpoint-dir", images, "-n", 4, probe, how)
        text = finish(p)
        want = [f"rank {i} of {first} counts {first}, restarted 0" for i in range(first)]
        check(p.returncode == 0 and sorted(re.findall("^rank . of .*$", text, re.M)) == want, f"{how}: {p.returncode}\n{text}")
        for _ in range(2):
            rc, text = restart(env, os.path.join(images, "1"))
            lines = re.findall("^rank . of (.*), restarted (.)$", text, re.M)
            want = [(f"{second} counts {second}", "1")] * (3 if how == "respawn" else second)
            want += [(f"{second} counts {second}", "0")] * (how == "respawn")  # who came after the restart
            check(rc == 0 and sorted(lines) == sorted(want), f"{how}: {rc}\n{text}")
    images = os.path.join(d, "plain")
    run(env, images, 0, 2, 1, 1, 1)
    rc, text = restart(env, images, "--on-failure=shrink")
    check(rc != 0 and "started without it" in " ".join(text.split()), f"{rc}\n{text}")
    tidy(images)
    nothing_left(env)


def full_disk(env, d):
    """No room for what has changed: the job goes on, and what was there before is good."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=56m", "none", d], capture_output=True, check=False).returncode != 0:
        print("full_disk: skipped, a small file system cannot be mounted here")
        return
    try:
        good, text = run(env, d, 5, 2, 16, 60, 3)
        said = " ".join(text.split())
        check(good[(1, 0)][0] == "saved" and good[(3, 0)][0] == "not saved" and "No space left" in said, text)
        last = max(numbers(d))
        tidy(d)
        for i in range(1, last + 1):
            rc, text = restart(env, os.path.join(d, str(i)), "--checkpoint-dir", d + ".other")
            check(rc == 0 and sums(text)[(i, 1)][1] == good[(i, 1)][1], f"{i}: {rc}\n{text}")
    finally:
        subprocess.run(["umount", d], check=False)
        subprocess.run(["rm", "-rf", d + ".other"], check=False)


if __name__ == "__main__":
    reason = skip_reason()
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(77)
    sys.exit(cases((chain, connected, longer, survivors, full_disk)))
