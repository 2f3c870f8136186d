#!/usr/bin/env python3
"""Tables and a plot of docs/io.md from results of `make bench B=io`.

usage: io_report.py RESULTS.json... --docs DOCS.md [--machine WORD] [--plot PLOT.svg]

Several files count together. The tables stand between two comments of the page, with --machine between those of that name.
"""
import argparse
import json
import math
import statistics

from plan import io_floor

PLACES = ("tmpfs", "disk")
RANKS = (2, 4, 8)
LINES = [
    ("floor_dd_write", 1 << 20, "`dd`, write"),
    ("floor_dd_read", 1 << 20, "`dd`, read"),
    ("floor_write", 1 << 20, "a loop of `pwrite`, 1 MiB"),
    ("block_write", 1 << 20, "write 1 MiB blocks"),
    ("block_write_all", 1 << 20, "write 1 MiB blocks together"),
    ("floor_read", 1 << 20, "a loop of `pread`"),
    ("block_read", 1 << 20, "read 1 MiB blocks"),
    ("block_read_all", 1 << 20, "read 1 MiB blocks together"),
    *[(f"mixed_{way}{how}", size, f"{way} {words} records by turns, {who}")
      for size, words in ((64, "64 B"), (512, "512 B"), (4096, "4 KiB"))
      for how, who in (("_all", "together"), ("", "alone")) for way in ("write", "read")],
    *[(f"array_{way}", n, f"{way} a {n}-D array by blocks") for n in (2, 3) for way in ("write", "read")],
    ("log", 200, "lines of a log, shared pointer, million/s"),
    ("log_mapped", 200, "the same with `pliant_shared_map`"),
    ("overlap", 2, "write an array while computing, ms"),
    ("open", 0, "open and close a file, µs"),
]
BEGIN, END = "<!-- {}: bench/io_report.py writes from here -->", "<!-- to here: {} -->"
COLOURS = {"tmpfs": "#1463c9", "disk": "#c2571a"}


def read(paths):
    """{(line, size, place, ranks): (unit, {mpi: median})}"""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for row in json.load(f)["numbers"]:
                if not row["name"].startswith("io_"):
                    continue
                p = dict(word.split("=") for word in row["params"].split())
                key = (row["name"][3:], int(p["size"]), p["place"], int(p["ranks"]))
                found[key] = (row["unit"], {m: statistics.median(v) for m, v in row["runs"].items()})
    return found


def ratio(entry):
    """(ours, the better of the others, ours to it: more is better)"""
    unit, by = entry
    is_rate = unit in ("GB/s", "M/s")
    theirs = [v for m, v in by.items() if m != "pliant"]
    best = (max if is_rate else min)(theirs)
    return by["pliant"], best, by["pliant"] / best if is_rate else best / by["pliant"]


def floor_of(found, name, size, place, ranks):
    """What the system alone gives for a line; None: nothing was measured."""
    where = f"place={place} ranks={ranks}"
    words = io_floor(name, size, where).split()
    key = (words[0][3:], int(words[1].split("=")[1]), place, ranks) if words else None
    entry = found.get(key)
    return entry[1].get("pliant") if entry else None


def number(v):
    return f"{v:.3g}" if v < 1000 else f"{v:,.0f}"


def table(found, place):
    yield f"| {place}: ours / the better of the others, and how many times as fast; floor, and how much of it ours is | " + \
        " | ".join(f"{n} ranks | floor" for n in RANKS) + " |"
    yield "|---" * (2 * len(RANKS) + 1) + "|"
    for name, size, words in LINES:
        cells, floors = [], []
        for n in RANKS:
            entry = found.get((name, size, place, n))
            if entry is None or "pliant" not in entry[1]:
                cells.append("")
                floors.append("")
            elif name.startswith("floor"):
                cells.append(number(entry[1]["pliant"]))
                floors.append("")
            else:
                ours, best, times = ratio(entry)
                floor = floor_of(found, name, size, place, n) if name != "open" else None
                cells.append(f"{number(ours)} / {number(best)}, {times:.2f}")
                floors.append("" if not floor else f"{number(floor)}, "
                              f"{ours / floor if entry[0] in ('GB/s', 'M/s') else floor / ours:.2f}")
        yield f"| {words} | " + " | ".join(f"{c} | {f}" for c, f in zip(cells, floors)) + " |"


def plot(found):
    rows = [line for line in LINES if not line[0].startswith("floor")]
    left, right, top, step, low, high = 300, 700, 40, 20, 0.5, 64
    bottom = top + step * len(rows)

    def x(v):
        return left + (right - left) * math.log(min(max(v, low), high) / low) / math.log(high / low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + 40} {bottom + 50}" role="img">',
           "<title>Files: how many times as fast as the better of MPICH and Open MPI</title><style>"
           "text { font: 12px system-ui, sans-serif; fill: #5b6470; } .grid { stroke: #d8dde3; } "
           ".one { stroke: #5b6470; } @media (prefers-color-scheme: dark) { text { fill: #9aa4b1; } "
           ".grid { stroke: #333a44; } }</style>"]
    for i, place in enumerate(PLACES):
        out.append(f'<circle cx="{left + i * 90}" cy="14" r="5" fill="{COLOURS[place]}"/>'
                   f'<text x="{left + 10 + i * 90}" y="18">{place}</text>')
    out.append(f'<text x="{left + 190}" y="18">the larger, the more ranks: 2, 4, 8</text>')
    for v in (0.5, 1, 2, 5, 10, 20, 50):
        out.append(f'<line class="{"one" if v == 1 else "grid"}" x1="{x(v):.1f}" x2="{x(v):.1f}" y1="{top - 8}" '
                   f'y2="{bottom}"/><text x="{x(v):.1f}" y="{bottom + 18}" text-anchor="middle">{v:g}</text>')
    for i, (name, size, words) in enumerate(rows):
        y = top + step * i + 4
        out.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{words.replace("`", "")}</text>')
        for place in PLACES:
            for n in RANKS:
                entry = found.get((name, size, place, n))
                if entry is not None and "pliant" in entry[1]:
                    times = ratio(entry)[2]
                    out.append(f'<circle cx="{x(times):.1f}" cy="{y}" r="{2 + math.log2(n):.0f}" fill="none" '
                               f'stroke-width="2" stroke="{COLOURS[place]}"><title>{place}, {n} ranks: '
                               f'{times:.2f}</title></circle>')
    out.append(f'<text x="{left}" y="{bottom + 38}">times as fast as the better of MPICH and Open MPI</text></svg>')
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--docs", required=True)
    parser.add_argument("--machine")
    parser.add_argument("--plot")
    args = parser.parse_args()
    found = read(args.results)
    with open(args.docs, encoding="utf-8") as f:
        page = f.read()
    name = f"measured on {args.machine}" if args.machine else "measured"
    begin, end = BEGIN.format(name), END.format(name)
    head, rest = page.split(begin)
    tail = rest.split(end)[1]
    tables = "\n\n".join("\n".join(table(found, place)) for place in PLACES)
    with open(args.docs, "w", encoding="utf-8") as f:
        f.write(f"{head}{begin}\n{tables}\n\n{end}{tail}")
    if args.plot:
        with open(args.plot, "w", encoding="utf-8") as f:
            f.write(plot(found))


if __name__ == "__main__":
    main()
