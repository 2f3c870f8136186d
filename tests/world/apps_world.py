#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds applications from Debian's sources with this MPI and with the two others, runs them, and compares what they say.

usage: apps_world.py --build BUILD [--work DIR] [--docs PAGE] [--no-install] [NAME]...

The sources are those of the authors, as Debian keeps them (apt-get source --tar-only; a network), or archives of the same names in
the folder tars of --work. Each application is built
and run in a folder of its own, which is removed at the end unless --work names it. The status is 1 if one cannot be built with this MPI,
fails on it, or answers otherwise than on the others.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from apps_programs import APPS
from compare import LAUNCHER, Outcome, bash, install, missing, same, source_options, write_page

BEGIN = "<!-- applications: make test-apps writes from here -->"
NEEDED = "dpkg-dev make gcc openmpi-bin libopenmpi-dev mpich libmpich-dev"


def fetch(app, tars, options):
    """The archive of the authors' sources, or None and what apt-get said. One that is in the folder is taken as it is."""
    def have():
        return sorted(tars.glob(f"{app.source}_*.orig.tar.*"))
    said = ""
    for _ in range(0 if have() else 2):
        r = subprocess.run(["apt-get", *options, "source", "-qq", "--download-only", "--tar-only", app.source], cwd=tars,
                           capture_output=True, text=True, check=False)
        said = r.stderr
        if have():
            break
    return (have() or [None])[0], said


def build_app(app, mpi, archive, work, args):
    """Its folder and None, or why it could not be built."""
    folder = work / f"{app.name}.{mpi}"
    if args.reuse and (folder / ".built").exists():
        return folder, None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["tar", "-xf", archive, "--strip-components=1"], cwd=folder, check=True)
    cc, cxx = (f"{args.build}/bin/{w}" if mpi == "pliant" else f"{w}.{mpi}" for w in ("mpicc", "mpicxx"))
    env = {**os.environ, "CC": cc, "CXX": cxx, "JOBS": str(args.jobs)}
    status, said = bash("set -e\n" + app.build, folder, env, args.limit)
    if status == 0:
        (folder / ".built").touch()
    return folder, None if status == 0 else Outcome(status, said, 0, "$^")


def run_app(app, mpi, folder, args, limit):
    launcher = f"{args.build}/bin/mpiexec" if mpi == "pliant" else LAUNCHER[mpi]
    env = {**os.environ, "RUN": f"{launcher} -n {app.ranks}", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in app.reads:
        (folder / name).unlink(missing_ok=True)
    begin = time.monotonic()
    status, said = bash(app.run, folder, env, limit)
    seconds = time.monotonic() - begin
    for name in app.reads:
        if (folder / name).exists():
            said += (folder / name).read_text(errors="replace")
    return Outcome(status, said, seconds, app.answer)


def patience(mpi, mine, limit):
    """Seconds for a run: with another MPI fifty times as long as with this one, since MPICH's ranks that share cores may take
    minutes for each second here."""
    return limit if mpi == "pliant" else min(limit, max([60, *(50 * r.seconds for r in mine)]))


def try_app(app, archive, work, args):
    """What it came to with each MPI: the median of several runs, which take turns, or the first that went wrong."""
    runs, folders = {}, {}
    for mpi in ("pliant", "mpich", "openmpi"):
        folders[mpi], failed = build_app(app, mpi, archive, work, args)
        if failed:
            failed.why = "is not built: " + failed.why
        runs[mpi] = [failed] if failed else []
        print(f"{mpi}: {'not built' if failed else 'built'}; ", end="", flush=True)
    for _ in range(args.repeat):
        for mpi, folder in folders.items():
            if not any(r.why for r in runs[mpi]):
                runs[mpi].append(run_app(app, mpi, folder, args, patience(mpi, runs["pliant"], args.limit)))
    for folder in folders.values():
        if not args.work:
            shutil.rmtree(folder, ignore_errors=True)
    return {mpi: next((r for r in of if r.why), sorted(of, key=lambda r: r.seconds)[len(of) // 2]) for mpi, of in runs.items()}


def table_line(app, got):
    """(the line of the table, whether all is as it should be)"""
    mine, others = got["pliant"], [got[m] for m in ("mpich", "openmpi")]
    good = not mine.why and all(o.why or same(mine.answer, o.answer, app.tolerance) for o in others)
    cells = [f"{o.seconds:.2f}" if not o.why else o.why for o in (mine, *others)]
    word = "the same answer" if good else mine.why or "another answer"
    return f"| {app.name} | {app.what} | {app.ranks} | {word} | {' | '.join(cells)} |", good


def run_all(args, apps, work):
    lines = ["| application | what it does | ranks | on Pliant MPI | seconds | with MPICH | with Open MPI |", "|---|---|---|---|---|---|---|"]
    failed = left_out = 0
    tars = work / "tars"
    tars.mkdir(exist_ok=True)
    options = source_options(work)
    for i, app in enumerate(apps):
        print(f"[{i + 1}/{len(apps)}] {app.name}: ", end="", flush=True)
        archive, said = fetch(app, tars, options)
        if archive is None:
            print(f"left out, apt-get source does not give it, nor is it in {tars}: {' '.join(re.findall(r'(?m)^E: (.*)', said)[:1])}", flush=True)
            left_out += 1
            continue
        got = try_app(app, archive, work, args)
        line, good = table_line(app, got)
        lines.append(line)
        failed += not good
        print(re.sub(r"^\| \S+ \|", "", line), flush=True)
        if not good:
            print("    " + "\n    ".join(got["pliant"].said.strip().splitlines()[-8:]), flush=True)
    return lines, failed, left_out


def main():
    words = argparse.ArgumentParser(usage=__doc__)
    words.add_argument("--build", required=True, type=lambda p: pathlib.Path(p).resolve())
    words.add_argument("--work", type=lambda p: pathlib.Path(p).resolve(), help="a folder for everything, which is kept")
    words.add_argument("--docs", type=pathlib.Path, help="the page whose table is written anew when all have run")
    words.add_argument("--no-install", action="store_true")
    words.add_argument("--limit", type=float, default=1800, help="seconds for one build or one program")
    words.add_argument("--repeat", type=int, default=3, help="runs of each, in turn; the median counts")
    words.add_argument("--reuse", action="store_true", help="run what an earlier call with this --work has built")
    words.add_argument("--jobs", type=int, default=os.cpu_count())
    words.add_argument("names", nargs="*")
    args = words.parse_args()
    unknown = set(args.names) - {a.name for a in APPS}
    if unknown:
        sys.exit(f"apps_world: there is no application {', '.join(sorted(unknown))}; there are {', '.join(a.name for a in APPS)}")
    if shutil.which("apt-get") is None:
        sys.exit("apps_world: the sources come from Debian by apt-get, which this system does not have")
    apps = [a for a in APPS if not args.names or a.name in args.names]
    work = args.work or pathlib.Path(tempfile.mkdtemp(prefix="apps-world-", dir="/var/tmp"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        print(f"apps_world: {len(apps)} applications are built three times each in {work}; this takes minutes on an idle machine", flush=True)
        need = sorted({p for a in apps for p in (a.packages + " " + NEEDED).split()})
        if not args.no_install:
            install("apps_world", missing(need), work)
        absent = missing(need)
        if absent:
            sys.exit(f"apps_world: these packages are missing: {' '.join(absent)}")
        lines, failed, left_out = run_all(args, apps, work)
        print("\n".join(lines))
        if args.docs and not args.names and not left_out:
            write_page(args.docs, BEGIN, lines)
        print(f"apps_world: {len(apps) - failed - left_out} of {len(apps)} build and run as they should; {left_out} were left out")
        return 1 if failed else 0
    finally:
        if not args.work:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
