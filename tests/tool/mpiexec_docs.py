#!/usr/bin/env python3
"""The table of options, --help and the manual page say the same."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import SOURCE, Run, check, status
from page import Page, check_same, options

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tools", "lib"))
from options import Table

table = Table(os.path.join(SOURCE, "launcher", "job", "mpiexec.opt"))
check(len(table.options) > 50, f"{len(table.options)} options read from the table")
page = Page("mpiexec.1")
described = options(page.section("OPTIONS", "OUTPUT")) - {"name"}
check_same("the table and the page", {name.lstrip("-") for o in table.options for name in o.names + o.aliases}, described)

for option in ("--help", "--help-all"):
    rows = [line for line in Run(option).out.splitlines() if line.startswith("  -")]
    for o in table.options:
        shown = [line for line in rows if re.match(re.escape("  " + ", ".join(o.names)) + "(?![a-z-])", line)]
        wanted = not o.hidden and (option == "--help-all" or not o.rare)
        check(bool(shown) == wanted, f"{option} and {o.names}")
        if o.value and wanted:
            check(o.value in shown[0], f"{option} lacks {o.value}")

# --help TOPIC has every option of its group that can be shown, and no other.
listed = Run("--help", "topics")
for group in table.groups:
    shown = [o for o in table.options if o.group is group and not o.hidden]
    check(bool(group.topics) == bool(shown), f"topics of '{group.title}': {group.topics}")
    for topic in group.topics:
        r = Run("--help", topic)
        rows = [line for line in r.out.splitlines() if line.startswith("  -")]
        check(r.rc == 0 and r.err == "" and r.out.startswith(f"{group.title}:\n"), f"--help {topic}: {r}")
        check(len(rows) == len(shown) and all(any(row.startswith("  " + ", ".join(o.names)) for row in rows) for o in shown), f"--help {topic}: {r}")
        check(listed.rc == 0 and topic in listed.out and group.title in listed.out, f"--help topics: {listed}")
r = Run("--help", "nonsense")
check(r.rc != 0 and r.out == "" and "no topic 'nonsense'" in r.err and "checkpoint" in r.err, f"--help nonsense: {r}")
check(Run("--help", "-n", "4").out == Run("--help").out, "--help before another option")

page.check_shown("EXIT STATUS")
sys.exit(status())
