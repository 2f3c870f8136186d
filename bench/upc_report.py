"""Measurements of UPC as a page of Markdown with plots."""
import html
import math
import os

from report import linear_ticks, mark, number, ticks

W, H, LEFT, RIGHT, TOP, BOTTOM = 600, 340, 64, 150, 12, 40
# One colour and mark for each curve, flat first.
LOOKS = (("#1463c9", "circle"), ("#c2571a", "square"), ("#2b8a5a", "triangle"), ("#8a4fbf", "circle"),
         ("#a03050", "square"))
# What the paper says of groups beside flat, as far as it says it in numbers.
PAPER = {"random": (1.25, 1.33), "nbody": (2, 2)}


def plot(series, unit, caption, linear):
    """Values over the number of threads as a file of its own; series: [(label, [(threads, value)])]."""
    xs = sorted({x for _, points in series for x, _ in points})
    ys = [y for _, points in series for _, y in points if y > 0]
    if not ys:
        return ""
    low, high = min(ys) * 0.8, max(ys) * 1.1
    span = math.log(xs[-1] / xs[0]) or 1

    def px(x):
        return LEFT + (W - LEFT - RIGHT) * math.log(x / xs[0]) / span

    def py(y):
        part = y / high if linear else math.log(max(y, low) / low) / math.log(high / low)
        return H - BOTTOM - (H - TOP - BOTTOM) * part

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" role="img">'
           f"<title>{html.escape(caption)}</title><style>text {{ font: 12px system-ui, sans-serif; "
           "fill: #5b6470; } .grid { stroke: #d8dde3; } .name { font-weight: 600; } "
           "@media (prefers-color-scheme: dark) { text { fill: #9aa4b1; } .grid { stroke: #333a44; } }"
           "</style>"]
    for v in linear_ticks(high) if linear else ticks(low, high):
        out.append(f'<line class="grid" x1="{LEFT}" x2="{W - RIGHT}" y1="{py(v):.1f}" y2="{py(v):.1f}"/>'
                   f'<text x="{LEFT - 8}" y="{py(v) + 4:.1f}" text-anchor="end">{v:g}</text>')
    out += [f'<text x="{px(x):.1f}" y="{H - BOTTOM + 18}" text-anchor="middle">{x}</text>' for x in xs]
    middle = (TOP + H - BOTTOM) / 2
    out.append(f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 4}" text-anchor="middle">threads in all</text>'
               f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
               f"{html.escape(unit)}</text>")
    ends = []
    for (label, points), (colour, shape) in zip(series, LOOKS):
        if not points:
            continue
        line = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [mark(shape, px(x), py(y), colour, f"{label}, {x} threads: {number(y)} {unit}")
                for x, y in points]
        ends.append((py(points[-1][1]), px(points[-1][0]), colour, label))
    place = 0
    for y, x, colour, label in sorted(ends):  # names must not touch
        place = max(y, place + 14)
        out.append(f'<text class="name" x="{x + 9:.1f}" y="{place + 4:.1f}" style="fill: {colour}">'
                   f"{html.escape(label)}</text>")
    return "".join(out) + "</svg>\n"


def curves(rows, what, far, value):
    """Flat, and every size of group."""
    rows = [r for r in rows if r["what"] == what and (r["hosts"] > 1) == far]
    sizes = sorted({r["group"] for r in rows if not r["flat"]})
    return [("flat", [(r["threads"], value(r)) for r in rows if r["flat"]])] + \
           [(f"groups of {s}", [(r["threads"], value(r)) for r in rows if not r["flat"] and r["group"] == s])
            for s in sizes]


def per_read(row):
    return row["seconds"] / row["reads"] * 1e9


def per_body(row):
    return row["seconds"] / row["bodies"] / row["steps"] * 1e6


FIGURES = (
    ("upc_random", "Random access, one host", "ns a read", "random", False, per_read, False),
    ("upc_random_far", "Random access, between pretended hosts", "ns a read", "random", True,
     per_read, False),
    ("upc_random_local", "Random access, local reads", "% local", "random", False,
     lambda r: r["local"], True),
    ("upc_nbody", "Barnes-Hut forces, one host", "µs a body", "nbody", False, per_body, False),
    ("upc_nbody_far", "Barnes-Hut forces, between pretended hosts", "µs a body", "nbody", True,
     per_body, False),
    ("upc_nbody_local", "Barnes-Hut forces, local cells", "% local", "nbody", False,
     lambda r: r["local"], True),
)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def group_table(rows):
    out = []
    for r in rows:
        each = f"{number(per_read(r))} ns a read" if r["what"] == "random" else \
            f"{number(per_body(r))} µs a body"
        out.append([r["what"], str(r["hosts"]), str(r["threads"]),
                    "flat" if r["flat"] else f"groups of {r['group']}", f"{r['seconds']:.6f}", each,
                    f"{r['local']:.2f}"])
    return table(["program", "hosts", "threads", "shape", "seconds", "each", "% local"], out)


def kernel_table(kernels):
    names = sorted({name for _, values in kernels for name in values})
    return table(["threads"] + names,
                 [[str(n)] + [number(v[name]) if name in v else "" for name in names] for n, v in kernels])


def app_table(apps):
    """Nanoseconds an item; C has one thread."""
    kinds = [kind for kind in ("C", "OpenMP", "MPI", "UPC") if kind in apps[0][1]]
    rows = []
    for name in apps[0][1]["UPC"]:
        for n, values in apps:
            rows.append([name, str(n)] + [number(values[kind][name]) if kind in values else "" for kind in kinds])
    return table(["application", "threads"] + [kind + ", ns" for kind in kinds], rows)


def gains(rows):
    """[(row in groups, times as fast as flat)] on virtual hosts."""
    flat = {(r["what"], r["threads"]): r["seconds"] for r in rows if r["model"] == "flat"}
    return [(r, flat[r["what"], r["threads"]] / r["seconds"]) for r in rows if r["model"] != "flat"]


def said(what):
    low, high = PAPER[what]
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def paper_table(rows):
    """The gain of groups that span two hosts, beside the paper's."""
    out = [[r["what"], str(r["threads"]), str(r["hosts"]), f"{r['model']}, groups of {r['group']}", f"{r['seconds']:.6f}",
            f"{r['local']:.2f}", f"{gain:.2f}", said(r["what"])] for r, gain in gains(rows)]
    out += [[r["what"], str(r["threads"]), str(r["hosts"]), "flat", f"{r['seconds']:.6f}", f"{r['local']:.2f}", "1", ""]
            for r in rows if r["model"] == "flat"]
    return table(["program", "threads", "hosts", "model", "seconds", "% local", "times as fast as flat", "the paper"], sorted(out)) \
        if out else "(no virtual hosts on this machine)"


def paper_curves(rows):
    """The gains over the number of threads, and the paper's as lines."""
    xs = sorted({r["threads"] for r in rows})
    out = []
    for what, name in (("random", "random access"), ("nbody", "Barnes-Hut")):
        out += [(f"{name}, {model}", [(r["threads"], gain) for r, gain in gains(rows) if (r["what"], r["model"]) == (what, model)])
                for model in ("funneled", "multiple") if (what, model) != ("random", "funneled")]
        out.append((f"the paper, {name}", [(x, PAPER[what][1]) for x in xs]))
    return out


def verdict(name, value, aim, good):
    return [name, value, aim, "yes" if good else "no"]


def aims(results):
    """[what, measured, aim, reached] for each."""
    rows = []
    for n, v in results["kernels"]:
        for kind in ("triad", "triad_pointers"):
            ratio = v[kind + "_ratio"]
            rows.append(verdict(f"{kind.replace('_', ' through ')}, {n} threads, beside OpenMP",
                                f"{ratio:.2f} ×", "≥ 0.9 ×", ratio >= 0.9))
        rows.append(verdict(f"own elements through a cast pointer, {n} threads, beside private C",
                            f"{v['cast_ratio']:.3f} ×", "≤ 1.02 ×", v["cast_ratio"] <= 1.02))
        rows += [verdict(f"heat stencil {how}, {n} threads, beside private C", f"{v[name]:.2f} ×", "≤ 1.5 ×",
                         v[name] <= 1.5) for how, name in (("with upc_forall", "stencil_ratio"),
                                                           ("in plain loops", "stencil_plain_ratio"))]
        rows += [verdict(f"sum over own elements by {how}, {n} threads, beside private C", f"{v[name]:.2f} ×", "≤ 1.5 ×", v[name] <= 1.5)
                 for how, name in (("*p++", "walk_ratio"), ("while", "while_ratio"),
                                   ("while with steps of THREADS", "dealt_ratio"), ("p < end", "compared_ratio"),
                                   ("p < end with steps of THREADS", "strided_ratio"))]
        rows += [verdict(f"stores to own elements by {how}, {n} threads, beside private C", f"{v[name]:.2f} ×", "≤ 1.5 ×", v[name] <= 1.5)
                 for how, name in (("*p++ = x", "fill_walk_ratio"), ("*p = x; p++", "fill_steps_ratio"), ("p[i] = x", "fill_index_ratio"))]
        rows += [verdict(f"copy of own elements by {how}, {n} threads, beside private C", f"{v[name]:.2f} ×", "≤ 1.5 ×", v[name] <= 1.5)
                 for how, name in (("*p++ = *q++", "copy_walk_ratio"), ("p != end", "copy_compared_ratio"))]
        if n > 1:
            rows.append(verdict(f"upc_barrier, {n} threads, beside MPI_Barrier", f"{v['barrier_ratio']:.2f} ×",
                                "≤ 1 ×", v["barrier_ratio"] <= 1))
            rows += [verdict(f"8-byte {op}, {n} threads", f"{v[op + '_ns']:.1f} ns", "≤ 60 ns",
                             v[op + "_ns"] <= 60) for op in ("get", "put")]
    rows += [verdict(f"plain C through upcc beside cc: {name}", f"{ratio:.3f} ×", "≤ 1.02 ×", ratio <= 1.02)
             for name, (_, _, ratio) in results["private"].items()]
    far = results["far"]
    rows.append(verdict("far get of 8 bytes beside a TCP round trip", f"{far['get_ratio']:.2f} ×", "≤ 1.3 ×",
                        far["get_ratio"] <= 1.3))
    rows.append(verdict("far get while the owner computes or looks at its memory, beside a waiting owner",
                        f"{far['get_busy_ratio']:.2f} ×", "≤ 2 ×", far["get_busy_ratio"] <= 2))
    rows.append(verdict("far gets of elements in a row, in a loop, beside single ones", f"{far['row_ratio']:.0f} × as fast",
                        "≥ 20 ×", far["row_ratio"] >= 20))
    rows.append(verdict("far random updates, collected beside one by one", f"{far['collected_ratio']:.0f} × as fast",
                        "≥ 20 ×", far["collected_ratio"] >= 20))
    return rows


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def write_all(results, folder):
    pictures = []
    drawn = [(name, caption, plot(curves(results["groups"], what, far, value), unit, caption, linear))
             for name, caption, unit, what, far, value, linear in FIGURES]
    caption = "Groups of 4 on two virtual hosts each, beside the paper"
    drawn.append(("upc_paper", caption, plot(paper_curves(results["hosts"]), "times as fast as flat", caption, True)))
    for name, caption, svg in drawn:
        path = os.path.join(folder, name + ".svg")
        if svg:
            write(path, svg)
            pictures.append(f"{caption}:\n\n![{caption}]({name}.svg)\n")
        elif os.path.exists(path):  # of an earlier run, which is not this one
            os.remove(path)
    write(os.path.join(folder, "upc.md"), f"""# UPC, alone and with MPI

Measured with `make bench-upc` ({results['size']}) on {results['machine']}. More threads than cores
share them, and other work may have run beside: trust ratios and shapes more than digits. Values are medians;
ratios are medians of the ratios of single runs, in which both sides took turns.

## Aims

{table(["what", "measured", "aim", "reached"], aims(results))}

## Flat and in groups

On one host all threads are near, and a read costs about the same wherever it goes: groups change the
share of local references, hardly the time. Between pretended hosts a remote read is a message over TCP.

{chr(10).join(pictures)}
{group_table(results['groups'])}

### Beside the paper

Groups on two virtual hosts each (network namespaces of one machine, two threads on each), started by the paper's command lines; the
paper's are on two nodes of a cluster with InfiniBand. What it says in numbers:

{paper_table(results['hosts'])}

## Applications

Each is one source, compiled as C, with OpenMP, for MPI (the ranks share a window) and as UPC, where every access to an array is one to a
pointer-to-shared. Nanoseconds an item; all kinds compute the same.

{app_table(results['apps'])}

## Far access

{table(["what", "value"], [[name, number(value)] for name, value in results['far'].items()])}

## Kernels

{kernel_table(results['kernels'])}
""")
