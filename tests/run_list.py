#!/usr/bin/env python3
"""Reads the lists of MPI tests.

    run_list.py plan DIR LIST...        write the CMake calls that register every row
    run_list.py run [--mem SIZE] [--why TEXT] [--exit N] -- COMMAND...
                                        run one row that needs memory or a special exit status

A row is: program ranks, and then any of

    env=NAME=VALUE   a variable of the environment; may be repeated
    args="a b"       arguments of the program
    launch="a b"     more options for mpiexec
    timeout=S        seconds before the test counts as hung (60)
    mem=9G           skip, with the reason, on a machine with less free memory
    exit=N           the exit status that counts as success (0)
    serial=yes       run alone, for tests of time
    label=threads    a label for ctest -L; may be repeated
    name=word        the end of the test's name, instead of one made from the settings
    why="..."        said when the test is skipped, and for the reader

DIR/program.c is the program. '#' begins a comment.
"""
import os
import re
import shlex
import subprocess
import sys

KEYS = {"env", "args", "launch", "timeout", "mem", "exit", "serial", "label", "name", "why"}
MANY = {"env", "label"}
SKIPPED = 77


def size_of(text):
    m = re.fullmatch(r"(\d+)([KMGT]?)", text)
    if not m:
        raise ValueError(f"'{text}' is not a size such as 512M or 9G")
    return int(m.group(1)) << (10 * " KMGT".index(m.group(2) or " "))


def number(text, what, least):
    if not text.isdigit() or int(text) < least:
        raise ValueError(f"{what} '{text}' is not a whole number from {least} up")
    return int(text)


def parse(line, folder):
    words = shlex.split(line, comments=True)
    if not words:
        return None
    if len(words) < 2:
        raise ValueError("a row needs a program and a number of ranks")
    row = {"program": words[0], "ranks": number(words[1], "ranks", 1), "env": [], "label": []}
    for word in words[2:]:
        key, eq, value = word.partition("=")
        if not eq or key not in KEYS:
            raise ValueError(f"'{word}' is not one of {', '.join(sorted(KEYS))} with '='")
        if key in MANY:
            row[key].append(value)
        else:
            row[key] = value
    for env in row["env"]:
        if "=" not in env:
            raise ValueError(f"env={env} lacks a value: env=NAME=VALUE")
    if not os.path.exists(os.path.join(folder, row["program"] + ".c")):
        raise ValueError(f"there is no {row['program']}.c")
    row["timeout"] = number(row.get("timeout", "60"), "timeout", 1)
    if "mem" in row:
        size_of(row["mem"])
    return row


def test_name(row):
    name = f"mpi.{row['program'].replace('/', '.')}.{row['ranks']}"
    parts = [row["name"]] if "name" in row else [
        re.sub(r"^pliant_", "", e.lower()).replace("=", "-") for e in row["env"]] + \
        row.get("args", "").split() + row.get("launch", "").split()
    for part in parts:
        name += "." + re.sub(r"[^\w-]+", "_", part).strip("-_")
    return name


def quoted(words):
    return " ".join("[==[" + w + "]==]" for w in words)


def call(row):
    out = f"mpi_test({test_name(row)} {row['program']} RANKS {row['ranks']} TIMEOUT {row['timeout']}"
    for key, words in (("LAUNCH", shlex.split(row.get("launch", ""))), ("ENV", row["env"]),
                       ("ARGS", shlex.split(row.get("args", ""))), ("LABELS", row["label"])):
        if words:
            out += f" {key} {quoted(words)}"
    checks = []
    for key in ("mem", "exit"):
        if key in row:
            checks += ["--" + key, row[key]]
    if checks and "why" in row:
        checks += ["--why", row["why"]]
    if checks:
        out += f" CHECK {quoted(checks)}"
    if row.get("serial") == "yes":
        out += " SERIAL"
    return out + ")"


def plan(folder, lists):
    seen = {}
    for path in lists:
        for n, line in enumerate(open(path, encoding="utf-8"), 1):
            place = f"{os.path.basename(path)}:{n}"
            try:
                row = parse(line, folder)
                if row is None:
                    continue
                name = test_name(row)
                if name in seen:
                    raise ValueError(f"{name} is already in {seen[name]}; give one a name=")
            except ValueError as e:
                sys.exit(f"{place}: {e}")
            seen[name] = place
            print(call(row))


def available():
    for line in open("/proc/meminfo", encoding="ascii"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0


def run(args):
    cut = args.index("--")
    options = dict(zip(args[:cut:2], args[1:cut:2]))
    if "--mem" in options and available() < size_of(options["--mem"]):
        print(f"skipped: needs {options['--mem']} of memory, {available() >> 20} MiB are free"
              f" ({options.get('--why', 'no reason given')})")
        sys.exit(SKIPPED)
    want = int(options.get("--exit", "0"))
    got = subprocess.run(args[cut + 1:], check=False).returncode
    if got != want:
        print(f"exit status {got}, expected {want}")
        sys.exit(1)


def main():
    if len(sys.argv) > 3 and sys.argv[1] == "plan":
        plan(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) > 2 and sys.argv[1] == "run" and "--" in sys.argv:
        run(sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
