#!/usr/bin/env python3
"""Jobs with open files that are stopped and go on, are watched, fill the disk, or lose a rank: what is in the files is right,
or the error says what happened."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import MPICTL, finish, skip_reason, start, wait_for
from launch import BUILD, MPIEXEC, Run, cases, check, nothing_left, sanitizer_behind

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
    for net, n, *how in (({}, 3), ({"PLIANT_NET": "tcp"}, 2), ({}, 4, "mapped"), ({}, 5, "batch")):
        name = os.path.join(d, f"data{n}")
        p = start({**env, **net}, "--checkpoint-dir", f"{d}/ckpt{n}", "-n", n, PROBE, name, name + ".gate", *how)
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


def from_state(env, d):
    """Registered state, saved while an access is under way; the program opens its files again."""
    name = os.path.join(d, "data")
    p = start(env, "--checkpoint-dir", f"{d}/ckpt", "--checkpoint-mode", "state", "-n", 3, PROBE, name, name + ".gate", "state")
    text = wait_for(p, "step 5 ")
    r = Run("checkpoint", p.pid, tool=MPICTL)
    check(r.rc == 0, r)
    p.kill()
    finish(p, text)
    nothing_left(env)
    open(name + ".gate", "w", encoding="ascii").close()
    p = start(env, "--restart", f"{d}/ckpt")
    text = finish(p)
    check("from step " in text and "from step 0 " not in text, text)
    is_well(p, text, 3)


def watched(env, d):
    """--check finds nothing wrong, --profile and --timeline know the calls of files."""
    sanitizer_behind()
    name, line = os.path.join(d, "data"), os.path.join(d, "timeline.json")
    open(name + ".gate", "w", encoding="ascii").close()
    for option in (["--check"], ["--profile"], ["--timeline", line]):
        r = Run(*option, "-n", 3, PROBE, name, name + ".gate", env=env)
        check(r.rc == 0 and "all is well with 3 ranks" in r.out, f"{option}: {r}")
        check(option != ["--check"] or r.err == "", f"nothing is wrong: {r}")
        check(option != ["--profile"] or "MPI_File_write_shared" in r.out + r.err, f"{r}")
    with open(line, encoding="utf-8") as f:
        names = {e.get("name") for e in json.load(f)["traceEvents"]}
    check({"MPI_File_open", "MPI_File_iwrite_at_all", "MPI_File_close"} <= names, f"{names}")
    r = Run("--check", "-n", 2, os.path.join(BIN, "mpi.io_model"), "4", "9", env=env)
    check(r.rc == 0 and r.err == "", f"{r}")


LEFT = "rank 0 is in MPI_Allgather on MPI_File data"


def left(env, d):
    """A rank leaves a world that shrinks and does not close the file: others may go on alone, and a collective call, which
    would wait for ever, is reported with the name of the file."""
    name = os.path.join(d, "data")
    r = Run("--elastic", "1:3", "-n", 3, PROBE, name, "gone", "leave", env=env)
    check(r.rc == 123 and "written alone" in r.out and LEFT in r.words, f"{r}")


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


FULL = """mount -t tmpfs -o size="$2" none "$1" || exit 77
shift 2
"$@"
"""


def on_small(env, where, size, *command):
    """The command on a disk of that size; None where none can be had."""
    for args in (["unshare", "-m"], ["unshare", "-rm"]):
        p = subprocess.run([*args, "sh", "-c", FULL, "sh", where, size, MPIEXEC, *command], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False, env={**os.environ, **env})
        if p.returncode != 77 and "unshare:" not in p.stdout:
            return p
    return None


def full(env, d):
    """A small disk that is soon full: every rank is told in one sentence, and the job ends by its own check. So it is with
    megabytes, whichever way they are written."""
    where = os.path.join(d, "small")
    os.mkdir(where)
    name = os.path.join(where, "data")
    p = on_small(env, where, "256k", "-n", "3", PROBE, name, os.path.join(d, "never"))
    if p is None:
        print("no small disk: neither root nor a user namespace can mount one here")
        return
    text = " ".join(p.stdout.split())
    check(p.returncode == 3, f"{p.returncode} {p.stdout}")
    check("No space left on device" in text and " of file " + name in text and "at offset " in text, p.stdout)
    check("is wrong at step" in text and "SIGBUS" not in text, p.stdout)
    p = on_small(env, where, "4m", "-n", "2", os.path.join(BIN, "mpi.io_whole"), where, "full")
    check(p is not None and p.returncode == 0 and "full 16 times" in p.stdout, f"{p}")


if __name__ == "__main__":
    sys.exit(cases((restarted, from_state, watched, left, killed, full)))
