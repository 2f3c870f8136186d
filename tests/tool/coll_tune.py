#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PLIANT_LOG=coll tells which algorithm is taken and why; tables of mpiinfo --tune are used, and bad ones get a sentence."""
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, Run, check, status

PROBE = os.path.join(BUILD, "tests", "bin", "coll_tune_probe")
MPIINFO = os.path.join(BUILD, "bin", "mpiinfo")
FOLDER = tempfile.mkdtemp()
TUNED = "because it was the fastest when mpiinfo --tune measured"


def told(n, env):
    """{operation: [(bytes, algorithm, why)]} that a job of n ranks tells."""
    r = Run("-n", n, PROBE, env={"PLIANT_LOG": "coll", "PLIANT_TUNE_FILE": "none", **env}, timeout=120)
    check(r.rc == 0 and "ok" in r.out, f"{env}: {r}")
    out = {}
    for line in r.err.splitlines():
        m = re.match(r"pliant rank 0: coll: (.*) of (\d+) bytes on .*, \d+ ranks: (\w+), (because .*)$", line)
        check(m, f"a line that is none of ours: {line}")
        if m:
            out.setdefault(m.group(1), []).append((int(m.group(2)), m.group(3), m.group(4)))
    return out


def explained():
    found = told(3, {})
    check(any(a == "board" for _, a, _ in found.get("allreduce", [])), f"small allreduces meet on a board: {found}")
    check(any("too large for it" in why for _, _, why in found.get("allreduce", [])), found)
    check(any("only for blocking calls" in why for _, _, why in found.get("nonblocking bcast", [])), found)
    keys = [(op, size, a) for op, many in found.items() for size, a, _ in many]
    check(len(keys) == len(set(keys)), f"each choice is told once: {keys}")
    forced = told(3, {"PLIANT_COLL": "allreduce:ring"})
    check(all((a, why) == ("ring", "because PLIANT_COLL names it") for _, a, why in forced["allreduce"]), forced)


def cores():
    r = subprocess.run([MPIINFO], capture_output=True, text=True, check=True)
    check("Pliant MPI" in r.stdout, r)
    # As mpiexec counts them: by a table that is surely for another machine.
    path = write("pliant-tune 1 cores 99999 other\n")
    said = Run("-n", 1, "true", env={"PLIANT_TUNE_FILE": path}).err
    m = re.search(r"there\s+are\s+(\d+)\s+of", said)
    check(m, said)
    return int(m.group(1)) if m else 1


def write(text, name="table"):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def used(head):
    path = write(f"{head}# a comment; with a semicolon\nallreduce 2-3 0-100 doubling\nallreduce 2-3 101-9000000 ring\n")
    found = told(3, {"PLIANT_TUNE_FILE": path})
    check({(a, why) for _, a, why in found["allreduce"]} == {("doubling", TUNED), ("ring", TUNED)}, found)
    # No rule is for so many ranks, and the setting goes before the table.
    found = told(4, {"PLIANT_TUNE_FILE": path})
    check(all(TUNED not in why for _, _, why in found["allreduce"]), found)
    found = told(3, {"PLIANT_TUNE_FILE": path, "PLIANT_COLL": "allreduce:tree"})
    check(all(a == "tree" for _, a, _ in found["allreduce"]), found)
    # Where it lies by itself.
    place = os.path.join(FOLDER, "pliant", "tune-" + platform.node())
    os.makedirs(os.path.dirname(place))
    os.rename(path, place)
    for env in ({"XDG_CONFIG_HOME": FOLDER}, {"PLIANT_FAKE_HOSTS": "3", "XDG_CONFIG_HOME": FOLDER}):
        found = told(3, {**env, "PLIANT_TUNE_FILE": ""})
        check(any(why == TUNED for _, _, why in found["allreduce"]), found)


def refused(head):
    for text, why in (("rubbish\n", "it does not begin with"), ("", "it does not begin with"),
                      (head + "allreduce 2-3 0-100\n", "is not 'operation ranks-ranks bytes-bytes algorithm'"),
                      (head + "allreduce 2-3 0-100 ring more\n", "is not 'operation"),
                      (head + "allreduce 3-2 0-100 ring\n", "has a range that is none"),
                      (head + "x" * 5000 + "\n", "is too long"),
                      (head.replace("cores ", "cores 1"), "it is for 1"),
                      (head + "# large\n" * 20000, "it has more than 65536 bytes")):
        r = Run("-n", 2, "true", env={"PLIANT_TUNE_FILE": write(text)})
        check(r.rc == 0 and "is not used" in r.words and why in r.words and "mpiinfo --tune measures" in r.words,
              f"{text[:80]!r}: {r}")
    for text, why in (("dance 2-3 0-100 ring\n", "names no collective operation"),
                      ("allreduce 2-3 0-100 dance\n", "names no algorithm")):
        r = Run("-n", 3, PROBE, env={"PLIANT_TUNE_FILE": write(head + text)})
        check(r.rc == 0 and "is not used" in r.words and why in r.words and r.words.count("is not used") == 1, r)
    r = Run("-n", 2, "true", env={"PLIANT_TUNE_FILE": os.path.join(FOLDER, "none_such")})
    check(r.rc == 0 and r.err == "", r)


def measured(head):
    """A short measurement; what it prints can be used. It ends in time also where other work has the cores."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * os.cpu_count())]
    begin = time.monotonic()
    r = Run("-n", 2, MPIINFO, "--tune-rank", "1.5,2", env={"PLIANT_TUNE_FILE": "none"}, timeout=200)
    took = time.monotonic() - begin
    for p in others:
        p.kill()
        p.wait()
    check(r.rc == 0 and r.err == "", r)
    check(took < 15, f"1.5 s beside {len(others)} processes that compute took {took:.1f} s")
    check(all(re.match(r"[a-z_]+ 2-2 \d+-\d+ [a-z_]+$", line) for line in r.out.splitlines()), r)
    r = Run("-n", 2, "true", env={"PLIANT_TUNE_FILE": write(head + r.out)})
    check(r.rc == 0 and r.err == "", r)
    r = subprocess.run([MPIINFO, "--tune"], capture_output=True, text=True, check=False,
                       env={**os.environ, "PLIANT_TUNE_FILE": "none"})
    check(r.returncode == 1 and "there is no place for the table" in r.stderr, r)


explained()
HEAD = f"pliant-tune 1 cores {cores()} {platform.machine()}\n"
used(HEAD)
refused(HEAD)
measured(HEAD)
sys.exit(status())
