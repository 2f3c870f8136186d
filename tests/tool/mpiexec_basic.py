#!/usr/bin/env python3
"""What mpiexec starts, with which environment, input and exit status."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import MPIEXEC, PROBE, SLOW, Run, check, mark, nothing_left, shm_files, status


def lines(run):
    return sorted(run.out.splitlines())


def ranks_and_parts():
    r = Run("-n", 4, PROBE, "init", "barrier", "who", "final")
    check(r.rc == 0 and r.err == "", r)
    got = [re.sub(r" cores \d+$", "", s) for s in lines(r)]
    check(got == [f"native {i} of 4 app 0" for i in range(4)], r)
    cores = int(r.out.split()[-1])
    check(1 <= cores <= len(os.sched_getaffinity(0)), f"{cores} cores")
    r = Run("-np", 2, PROBE, "init", "who", "final", ":", "-n", 1, PROBE, "init", "who", "final")
    got = [" ".join(s.split()[1:6]) for s in lines(r)]
    check(got == ["0 of 3 app 0", "1 of 3 app 0", "2 of 3 app 1"], r)
    r = Run(PROBE, "init", "who", "final")
    check(r.rc == 0 and r.out.startswith("native 0 of 1"), r)
    solo = subprocess.run([PROBE, "init", "who", "final"], capture_output=True, text=True, check=False)
    check(solo.returncode == 0 and solo.stdout.startswith("solo 0 of 1 app 0"), solo)
    r = Run("-n", 64, PROBE, "init", "barrier", "final")
    check(r.rc == 0 and r.out == "" and r.err == "", r)
    r = Run("-n", 2, "--", PROBE, "print", "-n")
    check(r.out == "-n\n-n\n", r)


def task_with_several_ranks():
    both = f"{PROBE} init barrier who final & {PROBE} init barrier who final & wait"
    r = Run("-n", 4, "--ranks-per-proc=2", "sh", "-c", both)
    check(r.rc == 0 and [int(s.split()[1]) for s in lines(r)] == [0, 1, 2, 3], r)
    r = Run("-n", 3, "--ranks-per-proc", 2, "sh", "-c", both.replace("init", "init", 1))
    check("all 1 ranks" in r.words or "has already been rank 2" in r.words, r)
    # The script ends first; its ranks live on.
    r = Run("-n", 2, "--ranks-per-proc=2", "sh", "-c",
            f"{PROBE} init print a barrier sleep 0.2 who final & {PROBE} init barrier print b final &"
            " sleep 0.1")
    check(r.rc == 0 and "native" in r.out and "b" in r.out.split(), r)
    r = Run("-n", 2, "sh", "-c", f"{PROBE} init final; {PROBE} init final")
    check(r.rc != 0 and "has already been rank" in r.words and "--ranks-per-proc" in r.words, r)
    # A program that a rank starts is a world of its own, and a fork is told what is wrong.
    r = Run("-n", 1, PROBE, "init", "env", "PLIANT_BOOT", "final")
    check(r.out == "PLIANT_BOOT=(unset)\n", r)
    r = Run("-n", 1, PROBE, "init", "final", "fork", "init")
    check(r.rc == 9 and "was forked from rank 0" in r.words, r)


def environment():
    r = Run("-genv", "A", "1", "-n", 1, "-env", "B", "2 3", PROBE, "env", "A", "env", "B", ":",
            "-x", "C", "-x", "D=4=5", PROBE, "env", "A", "env", "B", "env", "C", "env", "D",
            env={"C": "from outside"})
    check(r.rc == 0 and lines(r) == ["A=1", "A=1", "B=(unset)", "B=2 3", "C=from outside", "D=4=5"], r)
    keep = ["-x", "ASAN_OPTIONS"] if SLOW > 1 else []
    r = Run("-genvnone", *keep, "-env", "A", "1", PROBE, "env", "HOME", "env", "A", env={"HOME": "/x"})
    check(r.out == "HOME=(unset)\nA=1\n", r)
    r = Run("-envlist", "HOME,LANG", *keep, PROBE, "env", "HOME", "env", "Z", env={"HOME": "/x", "Z": "1"})
    check(r.out == "HOME=/x\nZ=(unset)\n", r)
    r = Run("-n", 2, PROBE, "env", "PLIANT_RANK", "env", "PLIANT_SIZE", env={"PLIANT_RANK": "77"})
    check(lines(r) == ["PLIANT_RANK=0", "PLIANT_RANK=1", "PLIANT_SIZE=2", "PLIANT_SIZE=2"], r)
    # The same under the names of others, of which nobody takes what another launcher has left.
    names = {"PMI_RANK": 0, "PMI_SIZE": 3, "MPI_LOCALRANKID": 0, "MPI_LOCALNRANKS": 3, "OMPI_COMM_WORLD_RANK": 0,
             "OMPI_COMM_WORLD_SIZE": 3, "OMPI_COMM_WORLD_LOCAL_RANK": 0, "OMPI_COMM_WORLD_LOCAL_SIZE": 3, "SLURM_PROCID": 0,
             "SLURM_LOCALID": 0}
    r = Run("-n", 3, "sh", "-c", "echo " + " ".join(f"${n}" for n in names) + " ${PMI_FD-none} ${PMIX_RANK-none}",
            env={**{n: "77" for n in names}, "PMI_FD": "9", "PMIX_RANK": "7"})
    check(lines(r) == [" ".join(str(v if v == 3 else rank) for v in names.values()) + " none none" for rank in range(3)], r)
    # A program that a rank starts is a world of its own in spite of them.
    r = Run("-n", 2, "sh", "-c", f"unset PLIANT_BOOT; exec {PROBE} init who")
    check(r.rc == 0 and len(lines(r)) == 2 and all(" 0 of 1 " in line for line in lines(r)), r)
    r = Run("-N", 3, "echo", "one")
    check(r.out == "one\n" * 3, r)
    r = Run("-N", 3, "-n", 1, "echo", "one")
    check(r.out == "one\n", r)
    r = Run("-wdir", "/usr", "-n", 1, PROBE, "cwd", ":", "-wd", "/", PROBE, "cwd")
    check(lines(r) == ["cwd /", "cwd /usr"], r)
    r = Run("-wdir", "/usr/bin", "./env", "true")
    check(r.rc == 0, r)
    r = Run("-n", 2, MPIEXEC, "-n", 2, PROBE, "init", "who", "final")
    check(r.rc == 0 and sorted(s.split()[1] for s in r.out.splitlines()) == ["0", "0", "1", "1"], r)


def standard_input():
    r = Run("-n", 3, "-l", PROBE, "cat", stdin="one\ntwo\n")
    check(r.rc == 0 and r.out == "[0] one\n[0] two\n", r)
    r = Run("-n", 3, "-l", "--stdin", "2", PROBE, "cat", stdin="x\n")
    check(r.out == "[2] x\n", r)
    r = Run("-n", 3, "-l", "--stdin=none", PROBE, "cat", stdin="x\n")
    check(r.rc == 0 and r.out == "", r)
    big = "".join(f"{i} some text to fill the pipes\n" for i in range(20000))
    r = Run("-n", 3, "--stdin", "all", "sh", "-c", "cksum", stdin=big)
    check(r.rc == 0 and len(set(r.out.splitlines())) == 1 and len(r.out.splitlines()) == 3, r)
    with open(os.path.abspath(__file__), encoding="utf-8") as f:
        p = subprocess.run([MPIEXEC, "-n", "2", "--stdin", "all", "cksum"], stdin=f,
                           capture_output=True, text=True, timeout=60, check=False)
    check(len(set(p.stdout.splitlines())) == 1 and len(p.stdout.splitlines()) == 2, p.stdout)
    # One of the readers does not read: the others get everything all the same.
    r = Run("-n", 2, "--stdin", "all", "sh", "-c", "test $PLIANT_RANK = 0 || cksum", stdin=big)
    check(r.rc == 0 and len(r.out.splitlines()) == 1, r)
    # What rank 0 does not read is left for the next in the script.
    p = subprocess.run(["sh", "-c", f"while read x; do {MPIEXEC} -n 2 {PROBE} print $x; done"],
                       input="a\nb\n", capture_output=True, text=True, timeout=60, check=False)
    check(p.stdout == "a\na\nb\nb\n", p.stdout)
    # Closed descriptors are no reason to fail.
    p = subprocess.run(["sh", "-c", f"{MPIEXEC} -n 2 {PROBE} init cat final <&- 2>&-"],
                       capture_output=True, text=True, timeout=60, check=False)
    check(p.returncode == 0, p)


def cost():
    base = subprocess.run([PROBE, "cost"], capture_output=True, text=True, check=False).stdout.split()
    got = Run("-n", 2, PROBE, "init", "cost", "final").out.split()
    check(int(got[1]) <= int(base[1]) + 1, f"descriptors {base[1]} alone, {got[1]} as a rank")
    check(got[3] == "1", f"threads {got[3]}")
    p = subprocess.run(["sh", "-c", f"ulimit -Sn 300; {MPIEXEC} -n 100 {PROBE} limit"],
                       capture_output=True, text=True, timeout=60, check=False)
    check(p.returncode == 0 and set(p.stdout.split("\n")) == {"limit 300", ""}, p)
    p = subprocess.run(["sh", "-c", f"ulimit -n 100; {MPIEXEC} -n 100 {PROBE} limit"],
                       capture_output=True, text=True, timeout=60, check=False)
    check(p.returncode == 1 and "open files" in p.stderr and "ulimit" in p.stderr, p)


def words():
    r = Run("--help")
    rows = r.out.splitlines()
    check(r.rc == 0 and len(rows) <= 24 and max(map(len, rows)) <= 80, r)
    r = Run("--version")
    check(r.rc == 0 and re.match(r"mpiexec \(Pliant MPI\) \d+\.\d+\.\d+\n", r.out), r)
    # What scripts for other MPIs look for.
    check("Open MPI" in r.out and "OpenRTE" in r.out and "MPICH" in r.out and "HYDRA" in r.out, r)
    r = Run("-n", 2, "--dry-run", PROBE, "x", ":", "-wdir", "/", PROBE)
    check(r.rc == 0 and len(r.out.splitlines()) == 3 and "(in /)" in r.out, r)
    fake = {"HWLOC_SYNTHETIC": "pack:2 numa:2 core:4 pu:2"}
    r = Run("-n", 5, "--dry-run", "--map-by", "socket", "--bind-to", "core", "true", env=fake)
    check([s.split()[3] for s in r.out.splitlines() if s.startswith("rank")] == ["0", "8", "1", "9", "2"], r)
    r = Run("-n", 3, "--dry-run", "--map-by", "numa:PE=2", "true", env=fake)
    check([s.split()[3] for s in r.out.splitlines() if s.startswith("rank")] == ["0-1", "4-5", "8-9"], r)
    r = Run("-n", 2, "--dry-run", "--map-by", "core", "--bind-to", "socket", "true", env=fake)
    check([s.split()[3] for s in r.out.splitlines() if s.startswith("rank")] == ["0-7", "0-7"], r)
    r = Run("-n", 18, "--dry-run", "--bind-to", "core", "true", env=fake)
    check(r.out.splitlines()[17].split()[3] == "1", r)
    cpus = sorted(os.sched_getaffinity(0))
    r = Run("-n", 2, "--bind-to", "core", "--report-bindings", sys.executable, "-c",
            "import os; print(len(os.sched_getaffinity(0)))")
    check(r.rc == 0 and r.err.count("core") == 2, r)
    check(all(1 <= int(s) <= max(1, len(cpus) // 2) or len(cpus) == 1 for s in r.out.split()), r)
    for habit in ("--oversubscribe", "--allow-run-as-root"):
        r = Run(habit, "-n", 1, PROBE, "print", "x")
        check(r.rc == 0 and r.out == "x\n" and r.err == "", r)


def exit_status():
    r = Run("-n", 3, PROBE, "init", "barrier", "final", "only", "1", "exit", "5")
    check(r.rc == 5 and "exit status 5, after MPI_Finalize" in r.words, r)
    r = Run("-n", 3, "sh", "-c", "exit 0")
    check(r.rc == 0 and r.err == "", r)
    # Not MPI: the others go on.
    r = Run("-n", 2, "sh", "-c", "test $PLIANT_RANK = 0 && exit 3; sleep 0.3; echo done")
    check(r.rc == 3 and r.out == "done\n", r)


def leaks():
    """One run that looks for leaks, when this is a build that can."""
    if SLOW > 1:
        r = Run("-n", 1, "-x", "A=1", "--stdin=all", "--bind-to", "core", PROBE, "print", "x", stdin="y",
                env={"ASAN_OPTIONS": "detect_leaks=1"}, timeout=60)
        check(r.rc == 0 and r.err == "", r)


before = shm_files()
env = mark()
os.environ.update(env)
for part in (ranks_and_parts, task_with_several_ranks, environment, standard_input, cost, words,
             exit_status, leaks):
    part()
nothing_left(env, "processes are left")
check(shm_files() <= before, "files are left")
sys.exit(status())
