#!/usr/bin/env python3
"""Measures how long a world takes to change, with 2 to 64 ranks on 1 and on 4 virtual hosts: growing to twice as many, shrinking to
half, MPI_Fork of all ranks, and moving one rank to another host.

usage: elastic_resize.py [--build DIR] [--quick]

Writes DIR/bench/elastic_resize.json, and elastic_resize.md with a plot for each kind of change beside it.
"""
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from contender import contenders  # noqa: E402
from elastic_report import arguments, write_figures, write_page  # noqa: E402
from results import number  # noqa: E402
from run import machine  # noqa: E402
from startup_report import plot, table  # noqa: E402
from vhosts import Hosts  # noqa: E402

LIMIT_S = 120
KINDS = {"grow": "growing to twice as many ranks", "shrink": "shrinking to half", "fork": "MPI_Fork of all ranks",
         "migrate": "moving one rank to another host"}


def measure(c, hosts, program, kind, n, n_host):
    """Milliseconds of one change; None after saying why there are none."""
    names = hosts.cluster.names
    each = max(1, n // n_host)
    slots = ",".join(f"{name}:{each}" for name in names[:n_host])
    more = ["--movable"] if kind == "migrate" else [*c.free, "--elastic", f"1:{2 * n}"]
    command = [c.launch, "--launcher", hosts.agent, "--hosts", slots, *more, "-n", str(n), program, kind, names[-1]]
    job = hosts.cluster.popen(names[0], command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        out = job.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        os.kill(hosts.cluster.inner(job), 9)
        out = job.communicate()[0] + f" (ended after {LIMIT_S} s)"
    found = re.search(rf"{kind} ranks={n} ([\d.]+) ms", out)
    if job.returncode != 0 or not found:
        print(f"{kind} ranks={n} hosts={n_host}: exit status {job.returncode}: {' '.join(out.split())[:300]}", flush=True)
        return None
    return float(found.group(1))


def page(r, folder):
    figures = {}
    text = [f"# Changes of a world, measured\n\n{r['machine']}, {r['when']}. Best of {r['runs']} runs beside other work; lower is "
            "better. Virtual hosts on one machine.\n"]
    for kind, title in KINDS.items():
        lines = [(mark, f"{n_host} host{'s' if n_host > 1 else ''}",
                  [(row["ranks"], row["ms"]) for row in r["rows"] if row["kind"] == kind and row["hosts"] == n_host], dash)
                 for mark, n_host, dash in (("pliant", 1, None), ("openmpi", 4, "4 3"))]
        figures[f"elastic_resize_{kind}"] = (title, plot(lines, "ms", title))
    text += write_figures(folder, figures)
    text.append("\n" + table(["change", "hosts", "ranks", "ms"],
                             [[row["kind"], str(row["hosts"]), str(row["ranks"]), number(row["ms"])] for row in r["rows"]]))
    write_page(folder, "elastic_resize", r, text)


def main():
    is_quick, build, folder = arguments(__doc__)
    c = next(c for c in contenders(build) if c.name == "pliant")
    program = c.build("elastic_resize", folder)
    sizes, runs = ((2, 4, 8), 1) if is_quick else ((2, 4, 8, 16, 32, 64), 3)
    has_criu = subprocess.run(["criu", "check"], capture_output=True, check=False).returncode == 0
    if not has_criu:
        print("no rank is moved: CRIU may not work here (criu check)")
    try:
        hosts = Hosts(5)  # the last one takes ranks that move
    except RuntimeError as e:
        print(f"changes of a world are not measured: {e}")
        return 0
    r = {"machine": machine(), "when": time.strftime("%Y-%m-%d"), "runs": runs, "rows": []}
    n_bad = 0
    try:
        for kind in [k for k in KINDS if k != "migrate" or has_criu]:
            for n_host in (1, 4):
                for n in [n for n in sizes if n >= n_host]:
                    got = [measure(c, hosts, program, kind, n, n_host) for _ in range(runs)]
                    n_bad += got.count(None)
                    got = [v for v in got if v is not None]
                    if got:
                        r["rows"].append({"kind": kind, "hosts": n_host, "ranks": n, "ms": min(got)})
                        print(f"{kind} ranks={n} hosts={n_host} {min(got):.2f} ms", flush=True)
    finally:
        hosts.close()
    page(r, folder)
    print(f"report: {os.path.relpath(os.path.join(folder, 'elastic_resize.md'))}")
    return n_bad > 0


if __name__ == "__main__":
    sys.exit(main())
