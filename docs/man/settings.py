#!/usr/bin/env python3
"""Makes the manual page of settings from the table of settings.

usage: settings.py CONF_DEF TEMPLATE OUT
The template's line @SETTINGS@ becomes one entry per setting that is for people.
"""
import re
import sys

STRING = r'"((?:[^"\\]|\\.)*)"'


def rows(text):
    text = re.sub(r"//[^\n]*", "", text)
    for m in re.finditer(r"PLI_CONF_(\w+)\(((?:" + STRING + r"|[^\"()]|\([^()]*\))*)\)", text):
        yield m.group(1), split(m.group(2))


def split(args):
    """The arguments of a row; neighbouring strings are one."""
    parts, depth, now = [], 0, ""
    for piece in re.findall(STRING.replace("(", "(?:", 1) + r"|[(),]|[^\"(),]+", args):
        if piece == "," and depth == 0:
            parts.append(now)
            now = ""
            continue
        depth += {"(": 1, ")": -1}.get(piece, 0)
        now += piece
    parts.append(now)
    return [value(p.strip()) for p in parts]


def value(text):
    strings = re.findall(STRING, text)
    if strings:
        return "".join(strings)
    there = re.fullmatch(r"PLI_CONF_ON_X86\((\d+), (\d+)\)", text)
    if there:
        return tuple(int(n) for n in there.groups())
    number = re.sub(r"\(u?int64_t\)", "", text)
    if re.fullmatch(r"[-\d\s<>*()+]+", number):
        return eval(number)  # only digits and operators, tested just before
    return text


def size(n):
    if isinstance(n, tuple):
        return f"{size(n[0])} on x86_64, {size(n[1])} elsewhere"
    for unit, shift in (("G", 30), ("M", 20), ("K", 10)):
        if n and n % (1 << shift) == 0:
            return f"{n >> shift}{unit}"
    return str(n)


def entry(kind, args):
    name, default, help_text = args[0], args[1], args[-1]
    if help_text.startswith("internal:"):
        return ""
    out = [".TP", f".B PLIANT_{name.upper()}", help_text[0].upper() + help_text[1:] + "."]
    if kind in ("INT", "SIZE"):
        show = size if kind == "SIZE" else str
        out.append(f"From {show(args[2])} to {show(args[3])}; default \\fB{show(default)}\\fR.")
    elif kind == "BOOL":
        out.append(f"Yes or no; default \\fB{'yes' if default else 'no'}\\fR.")
    elif kind == "WORD":
        out.append("One of " + ", ".join(f"\\fB{w}\\fR" for w in args[2].split("|")) +
                   f"; default \\fB{default}\\fR.")
    elif kind == "TEXT":
        out.append(f"Default \\fB{default}\\fR." if default else "Empty by default.")
    else:
        sys.exit(f"settings.py: no words for a setting of type {kind}")
    return "\n".join(line.replace("-", "\\-") if line.startswith("From") else line
                     for line in out) + "\n"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    table = open(sys.argv[1], encoding="utf-8").read()
    template = open(sys.argv[2], encoding="utf-8").read()
    entries = "".join(entry(kind, args) for kind, args in rows(table))
    if not entries:
        sys.exit(f"settings.py: no settings found in {sys.argv[1]}")
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        out.write(template.replace("@SETTINGS@\n", entries))


if __name__ == "__main__":
    main()
