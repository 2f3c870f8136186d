#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec --on-preempt in batch jobs of a real Slurm with a node in each of three virtual hosts: a preempt signal shrinks a job, or
writes a checkpoint from which Slurm's next start goes on; it follows scontrol update job."""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from checkpoint import skip_reason
from hosts import BUILD, open_cluster
from launch import MPIEXEC, SLOW, check, status
from slurm_node import Slurm, why_not

PROBE = os.path.join(BUILD, "tests", "bin", "preempt_probe")
LIMIT_S = 100


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return " ".join(f.read().split())
    except FileNotFoundError:
        return ""


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def wait(path, words):
    """Until a job has said this."""
    end = time.monotonic() + LIMIT_S * SLOW
    while words not in read(path) and time.monotonic() < end:
        time.sleep(0.1)
    check(words in read(path), f"it never said '{words}': {read(path)}")
    return words in read(path)


def update(s, job, *words):
    """scontrol update job; Slurm may say that it is busy with the job."""
    end = time.monotonic() + LIMIT_S * SLOW
    while True:
        rc, out = s.run("scontrol", "update", f"JobId={job}", *words)
        if rc == 0 or "try again" not in out or time.monotonic() > end:
            break
        time.sleep(0.5)
    check(rc == 0, f"scontrol update {words}: {out}")
    return rc == 0


class Batch:
    """A batch job whose process is mpiexec."""

    def __init__(self, s, folder, name, options, *args):
        self.s, self.stop, self.out = s, os.path.join(folder, name + ".stop"), os.path.join(folder, name + ".out")
        script = os.path.join(folder, name + ".sh")
        write(script, f"#!/bin/sh\nexec {MPIEXEC} {' '.join(map(str, args))} {PROBE} {self.stop}\n")
        rc, self.id = s.run("sbatch", "--parsable", "--requeue", "--open-mode=append", f"--output={self.out}", *options, script)
        self.id = self.id.strip()
        check(rc == 0 and self.id.isdigit(), f"sbatch: {self.id}")

    def text(self):
        return read(self.out)

    def wait(self, words):
        return wait(self.out, words)

    def signal(self):
        rc, out = self.s.run("scancel", "--signal=TERM", "--batch", self.id)
        check(rc == 0, f"scancel: {out}")

    def update(self, *words):
        return update(self.s, self.id, *words)

    def end(self):
        write(self.stop, "")
        self.wait("over, not at once")


def shrink(s, folder):
    """What Slurm sends before it takes the nodes away."""
    j = Batch(s, folder, "shrink", ["-N", 1, "-n", 3], "--elastic", "1:3", "--on-preempt=shrink", "-n", 3)
    if j.wait("3 ranks"):
        j.signal()
        j.wait("1 ranks")
    j.end()


def requeue(s, folder):
    """The same command line goes on from the checkpoint when Slurm starts it again."""
    j = Batch(s, folder, "requeue", ["-N", 1, "-n", 2], "--checkpoint-dir", os.path.join(folder, "ckpt"), "--on-preempt=requeue",
              "-n", 2)
    if j.wait("2 ranks"):
        j.signal()
        if j.wait("Slurm will start job"):
            end = time.monotonic() + LIMIT_S * SLOW
            while "going on from" not in j.text() and time.monotonic() < end:
                s.run("scontrol", "update", f"JobId={j.id}", "StartTime=now")  # Slurm would wait for two minutes
                time.sleep(0.5)
            j.wait("going on from checkpoint 1")
    j.end()
    check(j.text().count("2 ranks") == 3, f"it began anew: {j.text()}")  # the probe says it once, mpiexec twice


def follow(s, folder, rsh):
    """Slurm takes a node away."""
    j = Batch(s, folder, "follow", ["-N", 2, "--ntasks-per-node=2"], "--launcher", f"'{rsh}'", "--elastic", "1:6", "--on-preempt=follow")
    if j.wait("4 ranks") and j.update("NumNodes=1"):
        j.wait("4 ranks 2 ranks")
    j.end()


def more(c, folder):
    """A node comes, and goes. Slurm gives a running job no more nodes where it has no database; so squeue is a script here."""
    nodes, stop, out = (os.path.join(folder, name) for name in ("nodes", "more.stop", "more.out"))
    write(os.path.join(folder, "squeue"), f"#!/bin/sh\ncat {nodes}\n")
    os.chmod(os.path.join(folder, "squeue"), 0o755)
    write(nodes, "vc1\n")
    env = {**os.environ, "SLURM_JOB_ID": "7", "PATH": folder + ":" + os.environ["PATH"]}
    with open(out, "w", encoding="utf-8") as f:
        p = c.popen("vc1", [MPIEXEC, "--launcher", c.launcher, "--hosts", "vc1:2", "--elastic", "1:6", "--on-preempt=follow", PROBE, stop],
                    env=env, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT)
    for now, words in (("vc1\n", "2 ranks"), ("vc[1-2]\n", "2 ranks 4 ranks"), ("vc[1-3]\n", "4 ranks 6 ranks"), ("vc1\n", "6 ranks 2 ranks")):
        write(nodes + ".new", now)
        os.rename(nodes + ".new", nodes)
        wait(out, words)
    write(stop, "")
    check(p.wait(60 * SLOW) == 0, read(out))


def main():
    if why_not():
        skip(why_not())
    with open_cluster(3) as c, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        s = Slurm(folder, c)
        if not s.up():
            skip("Slurm does not come up in virtual hosts:\n" + s.logs())
        shrink(s, folder)
        reason = skip_reason()
        if reason:
            print(f"requeue is not tried: {reason}")
        else:
            requeue(s, folder)
        follow(s, folder, c.launcher)
        more(c, folder)
        if status() != 0:
            print(s.logs())
    return status()


sys.exit(main())
