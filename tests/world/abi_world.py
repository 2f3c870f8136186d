#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs of Debian packages, as they are, on this MPI and on their own, and compares what they say.

usage: abi_world.py --build BUILD [--work DIR] [--docs PAGE] [--no-install] [--limit S] [--repeat N] [--first] [NAME]...

Packages that are missing are installed by apt-get (root), after a line that says which ones; with --no-install the rows that
need them are left out. With --first the programs go before what else the machine does (root), as the benchmarks do. Each row of abi_programs.py runs in a folder of its own, which is removed at the end unless --work names it.
The status is 1 if a program fails on this MPI or answers otherwise than on its own; the table says why.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time

from abi_programs import ROWS
from compare import LAUNCHER, Outcome, bash, install, missing, page_lines, same, write_page

HERE = pathlib.Path(__file__).resolve().parent
BEGIN = "<!-- programs of packages: make test-abi-world writes from here -->"
NEEDED = {"openmpi": "openmpi-bin libopenmpi-dev", "mpich": "mpich libmpich-dev"}


FIRST = "echo -15 >/proc/self/autogroup\n"  # bash is the first process of a session; ranks of MPICH begin others


def run_row(row, launcher, folder, args):
    """Prepares a fresh folder and runs the program in it; only the program's time counts."""
    shutil.rmtree(folder, ignore_errors=True)
    inputs, first = HERE / "abi" / row.folder, ""
    if row.folder:
        shutil.copytree(inputs, folder)
    else:
        folder.mkdir(parents=True)
    if args.first and launcher == LAUNCHER["mpich"]:
        first = f" {folder}/first"
        (folder / "first").write_text(f'#!/bin/sh\n{FIRST}exec "$@"\n', encoding="ascii")
        (folder / "first").chmod(0o755)
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPI": row.mpi, "HOME": str(folder), "RUN": f"{launcher} -n {row.ranks}{first}",
           "RUN1": f"{launcher} -n 1{first}", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    if row.prepare:
        status, said = bash("set -e\n" + row.prepare, folder, env, args.limit)
        if status != 0:
            return Outcome(status, said, 0, "$^")
    begin = time.monotonic()
    status, said = bash((FIRST if args.first else "") + row.command, folder, env, args.limit)
    seconds = time.monotonic() - begin
    for name in row.reads:
        if (folder / name).exists():
            said += (folder / name).read_text(errors="replace")
    return Outcome(status, said, seconds, row.answer)


def try_row(row, launcher, folder, args):
    """The first run that has an answer, of as many as the row may take."""
    for i in range(row.tries):
        got = run_row(row, launcher, folder, args)
        if not got.why:
            break
        if i + 1 < row.tries:
            print(f"({got.why}; again) ", end="", flush=True)
    return got


def judge(row, mine, own):
    """(whether it is as it should be, the cell of this MPI, the cell of its own)"""
    if mine.why:
        return False, mine.why, own.why or "runs"
    if own.why:
        return True, "runs", own.why
    if same(mine.answer, own.answer, row.tolerance):
        return True, "the same answer", "the same answer"
    return False, "another answer", "runs"


def run_all(args, rows, work):
    """Runs the rows; gives the lines of the table and the number of failures."""
    lines, failed = ["| program | what it does | ranks | on Pliant MPI | seconds | on its own MPI | seconds |", "|---|---|---|---|---|---|---|"], 0
    ours = f"{args.build}/bin/mpiexec"
    for i, row in enumerate(rows):
        print(f"[{i + 1}/{len(rows)}] {row.name} ", end="", flush=True)
        mine, own = [], []
        for _ in range(args.repeat):
            mine.append(try_row(row, ours, work / f"{row.name}.pliant", args))
            own.append(try_row(row, LAUNCHER[row.mpi], work / f"{row.name}.own", args))
            if mine[-1].why:
                break
        good, cell, own_cell = judge(row, mine[-1], own[-1])
        failed += not good
        best, own_best = min(o.seconds for o in mine), min(o.seconds for o in own)
        lines.append(f"| {row.name} ({row.mpi}) | {row.what} | {row.ranks} | {cell} | {best:.1f} | {own_cell} | {own_best:.1f} |")
        print(f"{cell}, {best:.1f} s; on its own MPI: {own_cell}, {own_best:.1f} s", flush=True)
        if not good:
            print("    " + "\n    ".join(mine[-1].said.strip().splitlines()[-8:]), flush=True)
    return lines, failed


def merged(old, lines):
    """The table of a page with the rows that have run; it keeps the others, and the order of ROWS."""
    cells = {line.split("|")[1]: line for line in [*old[2:], *lines[2:]]}
    order = [f" {r.name} ({r.mpi}) " for r in ROWS]
    return lines[:2] + [cells[name] for name in order if name in cells]


def main():
    words = argparse.ArgumentParser(usage=__doc__)
    words.add_argument("--build", required=True, type=lambda p: pathlib.Path(p).resolve())
    words.add_argument("--work", type=lambda p: pathlib.Path(p).resolve(), help="a folder for everything, which is kept")
    words.add_argument("--docs", type=pathlib.Path, help="the page in whose table the rows that have run are written anew")
    words.add_argument("--no-install", action="store_true")
    words.add_argument("--limit", type=float, default=600, help="seconds for one program")
    words.add_argument("--repeat", type=int, default=1, help="runs of each, in turn; the best time counts")
    words.add_argument("--first", action="store_true", help="before other processes")
    words.add_argument("names", nargs="*")
    args = words.parse_args()
    unknown = set(args.names) - {r.name for r in ROWS}
    if unknown:
        sys.exit(f"abi_world: there is no row {', '.join(sorted(unknown))}; the rows are {', '.join(r.name for r in ROWS)}")
    if shutil.which("apt-get") is None:
        sys.exit("abi_world: the programs come from Debian's packages, and this system has no apt-get")
    rows = [r for r in ROWS if not args.names or r.name in args.names]
    work = args.work or pathlib.Path(tempfile.mkdtemp(prefix="abi-world-", dir="/var/tmp"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        need = sorted({p for r in rows for p in (r.packages + " " + NEEDED[r.mpi]).split()})
        print(f"abi_world: {len(rows)} programs in {work}; they take up to half an hour", flush=True)
        if not args.no_install:
            install("abi_world", missing(need), work)
        absent = set(missing(need))
        left_out = [r for r in rows if absent & set(r.packages.split())]
        for r in left_out:
            print(f"abi_world: {r.name} is left out, without {' '.join(sorted(absent & set(r.packages.split())))}")
        rows = [r for r in rows if r not in left_out]
        lines, failed = run_all(args, rows, work)
        print("\n".join(lines))
        if args.docs:
            write_page(args.docs, BEGIN, merged(page_lines(args.docs, BEGIN), lines))
        print(f"abi_world: {len(rows) - failed} of {len(rows)} run as they should; {len(left_out)} were left out")
        return 1 if failed else 0
    finally:
        if not args.work:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
