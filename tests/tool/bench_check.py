#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The judges of the measurements, on made-up numbers: bench-check finds the line that got slower, percentiles and colours are
right, the report shows them; and competitors end, also when the one that started them is killed."""
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import SOURCE, check, status

BENCH = os.path.join(SOURCE, "bench")
sys.path.insert(0, BENCH)
sys.dont_write_bytecode = True
import check as judge_of
from compete import Competitors
from plan import AIMS, BENCHES, Aim
from progress import Progress
from report import write_report
from results import Results, Verdict

FOLDER = tempfile.mkdtemp()


def results(factor=1.0, noise=0.0):
    """Two lines: a time and a rate, ours worse by the factor."""
    ours = [1 + noise * (i % 3 - 1) for i in range(9)]
    rows = [{"name": "lat", "params": "size=8", "unit": "us",
             "runs": {"pliant": [factor * o for o in ours], "mpich": [2.0] * 9, "openmpi": [3.0] * 9}},
            {"name": "bw", "params": "size=64", "unit": "GB/s",
             "runs": {"pliant": [8 / factor / o for o in ours], "mpich": [4.0] * 9, "openmpi": [2.0] * 9}},
            {"name": "alone", "params": "size=1", "unit": "us", "runs": {"pliant": [1.0]}}]
    path = os.path.join(FOLDER, "results.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"numbers": rows}, f)
    return path


def run(*args):
    return subprocess.run([sys.executable, os.path.join(BENCH, "check.py"), *args], capture_output=True, text=True,
                          check=False)


def slower():
    ratios = ["--ratios", os.path.join(FOLDER, "ratios.json")]
    r = run("--results", results(), *ratios)
    check(r.returncode == 77 and "no ratios are stored" in r.stdout, r)
    r = run("--results", results(), "--store", *ratios)
    check(r.returncode == 0 and "2 lines" in r.stdout, r)
    check(abs(judge_of.measured(results())["bw size=64"]["ratio"] - 0.5) < 1e-3, "a rate's ratio is one of times")
    for factor, noise, want in ((1.0, 0, 0), (1.08, 0, 0), (1.3, 0, 2), (0.5, 0, 0), (1.3, 0.4, 0)):
        r = run("--results", results(factor, noise), *ratios)
        check(r.returncode == (1 if want else 0) and r.stdout.count("SLOWER") == want, f"{factor} {noise}: {r}")
    with open(ratios[1], "w", encoding="utf-8") as f:
        f.write("{")
    r = run("--results", results(), *ratios)
    check(r.returncode == 1 and "cannot be read as JSON" in r.stderr, r)


def verdicts():
    known = Results()
    for i in range(20):
        known.add("pliant", {("busy_lat", "n=2", "us"): [1.0 if i < 18 else 50.0], ("floor_line", "n=2", "us"): [0.1 + i]})
        known.add("mpich", {("busy_lat", "n=2", "us"): [2.0]})
    found = [Verdict(Aim("w", "busy_lat", "n=2", 1.2, at=at, floor="floor_line n=2"), known, ["mpich"])
             for at in (0.5, 0.95)]
    check([v.passed() for v in found] == [True, False], "the median passes, the 95th percentile does not")
    check([v.shade() for v in found] == ["far", "behind"], [v.shade() for v in found])
    check(found[0].floor == 0.1, found[0].floor)
    page = os.path.join(FOLDER, "report.html")
    about = {"machine": "m", "when": "w", "seconds": 1, "versions": {}}
    write_report(page, known, found, [], about)
    with open(page, encoding="utf-8") as f:
        text = f.read()
    check('class="ratio far">0.5<' in text and 'class="ratio behind">25<' in text, "ratios have their colours")
    rows = re.findall(r"<tr[^>]*>.*?</tr>", text)
    missed = [row.startswith('<tr class="missed">') for row in rows if 'class="pass"' in row or 'class="fail"' in row]
    check(missed == [False, True] and "tr.missed td {" in text, "the row of an aim that is missed is marked")
    check(text.count("<table>") == text.count('<div class="scroll"><table>') > 0 and ".scroll { overflow-x: auto; }" in text,
          "a table that is wider than the window can be scrolled, nothing of it is cut")


def several_runs_of_a_job():
    known = Results()
    line = {("busy_lat", "n=2", "us"): [1.0, 9.0, 2.0]}
    known.add("pliant", line, is_each=True)
    known.add("mpich", line)
    check(known.values[("busy_lat", "n=2")] == {"pliant": [1.0, 9.0, 2.0], "mpich": [2.0]}, known.values)


def estimate():
    """Two benchmarks of 3 and 30 s, three times each: after one round two thirds are to go."""
    now, out = [0.0], io.StringIO()
    progress = Progress({"short": 3, "long": 3}, 2, out, lambda: now[0])
    for i in range(3):
        for name, seconds in (("short", 3), ("long", 30)):
            progress.begin(name, i)
            now[0] += seconds
            progress.end(name)
        check(progress.left() == 66 - 33 * i, progress.left())
    said = out.getvalue()
    check("2 benchmarks in up to 3 rounds with 2 MPIs" in said, said)
    check("round 2 of 3, short; 33 s so far, about 66 s to go" in said, said)


def every_kind_is_there():
    """Lines that make bench must have, each with an aim; and each kind of collective for two ranks and more."""
    aims = {a.number for a in AIMS}
    for number in ("lat", "bw", "rate", "rma_put", "rma_get", "rma_accumulate", "rma_pscw", "rma_fence", "bcast", "reduce",
                   "gatherv", "scatterv", "allgatherv", "alltoallv", "ibarrier", "iallreduce", "igatherv", "neighbor_alltoall",
                   "busy_lat", "busy_barrier"):
        check(number in aims, f"make bench has no line for {number}")
    for name in ("counts", "nonblocking", "neighbor"):
        check({b.ranks for b in BENCHES if b.name.startswith(name)} == {2, 4}, name)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def is_gone(pids):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if not any(os.path.exists(f"/proc/{p}") for p in pids):
            return True
        time.sleep(0.01)
    return False


def competitors():
    with Competitors(3, FOLDER) as c:
        pids = [c.job.pid, *children(c.job.pid)]
        check(len(pids) == 4, f"three competitors and the one that started them: {pids}")
    check(is_gone(pids), "competitors outlive the measurement")
    # The runner is killed: what it started sees the end of its standard input.
    code = (f"import sys; sys.path.insert(0, {BENCH!r}); sys.dont_write_bytecode = True\n"
            f"from compete import Competitors\nc = Competitors(2, {FOLDER!r}).__enter__()\n"
            "print(c.job.pid, flush=True)\nsys.stdin.read()")
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        first = int(job.stdout.readline())
        pids = [first, *children(first)]
        job.send_signal(signal.SIGKILL)
    check(len(pids) == 3 and is_gone(pids), f"competitors outlive a runner that was killed: {pids}")


slower()
verdicts()
several_runs_of_a_job()
estimate()
every_kind_is_there()
competitors()
sys.exit(status())
