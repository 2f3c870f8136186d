#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turns the table of options of a tool (an .opt file) into C, its manual page and shell completions.

usage: options.py c TABLE OUT.c OUT.h
       options.py man TABLE PAGE.in OUT.1
       options.py bash|zsh|fish TABLE OUT

A table has these lines; what belongs to one is indented below it, '#' begins a comment:
  tool NAME [OTHER NAME]...    the program, and other names of it
  usage                        lines that --help prints before the list, behind the name of the tool
  closing                      lines that --help prints behind the list
  job TYPE HEADER              struct in which values are stored, and the header that defines it
  part TYPE HEADER             the same for options of a part of the command line (mpiexec's ':')
  operands WHAT                what the other words are, for completion: program, file, none
  group TITLE                  heading for the options that follow; below it may be `topic WORD...`, which --help takes, and `man` text
  option -n, -np (--other) VALUE   names, aliases of other tools in brackets, and what the value is called;
                               a comma inside a name is written \\,
  command NAME [OPERANDS]      a command, for tools that have some
Below an option or a command stand
  number MIN MAX | duration [positive] | choice WORD... | pair | rest | text   kind of the value; text without one
  form next|equals|joined|none...   how the value is written; without it: next equals
  store FIELD | take NAME      where the value goes: a field of the struct, or a function of the tool
  part                         for one part of the command line, not for all of it
  complete file|dir|host|program|WORD...   what the shell offers for the value
  hidden                       understood; --help and completion do not show it
  refuse SENTENCE              an option of other tools: the sentence says what to use instead, and nothing is started
  ignore SENTENCE              an option of other tools that has no effect: the sentence says why, and the tool goes on
  rare                         --help-all shows it, --help does not
  also                         the manual page describes it with the option before it
  min N, max N                 of a command: how many operands it takes
  help SENTENCE                for --help and completion
  man                          roff text for the manual page, indented; without it the help
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class TableError(Exception):
    """A line of a table that makes no sense."""


class Option:
    """One option, or one command."""

    def __init__(self, group):
        self.group = group
        self.names, self.aliases, self.value = [], [], ""
        self.kind, self.args, self.forms = None, [], None
        self.store, self.take = None, None
        self.part = self.hidden = self.rare = self.also = False
        self.complete, self.help, self.man = None, "", ""
        self.advice = ""  # of `refuse` and `ignore`
        self.min = self.max = 0

    def completion(self):
        """What a shell offers for the value: a word, or a list of words."""
        if self.complete:
            return self.complete[0] if self.complete[0] in ("file", "dir", "host", "program") else self.complete
        if self.kind == "choice":
            return self.args
        return {"FILE": "file", "DIR": "dir"}.get(self.value, [])


class Group:
    def __init__(self, title):
        self.title, self.man, self.topics = title, "", []


class Table:
    def __init__(self, path):
        self.path = path
        self.tool, self.other_names = "", []
        self.usage = self.closing = ""
        self.job = self.part = None
        self.operands = "none"
        self.groups, self.options, self.commands = [], [], []
        with open(path, encoding="utf-8") as f:
            self.lines = f.read().splitlines()
        self.at = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if line.strip() and not line.startswith("#"):
                self.top(line)
        self.check()

    def fail(self, why):
        raise TableError(f"{self.path}:{self.at}: {why}")

    def block(self, indent):
        """The lines that are indented at least so far, without that indent."""
        lines = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and not line.startswith(" " * indent):
                break
            lines.append(line[indent:])
            self.at += 1
        while lines and not lines[-1].strip():
            lines.pop()
        return "\n".join(lines) + "\n" if lines else ""

    def top(self, line):
        key, _, rest = line.partition(" ")
        if key == "tool":
            self.tool, *self.other_names = rest.split()
        elif key in ("usage", "closing"):
            setattr(self, key, self.block(4))
        elif key in ("job", "part"):
            setattr(self, key, rest.rsplit(" ", 1))
        elif key == "operands":
            self.operands = rest
        elif key == "group":
            self.groups.append(Group(rest))
            if self.at < len(self.lines) and self.lines[self.at].startswith("    topic "):
                self.groups[-1].topics = self.lines[self.at].split()[1:]
                self.at += 1
            if self.at < len(self.lines) and self.lines[self.at].strip() == "man":
                self.at += 1
                self.groups[-1].man = self.block(8)
        elif key == "option":
            self.options.append(self.option(rest))
        elif key == "command":
            self.commands.append(self.command(rest))
        else:
            self.fail(f"'{key}' is no keyword")

    def option(self, head):
        o = Option(self.groups[-1] if self.groups else self.fail("an option stands before the first group"))
        m = re.fullmatch(r"((?:-(?:[^\s,()\\]|\\,)+(?:, )?)+)(?:\s*\(([^)]*)\))?\s*(.*)", head)
        if m is None:
            self.fail(f"'{head}' names no option")
        o.names, o.aliases, o.value = m[1].strip().split(", "), [a for a in (m[2] or "").split(", ") if a], m[3]
        o.names = [n.replace("\\,", ",") for n in o.names]
        o.kind = "text" if o.value else "flag"
        self.attributes(o)
        return o

    def command(self, head):
        c = Option(None)
        name, _, c.value = head.partition(" ")
        c.names = [name]
        self.attributes(c)
        return c

    def attributes(self, o):
        while self.at < len(self.lines) and self.lines[self.at].startswith("    "):
            key, _, rest = self.lines[self.at].strip().partition(" ")
            self.at += 1
            if key in ("number", "duration", "choice", "pair", "rest", "text"):
                o.kind, o.args = key, rest.split()
            elif key in ("store", "take", "help"):
                setattr(o, key, rest)
            elif key in ("refuse", "ignore"):
                o.take, o.advice, o.hidden = key, rest, True
            elif key in ("part", "hidden", "rare", "also"):
                setattr(o, key, True)
            elif key in ("form", "complete"):
                setattr(o, "forms" if key == "form" else key, rest.split())
            elif key in ("min", "max"):
                setattr(o, key, int(rest))
            elif key == "man":
                o.man = self.block(8)
            else:
                self.fail(f"'{key}' is no attribute")
        if o.take == "refuse":
            o.kind, o.forms = "text", ["equals", "none"]  # whatever is written after it
        if o.forms is None:
            o.forms = ["next", "equals"] if o.kind not in ("flag", "pair", "rest") else ["next"] if o.value else []

    def check(self):
        seen = {}
        for o in self.options:
            if (o.store is None) == (o.take is None):
                raise TableError(f"{self.path}: {o.names[0]} needs either `store` or `take`")
            if not o.help and not o.hidden:
                raise TableError(f"{self.path}: {o.names[0]} has no help and is not hidden")
            for name in o.names + o.aliases:
                if seen.setdefault(name.lstrip("-"), o) is not o:
                    raise TableError(f"{self.path}: {name} is there twice")

    def shown(self):
        return [o for o in self.options if not o.hidden]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", '\\n"\n        "') + '"'


def constant(table, name):
    return f"PLI_{table.tool}_{name}".upper().replace("-", "_")


def takes(table):
    return list(dict.fromkeys(o.take for o in table.options if o.take))


def c_row(table, o):
    numbers = [int(n, 0) for n in o.args] if o.kind == "number" else [1 if o.args else 0, 0] if o.kind == "duration" else [0, 0]
    where = table.part if o.part else table.job
    row = [f".names = {quoted(' '.join(o.names))}", f".aliases = {quoted(' '.join(o.aliases))}",
           f".value = {quoted(o.value)}", f".kind = PLI_OPTION_{o.kind.upper()}",
           f".forms = {' | '.join('PLI_FORM_' + f.upper() for f in o.forms) or '0'}",
           f".min = {numbers[0]}, .max = {numbers[1]}",
           f".choices = {quoted(' '.join(o.args) if o.kind == 'choice' else '')}",
           f".group = {quoted(o.group.title)}", f".topics = {quoted(' '.join(o.group.topics))}", f".help = {'NULL' if o.hidden else quoted(o.help)}",
           f".advice = {quoted(o.advice)}", f".is_rare = {'true' if o.rare else 'false'}",
           f".take = {constant(table, o.take) if o.take else -1}", f".is_part = {'true' if o.part else 'false'}"]
    if o.store:
        row += [f".at = offsetof({where[0]}, {o.store})", f".size = sizeof((({where[0]} *)0)->{o.store})"]
    return "    { " + ",\n      ".join(row) + " },\n"


def write_c(table, source, header):
    symbol = f"pli_{table.tool}_options".replace("-", "_")
    ids = "".join(f"    {constant(table, name)},\n" for name in takes(table))
    guard = f"{symbol}_H".upper()
    head = (f"// Written by tools/lib/options.py from {os.path.basename(table.path)}.\n#ifndef {guard}\n#define {guard}\n\n"
            f'#include "tools/lib/options.h"\n\nenum {{ // what `take` of the options says\n{ids}'
            f"    {constant(table, 'N_TAKE')}\n}};\n\nextern const struct pli_option_table {symbol};\n\n#endif\n")
    headers = sorted({w[1] for w in (table.job, table.part) if w})
    text = (f"// Written by tools/lib/options.py from {os.path.basename(table.path)}.\n"
            f'#include "{os.path.basename(header)}"\n\n' + "".join(f'#include "{h}"\n' for h in headers) + "\n")
    text += "static const struct pli_option options[] = {\n" + "".join(c_row(table, o) for o in table.options) + "};\n\n"
    if table.commands:
        text += "static const struct pli_option_command commands[] = {\n" + "".join(
            f"    {{ {quoted(c.names[0])}, {quoted(c.value)}, {quoted(c.help)}, {c.min}, {c.max} }},\n"
            for c in table.commands) + "};\n\n"
    text += (f"const struct pli_option_table {symbol} = {{\n    .usage = {quoted(table.usage)},\n"
             f"    .closing = {quoted(table.closing and chr(10) + table.closing)},\n"
             f"    .option = options, .n_option = sizeof options / sizeof options[0],\n" +
             ("    .command = commands, .n_command = sizeof commands / sizeof commands[0],\n" if table.commands else "") +
             "};\n")
    write(header, head)
    write(source, text)


def roff(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def roff_value(text):
    """Words in capitals are italic: they stand for something."""
    return re.sub(r"[A-Z][A-Z]*(?:\b|(?=\\))", lambda m: f"\\fI{m[0]}\\fR", roff(text))


def head_of(o):
    """The line that heads the paragraph of an option."""
    between = "" if not o.value else " " if "next" in o.forms else "" if "joined" in o.forms else "[="
    value = between + roff_value(o.value) + ("]" if between == "[=" else "")
    return ", ".join(f"\\fB{roff(name)}\\fR{value}" for name in o.names + o.aliases) + "\n"


def sentence_of(o):
    """What the manual page says about an option without text of its own."""
    text = o.advice or o.help
    return ("Not there: " if o.take == "refuse" else "No effect: " if o.advice else "") + roff(
        text if o.advice else text[:1].upper() + text[1:]) + ".\n"


def paragraphs(options):
    """Options that are described together share a paragraph: the first has the text of one of them."""
    families = []
    for o in options:
        if o.also:
            families[-1].append(o)
        else:
            families.append([o])
    text = ""
    for family in families:
        text += ".TP\n" + ".TQ\n".join(head_of(o) for o in family)
        text += next((o.man for o in family if o.man), sentence_of(family[0]))
    return text


def write_man(table, page, out):
    text = ""
    for group in table.groups:
        options = [o for o in table.options if o.group is group]
        text += (f".SS {roff(group.title)}\n" if len(table.groups) > 1 else "") + group.man + paragraphs(options)
    with open(page, encoding="utf-8") as f:
        source = f.read()
    for mark, content in (("@OPTIONS@\n", text), ("@COMMANDS@\n", paragraphs(table.commands))):
        if content and mark not in source:
            raise TableError(f"{page}: a line {mark.strip()} is missing")
        source = source.replace(mark, content)
    write(out, source)


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main(argv):
    what, *files = argv
    try:
        table = Table(files[0])
        if what == "c":
            write_c(table, *files[1:])
        elif what == "man":
            write_man(table, *files[1:])
        else:
            from completion import WRITERS
            write(files[1], WRITERS[what](table))
    except TableError as e:
        sys.exit(str(e))


if __name__ == "__main__":
    main(sys.argv[1:])
