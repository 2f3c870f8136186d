#!/usr/bin/env python3
"""The manual that `make doc` builds: every page is there and linked, no link is dead, it loads nothing from the
network, the search finds things, mistakes in its sources fail the build, and the code that the guides show is right."""
import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, IS_SANITIZED, SOURCE, check, status

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "docs", "site"))
from markdown import Markdown, MarkdownError
from roff import Roff, RoffError

LOADS = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
VOID = {"img", "link", "meta", "br", "input"}


class Reader(html.parser.HTMLParser):
    """What a page links to and loads, its anchors, and whether its tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids, self.open, self.wrong = [], [], [], [], []
        self.feed(text)
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag in ("a", "form"):
            self.links.append(attrs["href" if tag == "a" else "action"])
        if tag in LOADS and LOADS[tag] in attrs:
            self.loads.append(attrs[LOADS[tag]])

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def build(source, out):
    return subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "docs", "site", "build.py"), source, BUILD, out],
                          capture_output=True, text=True, check=False, timeout=300)


def check_links(site):
    pages = {os.path.relpath(p, site): Reader(read(p)) for p in glob.glob(os.path.join(site, "**", "*.html"), recursive=True)}
    reached, ahead = set(), ["index.html"]
    for name, page in pages.items():
        check(not page.wrong, f"{name}: tags {page.wrong[:5]} are not closed in order")
        check(len(page.ids) == len(set(page.ids)), f"{name}: an anchor stands there twice")
        for target in page.loads:
            check(target == "data:," or os.path.isfile(os.path.join(site, os.path.dirname(name), target)), f"{name} loads {target}")
    while ahead:
        name = ahead.pop()
        if name in reached:
            continue
        reached.add(name)
        for target in pages[name].links:
            if re.match(r"https?://", target):
                continue
            path, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            check(to in pages, f"{name} has a link to {target}, which is not there")
            if to in pages:
                check(not anchor or anchor in pages[to].ids, f"{name} has a link to {target}, whose anchor is not there")
                ahead.append(to)
    check(reached == set(pages), f"no link leads to {sorted(set(pages) - reached)[:9]}")
    return pages


def check_pages(site, pages):
    sources = {"1": [os.path.join(BUILD, "share", "man", "man1"), os.path.join(SOURCE, "docs", "man")],
               "3": [os.path.join(BUILD, "gen", "man", "man3"), os.path.join(SOURCE, "docs", "man")],
               "7": [os.path.join(BUILD, "docs"), os.path.join(SOURCE, "docs", "man")]}
    n = 0
    index = {os.path.basename(link) for link in pages["functions.html"].links}
    for section, folders in sources.items():
        for path in [p for folder in folders for p in glob.glob(os.path.join(folder, f"*.{section}"))]:
            name = os.path.basename(path)
            n += 1
            synopsis = read(path).partition(".SH SYNOPSIS")[2].partition("\n.SH ")[0]
            wide = [x for x in synopsis.split("\n") if len(x) > 73 and ", " in x]
            check(section != "3" or not wide, f"{name}: the synopsis does not fit 80 columns: {wide}")
            check(f"man/{name}.html" in pages, f"the manual lacks {name}")
            check(section != "3" or f"{name}.html" in index, f"the functions by chapter lack {name}")
    check(n > 500, f"{n} manual pages")
    for path in glob.glob(os.path.join(SOURCE, "docs", "*.md")):
        check(os.path.basename(path)[:-3] + ".html" in pages, f"the manual lacks {path}")
    settings = re.findall(r"^\.B (PLIANT_\w+)", read(os.path.join(BUILD, "docs", "pliant-settings.7")), re.MULTILINE)
    check(len(settings) > 20 and set(settings) <= set(pages["man/pliant-settings.7.html"].ids), "settings without an anchor")
    text = re.sub(r"</?a\b[^>]*>", "", read(os.path.join(site, "man", "MPI_Send.3.html")))
    check("int MPI_Send(const void *buf, int count," in text and "MPI_Recv(data, 100, MPI_DOUBLE" in text and
          'printf("%d numbers from rank %d\\n"' in text, "MPI_Send(3)")
    check('<h3 id="MPIX_Comm_shrink">' in read(os.path.join(site, "extensions.html")), "extensions.html")
    check("<code" in read(os.path.join(site, "coming-from-open-mpi.html")), "coming-from-open-mpi.html")
    begin = read(os.path.join(site, "ten-minutes.html"))
    check('<a href="io.html">Files</a>' in begin and not re.search(r'\.html">[\w/]+\.md</a>', begin), "links of ten-minutes.html show files")
    css = read(os.path.join(site, "site.css"))
    check("url(" not in css and "@import" not in css and "prefers-color-scheme: dark" in css, "site.css")
    check("//" not in re.sub(r"(?m)^\s*//.*$|;\s*//.*$", "", read(os.path.join(site, "search.js"))), "search.js has an address")


def check_man():
    """With the folder of the tools in PATH man finds the pages, before an installation too."""
    if shutil.which("man") is None or not run(["man", "--version"]).stdout.startswith("man "):
        print("man is not asked: it is not installed")
        return
    env = {k: v for k, v in os.environ.items() if k != "MANPATH"}
    env["PATH"] = tool("").rstrip("/") + os.pathsep + env["PATH"]
    for page in ("mpiexec", "mpicc", "MPI_Send", "MPIX_Comm_shrink", "pliant-settings", "libimpi"):
        r = run(["man", "-w", page], env=env)
        check(r.returncode == 0 and r.stdout.startswith((BUILD, os.path.abspath(SOURCE))), f"man -w {page}: {r}")


def check_version(site):
    """Where a page shows the version it is that of CMakeLists.txt."""
    want = re.search(r"project\(pliant VERSION ([\d.]+)", read(os.path.join(SOURCE, "CMakeLists.txt")))[1]
    for path in glob.glob(os.path.join(site, "*.html")):
        for shown in re.findall(r"Pliant MPI (\d+\.\d+\.\d+)", read(path)):
            check(shown == want, f"{os.path.basename(path)} shows version {shown}, this is {want}")


def check_search(site, pages):
    text = read(os.path.join(site, "search-index.js"))
    check(text.startswith("manualIndex = ") and text.endswith(";\n"), "the form of search-index.js")
    rows = json.loads(text[len("manualIndex = "):-2])
    by_title = {title: address for title, address, _, _ in rows}
    check(by_title.get("MPI_Send(3)") == "man/MPI_Send.3.html", "the search does not find MPI_Send")
    check(any(address == "man/pliant-settings.7.html#PLIANT_NET" for address in by_title.values()), "the search does not find PLIANT_NET")
    check(any("hostfile" in words for _, _, _, words in rows), "the search does not look into the text")
    for _, address, _, _ in rows:
        path, _, anchor = address.partition("#")
        check(path in pages and (not anchor or anchor in pages[path].ids), f"the search leads to {address}, which is not there")


# What search.js needs of a browser: the page search.html with a question, and a list that takes what is found.
BROWSER = """
const fs = require("fs"), site = process.argv[1], found = [];
const element = () => ({ dataset: {}, style: {}, classList: { toggle: () => true }, append(...x) { this.all = x; }, addEventListener() {}, setAttribute() {} });
const field = Object.assign(element(), { value: "" });
const results = Object.assign(element(), { replaceChildren() { found.length = 0; }, append(a) { found.push(a.all[0].textContent); } });
globalThis.location = { search: "?q=" + encodeURIComponent(process.argv[2]) };
globalThis.matchMedia = () => ({ matches: false });
globalThis.document = { currentScript: { dataset: { root: "." } }, querySelectorAll: () => [], addEventListener() {}, createElement: element,
  getElementById: (id) => id === "results" ? results : element(), querySelector: (s) => s.startsWith("main") ? field : null,
  head: { appendChild(script) { (0, eval)(fs.readFileSync(site + "/search-index.js", "utf8")); script.onload(); } } };
(0, eval)(fs.readFileSync(site + "/search.js", "utf8").replace(/^"use strict";/m, "").replace("let manualIndex", "var manualIndex"));
console.log(found.join("\\n"));
"""


def check_found(site):
    """What the search finds first, where there is something to run it with."""
    node = shutil.which("node")
    if node is None:
        print("the search is not run: node is not installed")
        return
    for asked, want in (("MPI_Send", r"MPI_Send\(3\)"), ("hostfile", "--hostfile FILE"), ("--hostfile", "--hostfile FILE"), ("valgrind", "valgrind"),
                        ("checkpoint restart", "--restart DIR|Checkpoints: stop a job"), ("PLIANT_NET", "PLIANT_NET "), ("zzyzx", "$")):
        r = run([node, "-e", BROWSER, site, asked])
        check(r.returncode == 0 and re.match(want, r.stdout.split("\n")[0]), f"the search for '{asked}' finds {r.stdout[:200]} {r.stderr}")


def check_mistakes(top):
    """What is wrong in a source fails the build, which names it and leaves no site."""
    tree = os.path.join(top, "tree")
    shutil.copytree(os.path.join(SOURCE, "docs"), os.path.join(tree, "docs"))
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "api"):
        os.symlink(os.path.join(os.path.abspath(SOURCE), name), os.path.join(tree, name))
    mistakes = {"debugging.md": "\n[a](nowhere.md) and [b](io.md#nothing)\n", "man/libimpi.7": ".BR mpiexec (1)\n"}
    for name, mistake in mistakes.items():
        with open(os.path.join(tree, "docs", name), "a", encoding="utf-8") as f:
            f.write(mistake)
    r = build(tree, os.path.join(top, "wrong"))
    check(r.returncode == 1 and "docs/debugging.md: the link nowhere.md" in r.stderr and "Traceback" not in r.stderr, r)
    check("debugging.html: io.html#nothing" in r.stderr and "libimpi" not in r.stderr, r)
    with open(os.path.join(tree, "docs", "man", "libimpi.7"), "a", encoding="utf-8") as f:
        f.write(".XY\n")
    r = build(tree, os.path.join(top, "wrong"))
    check(r.returncode == 1 and "libimpi.7: line" in r.stderr and "the macro .XY is not known" in r.stderr and "Traceback" not in r.stderr, r)
    check(not os.path.exists(os.path.join(top, "wrong")), "a build that failed left a site")


def refused(convert, text, said):
    try:
        convert(text)
    except (MarkdownError, RoffError) as e:
        check(said in str(e), f"{text!r}: {e}", depth=2)
    else:
        check(False, f"{text!r} is accepted", depth=2)


def check_converters():
    m = Markdown("# A `b` c\n\n* one *two*\n  more\n* **x** `a|b`\n\n  next\n\n1. first\n2. second\n\n| a | b |\n|---|---|\n"
                 "| `x|y` | 1 \\| 2 |\n\n    code <tag>\n\n[l](x.md#y) ![p](q.svg)\n", lambda target, is_image: "to:" + target)
    for piece in ('<h1 id="a-b-c">', "<em>two</em>\nmore", "<strong>x</strong>", "<p>next</p>", "<ol><li>first</li>", ">x|y</code></td><td>1 | 2</td>",
                  "code &lt;tag&gt;", '<a href="to:x.md#y">l</a>', '<img src="to:q.svg" alt="p">'):
        check(piece in m.html, f"{piece} is not in {m.html}")
    r = Roff('.TH X 3\n.SH NAME\nX \\- does\n.SH TWO WORDS\n.TP\n.BI \\-n " N"\nthe \\fInumber\\fR & more\n.PP\n.BR other (1),\n.nf\na\\en\n.fi\n',
             lambda name, section: f"{name}.{section}.html")
    for piece in ('<h2 id="two-words">Two words', "<dt id=\"-n\"><b>-n</b><i> N</i></dt>", "<dd>the <i>number</i> &amp; more</dd>",
                  '<a href="other.1.html"><b>other</b>(1)</a>,', "<code>a\\n</code>"):
        check(piece in r.html, f"{piece} is not in {r.html}")
    for text, said in (("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", "3 cells"), ("```c\nint i;\n", "does not end"), ("<b>x</b>\n", "does not know")):
        refused(lambda text: Markdown(text, lambda target, is_image: target), text, said)
    for text, said in ((".XY\n", ".XY is not known"), ("\\(zz\n", "\\(zz is not known"), ("\\fX\n", "font X"), (".nf\nx\n", ".nf without"), (".RE\n", ".RE without")):
        refused(lambda text: Roff(text, lambda name, section: None), text, said)
    check(r.summary == "does" and r.name == "X", f"{r.name}: {r.summary}")


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, **more)


def tool(name):
    return os.path.join(BUILD, "bin", name)


def check_fragment(where, text, top):
    """A piece of C may use variables and functions of a program around it; all else must be right."""
    path = os.path.join(top, "fragment.c")
    text = re.sub(r"(?m)^(\s*)\.\.\.(.*\.\.\.$)?", r"\1;", text).replace("(...)", "(1)")  # what the guide leaves out
    with open(path, "w", encoding="utf-8") as f:
        f.write("#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                f"void fragment(void);\nvoid fragment(void)\n{{\n#line 1\n{text}\n;}}\n")
    r = run(["gcc", "-I", os.path.join(BUILD, "include"), "-w", "-Werror=implicit-function-declaration", "-fsyntax-only", path],
            env={**os.environ, "LC_ALL": "C"})
    errors = re.findall(r"error: (.*)", r.stderr)
    own = r"'(?!P?MPIX?_)\w+' undeclared|implicit declaration of function '(?!P?MPIX?_)"
    wrong = [e for e in errors if not re.match(own, e)]
    check(not wrong, f"{where}: {wrong} in\n{text}")


def written(top, name, text):
    path = os.path.join(top, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


PROGRAM = "#include <mpi.h>\nint main(void)\n{\n    MPI_Init(0, 0);\n    return MPI_Finalize();\n}\n"


def check_make(where, text, top):
    """Lines for a makefile build a program by the rules that make itself has."""
    written(top, "program.c", PROGRAM)
    r = run(["make", "-f", written(top, "Makefile", text + "\n"), "program"], cwd=top, env={**os.environ, "PATH": tool("") + os.pathsep + os.environ["PATH"]})
    check(r.returncode == 0 and "mpicc" in r.stdout, f"{where}: {r.stdout}{r.stderr}")


def check_cmake(where, text, top):
    """The first lines for CMake are for C, the others for Fortran: install.sh builds with both."""
    if IS_SANITIZED:  # CMake's own test programs are not
        return
    folder = os.path.join(top, "cmake")
    os.mkdir(folder)
    written(folder, "program.c", PROGRAM)
    pieces = text.split("\n\n")
    check(len(pieces) == 2 and pieces[1] == pieces[0].replace("COMPONENTS C)", "COMPONENTS Fortran)").replace("MPI_C)", "MPI_Fortran)"), f"{where}: {text}")
    written(folder, "CMakeLists.txt", f"cmake_minimum_required(VERSION 3.18)\nproject(p C)\nadd_executable(program program.c)\n{pieces[0]}\n")
    env = {**os.environ, "PATH": tool("") + os.pathsep + os.environ["PATH"]}
    r = run(["cmake", "-S", folder, "-B", os.path.join(folder, "b")], env=env)
    check(r.returncode == 0 and "Found MPI" in r.stdout, f"{where}: {r.stdout}{r.stderr}")


def check_foreign(where, text, top):
    """Declarations for programs that are built with another MPI."""
    path = written(top, "foreign.c", f"#include <mpi.h>\n{text}\nMPI_Comm of(void);\nMPI_Comm of(void)\n{{\n    return MPI_COMM_ENDPOINTS;\n}}\n")
    for compiler in filter(shutil.which, ("mpicc.mpich", "mpicc.openmpi")):
        r = run([compiler, "-Wall", "-Werror", "-c", path], cwd=top)
        check(r.returncode == 0, f"{where}: {compiler}: {r.stderr}")


def check_call(where, text, top):
    """One call of a Fortran program."""
    path = written(top, "call.f90", "program p\n  use mpi_f08\n  integer :: height = 4, left = 0\n  type(MPI_Request) :: request\n"
                   f"  double precision, asynchronous :: plate(4, 4)\n  {text}\nend program\n")
    r = run([tool("mpifort"), "-c", path], cwd=top)
    check(r.returncode == 0, f"{where}: {r.stderr}")


BUILDS = {"make": check_make, "cmake": check_cmake, "foreign": check_foreign, "call": check_call}


def check_code(top):
    has_gcc = shutil.which("gcc") is not None  # whose messages about pieces of programs are understood here
    n = {"c": 0, "upc": 0, "fortran": 0, "sh": 0, "python": 0, "fragment": 0, "make": 0, "cmake": 0, "foreign": 0, "call": 0}
    has_fortran = run([tool("mpifort"), "--version"]).returncode == 0
    for path in [os.path.join(SOURCE, "README.md")] + sorted(glob.glob(os.path.join(SOURCE, "docs", "*.md"))):
        where = os.path.relpath(path, SOURCE)
        for language, text in Markdown(read(path), lambda target, is_image: target).blocks:
            kind = kind_of(language, text)
            if not kind or (kind in ("fortran", "call") and not has_fortran) or (kind == "fragment" and not has_gcc):
                continue
            n[kind] += 1
            if kind in BUILDS:
                BUILDS[kind](where, text, top)
                continue
            if kind == "fragment":
                check_fragment(where, text, top)
                continue
            if kind == "python":
                try:
                    compile(text, where, "exec")
                except SyntaxError as e:
                    check(False, f"{where}: {e} in\n{text}")
                continue
            ends = {"c": "c", "upc": "upc", "fortran": "f90", "sh": "sh"}
            file = os.path.join(top, "block." + ends[kind])
            with open(file, "w", encoding="utf-8") as f:
                f.write(re.sub(r"(?m)^\$ ", "", text) + "\n")
            words = {"c": [tool("mpicc"), "-Wall", "-Werror", "-c"], "upc": [tool("upcc"), "-c"], "fortran": [tool("mpifort"), "-c"],
                     "sh": ["sh", "-n"]}[kind]
            r = run(words + [file], cwd=top)
            check(r.returncode == 0, f"{where}: {r.stderr} in\n{text}")
    check(n["c"] >= 1 and n["upc"] >= 2 and n["sh"] >= 20 and (n["fragment"] >= 8 or not has_gcc) and n["python"] >= 4 and
          n["make"] == n["cmake"] == n["foreign"] == 1 and n["call"] == has_fortran, f"blocks: {n}")


def kind_of(language, text):
    """What a block of code is, or None where it is neither a program nor a command: output, a picture, another tool's file."""
    if re.search(r"\bmain\s*\(", text) and "#include" in text:
        return "upc" if "<upc" in text else "c"
    if re.search(r"(?m)^\s*end program", text):
        return "fortran"
    if language == "c" or re.match(r"(//.*\n)?(int .*;|MPIX?_\w+[ (])", text):
        return "fragment"
    if re.match(r"# \w+\.py\n|\w+ = (MPI|ctypes)\.", text):
        return "python"
    for begin, kind in (("CC = mpicc\n", "make"), ("find_package(", "cmake"), ("extern int MPI_", "foreign"), ("call MPI_", "call")):
        if text.startswith(begin):
            return kind
    commands = r"(\$ )?(mpi(exec|ctl|cc|fort|info)|make|export|impirun|upc(c|run)|srun|valgrind|openssl|python3|#!/bin/sh|[A-Z]+=)\b"
    lines = text.split("\n")
    if language == "sh" or re.match(commands, lines[0]) and not any(x.startswith("$ ") for x in lines):
        return "sh"
    return None


def main():
    with tempfile.TemporaryDirectory() as top:
        check_converters()
        r = build(SOURCE, os.path.join(top, "site"))
        check(r.returncode == 0 and r.stderr == "", f"the manual is not built: {r}")
        if r.returncode == 0:
            site = os.path.join(top, "site")
            pages = check_links(site)
            check_pages(site, pages)
            check_search(site, pages)
            check_version(site)
            check_found(site)
        check_man()
        check_mistakes(top)
        check_code(top)
    return status()


sys.exit(main())
