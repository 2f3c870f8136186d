"""Start-up measurements as plots, as HTML and as a page of Markdown; and the model fitted to them."""
import html
import math
import os
import statistics

import startup_hosts
from report import COLOURS, DARK, MARKS, mark, number, ticks

W, H, LEFT, RIGHT, TOP, BOTTOM = 560, 340, 64, 100, 12, 40
ORDER = ("pliant", "mpich", "openmpi")


def pick(results, mpi, mode, key):
    """[(ranks, value)] of one curve."""
    return sorted((r["n"], r[key]) for r in results["rows"]
                  if r["mpi"] == mpi and r["mode"] == mode and key in r and r[key] is not None)


def at(results, mpi, mode, key, n):
    return dict(pick(results, mpi, mode, key)).get(n)


def plot(series, unit, caption, over="ranks"):
    """A chart with logarithmic axes as a file of its own; series: [(mpi, label, points, dash)]."""
    series = [s for s in series if len(s[2]) > 1]
    if not series:
        return ""
    xs = sorted({x for s in series for x, _ in s[2]})
    ys = [y for s in series for _, y in s[2] if y > 0]
    low, high = min(ys) * 0.8, max(ys) * 1.25

    def px(x):
        return LEFT + (W - LEFT - RIGHT) * math.log(x / xs[0]) / (math.log(xs[-1] / xs[0]) or 1)

    def py(y):
        return H - BOTTOM - (H - TOP - BOTTOM) * math.log(max(y, low) / low) / math.log(high / low)

    style = " ".join(f".{m} {{ --c: {COLOURS[m]}; }}" for m in ORDER)
    dark = " ".join(f".{m} {{ --c: {DARK[m]}; }}" for m in ORDER)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" role="img">'
           f"<title>{html.escape(caption)}</title><style>text {{ font: 12px system-ui, sans-serif; "
           f"fill: #5b6470; }} .grid {{ stroke: #d8dde3; }} .name {{ font-weight: 600; }} {style} "
           "@media (prefers-color-scheme: dark) { text { fill: #9aa4b1; } .grid { stroke: #333a44; } "
           f"{dark} }}</style>"]
    for v in ticks(low, high):
        out.append(f'<line class="grid" x1="{LEFT}" x2="{W - RIGHT}" y1="{py(v):.1f}" y2="{py(v):.1f}"/>'
                   f'<text x="{LEFT - 8}" y="{py(v) + 4:.1f}" text-anchor="end">{v:g}</text>')
    for x in xs:
        out.append(f'<text x="{px(x):.1f}" y="{H - BOTTOM + 18}" text-anchor="middle">{x}</text>')
    out.append(f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 4}" text-anchor="middle">{over}</text>'
               f'<text x="14" y="{(TOP + H - BOTTOM) / 2}" text-anchor="middle" '
               f'transform="rotate(-90 14 {(TOP + H - BOTTOM) / 2})">{html.escape(unit)}</text>')
    ends = []
    for mpi, label, points, dash in series:
        line = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        out.append(f'<g class="{mpi}"><polyline points="{line}" fill="none" stroke="var(--c)" '
                   f'stroke-width="2"{dashes}/>')
        out += [mark(MARKS[mpi], px(x), py(y), "var(--c)", f"{label}, {x} {over}: {number(y)} {unit}")
                for x, y in points]
        out.append("</g>")
        ends.append((py(points[-1][1]), px(points[-1][0]), mpi, label))
    place = 0
    for y, x, mpi, label in sorted(ends):
        place = max(y, place + 14)
        out.append(f'<text class="name" x="{min(x, W - RIGHT) + 9:.1f}" y="{place + 4:.1f}" '
                   f'style="fill: {COLOURS[mpi]}">{html.escape(label)}</text>')
    return "".join(out) + "</svg>\n"


def fit(points):
    """a + b n by least squares with the relative error weighted equally: (a, b)."""
    w = [1 / (y * y) for _, y in points]
    sw, sx = sum(w), sum(k * x for k, (x, _) in zip(w, points))
    sy, sxx = sum(k * y for k, (_, y) in zip(w, points)), sum(k * x * x for k, (x, _) in zip(w, points))
    sxy = sum(k * x * y for k, (x, y) in zip(w, points))
    d = sw * sxx - sx * sx
    if d == 0:
        return points[0][1], 0.0
    b = (sw * sxy - sx * sy) / d
    return (sy - b * sx) / sw, b


def slope(points, least=64):
    """Growth per rank from `least` ranks on, without the beginning."""
    far = [(x, y) for x, y in points if x >= least]
    if len(far) < 2:
        return None
    mx, my = statistics.mean(x for x, _ in far), statistics.mean(y for _, y in far)
    return sum((x - mx) * (y - my) for x, y in far) / sum((x - mx) ** 2 for x, _ in far)


FIGURES = [
    ("startup_time", "From the launch until the last rank is ready", "ms", 1e3,
     [("init", "ready", "MPI_Init", None)]),
    ("startup_steps", "Pliant MPI: from the launch until every rank has ...", "ms", 1e3, None),
    ("startup_call", "The call itself, median of the ranks", "µs", 1,
     [("init", "call", "MPI_Init", None), ("session", "call", "Session_init", "5 3")]),
    ("startup_memory", "Proportional memory of a rank after MPI_Init", "kB", 1,
     [("init", "pss", "MPI_Init", None)]),
    ("startup_node", "Proportional memory of all ranks after MPI_Init", "MB", 1e-3,
     [("init", "pss_node", "MPI_Init", None)]),
    ("startup_peers", "Pliant MPI: peers a rank has contacted", "peers", 1, None),
]


def scaled(points, factor):
    return [(x, y * factor) for x, y in points]


def figures(results):
    """{name: (caption, svg)}"""
    out = {}
    titles = results["titles"]
    for name, caption, unit, factor, wanted in FIGURES:
        series = []
        if name == "startup_steps":
            for mode, key, label, dash in (("session", "ready", "a session", "2 3"),
                                           ("init", "ready", "MPI_Init", None),
                                           ("session", "made", "a world", "8 3"),
                                           ("sparse", "made", "sparse", "5 3")):
                series.append(("pliant", label, scaled(pick(results, "pliant", mode, key), factor), dash))
        elif name == "startup_peers":
            for mode, label, dash in (("session", "world made", "2 3"), ("sparse", "sparse made", "5 3"),
                                      ("meet", "world, all met", None),
                                      ("meet2", "sparse, all met", "8 3")):
                series.append(("pliant", label, pick(results, "pliant", mode, "connections"), dash))
        else:
            for mode, key, label, dash in wanted:
                for mpi in ORDER:
                    if mpi in titles:
                        text = titles[mpi] if len(wanted) == 1 else \
                            {"pliant": "Pliant", "mpich": "MPICH", "openmpi": "Open MPI"}[mpi] + \
                            (" session" if mode == "session" else " init")
                        series.append((mpi, text, scaled(pick(results, mpi, mode, key), factor), dash))
        svg = plot(series, unit, caption)
        if svg:
            out[name] = (caption, svg)
    return out


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def cell(v, factor=1.0):
    return "" if v is None else number(v * factor)


def main_table(results):
    peers = [m for m in ORDER if m in results["titles"]]
    ns = sorted({r["n"] for r in results["rows"]})
    head = ["ranks"] + [f"{results['titles'][m]}, ms" for m in peers] + \
           [f"{results['titles'][m]}, kB per rank" for m in peers]
    rows = [[str(n)] + [cell(at(results, m, "init", "ready", n), 1e3) for m in peers] +
            [cell(at(results, m, "init", "pss", n)) for m in peers] for n in ns]
    return table(head, rows)


def step_table(results):
    head = ["ranks", "Session_init, µs", "self comm, µs", "session ready, ms", "MPI_Init ready, ms",
            "world comm ready, ms", "sparse world ready, ms", "kB per rank"]
    rows = []
    for n, call in pick(results, "pliant", "session", "call"):
        rows.append([str(n), cell(call), cell(at(results, "pliant", "session", "self", n)),
                     cell(at(results, "pliant", "session", "ready", n), 1e3),
                     cell(at(results, "pliant", "init", "ready", n), 1e3),
                     cell(at(results, "pliant", "session", "made", n), 1e3),
                     cell(at(results, "pliant", "sparse", "made", n), 1e3),
                     cell(at(results, "pliant", "session", "pss", n))])
    return table(head, rows)


def sparse_table(results):
    head = ["ranks", "peers, world made", "peers, sparse made", "peers, world all met",
            "peers, sparse all met", "ratio", "private kB, world all met", "private kB, sparse all met"]
    rows = []
    for n, met in pick(results, "pliant", "meet", "connections"):
        less = at(results, "pliant", "meet2", "connections", n)
        rows.append([str(n), cell(at(results, "pliant", "session", "connections", n)),
                     cell(at(results, "pliant", "sparse", "connections", n)), cell(met), cell(less),
                     "" if not met else f"{less / met:.2f}",
                     cell(at(results, "pliant", "meet", "private", n)),
                     cell(at(results, "pliant", "meet2", "private", n))])
    return table(head, rows)


def session_table(results):
    """Sessions of an implementation that has them, beside ours."""
    if not pick(results, "mpich", "session", "made"):
        return ""
    head = ["ranks", "Pliant Session_init, µs", "MPICH Session_init, µs", "Pliant world comm ready, ms",
            "MPICH world comm ready, ms"]
    rows = [[str(n), cell(at(results, "pliant", "session", "call", n)), cell(call),
             cell(at(results, "pliant", "session", "made", n), 1e3),
             cell(at(results, "mpich", "session", "made", n), 1e3)]
            for n, call in pick(results, "mpich", "session", "call")]
    return table(head, rows)


def hosts_part(results):
    """The section on several hosts."""
    if not results["hosts"]:
        return "Not measured this time: virtual hosts need root."
    peers = [m for m in ORDER if m in results["titles"]]
    times = table(["hosts", "ranks"] + [f"{results['titles'][m]}, ready, ms" for m in peers] +
                  [f"{results['titles'][m]}, command, ms" for m in peers],
                  [[str(r[0]), str(r[1])] + [cell(v, 1e3) for v in r[2:]]
                   for r in startup_hosts.time_rows(results, peers)])
    sockets = table(["hosts", "ranks", "after MPI_Init", "world made", "sparse made", "world all met", "sparse all met"],
                    [[str(r[0]), str(r[1])] + ["" if v is None else f"{v:.2f}" for v in r[2:]]
                     for r in startup_hosts.socket_rows(results)])
    return f"""16 ranks on each of some virtual hosts, which share the cores of this machine: `mpiexec` reaches the others through a
stand-in for ssh, starts a daemon on each, and the daemons start the ranks. "Command" is the whole of it, from the
launch until `mpiexec` returns.

{times}

TCP connections that a rank of Pliant MPI holds, mean over the ranks. Starting makes none, whatever the number of hosts.
A sparse world is a communicator of each host and one of their first ranks: after all ranks have exchanged data with
all others through those, only the first ranks hold connections.

{sockets}"""


def better_peer(results, key, n):
    """(value, title) of the better of the others at n ranks, or the last they reached."""
    found = []
    for m in ORDER[1:]:
        points = [p for p in pick(results, m, "init", key) if p[0] <= n]
        if points:
            found.append((points[-1][0], points[-1][1], results["titles"][m]))
    same = [f for f in found if f[0] == n]
    return min(same or found, key=lambda f: (f[0] != n, f[1])) if found else None


def aims(results):
    rows = []
    calls = pick(results, "pliant", "session", "call")
    if calls:
        worst = max(v for _, v in calls)
        rows.append(["MPI_Session_init, largest median over n", f"{worst:.0f} µs", "< 100 µs",
                     "yes" if worst < 100 else "no"])
    ours, peer = at(results, "pliant", "init", "ready", 256), better_peer(results, "ready", 256)
    if ours and peer:
        note = "" if peer[0] == 256 else f" at {peer[0]} ranks, where it ended"
        rows.append(["world start-up at 256 ranks", f"{ours * 1e3:.0f} ms; {peer[2]} "
                     f"{peer[1] * 1e3:.0f} ms{note}", "≤ 0.1 × the better peer",
                     "yes" if ours <= 0.1 * peer[1] else "no"])
    growth = slope(pick(results, "pliant", "init", "private"))
    if growth is not None:
        rows.append(["private memory per rank, growth from 64 ranks on",
                     f"{growth * 100:.2f} kB per 100 ranks", "< 1 kB per 100 ranks",
                     "yes" if growth * 100 < 1 else "no"])
    n = max((x for x, _ in pick(results, "pliant", "init", "pss")), default=0)
    ours, peer = at(results, "pliant", "init", "pss", min(n, 64)), better_peer(results, "pss", min(n, 64))
    if ours and peer:
        rows.append([f"memory per rank (PSS) at {min(n, 64)} ranks",
                     f"{ours:.0f} kB; {peer[2]} {peer[1]:.0f} kB", "≤ 0.1 × the better peer",
                     "yes" if ours <= 0.1 * peer[1] else "no"])
    met = pick(results, "pliant", "meet", "connections")
    if met:
        n = met[-1][0]
        less = at(results, "pliant", "meet2", "connections", n)
        if less is not None:
            rows.append([f"peers per rank after all have met, {n} ranks", f"{less:.1f} of {met[-1][1]:.1f}",
                         "sparse ≤ 0.5 × full", "yes" if less <= 0.5 * met[-1][1] else "no"])
    return table(["what", "measured", "aim", "reached"], rows)


def model(results):
    """The growth as a + b n on one host, and what follows for a million ranks."""
    text = []
    rows = []
    for m in ORDER:
        points = pick(results, m, "init", "ready")
        if len(points) >= 4:
            a, b = fit(points)
            rows.append([results["titles"][m], f"{a * 1e3:.2f} ms", f"{b * 1e3:.3f} ms",
                         f"{(a + 128 * b) * 1e3:.0f} ms"])
    text.append(table(["start-up on one host", "a", "b, per rank", "128 ranks by the model"], rows))
    a, b = fit(pick(results, "pliant", "init", "ready"))
    pss = pick(results, "pliant", "init", "pss")
    grow = slope(pick(results, "pliant", "init", "private")) or 0.0
    call = statistics.median(v for _, v in pick(results, "pliant", "session", "call"))
    nodes, per = 7813, 128
    hops = math.ceil(math.log2(nodes))
    tree = 2 * math.ceil(math.log2(1e6))
    text.append(f"""
For 10^6 ranks on {nodes} hosts of {per}, by this model:

* A session: the process and `MPI_Session_init`, {call:.0f} µs, at each rank by itself. Nothing grows with the job.
* Processes: each host starts its {per} ranks by itself, {(a + per * b) * 1e3:.0f} ms on a host as slow as this one (2
  cores; b is process creation and scales with cores). A tree of launcher daemons with a fan-out of 2 and 1 ms per
  level adds {hops} ms: about {(a + per * b) * 1e3 + hops:.0f} ms in all. What ssh or `srun` take to reach a host comes on
  top; the tables above have 8 hosts at most, which share their cores, so they say nothing of how hosts start in parallel.
* A world communicator from a group: {tree} messages one after the other (up and down a tree of depth
  {tree // 2}), at an assumed 5 µs each {tree * 5} µs, plus about 2 ms to hash a million members at each rank.
* `MPI_COMM_WORLD` of `MPI_Init`: no message at all.
* Memory: {pss[-1][1]:.0f} kB per rank at {pss[-1][0]} ranks. Private memory grew by {grow * 1e3:.1f} bytes per rank more in
  the job over the measured range, within the noise of page counts; group and communicator are a few words whatever the
  size. The host's table of processes has 512 bytes for each of *its* ranks.

Assumptions: hosts start in parallel; the network is not congested; per-rank cost on a host is linear as measured;
the file system serves program and library from a cache, as here.""")
    return "\n".join(text)


def markdown(results, figs, folder):
    versions = ", ".join(f"{results['titles'][m]} {v}" for m, v in results["versions"].items())
    pics = {k: f"![{c}]({folder}/{k}.svg)" for k, (c, _) in figs.items()}
    failed = "".join(f"* {results['titles'].get(m, m)}, {mode}, {n} ranks: {why}\n"
                     for m, mode, n, why in results["failed"])
    return f"""# Start-up: time and memory

Measured with `make bench-startup` on {results['machine']}, {results['when']}; {versions}. All ranks
run on one host unless said otherwise, many more than it has cores; other work ran beside, so trust ratios and shapes more
than digits. Times are medians of the runs, from the launch of `mpiexec` to the last rank.

## Aims

{aims(results)}

## MPI_Init

{pics.get("startup_time", "")}

{pics.get("startup_memory", "")}

{pics.get("startup_node", "")}

{main_table(results)}

## Sessions, step by step

`MPI_Session_init` is local and costs the same whatever the size of the job. "Ready" is counted from the
launch and at the last rank, so it contains starting all processes; a world communicator waits
for the last of them, as it must. A sparse world here is a communicator for each 16 ranks and one of their leaders.

{pics.get("startup_steps", "")}

{pics.get("startup_call", "")}

{step_table(results)}

{session_table(results)}

Debian's Open MPI has no sessions.

## Sparse worlds

A rank has state only for peers it has sent to. Building either kind of world contacts a few; the
difference shows when all ranks exchange data with all others: directly over the world, or within 16 and between
their leaders.

{pics.get("startup_peers", "")}

{sparse_table(results)}

## Several hosts

{hosts_part(results)}

## The model

Time on one host is close to `a + b n`: b is creating a process, which both cores are busy with.

{model(results)}

{"## What could not be measured" if failed else ""}

{failed}""".rstrip() + "\n"


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def write_all(results, folder, docs):
    figs = figures(results)
    body = "".join(f"<figure><figcaption>{html.escape(c)}</figcaption>{svg}</figure>"
                   for c, svg in figs.values())
    page = markdown(results, figs, "startup")
    write(os.path.join(folder, "startup.html"),
          '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Start-up</title><style>'
          "body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }"
          " figure { margin: 1.5rem 0; max-width: 40rem; } figcaption { font-weight: 600; }"
          " pre { overflow-x: auto; font-size: .85rem; }</style></head><body><h1>Start-up</h1>"
          f"{body}<h2>Numbers</h2><pre>{html.escape(page)}</pre></body></html>\n")
    if docs:
        pictures = os.path.join(os.path.dirname(os.path.abspath(docs)), "startup")
        os.makedirs(pictures, exist_ok=True)
        for name, (_, svg) in figs.items():
            write(os.path.join(pictures, name + ".svg"), svg)
        write(docs, page)
