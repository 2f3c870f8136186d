#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the imbalance over time that the example balance.c writes down.

usage: balance_plot.py TRACE OUT.svg
"""
import csv
import sys

W, H, LEFT, RIGHT, TOP, BOTTOM = 720, 300, 56, 16, 34, 44
STYLE = """text { font: 12px system-ui, sans-serif; fill: #5b6470; } .grid { stroke: #d8dde3; }
.without { stroke: #b4552d; fill: #b4552d; } .with { stroke: #1f6fb2; fill: #1f6fb2; }
polyline { fill: none !important; stroke-width: 1.8; } text.without, text.with { stroke: none; font-weight: 600; }
@media (prefers-color-scheme: dark) { text { fill: #9aa4b1; } .grid { stroke: #333a44; } }"""


def read(path):
    with open(path, encoding="ascii") as f:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(f)]
    if len(rows) < 2 or set(rows[0]) != {"step", "without", "with"}:
        sys.exit(f"balance_plot: {path} is no trace of the example balance")
    return rows


def draw(rows):
    top = max(max(r["without"], r["with"]) for r in rows) * 1.05
    last = rows[-1]["step"]

    def px(x):
        return LEFT + (W - LEFT - RIGHT) * x / last

    def py(y):
        return H - BOTTOM - (H - TOP - BOTTOM) * (y - 1) / (top - 1)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" role="img">',
           "<title>Load of the busiest process by the mean, over time</title>",
           f"<style>{STYLE}</style>"]
    step = 0.5 if top < 4 else 1
    y = 1.0
    while y <= top:
        out.append(f'<line class="grid" x1="{LEFT}" x2="{W - RIGHT}" y1="{py(y):.1f}" y2="{py(y):.1f}"/>'
                   f'<text x="{LEFT - 8}" y="{py(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
        y += step
    for k in range(5):
        x = last * k / 4
        out.append(f'<text x="{px(x):.1f}" y="{H - BOTTOM + 18}" text-anchor="middle">{x:.0f}</text>')
    out.append(f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 8}" text-anchor="middle">step</text>'
               f'<text x="14" y="{(TOP + H - BOTTOM) / 2}" text-anchor="middle" transform="rotate(-90 14 '
               f'{(TOP + H - BOTTOM) / 2})">busiest process by the mean</text>')
    for i, name in enumerate(("without", "with")):
        line = " ".join(f'{px(r["step"]):.1f},{py(r[name]):.1f}' for r in rows)
        mean = sum(r[name] for r in rows) / len(rows)
        out.append(f'<polyline class="{name}" points="{line}"/>'
                   f'<text class="{name}" x="{LEFT + 260 * i}" y="18">{name} balancing, {mean:.2f} on average</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    picture = draw(read(sys.argv[1]))
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(picture)


main()
