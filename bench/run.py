#!/usr/bin/env python3
"""Measures Pliant MPI beside Debian's MPICH and Open MPI: the same programs, run alternately.

usage: run.py [--build DIR] [--quick] [--runs N] [--best] [--ours | --before DIR] [NAME...]

Prints one line per number (median of the runs, and max - min as the spread), then a table of ratios
to the better peer with the aims. DIR/bench/report.html shows the same with curves;
DIR/bench/results.json holds every run. NAMEs are benchmarks (--list) or the beginning of names.
With --before, an earlier build takes the place of the peers: the best runs are compared, and a line that got
slower by more than 3 % makes the exit code 1.
"""
import argparse
import os
import platform
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from compete import Competitors  # noqa: E402
from contender import contenders, pliant, run_once, version_of  # noqa: E402
from plan import AIMS, BENCHES  # noqa: E402
from progress import Progress  # noqa: E402
from report import write_report  # noqa: E402
from results import Results, Verdict, number  # noqa: E402
from vhosts import Hosts  # noqa: E402

LIMIT_S = 120
SLOWER = 1.03


def chosen(names):
    if not names:
        return [b for b in BENCHES if not b.is_asked]
    picked = []
    for name in names:
        found = [b for b in BENCHES if b.name == name] or \
                [b for b in BENCHES if b.name.startswith(name)]
        if not found:
            sys.exit(f"bench: there is no benchmark '{name}'; --list names them")
        picked += [b for b in found if b not in picked]
    return picked + [b for b in BENCHES if b.name == "floor" and b not in picked]


def plain_cost(folder):
    """Private kilobytes of a program without MPI."""
    out = os.path.join(folder, "plain")
    subprocess.run(["cc", "-O2", "-o", out, os.path.join(HERE, "plain.c")], check=True)
    return statistics.median(list(run_once([out], out, 10)[0].values())[0][0] for _ in range(3))


def one_run(bench, c, program, args, results, hosts):
    if bench.hosts:
        if hosts is None:
            raise RuntimeError("there are no virtual hosts here")
        command, env = [*hosts.words(c, bench), program, *args], hosts.env(c)
    else:
        command, env = c.command(bench, program, args), {**c.env, **(c.tcp if bench.tcp else {})}
    found, wall = run_once(command, program, LIMIT_S, env)
    if bench.wall:
        found[(bench.wall, f"ranks={bench.ranks}", "s")] = [wall]
    where = "tcp_" if bench.tcp else "hosts_" if bench.hosts else ""
    found = {(where + name, params, unit): v for (name, params, unit), v in found.items()}
    if not found:
        raise RuntimeError("it printed no number")
    results.add(c.name, found, bench.is_each)


def build(bench, who, folder, results, built):
    """{contender: program}; `built` has what was compiled already, or why not."""
    ready = {}
    for c in who:
        if bench.ours_only and c.name not in ("pliant", "before"):
            continue
        key = (bench.program, c.name)
        if key not in built:
            try:
                built[key] = c.build(bench.program, folder)
            except RuntimeError as e:
                built[key] = e
        if isinstance(built[key], RuntimeError):
            results.failed[(bench.name, c.name)] = f"not built: {built[key]}"
        else:
            ready[c] = built[key]
    return ready


def measure(bench, ready, i, quick, results, hosts, folder):
    """One run of each contender, another one first each time."""
    args = bench.quick_args if quick and bench.quick_args is not None else bench.args
    args = [a.format(folder=folder) for a in args]
    order = list(ready)
    for c in order[i % len(order):] + order[:i % len(order)] if order else []:
        if (bench.name, c.name) in results.failed:
            continue
        try:
            with Competitors(bench.competitors, folder):
                one_run(bench, c, ready[c], args, results, hosts)
        except RuntimeError as e:
            results.failed[(bench.name, c.name)] = str(e)
            print(f"bench: {bench.name} mpi={c.name} is left out: {e}", file=sys.stderr, flush=True)


def open_hosts(benches):
    """The virtual hosts that the benchmarks want; None: none is wanted, or there can be none."""
    most = max((b.hosts for b in benches), default=0)
    try:
        return Hosts(most) if most else None
    except RuntimeError as e:
        print(f"bench: {e}", file=sys.stderr)
        return None


def say(bench, who, results, seen):
    for key, by in results.values.items():
        for c in who:
            if c.name in by and (key, c.name) not in seen:
                seen.add((key, c.name))
                print(results.line(key, c.name), flush=True)
    for c in who:
        why = results.failed.get((bench.name, c.name))
        if why:
            print(f"{bench.name} mpi={c.name} failed: {why}", flush=True)


def print_table(verdicts, peers):
    head = ["what", "unit", "Pliant"] + [p.title for p in peers] + ["floor", "ratio", "aim", ""]
    rows = [[v.aim.what, v.unit, number(v.ours), *[number(v.peers[p.name]) for p in peers],
             number(v.floor), "-" if v.ratio is None else f"{v.ratio:.3g}", v.aim_text(), v.verdict_text()]
            for v in verdicts]
    widths = [max(len(r[i]) for r in rows + [head]) for i in range(len(head))]
    print()
    for r in [head] + rows:
        print("  ".join(w.ljust(widths[i]) if i in (0, 1, len(head) - 1) else w.rjust(widths[i])
                        for i, w in enumerate(r)).rstrip())
    good = sum(v.passed() is True for v in verdicts)
    bad = sum(v.passed() is False for v in verdicts)
    print(f"\n{good} of {len(verdicts)} aims reached, {bad} missed, "
          f"{len(verdicts) - good - bad} without a verdict")


def compare_builds(results):
    """Print each number beside that of the earlier build; True: no line got slower."""
    slow = 0
    print(f"\n{'what':44} {'before':>10} {'now':>10}  ratio")
    for key in results.values:
        ratio = results.slowdown(key)
        if ratio is None:
            continue
        slow += ratio > SLOWER
        print(f"{' '.join(key):44} {number(results.best(key, 'before')):>10} "
              f"{number(results.best(key, 'pliant')):>10}  {ratio:.3f} {'SLOWER' if ratio > SLOWER else ''}".rstrip())
    print(f"\n{slow} of {len(results.values)} lines slower by more than {SLOWER - 1:.0%} (ratio of times, best runs)")
    return slow == 0


def who_runs(args, tree):
    """The implementations of this run; what is missing is named."""
    everyone = contenders(tree)
    if args.before:
        everyone = [everyone[0], pliant(os.path.abspath(args.before), "before", "before")]
        if everyone[1].why_not:
            sys.exit(f"bench: --before: {everyone[1].why_not}; the folder is a build of an earlier tree")
    who = []
    for c in everyone:
        if c.why_not:
            print(f"bench: without {c.title}: {c.why_not}", file=sys.stderr)
        elif not args.ours or c.name == "pliant":
            who.append(c)
    return who


def machine():
    cpu = platform.machine()
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        m = re.match(r"(model name|Model)\s*:\s*(.*)", line)
        if m:
            cpu = m.group(2)
            break
    return f"{cpu}, {os.cpu_count()} cores, Linux {platform.release()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and runs")
    parser.add_argument("--runs", type=int, help="runs of each program (5, or what bench/plan.py says; 2 with --quick)")
    parser.add_argument("--best", action="store_true",
                        help="take no priority; of many short pieces count the fastest, not the median")
    parser.add_argument("--ours", action="store_true", help="leave the peers out")
    parser.add_argument("--before", metavar="DIR", help="compare with an earlier build instead of the peers")
    parser.add_argument("--list", action="store_true", help="name the benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    if args.list:
        print("\n".join(b.name for b in BENCHES))
        return
    if args.best:
        os.environ["BENCH_BEST"] = "1"
    tree = os.path.abspath(args.build)
    folder = os.path.join(tree, "bench")
    os.makedirs(folder, exist_ok=True)
    who = who_runs(args, tree)
    if os.getloadavg()[0] > 0.5:
        print(f"bench: other work runs on this machine (load {os.getloadavg()[0]:.1f}); "
              "trust the ratios, not the digits", file=sys.stderr)
    if os.geteuid() != 0 and not args.best:
        print("bench: not root, so other work is not kept away", file=sys.stderr)
    results = Results()
    results.plain_kb = plain_cost(folder)
    seen, begin = set(), time.monotonic()
    benches = chosen(args.names)
    runs = {b.name: args.runs or (2 if args.quick else b.runs or 5) for b in benches}
    built = {}
    programs = {b.name: build(b, who, folder, results, built) for b in benches}
    hosts = open_hosts(benches)
    progress = Progress({b.name: runs[b.name] for b in benches}, len(who))
    try:
        for i in range(max(runs.values())):
            for bench in benches:
                if i < runs[bench.name]:
                    progress.begin(bench.name, i)
                    measure(bench, programs[bench.name], i, args.quick, results, hosts, folder)
                    progress.end(bench.name)
    finally:
        if hosts is not None:
            hosts.close()
    for bench in benches:
        say(bench, who, results, seen)
    if args.before:
        sys.exit(0 if compare_builds(results) else 1)
    peers = [c for c in who if c.name != "pliant"]
    verdicts = [v for v in (Verdict(a, results, [p.name for p in peers]) for a in AIMS)
                if v.measured]
    if verdicts:
        print_table(verdicts, peers)
    about = {"machine": machine(), "when": time.strftime("%Y-%m-%d %H:%M"),
             "versions": {c.title: version_of(c) for c in who},
             "seconds": round(time.monotonic() - begin), "plain_kb": results.plain_kb}
    results.save(os.path.join(folder, "results.json"), about)
    path = os.path.join(folder, "report.html")
    write_report(path, results, verdicts, who, about)
    print(f"report: {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
