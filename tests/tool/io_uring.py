#!/usr/bin/env python3
"""Files by io_uring: a job that writes by it all the time makes checkpoints and goes on from them; one whose kernel
forbids it does without."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import MPICTL, finish, skip_reason, start, wait_for
from launch import BUILD, Run, cases, check, nothing_left

PROBE = os.path.join(BUILD, "tests", "bin", "io_uring_probe")
ALWAYS = {"PLIANT_FILE_URING": "always"}


def is_well(p, text):
    check(p.returncode == 0 and "all is well with 2 ranks" in text, f"{p.returncode}\n{text}")


def restarted(env, d):
    """A checkpoint waits for the ring of an access, not for ever, and CRIU finds none."""
    name, env = os.path.join(d, "data"), {**env, **ALWAYS}
    p = start(env, "--checkpoint-dir", f"{d}/ckpt", "-n", 2, PROBE, name, name + ".gate")
    text = wait_for(p, "step 3 ")
    for _ in range(3):
        r = Run("checkpoint", p.pid, tool=MPICTL)
        check(r.rc == 0, r)
    p.kill()
    finish(p, text)
    nothing_left(env)
    p = start(env, "--restart", f"{d}/ckpt")
    text = wait_for(p, "step ")
    open(name + ".gate", "w", encoding="ascii").close()
    is_well(p, finish(p, text))


def forbidden(env, d):
    """Where liburing is not found the access is done by plain calls, and a warning says so."""
    name = os.path.join(d, "data")
    open(name + ".gate", "w", encoding="ascii").close()
    os.mkdir(f"{d}/lib")  # comes before the system's, and holds no library
    with open(f"{d}/lib/liburing.so.2", "w", encoding="ascii") as f:
        f.write("no library\n")
    r = Run("-n", 2, PROBE, name, name + ".gate", env={**env, **ALWAYS, "LD_LIBRARY_PATH": f"{d}/lib"})
    check(r.rc == 0 and "all is well with 2 ranks" in r.out, r)
    check("without io_uring" in r.err, r)


def main():
    info = subprocess.run([os.path.join(BUILD, "bin", "mpiinfo"), "--network"], capture_output=True, text=True,
                          check=True).stdout
    if "io_uring     there" not in info:
        print(f"skipped: {info}")
        return 77
    reason = skip_reason()
    if reason:
        print("no checkpoints:", reason)
    return cases((restarted, forbidden), (restarted,) if reason else ())


if __name__ == "__main__":
    sys.exit(main())
