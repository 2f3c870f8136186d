#!/usr/bin/env python3
"""Measures UPC: random access and Barnes-Hut, flat and in groups; triad, barrier, single gets and puts,
own shared data through plain pointers, plain C through upcc beside cc; small applications beside the same in C, with OpenMP
and with MPI; far gets beside a bare TCP connection, and random updates one by one and collected.

usage: upc.py [--build DIR] [--quick | --smoke] [--runs R] [--out FOLDER] [--parts LIST] [--threads LIST] [--far READS,BODIES]

Groups are tried on one host, where every thread is near, between pretended hosts (messages over
TCP), where remote access is dear, and on virtual hosts, where they are started as the paper has it: a group on two hosts each,
with one rank or with one for each thread. Every program checks its result; one that is wrong ends the run.
What is compared runs in turns; values are medians, ratios medians of those of single runs. Prints every
aim with what was measured. Writes DIR/bench/upc.json, upc.md and plots upc_*.svg. Of parts and numbers of threads
that LIST leaves out the values of the last run stay.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from run import machine  # noqa: E402
from upc_report import aims, write_all  # noqa: E402
from vhosts import Hosts  # noqa: E402

LIMIT_S = 600
EXAMPLES = os.path.join(os.path.dirname(HERE), "examples", "upc")
# threads, elements, reads near and far, bodies near and far, steps, elements of the triad, rounds, log2 of the items of
# applications, far accesses. On one host elements, reads and bodies are those of the paper.
SIZES = {"full": ((1, 2, 4, 8, 16), 1000000, 1000000, 2000, 150000, 200, 2, 2000000, 1000, 22, 2000),
         "quick": ((1, 2, 4), 100000, 20000, 500, 2000, 60, 2, 500000, 300, 18, 500),
         "smoke": ((1, 2, 4), 1000, 500, 50, 60, 20, 1, 1000, 10, 10, 40)}
# How the applications are made: compiler, flags.
APPS = {"C": ("cc",), "OpenMP": ("cc", "-fopenmp"), "MPI": ("mpicc", "-DUSE_MPI"), "UPC": ("upcc",)}
FLOPS = 1000  # after each random read
PATTERNS = {"random": r": ([\d.]+) s, .* ([\d.]+) % local, sums right", "nbody": r"force ([\d.]+) s, ([\d.]+) % local"}
PARTS = ("kernels", "private", "apps", "far", "groups", "hosts")
# Ratios of one run: name, numerator, denominator.
RATIOS = (("triad_ratio", "triad_GBs", "openmp_triad_GBs"),
          ("triad_pointers_ratio", "triad_pointers_GBs", "openmp_triad_GBs"),
          ("barrier_ratio", "upc_barrier_ns", "MPI_Barrier_ns"),
          ("cast_ratio", "cast_ns", "private_ns"),
          ("walk_ratio", "sum_walk_ns", "sum_c_ns"), ("while_ratio", "sum_while_ns", "sum_c_ns"),
          ("dealt_ratio", "sum_dealt_ns", "sum_c_ns"), ("fill_walk_ratio", "fill_walk_ns", "fill_c_ns"),
          ("fill_steps_ratio", "fill_steps_ns", "fill_c_ns"), ("fill_index_ratio", "fill_index_ns", "fill_c_ns"),
          ("compared_ratio", "sum_compared_ns", "sum_c_ns"), ("strided_ratio", "sum_strided_ns", "sum_c_ns"),
          ("copy_walk_ratio", "copy_walk_ns", "copy_c_ns"), ("copy_compared_ratio", "copy_compared_ns", "copy_c_ns"),
          ("stencil_ratio", "stencil_ns", "stencil_c_ns"),
          ("stencil_plain_ratio", "stencil_plain_ns", "stencil_c_ns"))


def values_of(text):
    return {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.e+-]+)$", text, re.M)}


def medians(runs):
    """Of each name over the runs that have it."""
    return {name: statistics.median(r[name] for r in runs) for name in runs[0]}


def shell(command, env=None):
    """The output of a command; it must end well and in time."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S,
                          env={**os.environ, **(env or {})})
    if done.returncode:
        sys.exit(f"upc.py: exit status {done.returncode} of {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Bench:
    def __init__(self, build, runs, size, folder):
        self.bin, self.runs, self.folder = os.path.join(os.path.abspath(build), "bin"), runs, folder
        (self.threads, self.data, self.near, self.far_reads, self.bodies, self.far_bodies, self.steps,
         self.triad, self.rounds, self.items, self.accesses) = SIZES[size]

    def tool(self, name):
        return os.path.join(self.bin, name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self):
        for name in ("random", "nbody"):
            shell([self.tool("upcc"), "-O2", os.path.join(EXAMPLES, name + ".upc"), "-o", self.path(name), "-lm"])
        shell([self.tool("upcc"), "-O2", f"-DPER_THREAD={self.triad}L", os.path.join(HERE, "upc_kernels.upc"),
               "-o", self.path("kernels")])
        shell(["cc", "-O2", "-fopenmp", os.path.join(HERE, "upc_openmp.c"), "-o", self.path("openmp")])
        for compiler, name in ((["cc"], "private_cc"), ([self.tool("upcc")], "private_upcc")):
            shell([*compiler, "-O2", os.path.join(HERE, "upc_private.c"), "-o", self.path(name)])
        for kind, (compiler, *flags) in APPS.items():
            compiler = compiler if compiler == "cc" else self.tool(compiler)
            shell([compiler, "-O2", *flags, os.path.join(HERE, "upc_programs.c"), "-o", self.path("apps_" + kind)])
        shell([self.tool("upcc"), "-O2", os.path.join(HERE, "upc_far.upc"), "-o", self.path("far")])

    def launch(self, program, args, n, size, funneled):
        """The command for n threads in groups of size."""
        app = [self.path(program), *map(str, args)]
        if size == n:
            return [self.tool("upcrun"), "-n", str(n), *app]
        if not funneled:
            return [self.tool("mpiexec"), f"--upc-groups={n // size}", "-n", str(n), *app]
        part = [self.tool("upcrun"), "-n", str(size), *app]
        return [self.tool("mpiexec"), *part, *[w for _ in range(n // size - 1) for w in (":", *part)]]

    def args(self, what, is_far):
        """The program's arguments, and the facts that a row has of them."""
        if what == "random":
            reads = self.far_reads if is_far else self.near
            return (self.data, reads, FLOPS), {"reads": reads}
        bodies = self.far_bodies if is_far else self.bodies
        return (bodies, self.steps, 0.5, 1 if bodies <= 1000 else 0), {"bodies": bodies, "steps": self.steps}

    def measure(self, what, command, env, facts):
        values = []
        for _ in range(self.runs):
            out = shell(command, env)
            m = re.search(PATTERNS[what], out)
            if not m or "WRONG" in out:
                sys.exit(f"upc.py: {' '.join(command)} printed: {out}")
            values.append(tuple(float(v) for v in m.groups()))
        row = {"what": what, "seconds": statistics.median(v[0] for v in values),
               "local": statistics.median(v[1] for v in values), **facts}
        print(f"{what} {facts}: {row['seconds']:.6f} s, {row['local']:.2f} % local", flush=True)
        return row

    def groups(self):
        """Both applications, each number of threads and size of group, near and far: a list of rows."""
        rows = []
        for n in self.threads:
            for size in [s for s in (1, 2, 4, 8) if s < n and n % s == 0] + [n]:
                for hosts in (1, 2) if n == 2 else (1, n // 2) if n > 2 else (1,):
                    env = {"PLIANT_FAKE_HOSTS": str(hosts)} if hosts > 1 else {}
                    for what in PATTERNS:
                        args, facts = self.args(what, hosts > 1)
                        # A group with threads that have no rank is on one host, not on pretended ones.
                        command = self.launch(what, args, n, size, what == "nbody" and hosts == 1)
                        rows.append(self.measure(what, command, env, {"threads": n, "group": size, "flat": size == n,
                                                                      "hosts": hosts, **facts}))
        return rows

    def hosts(self):
        """The three models on virtual hosts, each group on two of them: a list of rows, empty where there can be no such hosts."""
        size = 4 if self.threads[-1] >= 8 else 2
        counts = [n for n in self.threads if n > size] or [2 * size]
        rows = []
        try:
            hosts = Hosts(2 * counts[-1] // size)
        except RuntimeError as e:
            print(f"upc.py: {e}")
            return rows
        try:
            for n in counts:
                for what in PATTERNS:
                    args, facts = self.args(what, True)
                    models = ("flat", "multiple") if what == "random" else ("flat", "funneled", "multiple")
                    for model in models:
                        command = self.on_hosts(hosts, model, [self.path(what), *map(str, args)], n, size)
                        rows.append(self.measure(what, command, {"PLIANT_NET": "shm+tcp"}, {
                            "threads": n, "group": n if model == "flat" else size, "model": model, "hosts": 2 * n // size, **facts}))
        finally:
            hosts.close()
        return rows

    def on_hosts(self, hosts, model, app, n, size):
        """The command line of the paper: groups of size threads, or one of all, on hosts of their own by files that HOSTS names."""
        n_host, n_group, words = 2 * n // size, n if model == "flat" else size, []
        each = n_host * n_group // n
        for g in range(n // n_group):
            path = self.path(f"hosts.{g + 1}")
            with open(path, "w", encoding="ascii") as f:
                f.write("".join(f"{name}\n" for name in hosts.cluster.names[g * each:(g + 1) * each]))
            words += [*([":"] if g else []), "-env", f"HOSTS={path}", self.tool("upcrun"), "-n", str(n_group), *app]
        ranks = [] if model == "funneled" else [f"--ranks-per-proc={n_group}"]
        return [*hosts.on_first(), self.tool("mpiexec"), "--launcher", hosts.agent, "--bind-to", "none", *ranks, *words]

    def kernels(self):
        """[(threads, {name: value})]"""
        out = []
        for n in self.threads:
            runs = []
            for _ in range(self.runs):
                run = values_of(shell([self.tool("upcrun"), "-n", str(n), self.path("kernels"), str(self.rounds)]))
                openmp = shell([self.path("openmp"), str(self.triad)], {"OMP_NUM_THREADS": str(n)})
                run["openmp_triad_GBs"] = values_of(openmp)["triad_GBs"]
                runs.append({**run, **{name: run[a] / run[b] for name, a, b in RATIOS}})
            out.append([n, medians(runs)])
            print(f"kernels threads={n}: {out[-1][1]}", flush=True)
        return out

    def app(self, kind, n):
        """The values of all applications: {name: ns an item, name_check: what must agree}"""
        program = [self.path("apps_" + kind), str(self.items)]
        launch = {"MPI": [self.tool("mpiexec"), "-n", str(n)], "UPC": [self.tool("upcrun"), "-n", str(n)]}
        return values_of(shell([*launch.get(kind, []), *program], {"OMP_NUM_THREADS": str(n)}))

    def apps(self):
        """[[threads, {kind: {application: ns an item}}]]"""
        out, checks = [], None
        for n in self.threads:
            kinds = [kind for kind in APPS if kind != "C" or n == 1]
            runs = []
            for _ in range(self.runs):
                run = {kind: self.app(kind, n) for kind in kinds}
                for kind, values in run.items():
                    found = {name: values.pop(name) for name in list(values) if name.endswith("_check")}
                    checks = checks or found
                    if not all(math.isclose(found[name], checks[name], rel_tol=1e-6) for name in checks): # sums differ
                        sys.exit(f"upc.py: {kind} with {n} threads computes {found} and not {checks}")
                runs.append(run)
            out.append([n, {kind: medians([run[kind] for run in runs]) for kind in kinds}])
            print(f"applications threads={n}: {out[-1][1]}", flush=True)
        return out

    def far(self):
        """{name: value} between two pretended hosts, and of a bare TCP connection."""
        runs = []
        for _ in range(self.runs):
            text = shell([self.tool("upcrun"), "-n", "2", self.path("far"), str(self.accesses)], {"PLIANT_FAKE_HOSTS": "2"})
            if "WRONG" in text:
                sys.exit(f"upc.py: {text}")
            run = values_of(text)
            busy = max(run["get_computing_us"], run["get_looking_us"])
            runs.append({**run, "get_ratio": run["get_us"] / run["tcp_round_trip_us"],
                         "get_busy_ratio": busy / run["get_us"], "row_ratio": run["get_us"] / run["get_in_a_row_us"],
                         "collected_ratio": run["update_us"] / run["update_collected_us"]})
        out = medians(runs)
        print(f"far: {out}", flush=True)
        return out

    def private(self):
        """{name: (ns through cc, through upcc, ratio)} of plain C."""
        runs = []
        for _ in range(self.runs):
            cc, upcc = (values_of(shell([self.path(name), str(1 + self.rounds // 50)]))
                        for name in ("private_cc", "private_upcc"))
            if cc.pop("checksum") != upcc.pop("checksum"):
                sys.exit("upc.py: plain C computes something else through upcc")
            runs.append({name: (cc[name], upcc[name], upcc[name] / cc[name]) for name in cc})
        out = {name: tuple(statistics.median(r[name][k] for r in runs) for k in range(3)) for name in runs[0]}
        print(f"private C: {out}", flush=True)
        return out


def merged(old, new):
    """Rows of the last run, those with the same number of threads replaced."""
    def threads(row):
        return row["threads"] if isinstance(row, dict) else row[0]
    if not isinstance(new, list):
        return new
    done = {threads(row) for row in new}
    return sorted([row for row in old if threads(row) not in done] + new, key=threads)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true", help="fewer threads, smaller sizes")
    parser.add_argument("--smoke", action="store_true", help="only see that it works")
    parser.add_argument("--runs", type=int, help="runs of each (5; 1 with --quick or --smoke)")
    parser.add_argument("--out", help="folder for the results (DIR/bench)")
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure, of " + ",".join(PARTS))
    parser.add_argument("--threads", help="numbers of threads, a comma between them, of those that the size has")
    parser.add_argument("--far", help="reads and bodies between hosts instead of 2000,200; the paper has 1000000,150000, which take hours")
    args = parser.parse_args()
    size = "smoke" if args.smoke else "quick" if args.quick else "full"
    folder = os.path.abspath(args.out or os.path.join(args.build, "bench"))
    os.makedirs(folder, exist_ok=True)
    parts, path = args.parts.split(","), os.path.join(folder, "upc.json")
    if not set(parts) <= set(PARTS):
        parser.error(f"--parts is a list of {','.join(PARTS)}")
    results = {}
    if set(parts) != set(PARTS) or args.threads:
        with open(path, encoding="utf-8") as f:
            results = json.load(f)
    with tempfile.TemporaryDirectory(dir=folder, prefix="upc-") as programs:
        bench = Bench(args.build, args.runs or (5 if size == "full" else 1), size, programs)
        bench.compile()
        results.update({"machine": machine(), "size": size})
        if args.far:
            bench.far_reads, bench.far_bodies = map(int, args.far.split(","))
        if args.threads:
            bench.threads = tuple(n for n in bench.threads if n in map(int, args.threads.split(",")))
        for part in parts:
            results[part] = merged(results[part] if args.threads else [], getattr(bench, part)())
    with open(path, "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)
    write_all(results, folder)
    for what, measured, aim, reached in aims(results):
        print(f"{what}: {measured} (aim {aim}){'' if reached == 'yes' else ' MISSED'}")
    print(f"{folder}/upc.md and plots are written")


if __name__ == "__main__":
    main()
