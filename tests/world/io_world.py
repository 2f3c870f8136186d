#!/usr/bin/env python3
"""Programs that use files and that nobody here wrote, built with this library and run.

HDF5, PnetCDF and MPICH's tests of files come from Debian's source packages (network), IOR and mdtest
from a folder that the user names. What they say is printed as a table; --docs puts it into a page.
"""
import argparse
import os
import pathlib
import re
import shutil
import sys
import tempfile

from world import World

BEGIN = "<!-- programs of others: make test-io-world writes from here -->"
END = "<!-- to here -->"

HDF5 = ["t_mpi", "testphdf5", "t_shapesame", "t_bigio", "t_pread", "t_pshutdown", "t_prestart", "t_init_term",
        "t_filters_parallel", "t_cache", "t_cache_image"]


def hdf5(w):
    top = w.source("hdf5")
    log = w.work / "hdf5.log"
    here = w.work / "hdf5.build"
    if not (here / "testpar" / "testphdf5").exists():
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        env = ["CC=mpicc", "CFLAGS=-O1 -w", f"RUNPARALLEL=mpiexec -n {w.ranks}"]
        w.must([top / "configure", "--enable-parallel", "--disable-shared", "--disable-hl", "--disable-tools",
                "--disable-dependency-tracking", *env], here, log)
        w.must(["make", f"-j{w.jobs}", "-C", "src"], here, log)
        w.must(["make", f"-j{w.jobs}", "-C", "test", "libh5test.la"], here, log)
        w.must(["make", f"-j{w.jobs}", "-C", "testpar", *HDF5], here, log)
    for name in HDF5:
        if not w.wanted(name):
            continue
        n = w.ranks
        log = w.work / f"hdf5.{name}.log"
        log.unlink(missing_ok=True)
        status, took = w.run(["mpiexec", "-n", str(n), f"./{name}"], here / "testpar", log, w.limit)
        w.row("HDF5", name, n, status, took)


def counts(log):
    """What automake's summaries of a log add up to."""
    text = open(log, errors="replace").read()
    return {k: sum(int(n) for n in re.findall(rf"^# {k}: +(\d+)", text, re.M)) for k in ("PASS", "FAIL", "ERROR", "SKIP")}


def make_configure(w, command, top, log):
    """Sources come with a whole `configure`, or it is made; one that was begun and not ended is made again."""
    begun = top / "configure.begun"
    if begun.exists() or not (top / "configure").exists():
        begun.touch()
        w.must(command, top, log)
        begun.unlink()


def pnetcdf(w):
    top = w.source("pnetcdf")
    log = w.work / "pnetcdf.log"
    here = w.work / "pnetcdf.build"
    make_configure(w, ["autoreconf", "-fi"], top, log)
    if not (here / "built").exists():
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        w.must([top / "configure", "--disable-fortran", "--disable-cxx", "--disable-dependency-tracking",
                f"MPICC={w.bin}/mpicc", "CFLAGS=-O1 -w", f"TESTMPIRUN={w.bin}/mpiexec -n NP"], here, log)
        w.must(["make", f"-j{w.jobs}"], here, log)
        w.must(["make", f"-j{w.jobs}", "tests"], here, log)
        (here / "built").touch()
    for word, n in (("check", 1), ("ptest", 4)):
        log = w.work / f"pnetcdf.{word}.log"
        log.unlink(missing_ok=True)
        status, took = w.run(["make", "-k", word], here, log, 4 * w.limit)
        c = counts(log)
        says = f"{c['PASS']} pass, {c['FAIL'] + c['ERROR']} fail" if word == "check" else ""
        w.row("PnetCDF", f"make {word}", n, status, took, says)


def mpich_rows(folder):
    """Programs of a test list: name, ranks, arguments."""
    for line in open(folder / "testlist.in" if (folder / "testlist.in").exists() else folder / "testlist"):
        words = re.sub(r"@\w+@|#.*", "", line).split()
        if len(words) >= 2:
            yield words[0], int(words[1]), [x[4:] for x in words[2:] if x.startswith("arg=")], \
                [x[4:] for x in words[2:] if x.startswith("env=")]


def mpich(w):
    top = w.source("mpich") / "test" / "mpi"
    log = w.work / "mpich.log"
    here = w.work / "mpich.build"
    make_configure(w, ["./autogen.sh"], top, log)
    if not (here / "Makefile").exists():
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        w.must([top / "configure", f"--with-mpi={w.build}", "--disable-fortran", "--disable-cxx", "CC=mpicc",
                "MPICC=mpicc", "CFLAGS=-O1 -w", "--disable-dependency-tracking"], here, log)
        w.must(["make", f"-j{w.jobs}", "-C", "util"], here, log)
    io = here / "io"
    for name, n, args, env in mpich_rows(io if (io / "testlist").exists() else top / "io"):
        if not w.wanted(name):
            continue
        log = w.work / f"mpich.{name}.log"
        log.unlink(missing_ok=True)
        status, _ = w.run(["make", name], io, log)
        if status != 0:
            w.row("MPICH io", name, n, status, 0, "cannot be built")
            continue
        own = dict(w.env, **dict(x.split("=", 1) for x in env))
        status, took = w.run(["mpiexec", "-n", str(n), f"./{name}", *args], io, log, w.limit, own)
        if status == 0 and "No Errors" not in open(log, errors="replace").read():
            status = "no \"No Errors\""
        w.row("MPICH io", name, n, status, took)


def ior(w, folder):
    log = w.work / "ior.log"
    here = w.work / "ior.build"
    if not (here / "src" / "ior").exists():
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(folder, here)
        make_configure(w, ["./bootstrap"], here, log)
        w.must(["./configure", "CC=mpicc", "CFLAGS=-O1 -w", "--disable-dependency-tracking", "--without-hdf5",
                "--without-ncmpi"], here, log)
        w.must(["make", f"-j{w.jobs}"], here, log)
    place = w.work / "ior.data"
    for says, args in (("one file", []), ("one file, collective", ["-c"]), ("a file per rank", ["-F"]),
                       ("one file, views", ["-c", "--mpiio.useFileView"]),
                       ("small records, collective", ["-c", "-t", "4k", "-b", "4k", "-s", "64"])):
        log = w.work / "ior.run.log"
        log.unlink(missing_ok=True)
        size = [] if "-b" in args else ["-t", "256k", "-b", "4m"]
        status, took = w.run(["mpiexec", "-n", str(w.ranks), here / "src" / "ior", "-a", "MPIIO", "-r", "-w", "-R", "-W",
                              "-C", "-i", "2", "-o", place, *size, *args], here, log, w.limit)
        if status == 0 and re.search(r"WARNING|data check error", open(log, errors="replace").read(), re.I):
            status = "data differ or a warning"
        w.row("IOR", says, w.ranks, status, took)
    status, took = w.run(["mpiexec", "-n", str(w.ranks), here / "src" / "mdtest", "-a", "POSIX", "-n", "20", "-F", "-w",
                          "512", "-e", "512", "-d", w.work / "mdtest.data"], here, w.work / "mdtest.log", w.limit)
    w.row("mdtest", "-a POSIX -F, as it has no MPIIO", w.ranks, status, took)


def table(rows):
    """Lines of the page by package and program; MPICH's many programs are one."""
    lines = {(a, b): f"| {a}, `{b}` | {n} | {word} | {t} |" for a, b, n, word, t in rows if a != "MPICH io"}
    tests = [r for r in rows if r[0] == "MPICH io"]
    if tests:
        good = [r for r in tests if r[3] == "passes"]
        bad = ", ".join(f"`{r[1]}` {r[3]}" for r in tests if r not in good)
        lines["MPICH", "test/mpi/io"] = f"| MPICH, `test/mpi/io` | | {len(good)} of {len(tests)} rows pass{': ' + bad if bad else ''} | |"
    return lines


def write_docs(page, rows):
    """What was not run keeps its line."""
    text = page.read_text()
    if BEGIN not in text or END not in text:
        sys.exit(f"io_world: {page} has no lines {BEGIN} and {END}")
    head, rest = text.split(BEGIN, 1)
    old, rest = rest.split(END, 1)
    lines = {m.groups(): m.string for m in (re.match(r"\| (\w+), `(.*?)` \|.*", x) for x in old.splitlines()) if m}
    lines.update(table(rows))
    order = ["HDF5", "PnetCDF", "IOR", "mdtest", "MPICH"]
    body = [lines[k] for k in sorted(lines, key=lambda k: order.index(k[0]))]
    page.write_text(head + BEGIN + "\n".join(["", "| program | ranks | result | s |", "|---|---|---|---|", *body]) + "\n\n" + END + rest)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"), help="the build folder of this library")
    p.add_argument("--work", type=pathlib.Path, help="folder for sources, builds and logs; it is kept. Without it one is made and removed")
    p.add_argument("--ior", type=pathlib.Path, help="folder with the source of IOR and mdtest, which Debian does not have")
    p.add_argument("--docs", type=pathlib.Path, help="page that gets the table; lines of what is not run stay")
    p.add_argument("--only", help="programs of HDF5 and MPICH whose names match")
    p.add_argument("--ranks", type=int, default=4)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--limit", type=int, default=900, help="seconds that one program may take")
    p.add_argument("parts", nargs="*", help="hdf5 pnetcdf mpich ior; all that can be had when none is named")
    args = p.parse_args()
    parts = args.parts or ["hdf5", "pnetcdf", "mpich"] + (["ior"] if args.ior else [])
    for part in parts:
        if part not in ("hdf5", "pnetcdf", "mpich", "ior") or (part == "ior" and args.ior is None):
            sys.exit("io_world: " + ("ior needs --ior FOLDER" if part == "ior" else f"no part is called {part}"))
    made = None
    if args.work is None:
        made = tempfile.mkdtemp(prefix="io-world.")
        args.work = pathlib.Path(made)
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    w = World(args, "io_world")
    try:
        for part in parts:
            ior(w, args.ior.resolve()) if part == "ior" else {"hdf5": hdf5, "pnetcdf": pnetcdf, "mpich": mpich}[part](w)
    finally:
        if made:
            shutil.rmtree(made, ignore_errors=True)
    if args.docs:
        write_docs(args.docs, w.rows)
    bad = [r for r in w.rows if not r[3].startswith("passes")]
    print(f"{len(w.rows) - len(bad)} of {len(w.rows)} rows pass")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
