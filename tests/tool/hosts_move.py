#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that go to another (virtual) host while the job runs: it ends as one that was left alone; whoever dies or is full
on the way, they go on where they were, or the job ends, and nothing is left behind."""
import atexit
import functools
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import MPICTL, PROBE, finish, gate, open_gate, result, shut_gate, skip_reason, wait_for
from checkpoint import tidy as tidy_folder
from hosts import BUILD, HostRun, files, left_behind, on_host, open_cluster, own_disk
from launch import MPIEXEC, SLOW, cases, check
from ucx_env import TCP, has_ucx

HOSTS = ["vc1", "vc2", "vc3"]
MOVE = os.path.join(BUILD, "tests", "bin", "move_probe")
C = open_cluster(len(HOSTS))
IMAGES = tempfile.mkdtemp()  # every host has a directory of its own there
atexit.register(os.rmdir, IMAGES)
HAS_OWN = all([own_disk(C, h, IMAGES) for h in HOSTS])


def start(env, *args, stdin=subprocess.DEVNULL):
    return C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *args], stdin=stdin, stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT, text=True, env={**os.environ, "PLIANT_IMAGE_DIR": IMAGES, **env})


def check_clean(what, hosts=None):
    """Neither processes nor images are left."""
    left = left_behind(C, hosts or HOSTS) or {h: f for h in hosts or HOSTS if (f := files(C, h, IMAGES))}
    check(not left, f"{what}: left behind: {left}")


def mpictl(*args, host="vc1"):
    p = C.popen(host, [MPICTL, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True)
    return " ".join(p.communicate(timeout=100 * SLOW)[0].split()), p.returncode


def undisturbed(*args):
    r = HostRun(C, "-n", 2, PROBE, *args)
    check(r.rc == 0, r)
    return result(r.out)[0]


def tidy(d):
    tidy_folder(d)
    check_clean("at the end")


def let_end(p, text, d, want):
    open_gate(d)
    text = finish(p, text)
    check(p.returncode == 0 and result(text) == want, f"{p.returncode}\n{text}\nwanted {want}")
    tidy(d)


def there_and_back(env, d):
    """A rank that has a memory of its own, with much on its way; again and again; and a checkpoint in between."""
    want = undisturbed(20, 5)
    p = start(env, "--movable", "--checkpoint-dir", d, "--hosts", "vc1:2,vc2:2", PROBE, 20, 5, "flood=300", "threads",
              "mb=1", gate(d))
    text = wait_for(p, "step 3 ")
    for rank, host in ((3, "vc3"), (0, "vc3"), (3, "vc2"), (3, "vc1"), (0, "vc2")):
        out, rc = mpictl("migrate", rank, host)
        check(rc == 0 and out == f"rank {rank} is on host {host}", out)
        check((PROBE in " ".join(C.processes("vc3"))) == (host == "vc3" or rank == 3), f"{rank} {host}")
        if rank == 0:
            out, rc = mpictl("checkpoint")
            check(rc == 0, out)
    let_end(p, text, d, (want, 4))
    p = start(env, "--restart", d, "--hosts", "vc3,vc2")
    text = finish(p)
    check(p.returncode == 0 and result(text) == (want, 4), f"{p.returncode}\n{text}\nwanted {want}")
    tidy(d)


def together(env, d):
    """Ranks that share a memory go together, when that was said; mpictl on the other host knows them."""
    want = undisturbed(20, 10)
    p = start(env, "--checkpoint-dir", d, "--hosts", "vc1:2,vc2:2", PROBE, 20, 10, "flood=50", gate(d))
    text = wait_for(p, "step 3 ")
    out, rc = mpictl("migrate", 3, "vc3")
    check(rc == 1 and "ranks 2 and 3 share a memory" in out and "--together" in out, out)
    out, rc = mpictl("migrate", 3, "vc3", "--together")
    check(rc == 0 and out == "ranks 2 and 3 are on host vc3", out)
    out, rc = mpictl("status", host="vc3")
    check(rc == 0 and "rank 2" in out and "rank 3" in out, out)
    let_end(p, text, d, (want, 4))


def asked(env, d):
    """The program asks for moves itself, and is told what cannot be."""
    probe = os.path.join(BUILD, "tests", "bin", "migrate_probe")

    def run(*args):
        p = start(env, *args)
        text = finish(p)
        check(p.returncode == 0, text)
        return [" ".join(line.split()) for line in text.splitlines() if line.startswith("rank ") or "not there" in line]

    lines = run("--movable", "--hosts", "vc1:1,vc2:1", probe, "vc3", "vc3", "nowhere", "vc1")
    hears = [line for line in lines if " hears: " in line]
    check([line for line in lines if line not in hears] == ["rank 1 is on vc3", "rank 1 is on vc1"], f"{lines}")
    check(len(hears) == 4 and all(sum(f"rank {r} hears" in h and w in h for h in hears) == 1
                                  for r in (0, 1) for w in ("is on host vc3 already", "nowhere")), f"{lines}")
    for args, words in ((("--hosts", "vc1:1,vc2:1"), "mpiexec --movable"), (("-n", "2"), "the job runs on one host")):
        lines = run(*args, probe, "vc3")
        check(len(lines) == 2 and all(" hears: " in line and words in line for line in lines), f"{args} {lines}")
    tidy(d)


def one_host(env, d):
    """A job that began on one host, with --movable."""
    want = undisturbed(20, 5)
    p = start(env, "--movable", "-n", 2, PROBE, 20, 5, "flood=50", gate(d))
    text = wait_for(p, "step 3 ")
    out, rc = mpictl("migrate", 1, "vc2")
    check(rc == 0 and out == "rank 1 is on host vc2", out)
    let_end(p, text, d, (want, 2))


def reconnecting(env, d):
    """A rank that is held while it puts a new connection where the old one was: the next checkpoint waits for it."""
    want = undisturbed(20, 10)
    hold = os.path.join(d, "hold")
    p = start({**env, "PLIANT_FAULT": f"tcp_resume:1@{hold}"}, "--checkpoint-dir", os.path.join(d, "images"), "--hosts",
              "vc1:1,vc2:1", PROBE, 20, 10, "flood=50", gate(d))
    text = wait_for(p, "step 3 ")
    with open(hold, "w", encoding="ascii"):
        pass
    out, rc = mpictl("migrate", 1, "vc3")
    check(rc == 0, out)
    while not os.path.exists(hold + ".held") and p.poll() is None:
        time.sleep(0.01)
    c = C.popen("vc1", [MPICTL, "checkpoint"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
    try:
        out = c.communicate(timeout=1)[0]
        check(False, f"it did not wait: {c.returncode} {out}")
    except subprocess.TimeoutExpired:
        pass
    os.unlink(hold + ".held")
    out = c.communicate(timeout=100 * SLOW)[0]
    check(c.returncode == 0, f"{c.returncode} {out}")
    let_end(p, text, d, (want, 2))


def resized(env, d):
    """Ranks that came later have a memory of their own too, and move alone; then the world changes again."""
    want = undisturbed(20, 10)
    p = start(env, "--movable", "--elastic", "1:8", "--checkpoint-dir", d, "--hosts", "vc1,vc2", "-n", 2, PROBE, 20, 10,
              "flood=50", gate(d))
    text = wait_for(p, "step 1 ")
    for args in (("grow", 2), ("migrate", 3, "vc3"), ("migrate", 0, "vc3"), ("grow", 1), ("grow", 1, "--hosts", "vc3:1"),
                 ("migrate", 5, "vc1"), ("migrate", 4, "vc3"), ("migrate", 1, "vc1"), ("checkpoint",)):
        out, rc = mpictl(*args)
        check(rc == 0 and "share" not in out, f"{args}: {out}")
    let_end(p, text, d, (want, 6))
    p = start(env, "--restart", d)
    text = finish(p)
    check(p.returncode == 0 and result(text) == (want, 6), f"{p.returncode}\n{text}\nwanted {want}")
    p = start(env, "--restart", d, "-n", 9)
    text = " ".join(finish(p).split())
    check(p.returncode == 2 and "9 ranks are outside --elastic 1:8" in text and "say --elastic 1:9 too" in text, text)
    tidy(d)


def forked(env, d):
    """Clones are moved, and moved ranks are cloned."""
    want = undisturbed(20, 10)
    for fork in (2, 17):
        p = start(env, "--movable", "--hosts", "vc1:1,vc2:1", PROBE, 20, 10, f"fork={fork}", gate(d))
        text = wait_for(p, "step 3 ")
        for args in ((0, "vc3"), (1, "vc1"), (0, "vc2")):
            out, rc = mpictl("migrate", *args, "--together")
            check(rc == 0, f"{args}: {out}")
        open_gate(d)
        text = finish(p, text)
        check(p.returncode == 0 and result(text) == (want, 4), f"{p.returncode}\n{text}\nwanted {want}")
        shut_gate(d)
        tidy(d)


def streams(env, d):
    """Half a line of output, input that nobody has read yet, the end of input, the exit status."""
    flag = os.path.join(d, "flag")
    for late in (False, True):
        p = start(env, "--movable", "--hosts", "vc1:1,vc2:1", "--stdin", 1, MOVE, flag, "echo",
                  stdin=subprocess.PIPE)
        body = "".join(f"line {i} of the input\n" for i in range(15000))
        writer = threading.Thread(target=lambda: (p.stdin.write(body), p.stdin.flush(), late or p.stdin.close()))
        writer.start()
        text = wait_for(p, "begun")
        for host in ("vc3", "vc1"):
            out, rc = mpictl("migrate", 1, host)
            check(rc == 0, out)
        open(flag, "w", encoding="ascii").close()
        writer.join()
        if late:
            p.stdin.write("and more\n")
            p.stdin.close()
            body += "and more\n"
        text += p.stdout.read()
        p.wait()
        total = functools.reduce(lambda a, c: (a * 31 + c) % 2**64, body.encode(), 0)
        check(p.returncode == 3 and f"rank 1 was here and read {len(body)} bytes, sum {total}\n" in text,
              f"{p.returncode} {len(body)} {total}\n{text}")
        os.unlink(flag)
        tidy(d)


def hang(env, d):
    """A deadlock is noticed where the rank is now."""
    flag = os.path.join(d, "flag")
    p = start(env, "--movable", "--hosts", "vc1:1,vc2:1", MOVE, flag, "hang")
    text = wait_for(p, "begun")
    out, rc = mpictl("migrate", 1, "vc3")
    check(rc == 0, out)
    open(flag, "w", encoding="ascii").close()
    text = " ".join(finish(p, text).split())
    check(p.returncode != 0 and text.count("called at move_probe.c") == 2, f"{p.returncode}\n{text}")
    os.unlink(flag)
    tidy(d)


def others(env, d):
    """While a rank is on its way the others go on: with each other; what they send to it waits, as do calls and requests."""
    go_on(env, d)
    if has_ucx():
        go_on({**env, **TCP}, d)


def go_on(env, d):
    probe, flag, hold = os.path.join(BUILD, "tests", "bin", "others_probe"), os.path.join(d, "flag"), os.path.join(d, "hold")
    open(hold, "w", encoding="ascii").close()
    p = start({**env, "PLIANT_FAULT": f"daemon_move_take:1@{hold}"}, "--movable", "--hosts", "vc1:2,vc2:2", probe, flag)
    text = wait_for(p, "step 8")
    m = C.popen("vc1", [MPICTL, "migrate", "1", "vc3"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True)
    while not os.path.exists(hold + ".held") and p.poll() is None:
        time.sleep(0.01)
    for when in ("before", "after"):  # rank 3 calls for the first time
        now = text.count("step ")
        while text.count("step ") < now + 6 and "step " in (more := wait_for(p, "step ")):
            text += more
        check(m.poll() is None and p.poll() is None, f"{when}: it is on its way\n{text}")
        if when == "before":
            open(flag + ".call", "w", encoding="ascii").close()
    check("has called" not in text, f"rank 3 waits\n{text}")
    os.unlink(hold + ".held")
    out = " ".join(m.communicate(timeout=100 * SLOW)[0].split())
    check(out == "rank 1 is on host vc3", out)
    text += wait_for(p, "rank 3 has called")
    open(flag, "w", encoding="ascii").close()
    text = " ".join((text + p.stdout.read()).split())  # of which a part was read with the last line
    p.wait(timeout=100 * SLOW)
    check(p.returncode == 0 and all(f"rank {r} is well" in text for r in range(4)), f"{p.returncode}\n{text}")
    check("all other ranks stood still, too" in text, text)
    for name in (flag, flag + ".call", flag + ".lines"):
        os.unlink(name)
    tidy(d)


def refused(env, d):
    """What cannot be done is said, and the job goes on."""
    flag = os.path.join(d, "flag")
    p = start(env, "--movable", "--hosts", "vc1:1,vc2:1", MOVE, flag, "child")
    text = wait_for(p, "begun")
    for args, words in (((1, "vc3"), "rank 1 has started processes of its own"), ((1, "vc2"), "is on host vc2 already"),
                        ((7, "vc3"), "there is no rank 7"), ((0, "nowhere"), "nowhere"),
                        ((0, ""), "is not the name of a host"), ((0, "-oProxyCommand=x"), "there is no option")):
        out, rc = mpictl("migrate", *args)
        check(rc != 0 and words in out, f"{args}: {out}")
    out, rc = mpictl("checkpoint")
    check(rc != 0 and "--checkpoint-dir DIR allows them" in out, out)
    out, rc = mpictl("migrate", 0, "vc3")
    check(rc == 0, out)
    open(flag, "w", encoding="ascii").close()
    text = finish(p, text)
    check(p.returncode == 0, f"{p.returncode}\n{text}")
    os.unlink(flag)
    p = start(env, "--elastic", "1:3", "--hosts", "vc1:1,vc2:1", PROBE, 20, 10, gate(d))
    text = wait_for(p, "step 3 ")
    out, rc = mpictl("migrate", 1, "vc3")
    check(rc == 1 and "mpiexec --movable, or" in out, out)
    open_gate(d)
    text = finish(p, text)
    check(p.returncode == 0, text)
    r = HostRun(C, "--movable", "--bind-to", "core", "true")
    check(r.rc == 2 and "exclude each other" in r.words, r)
    tidy(d)


def dies(env, d):
    """A daemon that takes, and mpiexec, die at each step: the ranks go on where they were, or the job ends."""
    want = undisturbed(20, 10)
    for fault, good in (("image_send:1", True), ("image_take:1", True), ("daemon_move_got:1", True),
                        ("daemon_move_send:1", False), ("daemon_move_take:1", True), ("daemon_move_restored:1", True), ("daemon_move_back:1", True),
                        ("daemon_move_begin:1", False), ("mpiexec_move_start", False), ("mpiexec_ckpt_draining", False),
                        ("mpiexec_ckpt_moving", False), ("mpiexec_move_commit", False),
                        ("mpiexec_move_committed", False), ("daemon_ckpt_leave:1", False), ("freeze_drained:1", False),
                        ("freeze_left:0", False), ("freeze_back:1", False), ("freeze_mapped:1", False)):
        p = start({**env, "PLIANT_FAULT": fault}, "--checkpoint-dir", d, "--hosts", "vc1:1,vc2:1", PROBE, 20, 10, "flood=50",
                  gate(d))
        text = wait_for(p, "step 3 ")
        out, rc = mpictl("migrate", 1, "vc3")
        # A rank may die after it has said that it is there.
        check(rc != 0 or fault in ("freeze_back:1", "freeze_mapped:1"), f"{fault}: {out}")
        if good:
            check("vc3" in out or "vc2" in out, f"{fault}: {out}")
            check_clean(fault, ["vc3"])
        open_gate(d)
        text = finish(p, text)
        check((p.returncode == 0 and result(text) == (want, 2)) if good else p.returncode != 0,
              f"{fault}: {p.returncode}\n{text}\n{out}")
        check_clean(fault)
        shut_gate(d)
    p = start(env, "--checkpoint-dir", d, "--checkpoint-interval", "100ms", "--hosts", "vc1:1,vc2:1", PROBE, 20, 10, gate(d))
    text = wait_for(p, "step 3 ")
    out, rc = mpictl("migrate", 1, "vc3")
    check(rc == 0, out)
    out, rc = mpictl("checkpoint")  # who writes there clears away what the dead have left
    check(rc == 0, out)
    open_gate(d)
    text = finish(p, text)
    check(p.returncode == 0 and result(text) == (want, 2), text)
    tidy(d)  # also of what mpiexecs left that died


def full(env, d):
    """No room for the images, where they are made or where they come: they go on where they are, and can be moved later."""
    if not HAS_OWN:
        print("full: not tested, file systems cannot be mounted here")
        return
    want = undisturbed(20, 10)
    for host in ("vc2", "vc3"):
        check(own_disk(C, host, IMAGES, "12m"), f"a disk of {host}")
        ballast = os.path.join(IMAGES, "ballast")
        p = start(env, "--movable", "--hosts", "vc1:1,vc2:1", PROBE, 20, 10, gate(d))
        text = wait_for(p, "step 3 ")
        on_host(C, host, "sh", "-c", f"head -c 12m /dev/zero >{ballast} 2>/dev/null; true")
        for room in (0, 64 << 10, 256 << 10):  # for nothing, and for a part of the images
            on_host(C, host, "truncate", "-s", f"-{room}", ballast)
            out, rc = mpictl("migrate", 1, "vc3")
            check(rc == 1 and "No space left" in out, f"{host}, {room}: {out}")
        check(not left_behind(C, ["vc3"]), "the daemon there has left")
        left = [f for h in HOSTS for f in files(C, h, IMAGES) if f != ballast]
        check(not left, f"images are left: {left}")
        on_host(C, host, "rm", ballast)
        out, rc = mpictl("migrate", 1, "vc3")
        check(rc == 0, out)
        open_gate(d)
        text = finish(p, text)
        check(p.returncode == 0 and result(text) == (want, 2), text)
        shut_gate(d)
        tidy(d)
        on_host(C, host, "umount", IMAGES)


def main():
    reason = skip_reason()
    if reason is not None:
        print(f"skipped: {reason}")
        return 77
    return cases((there_and_back, together, one_host, asked, reconnecting, resized, forked, streams, hang, others, refused, dies, full))


if __name__ == "__main__":
    sys.exit(main())
