#!/usr/bin/env python3
"""Ranks that are restored from images record on: --profile, --timeline, --record and --check after mpiexec --restart."""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import skip_reason  # noqa: E402
from launch import BUILD, IS_SANITIZED, Run, check, status  # noqa: E402
from observe import line_of  # noqa: E402

PROBE = os.path.join(BUILD, "tests", "bin", "observe_probe")
N = 3


def lives(d, first, later=()):
    """A job that ends behind its checkpoint, and what goes on from it."""
    images = os.path.join(d, "images")
    shutil.rmtree(images, ignore_errors=True)
    a = Run("--checkpoint-dir", images, *first, "-n", N, PROBE, "restored", timeout=180)
    check(a.rc == 3 and "lost" in a.out, a)
    b = Run(*later, "--restart", images, timeout=180)
    check(b.rc == 0 and b.out.count("after") == 10 * (N - 1), b)
    return a, b


def calls(text, place):
    return [line.split() for line in text.splitlines() if line.rstrip().endswith(place)]


def main():
    why = skip_reason() or (IS_SANITIZED and "skipped: a sanitizer's library must come before those that mpiexec puts first")
    if why:
        print(why)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as d:
        _, b = lives(d, ["--profile"])
        rows = calls(b.err, "MPI_Recv " + line_of("// recv after"))
        check(len(rows) == 1 and rows[0][3] == str(10 * (N - 1)), f"{rows} {b}")
        check(line_of("// recv before") not in b.err, b)
        # Options that come too late are told.
        _, b = lives(d, [], ["--profile", "--check"])
        check("record nothing for --profile: the job was started without it" in b.words, b)
        check("--check has no effect: the ranks of this checkpoint were started without it" in b.words, b)
        file = os.path.join(d, "t.json")
        a, b = lives(d, ["--timeline", file, "--check"])
        check("no effect" not in b.err and "check: rank 0" not in a.err and "[type]" in b.err, b)
        with open(file, encoding="utf-8") as f:
            events = json.load(f)
        events = events["traceEvents"] if isinstance(events, dict) else events
        slices = [e for e in events if e.get("ph") == "X"]
        recv = [e for e in slices if e["name"] == "MPI_Recv"]
        check(len(recv) == 10 * (N - 1) + 1, f"{len(recv)} receives")
        check(all(0 <= e["dur"] < 60e6 and 0 <= e["ts"] < 600e6 for e in slices), slices[:5])
        record = os.path.join(d, "record")
        a, b = lives(d, ["--record", record])
        r = Run("--replay", record, "-n", N, PROBE, "restored")
        order = [line for line in (a.out + b.out).splitlines() if line.startswith(("before", "after"))]
        check(r.rc == 0 and r.out.splitlines() == order, f"{r} is not {order}")
    sys.exit(status())


if __name__ == "__main__":
    main()
