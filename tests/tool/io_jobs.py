#!/usr/bin/env python3
"""Jobs with open files that are stopped and go on, fill the disk, or lose a rank: what is in the files is right, or the
error says what happened."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import MPICTL, finish, skip_reason, start, wait_for
from launch import BUILD, MPIEXEC, Run, cases, check, nothing_left

BIN = os.path.join(BUILD, "tests", "bin")
PROBE = os.path.join(BIN, "io_probe")


def is_well(p, text, n):
    check(p.returncode == 0 and f"all is well with {n} ranks" in text, f"{p.returncode}\n{text}")


def restarted(env, d):
    """Checkpoints of ranks in the middle of reading and writing; the job is killed and goes on from the last one."""
    reason = skip_reason()
    if reason:
        print("no checkpoints:", reason)
        return
    for net, n in (({}, 3), ({"PLIANT_NET": "tcp"}, 2)):
        name = os.path.join(d, f"data{n}")
        p = start({**env, **net}, "--checkpoint-dir", f"{d}/ckpt{n}", "-n", n, PROBE, name, name + ".gate")
        text = wait_for(p, "step 5 ")
        for _ in range(2):
            r = Run("checkpoint", p.pid, tool=MPICTL)
            check(r.rc == 0, r)
        p.kill()
        finish(p, text)
        nothing_left(env)
        p = start({**env, **net}, "--restart", f"{d}/ckpt{n}")
        text = wait_for(p, "step ")
        open(name + ".gate", "w", encoding="ascii").close()
        is_well(p, finish(p, text), n)


def killed(env, d):
    """Without --on-failure a rank that is killed in a collective write ends the job, and mpiexec says which it was."""
    name = os.path.join(d, "data")
    p = subprocess.Popen([MPIEXEC, "-n", "3", PROBE, name, name + ".gate"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, env={**os.environ, **env})
    text = wait_for(p, "step 5 ")
    ranks = subprocess.run(["ps", "--ppid", str(p.pid), "-o", "pid=,comm="], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    pids = [int(line.split()[0]) for line in ranks if "io_probe" in line]
    check(len(pids) == 3, f"{ranks}")
    os.kill(pids[1], signal.SIGKILL)
    text = " ".join(finish(p, text).split())
    check(p.returncode == 137 and "was killed by signal 9, SIGKILL" in text, f"{p.returncode} {text}")


FULL = """mount -t tmpfs -o size=256k none "$1" || exit 77
shift
"$@"
"""


def full(env, d):
    """A small disk that is soon full: every rank is told in one sentence, and the job ends by its own check."""
    where = os.path.join(d, "small")
    os.mkdir(where)
    name = os.path.join(where, "data")
    for args in (["unshare", "-m"], ["unshare", "-rm"]):
        p = subprocess.run([*args, "sh", "-c", FULL, "sh", where, MPIEXEC, "-n", "3", PROBE, name, os.path.join(d, "never")],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                           env={**os.environ, **env})
        if p.returncode != 77 and "unshare:" not in p.stdout:
            break
    else:
        print("no small disk: neither root nor a user namespace can mount one here")
        return
    text = " ".join(p.stdout.split())
    check(p.returncode == 3, f"{p.returncode} {p.stdout}")
    check("No space left on device" in text and " of file " + name in text and "at offset " in text, p.stdout)
    check("is wrong at step" in text and "SIGBUS" not in text, p.stdout)


if __name__ == "__main__":
    sys.exit(cases((restarted, killed, full)))
