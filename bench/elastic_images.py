#!/usr/bin/env python3
"""Measures images of two ranks: how long the ranks stand still and how much is written, whole and incremental, by memory and by
how much of it has changed.

usage: elastic_images.py [--build DIR] [--quick]

Writes DIR/bench/elastic_images.json, and elastic_images.md with plots beside it.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from contender import contenders  # noqa: E402
from elastic_report import arguments, write_figures, write_page  # noqa: E402
from results import number  # noqa: E402
from run import machine  # noqa: E402
from startup_report import MARKS, plot, table  # noqa: E402

LIMIT_S = 300
STEPS = 3  # the first checkpoint is a whole one


def size_of(where):
    """Bytes of a checkpoint itself, without what it is based on."""
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(where) for name in names
               if not os.path.islink(os.path.join(at, name)))


def measure(c, program, folder, mib, permille):
    """((seconds, seconds stood still, MB) of the whole one, the same of the best incremental one)."""
    with tempfile.TemporaryDirectory(dir=folder) as d:
        job = subprocess.run([c.launch, *c.free, "--checkpoint-dir", os.path.join(d, "c"), "--checkpoint-increments", "9",
                              "-n", "2", program, str(mib), str(permille), str(STEPS)], capture_output=True, text=True,
                             timeout=LIMIT_S, check=True)
        said = " ".join(job.stderr.split())
        times = [tuple(map(float, t)) for t in re.findall(r": ([\d.]+) s, of which the ranks stood still ([\d.]+) s", said)]
        sizes = [size_of(os.path.join(d, "c", str(i + 1))) / 1e6 for i in range(STEPS)]
    if len(times) != STEPS:
        raise RuntimeError(f"{len(times)} checkpoints: {said}")
    rest = list(zip(times, sizes))[1:]
    return (*times[0], sizes[0]), (min(t[0] for t, _ in rest), min(t[1] for t, _ in rest), max(s for _, s in rest))


def page(r, folder):
    whole = {mib: min(row["whole"][1] for row in r["rows"] if row["mib"] == mib) for mib in r["sizes"]}
    lines = [("pliant", "whole", sorted(whole.items()), None)]
    marks = [m for m in MARKS if m != "pliant"]
    lines += [(mark, f"{p / 10:g} % changed", [(row["mib"], row["changed"][1]) for row in r["rows"] if row["permille"] == p], None)
              for mark, p in zip(marks, r["rates"])]
    figures = {"elastic_images_stop": ("how long two ranks stand still", plot(
        lines, "s", "how long two ranks stand still", "MiB of each rank"))}
    most = r["sizes"][-1]
    figures["elastic_images_bytes"] = ("bytes of an incremental checkpoint", plot(
        [("pliant", f"2 ranks with {most} MiB each",
          [(row["permille"] / 10, row["changed"][2]) for row in r["rows"] if row["mib"] == most], None)],
        "MB", "bytes of an incremental checkpoint", "% of the pages changed"))
    one = [row for row in r["rows"] if row["mib"] == most and row["permille"] == 10]
    text = [f"# Images of ranks, measured\n\n{r['machine']}, {r['when']}. Beside other work; lower is better.\n"]
    if one:
        share = one[0]["changed"][2] / one[0]["whole"][2]
        still = one[0]["changed"][1]
        text.append(table(["what", "measured", "aim", "reached"], [
            ["share of the memory that is written where 1 % has changed", f"{100 * share:.1f} %", "at most 5 %",
             "yes" if share <= 0.05 else "no"],
            [f"two ranks with {most} MiB each stand still", f"{number(still * 1000)} ms", "at most 50 ms",
             "yes" if still <= 0.05 else "no"]]))
    text += write_figures(folder, figures)
    text.append("\n" + table(["MiB of each rank", "changed", "whole: s", "stood still, s", "MB", "incremental: s",
                              "stood still, s", "MB"],
                             [[str(row["mib"]), f"{row['permille'] / 10:g} %", *(number(v) for v in (*row["whole"], *row["changed"]))]
                              for row in r["rows"]]))
    write_page(folder, "elastic_images", r, text)


def main():
    is_quick, build, folder = arguments(__doc__)
    if subprocess.run(["criu", "check"], capture_output=True, check=False).returncode != 0:
        print("images of processes are not measured: CRIU may not work here (criu check)")
        return
    c = next(c for c in contenders(build) if c.name == "pliant")
    program = c.build("elastic_pages", folder)
    sizes, rates = ((16, 64), (10, 200)) if is_quick else ((16, 64, 256, 1024), (1, 10, 100, 500))
    r = {"machine": machine(), "when": time.strftime("%Y-%m-%d"), "sizes": sizes, "rates": rates, "rows": []}
    for mib in sizes:
        for permille in rates:
            whole, changed = measure(c, program, folder, mib, permille)
            r["rows"].append({"mib": mib, "permille": permille, "whole": whole, "changed": changed})
            print(f"images ranks=2 mib={mib} changed={permille / 10:g}% whole {whole[0]:.2f} s still {whole[1]:.2f} s "
                  f"{whole[2]:.1f} MB; incremental {changed[0]:.2f} s still {changed[1]:.2f} s {changed[2]:.1f} MB", flush=True)
    page(r, folder)


if __name__ == "__main__":
    sys.exit(main())
