#!/usr/bin/env python3
"""The table of options, --help and the manual page say the same."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import SOURCE, Run, check, status
from page import Page, check_same, options

with open(os.path.join(SOURCE, "tools", "mpiexec", "options.def"), encoding="utf-8") as f:
    table = re.findall(r'PLI_OPTION\(\s*"([^"]+)",\s*"([^"]*)",\s*(\w+),\s*("[^"]*"|NULL)', f.read())
check(len(table) > 20, f"{len(table)} options read from the table")
page = Page("mpiexec.1")
described = options(page.section("OPTIONS", "OUTPUT")) - {"name"}
check_same("the table and the page", {name for names, *_ in table for name in names.split()}, described)

help_text = Run("--help").out
left = "\n".join(line[:22] for line in help_text.splitlines())
for names, values, _, text in table:
    shown = re.search(rf"(?<![\w-])--?{re.escape(names.split()[0])}(?![\w-])", left)
    check((shown is not None) == (text != "NULL"), f"--help and {names}")
    if values and text != "NULL":
        check(values in help_text, f"--help lacks {values}")

page.check_shown("EXIT STATUS")
sys.exit(status())
