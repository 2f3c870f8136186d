#!/usr/bin/env python3
"""The table of options of every tool: --help, the manual page, wrong options and shell completions agree with it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SOURCE, check, status
from page import Page

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tools", "lib"))
from options import Table, TableError

TABLES = ("launcher/job/mpiexec", "tools/mpictl/mpictl", "tools/mpiinfo/mpiinfo", "tools/impirun/impirun",
          "tools/upcrun/upcrun", "upc/cc/driver/upcc", "impi/server/impi-server")
SHARE = os.path.join(BUILD, "share")


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, **more)


def tool(name, *args):
    return run(os.path.join(BUILD, "bin", name), *args)


def check_help(table):
    r = tool(table.tool, "--help-all" if any(o.rare for o in table.options) else "--help")
    rows = [line for line in r.stdout.splitlines() if line.startswith("  ")]
    check(r.returncode == 0 and r.stderr == "" and r.stdout.startswith(f"usage: {table.tool} "), f"{table.tool} --help: {r}")
    check(all(line == line.rstrip() for line in r.stdout.splitlines()), f"{table.tool} --help has blanks at the end of a line")
    for o in table.shown():
        for name in o.names:
            check(any(re.match(rf"  (-\S+, )*{re.escape(name)}(?![a-z-])", row) for row in rows), f"{table.tool} --help lacks {name}")
    for c in table.commands:
        check(any(row.startswith(f"  {c.names[0]}") for row in rows), f"{table.tool} --help lacks {c.names[0]}")


def check_page(table):
    page = Page(f"{table.tool}.1")
    heads = page.heads("OPTIONS") + "\n" + (page.heads("COMMANDS") if table.commands else "")
    for o in table.options + table.commands:
        for name in o.names + o.aliases:
            check(re.search(rf"(?<![\w-]){re.escape(name)}(?![a-z-])", heads), f"{table.tool}.1 lacks {name}")
    page.check_shown("OPTIONS")


def check_wrong(table):
    """A mistyped option, one that is unlike all others, and a missing value; nothing is started."""
    bad = 1 if table.tool == "impi-server" else 2
    name = max((n for o in table.shown() for n in o.names), key=len)
    typed = name[:-2] + name[-1]
    for args, words in (((typed,), (f"'{typed}'", f"did you mean {name}?", f"{table.tool} --help")),
                        (("--qqqqqqqqqqqq",), ("'--qqqqqqqqqqqq'", f"{table.tool} --help"))):
        r = tool(table.tool, *args)
        said = " ".join(r.stderr.split())
        check(r.returncode == bad and r.stdout == "" and f"{table.tool}: " in said, f"{table.tool} {args}: {r}")
        check(all(w in said for w in words), f"{table.tool} {args} lacks one of {words}: {said}")
    valued = next((o for o in table.shown() if o.kind == "text" and o.forms == ["next", "equals"]), None)
    if valued is not None:
        r = tool(table.tool, valued.names[0])
        check(r.returncode == bad and f"{valued.names[0]} needs a value: {valued.names[0]} {valued.value}" in " ".join(r.stderr.split()),
              f"{table.tool} {valued.names[0]}: {r}")
    number = next((o for o in table.shown() if o.kind == "number" and "next" in o.forms), None)
    if number is not None:
        low, high = number.args
        r = tool(table.tool, number.names[0], str(int(high) + 1), "x")
        check(r.returncode == bad and f"from {low} to {high}, not '{int(high) + 1}'" in " ".join(r.stderr.split()),
              f"{table.tool} {number.names[0]}: {r}")


def complete(name, *words, cwd=None):
    """What bash offers for the last word."""
    return complete_each(name, words[:-1], words[-1:], cwd)[0]


def complete_each(name, words, last, cwd=None):
    """What bash offers for each of these words behind the others."""
    path = os.path.join(SHARE, "bash-completion", "completions", name)
    function = "_pliant_" + ("mpiexec" if name == "mpirun" else name.replace("-", "_"))
    script = (f'source "$1"; n=$2; shift 2; words=("${{@:1:n}}"); shift "$n"; for last; do COMP_WORDS=("${{words[@]}}" "$last"); '
              f'COMP_CWORD=$n; {function}; printf "%s\\n" "${{COMPREPLY[*]}}"; done')
    r = run("bash", "-c", script, "bash", path, str(1 + len(words)), name, *words, *last, cwd=cwd)
    check(r.returncode == 0 and r.stderr == "", f"completion of {name} {words}: {r}")
    return [line.split() for line in r.stdout.splitlines()]


def check_bash(table):
    shown = sorted({n for o in table.shown() for n in o.names})
    prefixes = ["-"] + sorted({n[:len(n) // 2 + 1] for n in shown})
    answers = complete_each(table.tool, (), prefixes)
    check(len(answers) == len(prefixes), f"{table.tool}: {len(answers)} answers for {len(prefixes)} prefixes")
    for prefix, offered in zip(prefixes, answers):
        check(sorted(set(offered)) == [n for n in shown if n.startswith(prefix)], f"{table.tool} {prefix}<tab>: {offered}")
    for o in table.shown():
        if o.kind == "choice" and "next" in o.forms:
            want = o.args
            check(complete(table.tool, o.names[0], "") == want, f"{table.tool} {o.names[0]} <tab>")
            check(complete(table.tool, o.names[0], "=", want[0][0]) == [w for w in want if w.startswith(want[0][0])],
                  f"{table.tool} {o.names[0]}={want[0][0]}<tab>")
    if table.commands:
        check(complete(table.tool, "") == [c.names[0] for c in table.commands], f"{table.tool} <tab>")


def check_places():
    """Options stand before the program, files behind it, and options again behind a colon."""
    with tempfile.TemporaryDirectory() as here:
        for name in ("hosts.txt", "program"):
            with open(os.path.join(here, name), "w", encoding="ascii"):
                pass
        os.mkdir(os.path.join(here, "folder"))
        for words, want in ((("--hostfile", "ho"), ["hosts.txt"]), (("-wdir", ""), ["folder"]),
                            (("-n", "2", "./program", "--on-f"), []), (("-n", "2", "./program", "ho"), ["hosts.txt"]),
                            (("./program", ":", "--on-f"), ["--on-failure"]), (("-env", "A", "B", "--on-f"), ["--on-failure"]),
                            (("-n", "2", "./pro"), ["./program"])):
            for name in ("mpiexec", "mpirun"):
                check(complete(name, *words, cwd=here) == want, f"{name} {words}<tab>: {complete(name, *words, cwd=here)}")


def check_other_shells(table):
    for shell, path in (("zsh", f"zsh/site-functions/_{table.tool}"), ("fish", f"fish/vendor_completions.d/{table.tool}.fish")):
        with open(os.path.join(SHARE, path), encoding="utf-8") as f:
            text = f.read()
        for o in table.shown():
            for name in o.names:
                spelled = name if shell == "zsh" else name.lstrip("-")
                check(spelled in text, f"the completion for {shell} lacks {name} of {table.tool}")
        if shutil.which(shell):
            r = run(shell, "-n", os.path.join(SHARE, path))
            check(r.returncode == 0 and r.stderr == "", f"{shell} -n {path}: {r}")
        else:
            missing.add(shell)


def check_tables():
    """A table that makes no sense is refused with its file."""
    head = "tool t\ngroup G\n"
    with tempfile.TemporaryDirectory() as here:
        path = os.path.join(here, "t.opt")
        for text, why in ((head + "option -a\n    help x\n", "store"), (head + "option -a\n    take a\n", "help"),
                          (head + "option -a\n    take a\n    help x\noption --a\n    take b\n    help x\n", "twice"),
                          ("option -a\n", "group"), ("what\n", "keyword"), (head + "option -a\n    what\n", "attribute")):
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
            try:
                Table(path)
                check(False, f"a table without reason to be refused: {text}")
            except TableError as e:
                check(path in str(e) and why in str(e), f"{text}: {e}")


missing = set()
for place in TABLES:
    one = Table(os.path.join(SOURCE, place + ".opt"))
    check_help(one)
    check_page(one)
    check_wrong(one)
    check_bash(one)
    check_other_shells(one)
check_places()
check_tables()
for shell in sorted(missing):
    print(f"the syntax of its completions is not checked: there is no {shell}")
sys.exit(status())
