#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The commands that README and the guides show: programs are built and run as it says there; what needs other hosts, a checkpoint or a
debugger is given to mpiexec --dry-run, which judges every option; targets of make and orders of mpictl exist."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, IS_SANITIZED, SLOW, SOURCE, check, status

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "docs", "site"))
from markdown import Markdown

BIN = os.path.join(BUILD, "bin")
# Options with which a job can run here and now. Others are tried by --dry-run alone.
RUNS_HERE = {"-n", "-np", "-l", "--profile", "--timeline", "--check", "--record", "--ranks-per-proc", "--upc-groups", "--elastic", "--pset",
             "--endpoints", "-static-mpi", "--on-failure"}
DEBUGGERS = {"gdb", "valgrind", "xterm", "java"}
counts = {"run": 0, "dry": 0, "order": 0, "target": 0}


def run(words, folder, **more):
    path = os.pathsep.join([BIN, os.environ["PATH"], os.path.join(folder, "stand-ins")])
    env = {**os.environ, "PATH": path, "PKG_CONFIG_PATH": os.path.join(BUILD, "lib", "pkgconfig")}
    try:
        return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120 * SLOW,
                              stdin=subprocess.DEVNULL, **more)
    except (OSError, subprocess.TimeoutExpired) as e:
        return subprocess.CompletedProcess(words, 1, "", str(e))


def stand_in(folder, name):
    """A program that the guide does not show: ours stands for it."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        shutil.copy(os.path.join(folder, "stand-in"), path)


def good(where, line, r):
    check(r.returncode == 0, f"{where}: {line}\n{r.stdout}{r.stderr}", depth=3)


def try_mpiexec(where, line, words, folder):
    words = words[:words.index("&")] if "&" in words else words
    if any(w.endswith("python3") for w in words):
        return  # python_mpi4py.py has these, where there is mpi4py
    for hosts in [w[6:] for w in words if w.startswith("HOSTS=")]:
        with open(os.path.join(folder, hosts), "w", encoding="ascii") as f:
            f.write("node1:4\n")
    for word in words:
        if re.match(r"\./[\w.-]+$", word) and not word.endswith(".so"):
            stand_in(folder, word)
    options = {w.partition("=")[0] for w in words if w.startswith("-") and w != "-"}
    if options & {"--restart", "--join", "--replay", "--impi", "--tool"}:
        check_options(where, line, options)
        return
    programs = [w for w in words if w.startswith("./") or w in ("upcrun", *DEBUGGERS)]
    if not programs:
        check_options(where, line, options)
        return
    here = options <= RUNS_HERE and not DEBUGGERS & set(words)
    counts["run" if here else "dry"] += 1
    good(where, line, run(words if here else ["mpiexec", "--dry-run", *words[1:]], folder))


def check_options(where, line, options):
    """What cannot run and has no program to plan for: at least each option is one of mpiexec's."""
    counts["dry"] += 1
    known = run(["mpiexec", "--help-all"], "/").stdout
    for option in options:
        check(re.search(re.escape(option) + r"(?![\w-])", known), f"{where}: {line}: mpiexec has no {option}", depth=3)


def try_line(where, line, folder):
    line = re.sub(r"^(\w+)?\$ ", "", line)
    try:
        words = shlex.split(line, comments=True)
    except ValueError as e:
        check(False, f"{where}: {line}: {e}")
        return
    if not words or "..." in words or any(w.endswith("...") for w in words):
        return
    if words[0] == "mpiexec":
        try_mpiexec(where, line, words, folder)
    elif words[0] in ("mpicc", "mpifort", "upcc") and not words[1].startswith("--") and all(os.path.exists(os.path.join(folder, w)) for w in words[1:] if re.search(r"\.(c|f90|upc)$", w)):
        counts["run"] += 1
        good(where, line, run(words, folder))
    elif words[0] == "upcrun" or words[:2] == ["impirun", "--local"] and "--mpi" not in words:
        for word in words:
            if word.startswith("./"):
                stand_in(folder, word)
        counts["run"] += 1
        good(where, line, run(words, folder))
    elif words[0] == "make" and len(words) > 1:
        with open(os.path.join(SOURCE, "Makefile"), encoding="utf-8") as f:
            targets = set(re.findall(r"(?m)^([a-z-]+):", f.read()))
        counts["target"] += 1
        check(words[1] in targets, f"{where}: {line}: there is no such target")
    elif words[0] == "mpictl" and len(words) > 1:
        counts["order"] += 1
        order = next((w for w in words[1:] if re.match(r"[a-z]+$", w)), "")
        check(re.search(rf"(?m)^  .*\b{order}\b", run(["mpictl", "--help"], folder).stdout), f"{where}: {line}: mpictl has no such order")


def lines_of(text):
    """The commands of a block; output and other languages give none."""
    lines = text.split("\n")
    shown = [x for x in lines if re.match(r"(\w+)?\$ ", x)]
    return shown or [x for x in lines if re.match(r"(mpi|make |upc|impirun )", x)]


def try_page(path, top):
    where = os.path.relpath(path, SOURCE)
    folder = os.path.join(top, where.replace("/", "-"))
    os.makedirs(os.path.join(folder, "stand-ins"))
    for name in DEBUGGERS:
        shutil.copy(os.path.join(top, "stand-in"), os.path.join(folder, "stand-ins", name))
    shutil.copy(os.path.join(top, "stand-in"), folder)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    lines = []
    for _, block in Markdown(text, lambda target, is_image: target).blocks:
        named = re.match(r"(?://|!|#) ([\w-]+\.\w+)(.*)\n", block)
        if named:
            with open(os.path.join(folder, named[1]), "w", encoding="utf-8") as f:
                f.write("node1:8\nnode2:8\n" if named[1] == "hosts.txt" else block + "\n")
        lines += lines_of(block)
    prose = re.sub(r"(?m)^    .*|```[\s\S]*?```", "", text)
    lines += [" ".join(x.split()) for x in re.findall(r"`(mpiexec [^`]* \./[^`]*)`", prose)]
    has_fortran = run(["mpifort", "--version"], folder).returncode == 0
    for line in lines:
        if has_fortran or "mpifort" not in line:
            try_line(where, line, folder)


if IS_SANITIZED:
    print("skipped: libraries of tools cannot come before that of a sanitizer")
    sys.exit(77)
with tempfile.TemporaryDirectory() as d:
    source = os.path.join(d, "stand-in.c")
    with open(source, "w", encoding="ascii") as f:
        f.write("#include <mpi.h>\nint main(int argc, char **argv)\n{\n    MPI_Init(&argc, &argv);\n    MPI_Barrier(MPI_COMM_WORLD);\n"
                "    return MPI_Finalize();\n}\n")
    r = run(["mpicc", "-o", "stand-in", source], d)
    check(r.returncode == 0, r)
    for page in [os.path.join(SOURCE, "README.md"), *sorted(glob.glob(os.path.join(SOURCE, "docs", "**", "*.md"), recursive=True))]:
        try_page(page, d)
    print(counts)
    check(counts["run"] >= 20 and counts["dry"] >= 30 and counts["order"] >= 5 and counts["target"] >= 4, counts)
sys.exit(status())
