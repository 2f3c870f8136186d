#!/usr/bin/env python3
"""Judges the rules of the house that a script can judge.

usage: style.py [--build DIR] [--fix] [--counts] [RULE...]

--build DIR   a finished build, for the rules about symbols (build)
--fix         put formatting and licence lines right instead of complaining
--counts      print the counts that docs/design/README.md states
RULE          judge only these; `style.py --list` names them

Exceptions are rows of tools/style/allow: rule, file or file:function or symbol, reason.
"""
import argparse
import fnmatch
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import graph  # noqa: E402
import include_rules  # noqa: E402
import symbol_rules  # noqa: E402
import text_rules  # noqa: E402
import word_rules  # noqa: E402
from tree import Source, files  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
CLANG_FORMAT = "clang-format-14"
PRODUCT = ("src/", "launcher/", "tools/", "impi/", "upc/", "balance/")  # what is not test, bench or example
CIRCLE = 6
# Questions that a table of operations answers: folders, files that may ask, and what a question looks like.
QUESTIONS = {
    "transport": (("src/", "upc/rt/"), ("src/net/", "src/boot/"),
                  r"\bby_ucx\b|\b(?:c|conn|to|from)->(?:link|gate)\b|"
                  r"\bpli_(?:tcp|ucx|gateway)_(?:\w+_)?(?:is|has|can)_\w+\s*\("),
    "role": (("launcher/",), ("launcher/role", "launcher/job/role"),
             r"\bis_daemon\b|\bpli_job_is_head\s*\(|[!=]= &?pli_role_(?:solo|head|daemon)\b"),
}


def read_rows(name):
    for raw in open(os.path.join(HERE, name), encoding="utf-8"):
        line = raw.strip()
        if line and not line.startswith("#"):
            yield line


class Judge:
    def __init__(self, build):
        self.build = os.path.join(ROOT, build)
        self.allow = [line.split(None, 2) for line in read_rows("allow")]
        for row in self.allow:
            if len(row) != 3:
                sys.exit(f"tools/style/allow: '{' '.join(row)}' lacks a reason")
        self.used = set()
        self.n_bad = 0
        self.all = files(ROOT)
        self.c = [Source(ROOT, p) for p in self.all
                  if p.endswith((".c", ".h")) and not self.allowed("source", p)]
        self.src = [s for s in self.c if s.path.startswith("src/")]
        self.product = [s for s in self.c if s.path.startswith(PRODUCT)]
        self.includes = include_rules.Includes(ROOT, self.build, self.product, self.all)
        self.may = include_rules.read_layers(os.path.join(HERE, "layers"))
        self._symbols = None

    @property
    def symbols_read(self):
        if self._symbols is None:
            self._symbols = symbol_rules.Symbols(ROOT, self.build, PRODUCT)
        return self._symbols

    def allowed(self, rule, *subjects):
        for i, (r, pattern, _) in enumerate(self.allow):
            if r == rule and any(s and fnmatch.fnmatch(s, pattern) for s in subjects):
                self.used.add(i)
                return True
        return False

    def complain(self, rule, path, line, message, name=None):
        if not self.allowed(rule, path, name, name and f"{path}:{name}"):
            self.n_bad += 1
            print(f"{path}:{line}: {message} [{rule}]")

    def each(self, rule, check, sources):
        for src in sources:
            for line, message, *name in check(src):
                self.complain(rule, src.path, line, message, *name)

    # The rules. Each method's name is the rule's.

    def format(self):
        """clang-format finds nothing to change"""
        run = subprocess.run([CLANG_FORMAT, "--dry-run", "-Werror", *[s.path for s in self.c]],
                             cwd=ROOT, capture_output=True, text=True, check=False)
        bad = {}
        for line in run.stderr.splitlines():
            if "clang-format-violations" in line:
                path, n = line.split(":")[:2]
                bad.setdefault(path, n)
        for path, n in sorted(bad.items()):
            self.complain("format", path, n, f"not as {CLANG_FORMAT} writes it (--fix does)")
        if run.returncode and not bad:
            self.complain("format", ".clang-format", 1, run.stderr.strip().split("\n")[0])

    def whitespace(self):
        """no blanks at line ends, a line end at the end of each file"""
        for path in self.all:
            for line, message in text_rules.whitespace(ROOT, path):
                self.complain("whitespace", path, line, message)

    def licence(self):
        """each C file begins with the SPDX line"""
        self.each("licence", text_rules.licence, self.c)

    def length(self):
        """functions, files and lines keep within their limits"""
        self.each("length", text_rules.length, self.c)

    def comments(self):
        """comments are // and no banners"""
        self.each("comments", text_rules.comments, self.c)

    def opening(self):
        """a comment below the licence says what the file is for"""
        self.each("opening", text_rules.opening, self.c)

    def guard(self):
        """headers have guards named after them"""
        self.each("guard", text_rules.guard, self.c)

    def types(self):
        """structs and enums are not hidden by typedef"""
        self.each("types", text_rules.types, self.src)

    def jumps(self):
        """goto fail only, and no jump inside a macro"""
        self.each("jumps", text_rules.jumps, self.src)

    def places(self):
        """nothing is created in /tmp or /dev/shm"""
        self.each("places", text_rules.places,
                  [s for s in self.c if s.path.startswith(("src/", "tools/", "launcher/"))])

    def environment(self):
        """getenv in conf.c alone"""
        self.each("environment", text_rules.environment, self.src)

    def codes(self):
        """MPI error codes in src/glue alone"""
        self.each("codes", text_rules.codes, self.src)

    def hot(self):
        """files of tools/style/hot do not allocate, lock, log or call the system"""
        names = set(read_rows("hot"))
        for name in sorted(names - {s.path for s in self.src}):
            self.complain("hot", "tools/style/hot", 1, f"there is no file {name}")
        cold = text_rules.cold_names(self.c)
        self.each("hot", lambda s: text_rules.hot(s, cold), [s for s in self.src if s.path in names])

    def layers(self):
        """a room includes only from the rooms that tools/style/layers lists for it"""
        for found in include_rules.layers(self.product, self.includes, self.may):
            self.complain("layers", *found)

    def reach(self):
        """a source file reaches few headers, and not deep"""
        for found in include_rules.reach(self.product, self.includes):
            self.complain("reach", *found)

    def graphs(self):
        """What can have circles: the rooms of tools/style/layers, files by #include and by symbol."""
        return {"rooms": self.may,
                "include": include_rules.graph(self.product, self.includes),
                "symbol": symbol_rules.graph(self.symbols_read, PRODUCT)}

    def circle(self):
        """no room and no more than 6 files need each other in a circle"""
        for kind, edges in self.graphs().items():
            for group in graph.circles(edges):
                if kind == "rooms" or len(group) > CIRCLE:
                    if not self.allowed("circle", *[f"{kind}:{member}" for member in group]):
                        self.complain("circle", group[0], 1, f"{len(group)} need each other "
                                      f"({kind}): {' '.join(group)}")

    def unique(self):
        """file names are unique, but for tests and examples"""
        for found in include_rules.unique(self.product):
            self.complain("unique", *found)

    def words(self):
        """file names are made of words of the field or of docs/design/words.md"""
        field = word_rules.read_field(os.path.join(HERE, "field_words"))
        house = word_rules.read_house(os.path.join(ROOT, "docs/design/words.md"))
        judged = self.product + [s for s in self.c if s.path.startswith("bench/")]
        for found in word_rules.words(judged, field, house):
            self.complain("words", *found)

    def retired(self):
        """identifiers contain no word of tools/style/retired_words, comments no "somebody\""""
        words = word_rules.read_retired(os.path.join(HERE, "retired_words"))
        for path, line, message, name in word_rules.retired(self.product, words):
            self.complain("retired", path, line, message, name)

    def alone(self):
        """each header compiles by itself"""
        flags = ["-Isrc", "-I" + os.path.join(self.build, "gen"),
                 "-I" + os.path.join(self.build, "gen", "include")]
        headers = [s.path for s in self.src if s.path.endswith(".h")]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            said = list(pool.map(lambda p: include_rules.stands_alone(ROOT, p, flags), headers))
        for path, message in zip(headers, said):
            if message:
                self.complain("alone", path, 1, f"does not compile by itself: {message}")

    def symbols(self):
        """names seen outside their file are named after it, unique, and needed"""
        words = set()
        for src in self.product:
            if src.path.startswith("impi/shim/"):  # compiled by its own script, for other MPIs
                words |= set(re.findall(r"\w+", src.code))
        for path, message, name in symbol_rules.names(self.symbols_read, words):
            self.complain("symbols", path, 1, message, name)

    def owner(self):
        """a header declares what its own .c file defines"""
        headers = [s for s in self.product if s.path.endswith(".h")]
        for path, line, message, name in symbol_rules.owner(headers, self.symbols_read):
            self.complain("owner", path, line, message, name)

    def exports(self):
        """the library exports the implemented MPI functions and nothing else"""
        info = subprocess.run([os.path.join(self.build, "bin", "mpiinfo"), "--functions"],
                              capture_output=True, text=True, check=True)
        for path, message, name in symbol_rules.exports(self.build, info.stdout.split()):
            self.complain("exports", path, 1, message, name)

    def listed(self):
        """each program of tests/mpi is run by a list"""
        rows = set()
        for path in self.all:
            if path.startswith("tests/mpi/") and path.endswith(".list"):
                text = open(os.path.join(ROOT, path), encoding="utf-8").read()
                rows |= {line.split()[0] for line in text.splitlines()
                         if line.strip() and line[0] != "#"}
        for src in self.c:
            if src.path.startswith("tests/mpi/") and src.path.endswith(".c"):
                if src.path[len("tests/mpi/"):-2] not in rows:
                    self.complain("listed", src.path, 1, "no row of tests/mpi/*.list runs it")

    def scripts(self):
        """Python and shell scripts parse"""
        for path in self.all:
            full = os.path.join(ROOT, path)
            head = open(full, "rb").readline()
            if path.endswith(".py"):
                try:
                    compile(open(full, encoding="utf-8").read(), path, "exec")
                except SyntaxError as e:
                    self.complain("scripts", path, e.lineno, e.msg)
            elif path.endswith(".sh") or head.startswith((b"#!/bin/sh", b"#!/bin/bash",
                                                          b"#!/usr/bin/env bash")):
                shell = "bash" if b"bash" in head or path.endswith(".sh") else "sh"
                run = subprocess.run([shell, "-n", full], capture_output=True, text=True, check=False)
                if run.returncode:
                    self.complain("scripts", path, 1, run.stderr.strip().split("\n")[0])

    def counts(self):
        """Numbers about the tree, not judged."""
        for kind, edges in self.graphs().items():
            groups = graph.circles(edges)
            print(f"largest circle by {kind}: {len(groups[0]) if groups else 0}")
        for what, (folders, may_ask, pattern) in QUESTIONS.items():
            n = sum(bool(re.search(pattern, line)) for s in self.c
                    if s.path.startswith(folders) and not s.path.startswith(may_ask)
                    for line in s.code_lines)
            print(f"lines that ask for the {what}, outside {' '.join(may_ask)}: {n}")

    def stale(self):
        """every exception of tools/style/allow is needed"""
        for i, (rule, subject, _) in enumerate(self.allow):
            if i not in self.used:
                self.complain("stale", "tools/style/allow", 1, f"'{rule} {subject}' is not needed")


RULES = ["format", "whitespace", "licence", "length", "comments", "opening", "guard", "types", "jumps",
         "places", "environment", "codes", "hot", "layers", "reach", "circle", "unique", "words", "retired",
         "alone", "symbols", "owner", "exports", "listed", "scripts", "stale"]


def fix(judge):
    for src in judge.c:
        if not judge.allowed("licence", src.path) and list(text_rules.licence(src)):
            with open(os.path.join(ROOT, src.path), "w", encoding="utf-8") as out:
                out.write(text_rules.SPDX + "\n" + src.text)
    paths = [s.path for s in judge.c if not judge.allowed("format", s.path)]
    subprocess.run([CLANG_FORMAT, "-i", *paths], cwd=ROOT, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--list", action="store_true", help="name the rules")
    parser.add_argument("rules", nargs="*", metavar="RULE")
    args = parser.parse_args()
    if args.list:
        for rule in RULES:
            print(f"{rule:12} {getattr(Judge, rule).__doc__}")
        return
    for rule in args.rules:
        if rule not in RULES:
            sys.exit(f"style: there is no rule '{rule}'; --list names them")
    judge = Judge(args.build)
    if args.counts:
        judge.counts()
        return
    if args.fix:
        fix(judge)
        judge = Judge(args.build)
    # Whether an exception is stale shows only when every rule was judged.
    rules = args.rules or RULES
    for rule in rules:
        getattr(judge, rule)()
    if judge.n_bad:
        sys.exit(f"style: {judge.n_bad} complaint(s)")
    print(f"style: {len(judge.c)} C files keep the {len(rules)} rules")


if __name__ == "__main__":
    main()
