"""The report: one HTML file with the table of aims and curves over the message size."""
import html
import math
import re

from results import number

# Colours that stay apart in both themes and for colour-blind readers; each has a mark of its own.
COLOURS = {"pliant": "#1463c9", "mpich": "#c2571a", "openmpi": "#2b8a5a"}
DARK = {"pliant": "#6aa9ff", "mpich": "#f0915a", "openmpi": "#63c795"}
MARKS = {"pliant": "circle", "mpich": "square", "openmpi": "triangle"}

STYLE = """
:root { --ink: #1b1f24; --soft: #5b6470; --line: #d8dde3; --page: #ffffff; --good: #1a7f4b; --bad: #c0392b; --warn: #d99a00;
%s }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b1; --line: #333a44;
  --page: #14171b; --good: #5fcf94; --bad: #ff7b6b; --warn: #ffca4d;
%s } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
p { color: var(--soft); margin: .25rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th:first-child, td:first-child, td.words { white-space: normal; }
td.words { overflow-wrap: anywhere; text-align: left; } th { color: var(--soft); font-weight: 600; }
.pass { color: var(--good); font-weight: 600; } .fail { color: var(--bad); font-weight: 600; }
tr.missed td { background: color-mix(in srgb, var(--bad) 14%%, transparent); }
tr.missed td:first-child { box-shadow: inset .3rem 0 var(--bad); }
.ratio { border-radius: .25rem; padding: .05rem .35rem; } .ratio:empty { padding: 0; }
.far { background: color-mix(in srgb, var(--good) 45%%, transparent); }
.ahead { background: color-mix(in srgb, var(--good) 18%%, transparent); }
.near { background: color-mix(in srgb, var(--warn) 35%%, transparent); }
.behind { background: color-mix(in srgb, var(--bad) 45%%, transparent); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%%, 30rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; } figcaption { font-weight: 600; margin-bottom: .25rem; }
svg { width: 100%%; height: auto; display: block; } svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .name { font-weight: 600; }
"""

W, H, LEFT, RIGHT, TOP, BOTTOM = 560, 340, 58, 92, 12, 40


def size_text(n):
    for unit, shift in (("M", 20), ("K", 10)):
        if n >= 1 << shift:
            return f"{n >> shift}{unit}"
    return str(n)


SIZES = r"size=(\d+) (?!to=|place=)"


def curve(results, name, contender, over=SIZES):
    """[(size, median, least, most)] of one contender; `over` finds the size in the parameters."""
    points = []
    for (n, params), by in results.values.items():
        m = re.match(over, params + " ")
        if n == name and m and contender in by:
            runs = by[contender]
            points.append((int(m.group(1)), results.median((n, params), contender), min(runs),
                           max(runs)))
    return sorted(points)


def mark(shape, x, y, colour, tip):
    title = f"<title>{html.escape(tip)}</title>"
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}">{title}</circle>'
    if shape == "square":
        return (f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{colour}">'
                f"{title}</rect>")
    return (f'<path d="M{x:.1f} {y - 4.5:.1f}l4.5 8h-9z" fill="{colour}">{title}</path>')


def ticks(low, high):
    """1, 2 and 5 times powers of ten, or the powers alone when there are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if len(powers) > 4 else (1, 2, 5)
    return [s * 10.0 ** p for p in powers for s in steps if low <= s * 10.0 ** p <= high]


def linear_ticks(high):
    step = 10 ** math.floor(math.log10(high))
    step = step / 5 if high / step < 2 else step / 2 if high / step < 5 else step
    return [step * i for i in range(int(high / step) + 1)]


def chart(results, name, who, unit, caption, linear=False, over=SIZES, axis="bytes"):
    series = [(c, curve(results, name, c.name, over)) for c in who]
    series = [(c, p) for c, p in series if len(p) > 1]
    if not series:
        return ""
    sizes = sorted({p[0] for _, points in series for p in points})
    values = [v for _, points in series for p in points for v in p[1:] if v > 0]
    low, high = min(values) * 0.8, max(values) * 1.25
    span_x = math.log(sizes[-1] / sizes[0]) or 1
    span_y = math.log(high / low)

    def px(size):
        return LEFT + (W - LEFT - RIGHT) * math.log(size / sizes[0]) / span_x

    def py(value):
        part = value / high if linear else math.log(max(value, low) / low) / span_y
        return H - BOTTOM - (H - TOP - BOTTOM) * part

    out = [f'<svg viewBox="0 0 {W} {H}" role="img" aria-label="{html.escape(caption)}">']
    for v in linear_ticks(high) if linear else ticks(low, high):
        out.append(f'<line class="grid" x1="{LEFT}" x2="{W - RIGHT}" y1="{py(v):.1f}" y2="{py(v):.1f}"/>'
                   f'<text x="{LEFT - 8}" y="{py(v) + 4:.1f}" text-anchor="end">{v:g}</text>')
    step = max(1, math.ceil(len(sizes) / 9))
    for s in sizes[::step]:
        out.append(f'<text x="{px(s):.1f}" y="{H - BOTTOM + 18}" text-anchor="middle">{size_text(s)}</text>')
    out.append(f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 4}" text-anchor="middle">{axis}</text>'
               f'<text x="14" y="{(TOP + H - BOTTOM) / 2}" text-anchor="middle" '
               f'transform="rotate(-90 14 {(TOP + H - BOTTOM) / 2})">{html.escape(unit)}</text>')
    ends = []
    for c, points in series:
        colour = f"var(--{c.name})"
        band = [f"{px(s):.1f},{py(b):.1f}" for s, _, b, _ in points] + \
               [f"{px(s):.1f},{py(t):.1f}" for s, _, _, t in reversed(points)]
        out.append(f'<polygon points="{" ".join(band)}" fill="{colour}" opacity="0.13"/>')
        line = " ".join(f"{px(s):.1f},{py(m):.1f}" for s, m, _, _ in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [mark(MARKS[c.name], px(s), py(m), colour, f"{c.title}, {size_text(s)}: {number(m)} {unit}")
                for s, m, _, _ in points]
        ends.append((py(points[-1][1]), c))
    # Names beside the ends of the lines, pushed apart where they would touch.
    at = 0
    for y, c in sorted(ends, key=lambda e: e[0]):
        at = max(y, at + 15)
        out.append(f'<text class="name" x="{W - RIGHT + 10}" y="{at + 4:.1f}" '
                   f'style="fill: var(--{c.name})">{html.escape(c.title)}</text>')
    out.append("</svg>")
    return f"<figure><figcaption>{html.escape(caption)}</figcaption>{''.join(out)}</figure>"


def file_charts(results, who):
    """Files: over the size of records, and over the count of ranks."""
    out = []
    for place in ("tmpfs", "disk"):
        for name, words in (("mixed_write_all", "writing together"), ("mixed_read_all", "reading together"),
                            ("mixed_write", "writing alone"), ("mixed_read", "reading alone")):
            out.append(chart(results, f"io_{name}", who, "GB/s",
                             f"Records by turns, {words}, 2 ranks, {place} (higher is better)",
                             over=rf"size=(\d+) place={place} ranks=2 "))
        for name, size, unit, words in (
                ("block_write_all", 1 << 20, "GB/s", "Blocks of 1 MiB, writing together"),
                ("array_write", 3, "GB/s", "3-D array by blocks, writing"),
                ("array_read", 3, "GB/s", "3-D array by blocks, reading"),
                ("log", 200, "M/s", "Lines of a log with the shared pointer"),
                ("log_mapped", 200, "M/s", "Lines of a log by a mapping (a hint)"),
                ("open", 0, "µs", "Opening and closing a file (lower is better)")):
            out.append(chart(results, f"io_{name}", who, unit, f"{words}, {place}", axis="ranks",
                             over=rf"size={size} place={place} ranks=(\d+) "))
    return "".join(out)


def aims_table(verdicts, peers):
    head = ["what", "unit", "Pliant MPI", *[p.title for p in peers], "floor", "ratio", "aim", ""]
    out = ["<table><thead><tr>", *[f"<th>{html.escape(h)}</th>" for h in head], "</tr></thead><tbody>"]
    for v in verdicts:
        mood = {True: "pass", False: "fail", None: ""}[v.passed()]
        aim = v.aim_text().replace("<=", "≤").replace(">=", "≥").replace(" x", " ×")
        cells = [v.aim.what, v.unit, number(v.ours), *[number(v.peers[p.name]) for p in peers],
                 "" if v.floor is None else number(v.floor)]
        ratio = "" if v.ratio is None else f"{v.ratio:.3g}"
        row = '<tr class="missed">' if mood == "fail" else "<tr>"
        out.append(row + "".join(f"<td>{html.escape(c)}</td>" for c in cells) +
                   f'<td><span class="ratio {v.shade()}">{ratio}</span></td><td>{html.escape(aim)}</td>'
                   f'<td class="{mood}">{v.verdict_text().lower()}</td></tr>')
    return "".join(out) + "</tbody></table>"


def numbers_table(results, who):
    out = ["<table><thead><tr><th>number</th><th>parameters</th><th>unit</th>",
           *[f"<th>{html.escape(c.title)}</th><th>spread</th>" for c in who], "</tr></thead><tbody>"]
    for (name, params), by in results.values.items():
        out.append(f"<tr><td>{html.escape(name)}</td><td class='words'>{html.escape(params)}</td>"
                   f"<td>{html.escape(results.units[(name, params)])}</td>")
        for c in who:
            if c.name in by:
                out.append(f"<td>{number(results.median((name, params), c.name))}</td>"
                           f"<td>{number(results.spread((name, params), c.name))}</td>")
            else:
                out.append("<td></td><td></td>")
        out.append("</tr>")
    return "".join(out) + "</tbody></table>"


def write_report(path, results, verdicts, who, about):
    peers = [c for c in who if c.name != "pliant"]
    light = " ".join(f"--{k}: {v};" for k, v in COLOURS.items())
    dark = " ".join(f"--{k}: {v};" for k, v in DARK.items())
    good = sum(v.passed() is True for v in verdicts)
    versions = ", ".join(f"{n} {v}" for n, v in about["versions"].items())
    charts = "".join([
        chart(results, "lat", who, "µs", "Latency, one way, two processes (lower is better)"),
        chart(results, "bw", who, "GB/s", "Bandwidth, two processes (higher is better)",
              linear=True)])
    files = file_charts(results, who)
    failures = "".join(f"<li>{html.escape(b)} with {html.escape(c)}: {html.escape(w)}</li>"
                       for (b, c), w in results.failed.items())
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pliant MPI: measurements</title><style>{STYLE % (light, dark)}</style></head><body>
<h1>Pliant MPI beside MPICH and Open MPI</h1>
<p>{good} of {len(verdicts)} aims reached. {html.escape(versions)}.</p>
<p>{html.escape(about["machine"])}. {html.escape(about["when"])}, {about["seconds"]} s.
The same programs, run alternately; medians of the runs. Ratios are to the better of the others.</p>
<h2>Aims</h2><p>Ratio: <span class="ratio far">0.7 and less</span> of the better peer's time,
<span class="ratio ahead">not behind</span>, <span class="ratio near">up to 1.2</span>, <span class="ratio behind">more</span>.
Floor: one cache line from core to core, or one copy by one core; nothing is better.</p><div class="scroll">{aims_table(verdicts, peers)}</div>
{f'<h2>Over the message size</h2><p>The band spans all runs.</p><div class="charts">{charts}</div>' if charts else ""}
{f'<h2>Files</h2><div class="charts">{files}</div>' if files else ""}
<h2>Every number</h2><p>Spread is the largest run less the smallest.</p>
<div class="scroll">{numbers_table(results, who)}</div>
{f"<h2>What could not be measured</h2><ul>{failures}</ul>" if failures else ""}
</body></html>
"""
    with open(path, "w", encoding="utf-8") as out:
        out.write(page)
