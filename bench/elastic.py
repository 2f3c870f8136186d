#!/usr/bin/env python3
"""Measures worlds that change: spawning beside Open MPI, the pause of a world that grows, forks; and checkpoints beside
CRIU alone.

usage: elastic.py [--build DIR] [--quick]

Writes DIR/bench/elastic.json, and elastic.md with plots beside it. Debian's MPICH cannot spawn.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from contender import contenders, run_once, version_of  # noqa: E402
from elastic_report import arguments, write_figures, write_page  # noqa: E402
from results import number  # noqa: E402
from run import machine  # noqa: E402
from startup_report import plot, table  # noqa: E402

LIMIT_S = 60


def values(command, program, env=None):
    """All numbers a job printed."""
    found, _ = run_once(command, program, LIMIT_S, env)
    return [v for got in found.values() for v in got]


def spawn(c, folder, sizes, runs):
    program = c.build("elastic_spawn", folder)
    out = []
    for n in sizes:
        # One in each job: Open MPI's may wait for ever in a second one.
        got = [v for _ in range(runs)
               for v in values([c.launch, *c.free, "-n", "1", program, str(n), "1"], program, c.env)]
        out.append((n, min(got)))
        print(f"spawn mpi={c.name} processes={n} {out[-1][1]:.2f} ms", flush=True)
    return out


def fork(c, folder, sizes, runs):
    program = c.build("elastic_fork", folder)
    out = []
    for mib in sizes:
        got = [v for _ in range(runs)
               for v in values([c.launch, *c.free, "-n", "2", program, str(mib)], program)]
        out.append((mib, min(got)))
        print(f"fork ranks=2 mib={mib} {out[-1][1]:.2f} ms", flush=True)
    return out


def grow(c, folder, runs):
    """Pauses of the survivors, in ms."""
    program = c.build("elastic_grow", folder)
    mpictl = os.path.join(os.path.dirname(c.launch), "mpictl")
    out = []
    for _ in range(runs):
        job = subprocess.Popen([c.launch, *c.free, "--elastic", "2:4", "-n", "2", program],
                               stdout=subprocess.PIPE, text=True)
        try:
            time.sleep(0.2)  # in the middle of its loop
            subprocess.run([mpictl, "grow", "2", str(job.pid)], stdout=subprocess.DEVNULL, check=True,
                           timeout=LIMIT_S)
            text, _ = job.communicate(timeout=LIMIT_S)
        finally:
            job.terminate()  # mpiexec ends its ranks
            job.wait()
        if job.returncode != 0:
            raise RuntimeError(f"exit status {job.returncode}")
        out.append(float(text.split()[2]))
    print(f"grow 2->4 pause {min(out):.2f} ms", flush=True)
    return out


def dump_ours(c, program, mib, where):
    """Seconds until a checkpoint of two ranks is on the disk, and how long they stood still."""
    job = subprocess.Popen([c.launch, *c.free, "--checkpoint-dir", where, "-n", "2", program, str(mib)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert job.stdout.readline() == "ready\n"
        subprocess.run([os.path.join(os.path.dirname(c.launch), "mpictl"), "checkpoint", str(job.pid)],
                       stdout=subprocess.DEVNULL, check=True, timeout=LIMIT_S)
        job.terminate()
        text = " ".join(job.communicate(timeout=LIMIT_S)[0].split())
    finally:
        job.kill()
        job.wait()
    return tuple(map(float, re.search(r": ([\d.]+) s, of which the ranks stood still ([\d.]+) s", text).groups()))


def dump_alone(program, mib, where):
    """Seconds that CRIU takes for two processes side by side, as mpiexec lets it work; and until that is on the disk."""
    jobs = [subprocess.Popen([program, str(mib), "plain"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            for _ in range(2)]
    try:
        for i, job in enumerate(jobs):
            assert job.stdout.readline() == "ready\n"
            os.mkdir(os.path.join(where, str(i)))
        begin = time.monotonic()
        dumps = [subprocess.Popen(["criu", "dump", "--tree", str(job.pid), "--images-dir", os.path.join(where, str(i)),
                                   "-v1", "--log-file", "dump.log", "--leave-running", "--shell-job"])
                 for i, job in enumerate(jobs)]
        good = [d.wait(timeout=LIMIT_S) == 0 for d in dumps]
        dumped = time.monotonic() - begin
        subprocess.run(["sync", *glob.glob(os.path.join(where, "[01]", "*.img"))], check=True)
        on_disk = time.monotonic() - begin
    finally:
        for job in jobs:
            job.kill()
            job.wait()
            job.stdout.close()
    if not all(good):
        raise RuntimeError("criu dump failed")
    return dumped, on_disk


def checkpoint(c, folder, mib, runs):
    """[(MiB, s, s stood still, s of CRIU alone, s of CRIU and sync)], one after the other in turn."""
    program = c.build("elastic_ckpt", folder)
    out = []
    for i in range(runs):
        for who in (0, 1) if i % 2 == 0 else (1, 0):
            with tempfile.TemporaryDirectory(dir=folder) as d:
                if who == 0:
                    ours = dump_ours(c, program, mib, os.path.join(d, "c"))
                else:
                    alone = dump_alone(program, mib, d)
        out.append((mib, *ours, *alone))
        print(f"checkpoint ranks=2 mib={mib} {ours[0]:.2f} s, ranks stood still {ours[1]:.2f} s; criu alone {alone[0]:.2f} s, "
              f"with sync {alone[1]:.2f} s", flush=True)
    return out


def aims(r):
    """[(what, value, aim, reached)]"""
    rows = []
    ours, theirs = dict(r["spawn"]["pliant"]).get(4), dict(r["spawn"].get("openmpi", [])).get(4)
    if ours and theirs:
        rows.append(("spawn of 4 processes", f"{number(ours)} ms, {ours / theirs:.3f} of Open MPI's "
                     f"{number(theirs)} ms", "at most 0.2", ours / theirs <= 0.2))
    pause = min(r["grow"])
    rows.append(("pause of ranks while 2 become 4", f"{number(pause)} ms", "below 50 ms", pause < 50))
    most, ms = r["fork"][-1]
    rows.append((f"MPI_Fork of 2 ranks with {most} MiB each", f"{number(ms)} ms", "below 100 ms", ms < 100))
    if r["checkpoint"]:
        mib = r["checkpoint"][0][0]
        ours, still, alone, synced = (min(row[i] for row in r["checkpoint"]) for i in (1, 2, 3, 4))
        rows.append((f"rate of writing 2 ranks with {mib} MiB each while they stand still, beside criu dump alone",
                     f"{alone / still:.2f} ({number(2 * mib / still)} MiB/s)", "at least 0.7", alone / still >= 0.7))
        rows.append(("rate until the checkpoint is on the disk, with its sums, beside criu dump and sync",
                     f"{synced / ours:.2f} ({number(2 * mib / ours)} MiB/s; {alone / ours:.2f} of criu without sync)",
                     "at least 0.7", synced / ours >= 0.7))
    return rows


def page(r, folder):
    figures = {
        "elastic_spawn": ("MPI_Comm_spawn, until all are there", plot(
            [(m, r["titles"][m], points, None) for m, points in r["spawn"].items()], "ms",
            "MPI_Comm_spawn, until all are there", "processes")),
        "elastic_fork": ("MPI_Fork of 2 ranks over their memory", plot(
            [("pliant", "MPI_Fork(2)", r["fork"], None)], "ms", "MPI_Fork of 2 ranks", "MiB of each rank")),
    }
    text = [f"# Worlds that change, measured\n\n{r['machine']}, {r['when']}. "
            "Best of several runs beside other work; lower is better.\n",
            table(["what", "measured", "aim", "reached"],
                  [[a, b, c, "yes" if good else "no"] for a, b, c, good in aims(r)])]
    text += write_figures(folder, figures)
    names = list(r["spawn"])
    text.append("\n## Spawn\n\n" + table(
        ["processes"] + [f"{r['titles'][m]} {r['versions'][m]}, ms" for m in names],
        [[str(n)] + [number(dict(r["spawn"][m]).get(n, 0)) for m in names]
         for n, _ in r["spawn"]["pliant"]]))
    text.append("\n## Fork\n\n" + table(["MiB of each rank", "ms"],
                                        [[str(n), number(v)] for n, v in r["fork"]]))
    write_page(folder, "elastic", r, text)


def main():
    is_quick, build, folder = arguments(__doc__)
    sizes, runs = ((2, 4), 3) if is_quick else ((1, 2, 4, 8, 16), 5)
    memory = (1, 256) if is_quick else (1, 4, 16, 64, 256, 1024)
    os.environ["BENCH_BEST"] = "1"  # beside others' work: no priority of our own
    results = {"machine": machine(), "when": time.strftime("%Y-%m-%d"), "versions": {}, "titles": {},
               "spawn": {}}
    for c in contenders(build):
        if c.why_not or c.name == "mpich":
            continue
        results["versions"][c.name], results["titles"][c.name] = version_of(c), c.title
        try:
            results["spawn"][c.name] = spawn(c, folder, sizes, runs)
        except RuntimeError as e:
            if c.name == "pliant":
                raise
            print(f"{c.name}: {e}", flush=True)
        if c.name == "pliant":
            results["fork"] = fork(c, folder, memory, runs)
            results["grow"] = grow(c, folder, runs)
            results["checkpoint"] = checkpoint(c, folder, memory[-1], runs) if shutil.which("criu") else []
    page(results, folder)
    for what, value, aim, good in aims(results):
        print(f"{'reached' if good else 'MISSED':8} {what}: {value} ({aim})")
    print(f"report: {os.path.relpath(os.path.join(folder, 'elastic.md'))}")


if __name__ == "__main__":
    main()
