"""A debugger of our own shows the message queues of waiting ranks by libpliant_dbg.so."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from lib.launch import BUILD, IS_SANITIZED, MPIEXEC, check, status

PROBE = os.path.join(BUILD, "tests", "bin", "queues_probe")
if IS_SANITIZED:
    print("skipped: the library that a debugger loads is not one that a sanitizer's program loads")
    sys.exit(77)


def look(pid):
    p = subprocess.run([PROBE, str(pid)], capture_output=True, text=True, timeout=60, check=False)
    if p.returncode == 77:
        print("skipped: " + p.stdout)
        sys.exit(77)
    check(p.returncode == 0, p.stdout + p.stderr, 2)
    return p.stdout.split("communicator ")


def part(said, name):
    found = [s.splitlines() for s in said if s.startswith(name + " ")]
    return found[0] if len(found) == 1 else []


def until(pid, name, last):
    """What a rank shows of a communicator, once it has come so far that the last line is there."""
    end = time.monotonic() + 60
    while last not in part(said := look(pid), name) and time.monotonic() < end:
        time.sleep(0.05)
    return said


def examine(pids):
    said = until(pids["waits"], "MPI_COMM_WORLD", "posted rank 1 of the world 1 tag 99 bytes 4")
    check(said[0] == "interface 2\n", said)
    check(part(said, "MPI_COMM_WORLD") == ["MPI_COMM_WORLD rank 0 of 2, its last is 1 of the world",
                                           "posted rank 1 of the world 1 tag 99 bytes 4"], said)
    check(part(said, "posted") == ["posted rank 0 of 2, its last is 1 of the world", "posted rank 1 of the world 1 tag 11 bytes 40",
                                   "posted rank -1 of the world -1 tag -1 any bytes 8"], said)
    # The message of MPI_Ssend may be there as well.
    found = [line for line in part(said, "kept") if "tag 41" not in line]
    check(found == ["kept rank 0 of 2, its last is 1 of the world", "unexpected rank 1 of the world 1 tag 21 bytes 4",
                    "unexpected rank 1 of the world 1 tag 22 bytes 100", "send rank 1 of the world 1 tag 31 bytes 1048576"], said)
    check(part(said, "half") == ["half rank 0 of 1, its last is 0 of the world"], said)
    said = until(pids["sends"], "kept", "send rank 0 of the world 0 tag 41 bytes 4")  # of a blocking call
    check("send rank 0 of the world 0 tag 41 bytes 4" in part(said, "kept"), said)
    check(part(said, "half") == ["half rank 0 of 1, its last is 1 of the world"], said)


def examine_job(program):
    with subprocess.Popen([MPIEXEC, "--on-deadlock=report", "-n", "2", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as job:
        try:
            examine({words[1]: int(words[0]) for words in (job.stdout.readline().split() for _ in range(2))})
        finally:
            job.terminate()


examine_job(PROBE)
with tempfile.TemporaryDirectory() as d:
    for compiler in ("mpicc.mpich", "mpicc.openmpi"):  # programs of others, whose queues are the same
        if shutil.which(compiler) is None:
            print(f"{compiler}: not tried")
            continue
        program = os.path.join(d, compiler)
        subprocess.run([compiler, "-w", "-D_GNU_SOURCE", "-o", program, os.path.join(os.path.dirname(os.path.abspath(__file__)), "queues_probe.c"), "-ldl"], check=True)
        examine_job(program)
sys.exit(status())
