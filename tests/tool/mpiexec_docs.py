#!/usr/bin/env python3
"""The table of options, --help and the manual page say the same."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import SOURCE, Run, check, status

with open(os.path.join(SOURCE, "tools", "mpiexec", "options.def"), encoding="utf-8") as f:
    table = re.findall(r'PLI_OPTION\(\s*"([^"]+)",\s*"([^"]*)",\s*(\w+),\s*("[^"]*"|NULL)', f.read())
check(len(table) > 20, f"{len(table)} options read from the table")
path = os.path.join(SOURCE, "docs", "man", "mpiexec.1")
with open(path, encoding="utf-8") as f:
    source = f.read()
page = re.sub(r"\\f.|\\~", lambda m: " " if m.group() == "\\~" else "", source).replace("\\-", "-")
options = page[page.index(".SH OPTIONS"):page.index(".SH OUTPUT")]
described = {w.lstrip("-") for w in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", options)} - {"name"}
named = {name for names, *_ in table for name in names.split()}
check(named == described, f"only in the table {named - described}, only in the page {described - named}")

help_text = Run("--help").out
left = "\n".join(line[:22] for line in help_text.splitlines())
for names, values, _, text in table:
    shown = re.search(rf"(?<![\w-])--?{re.escape(names.split()[0])}(?![\w-])", left)
    check((shown is not None) == (text != "NULL"), f"--help and {names}")
    if values and text != "NULL":
        check(values in help_text, f"--help lacks {values}")

if shutil.which("man"):
    p = subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True, check=False,
                       env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    check(p.returncode == 0 and p.stderr == "" and "EXIT STATUS" in p.stdout, p.stderr)
sys.exit(status())
