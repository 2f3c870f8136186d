#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Builds the manual, one static site, from README.md, docs and the manual pages.

usage: build.py SOURCE BUILD OUT

BUILD is a build folder: the manual pages that are generated lie there. OUT is replaced. A link to a page or an anchor that
does not exist, a macro or a line that the converters do not know, or a function that no chapter has, fails.
"""
import glob
import html
import json
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from markdown import Markdown, MarkdownError
from roff import Roff, RoffError

# Guides in the order of the menu, with a line for the start page. A page of docs/ that is not here comes last.
GUIDES = {
    "cluster": "Hosts, ssh, Slurm, PBS",
    "habits": "Options of MPICH, Open MPI, Slurm and Intel MPI, and what they are here",
    "debugging": "Ranks under gdb and valgrind, and what ulimit means",
    "observe": "Counters, events, settings that change while it runs",
    "failures": "Ranks that die, and jobs that go on",
    "checkpoint": "Write a job to a folder and go on later",
    "elastic": "Grow, shrink and fork a running world",
    "startup": "What start-up costs; sessions",
    "io": "Views, collective access, shared pointers",
    "fortran": "mpifort, its modules, gfortran and other compilers",
    "python": "mpi4py and ctypes",
    "abi": "Run programs built with MPICH or Open MPI",
    "upc": "A compiler and runtime for Unified Parallel C",
    "impi": "One world over several MPIs",
    "applications": "Libraries and applications that were tried",
    "security": "What other users can and cannot do",
}
CHAPTERS = {
    "env": "Start, end and environment", "p2p": "Point-to-point communication", "coll": "Collective communication",
    "datatype": "Datatypes", "op": "Reduction operations", "comm": "Communicators", "group": "Groups", "topo": "Topologies",
    "session": "Sessions and process sets", "dynamic": "Dynamic processes", "rma": "One-sided communication", "io": "Files",
    "attr": "Attributes", "info": "Info objects", "error": "Errors", "handle": "Handles in C and Fortran", "tools": "Tool interface (MPI_T)",
    "endpoint": "Endpoints", "elastic": "Worlds that change, checkpoints", "failure": "Failures of processes",
    "mpix": "Other extensions", "removed": "Removed from the standard",
}
EXTENSIONS = ("endpoint", "elastic", "failure", "mpix")
COMING_FROM = ("MPICH", "Open MPI", "Slurm", "Intel MPI")


class SiteError(Exception):
    pass


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class Page:
    def __init__(self, out, title, body, headings=(), sections=(), kind="guide"):
        self.out, self.title, self.body, self.headings, self.sections, self.kind = out, title, body, headings, sections, kind

    def to(self, other):
        return os.path.relpath(other, os.path.dirname(self.out) or ".")


class Site:
    def __init__(self, source, build, out):
        self.source, self.build, self.out = os.path.abspath(source), os.path.abspath(build), os.path.abspath(out)
        self.pages = {}       # path in the site: Page
        self.where = {}       # path of a source: path in the site
        self.files = {}       # path in the site: file to copy
        self.man = {}         # (name, section): path in the site
        self.problems = []

    # Where everything goes.

    def collect(self):
        self.where = {"README.md": "ten-minutes.html", "CONTRIBUTING.md": "contributing.html", "CHANGELOG.md": "changelog.html",
                      "LICENSE": "license.html"}
        for path in sorted(glob.glob(os.path.join(self.source, "docs", "*.md"))):
            name = os.path.basename(path)
            self.where["docs/" + name] = name[:-3] + ".html"
        for path in sorted(glob.glob(os.path.join(self.source, "docs", "design", "*.md"))):
            name = os.path.basename(path)
            self.where["docs/design/" + name] = "design/" + ("index" if name == "README.md" else name[:-3].lower()) + ".html"
        places = [os.path.join(self.source, "docs", "man"), os.path.join(self.build, "share", "man", "man1"),
                  os.path.join(self.build, "gen", "man", "man3"), os.path.join(self.build, "docs")]
        self.man_sources = {}
        for place in places:
            for path in sorted(glob.glob(os.path.join(place, "*.[137]"))):
                name, section = os.path.basename(path).rsplit(".", 1)
                self.man_sources[name, section] = path
                self.man[name, section] = f"man/{name}.{section}.html"
        wanted = {("mpiexec", "1"), ("pliant-settings", "7"), ("MPI_Send", "3")}
        if wanted - set(self.man):
            raise SiteError(f"the build folder {self.build} lacks manual pages: {sorted(wanted - set(self.man))}; build first")

    def relative(self, out, to):
        return os.path.relpath(to, os.path.dirname(out) or ".")

    def linker(self, path, out):
        """Links of a source become those of its page."""
        def link(target, is_image):
            if re.match(r"https?://", target):
                if is_image:
                    self.problems.append(f"{path}: the picture {target} is not in the tree")
                return target
            name, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if os.path.isdir(os.path.join(self.source, to)):
                to += "/README.md"
            anchor = "#" + anchor if anchor else ""
            if to in self.where:
                return self.relative(out, self.where[to]) + anchor if name else anchor
            full = os.path.join(self.source, to)
            if is_image and os.path.isfile(full):
                self.files["pictures/" + os.path.basename(to)] = full
                return self.relative(out, "pictures/" + os.path.basename(to))
            self.problems.append(f"{path}: the link {target} leads to nothing of the manual")
            return target
        return link

    def coder(self, out):
        """Names of functions and manual pages in code are links."""
        def code(text):
            shown = html.escape(text, quote=False)
            m = re.fullmatch(r"(MPIX?_\w+|mpix_\w+)(\(.*\))?", text) or re.fullmatch(r"([\w+-]+)\((\d)\)", text)
            if m:
                section = m[2] if m[2] and m[2].isdigit() else "3"
                to = self.man.get((m[1], section))
                if to and to != out:
                    return f'<a href="{self.relative(out, to)}">{shown}</a>'
            if re.fullmatch(r"PLIANT_[A-Z_]+", text) and text in self.settings:
                return f'<a href="{self.relative(out, self.man["pliant-settings", "7"])}#{text}">{shown}</a>'
            return shown
        return code

    # Pages.

    def add(self, page):
        self.pages[page.out] = page

    def add_markdown(self, path, text=None, out=None, kind="guide", title=None):
        out = out or self.where[path]
        try:
            m = Markdown(text or read(os.path.join(self.source, path)), self.linker(path, out), self.coder(out))
        except MarkdownError as e:
            raise SiteError(f"{path}: {e}") from None
        self.add(Page(out, title or m.title, m.html, m.headings, m.sections, kind))

    def add_man(self):
        roffs = {}
        for key, path in self.man_sources.items():
            out = self.man[key]

            def reference(name, section, out=out):
                to = self.man.get((name, section))
                return self.relative(out, to) if to and to != out else None

            def word(text, out=out):
                return re.sub(r"\b(MPIX?_[A-Z]\w+)\b", lambda m: f'<a href="{self.relative(out, self.man[m[1], "3"])}">{m[1]}</a>'
                              if (m[1], "3") in self.man and self.man[m[1], "3"] != out else m[1], text)
            try:
                roffs[key] = Roff(read(path), reference, word)
            except RoffError as e:
                raise SiteError(f"{path}: {e}") from None
        self.settings = roffs["pliant-settings", "7"].terms
        for (name, section), r in roffs.items():
            title = f"{name}({section})"
            if r.same_as:
                other, number = os.path.basename(r.same_as).rsplit(".", 1)
                if (other, number) not in roffs:
                    raise SiteError(f"{name}.{section} is the same as {r.same_as}, which does not exist")
                r.summary = roffs[other, number].summary
                to = self.relative(self.man[name, section], self.man[other, number])
                body = f'<p><b>{name}</b> is described with <a href="{to}"><b>{other}</b>({number})</a>.</p>'
                self.add(Page(self.man[name, section], title, f"<h1>{title}</h1>{body}", kind="man"))
            else:
                body = f"<h1>{html.escape(title)}</h1>\n{r.html}"
                self.add(Page(self.man[name, section], title, body, r.headings, r.sections, "man"))
            self.pages[self.man[name, section]].summary = r.summary
        self.roffs = roffs

    def add_functions(self):
        """The list of functions by chapter, and the extensions with their examples."""
        sys.path.insert(0, os.path.join(self.source, "api"))
        import gen
        left = {name for name, section in self.man if section == "3"}
        parts, extensions = [], []
        for path in sorted(glob.glob(os.path.join(self.source, "api", "*.api"))):
            chapter = os.path.basename(path)[:-4]
            if chapter not in ("constants", "types") and chapter not in CHAPTERS:
                raise SiteError(f"api/{chapter}.api has no title in docs/site/build.py")
        for chapter, title in CHAPTERS.items():
            rows = []
            for f in gen.read_functions(os.path.join(self.source, "api", chapter + ".api")):
                for name in [f.name, *f.also]:
                    if (name, "3") in self.man:
                        left.discard(name)
                        rows.append((name, self.roffs[name, "3"].summary))
                if chapter in EXTENSIONS or f.name.startswith("MPIX_"):
                    extensions.append((f.name, title))
            parts.append((chapter, title, rows))
        parts.append(("libraries", "Libraries beside MPI", [(name, self.roffs[name, "3"].summary) for name in sorted(left)
                                                            if not name.startswith("MPI")]))
        missing = [name for name in left if name.startswith("MPI")]
        if missing:
            raise SiteError(f"no chapter has these functions: {sorted(missing)}")
        body = ["<h1>Functions by chapter</h1>", '<p class="chips">']
        body += [f'<a href="#{c}">{html.escape(t)}</a>' for c, t, _ in parts]
        body.append("</p>")
        for chapter, title, rows in parts:
            body.append(f'<h2 id="{chapter}">{html.escape(title)}</h2><div class="table" tabindex="0"><table class="functions"><tbody>')
            body += [f'<tr><td><a href="{self.man[n, "3"]}"><code>{n}</code></a></td><td>{html.escape(s)}</td></tr>' for n, s in rows]
            body.append("</tbody></table></div>")
        self.add(Page("functions.html", "Functions by chapter", "\n".join(body), [(2, c, t) for c, t, _ in parts], kind="reference"))
        self.add_extensions(extensions)

    def add_extensions(self, extensions):
        body = ["<h1>Extensions</h1>", "<p>Functions that the MPI standard does not have, with the examples of their manual pages, which a "
                "test compiles and runs.</p>"]
        headings = []
        for title in dict.fromkeys(t for _, t in extensions):
            anchor = re.sub(r"\W+", "-", title.lower()).strip("-")
            headings.append((2, anchor, title))
            body.append(f'<h2 id="{anchor}">{html.escape(title)}</h2>')
            for name in [n for n, t in extensions if t == title]:
                r = self.roffs[name, "3"]
                body.append(f'<h3 id="{name}"><a href="{self.man[name, "3"]}">{name}</a></h3><p>{html.escape(r.summary)}</p>')
                m = re.search(r'<h2 id="example">.*?</h2>\s*(.*?)(?=<h2)', r.html, re.DOTALL)
                if m:
                    body.append(re.sub(r'href="(?=[\w+-]+\.\d\.html)', 'href="man/', m[1]))
        self.add(Page("extensions.html", "Extensions", "\n".join(body), headings, kind="reference"))

    def add_coming_from(self):
        """A page for the users of each other MPI, out of the tables of docs/habits.md."""
        path = "docs/habits.md"
        parts = re.split(r"(?m)^## Coming from (.*)$", read(os.path.join(self.source, path)))
        tables = dict(zip(parts[1::2], parts[2::2]))
        intro = re.sub(r"(?m)^# .*$", "", parts[0]).strip()
        for name in COMING_FROM:
            if name not in tables:
                raise SiteError(f"{path} has no part 'Coming from {name}'")
            out = f"coming-from-{name.lower().replace(' ', '-')}.html"
            text = f"# Coming from {name}\n\n{intro}\n\n## Options\n{tables[name]}"
            self.add_markdown(path, text, out, "guide")
            self.pages[out].sections = [["", f"Coming from {name}", f"options of {name}"]]

    def add_man_index(self):
        body = ["<h1>Manual pages</h1>"]
        titles = {"1": "Commands", "7": "Settings and libraries", "3": "Functions"}
        for section in "173":
            body.append(f'<h2 id="section-{section}">{titles[section]}</h2>')
            names = sorted((n for n, s in self.man if s == section), key=str.lower)
            if section == "3":
                body.append(f'<p><a href="functions.html">The list by chapter</a> says what each of these {len(names)} does.</p><p class="chips">')
                body += [f'<a href="{self.man[n, "3"]}">{n}</a>' for n in names]
                body.append("</p>")
            else:
                body.append('<div class="table" tabindex="0"><table class="functions"><tbody>')
                body += [f'<tr><td><a href="{self.man[n, section]}"><code>{n}</code></a></td>'
                         f'<td>{html.escape(self.roffs[n, section].summary)}</td></tr>' for n in names]
                body.append("</tbody></table></div>")
        headings = [(2, f"section-{s}", titles[s]) for s in "173"]
        self.add(Page("man/index.html", "Manual pages", re.sub(r'href="man/', 'href="', "\n".join(body)).replace('href="functions', 'href="../functions'),
                      headings, kind="reference"))

    def guides(self):
        names = [p[5:-3] for p in self.where if re.fullmatch(r"docs/[^/]+\.md", p)]
        return sorted(names, key=lambda n: (list(GUIDES).index(n) if n in GUIDES else len(GUIDES), n))

    def add_start(self):
        def card(to, title, text):
            return f'<a class="card" href="{to}"><b>{html.escape(title)}</b><span>{html.escape(text)}</span></a>'
        body = ["<h1>Pliant MPI</h1>", '<p class="lead">An MPI for people who write and run parallel programs in C, C++, Fortran and Python: '
                "one small library with its own launcher, for ordinary machines as well as large ones.</p>",
                '<pre tabindex="0"><code>make &amp;&amp; export PATH=$PWD/build/bin:$PATH\nmpicc -o hello hello.c\nmpiexec -n 4 ./hello</code></pre>',
                '<h2 id="begin">Begin</h2><div class="cards">',
                card("ten-minutes.html", "Ten minutes", "Build it, write a program, run it; what else there is"),
                *(card(f"coming-from-{n.lower().replace(' ', '-')}.html", f"Coming from {n}", "Every option and habit, and what it is here")
                  for n in COMING_FROM), "</div>", '<h2 id="how-to">How to</h2><div class="cards">',
                *(card(n + ".html", self.pages[n + ".html"].title, GUIDES.get(n, "")) for n in self.guides()),
                '</div><h2 id="look-up">Look up</h2><div class="cards">',
                card("functions.html", "Functions by chapter", f"{sum(1 for _, s in self.man if s == '3')} manual pages, each with its C and Fortran form"),
                card("extensions.html", "Extensions", "Functions beyond the standard, with examples"),
                card("man/mpiexec.1.html", "mpiexec", "All options of the launcher"),
                card("man/pliant-settings.7.html", "Settings", "Every variable that the library reads; none is needed"),
                card("man/index.html", "Manual pages", "Commands, libraries, functions"),
                card("search.html", "Search", "Works without a network"),
                '</div><h2 id="inside">Inside</h2><div class="cards">',
                card("design/index.html", "Design", "How it works, a page for each part"),
                card("contributing.html", "Contributing", "A map of the code, and how to change it"),
                card("changelog.html", "Changes", "What is new"), card("license.html", "Licence", "BSD-3-Clause"), "</div>"]
        self.add(Page("index.html", "Pliant MPI", "\n".join(body), kind="start"))
        self.add(Page("search.html", "Search", '<h1>Search</h1><form class="search" action="search.html"><input type="search" name="q" '
                      'aria-label="words to look for" autofocus></form><div id="results"></div>'
                      "<noscript><p>Searching needs JavaScript. The <a href=\"functions.html\">list of functions</a> does not.</p></noscript>",
                      kind="search"))
        self.add(Page("license.html", "Licence", f"<h1>Licence</h1><pre><code>{html.escape(read(os.path.join(self.source, 'LICENSE')))}</code></pre>",
                      kind="inside"))

    # The frame around a page, and the index of words.

    def menu(self, page):
        def item(to, title):
            here = ' aria-current="page"' if to == page.out else ""
            return f'<li><a href="{page.to(to)}"{here}>{html.escape(title)}</a></li>'

        def part(title, items):
            return f"<h2>{title}</h2><ul>" + "".join(items) + "</ul>"
        design = sorted((o for p, o in self.where.items() if p.startswith("docs/design/") and o != "design/index.html"),
                        key=lambda o: self.pages[o].title.lower())
        out = part("Begin", [item("index.html", "Start"), item("ten-minutes.html", "Ten minutes")] +
                   [item(f"coming-from-{n.lower().replace(' ', '-')}.html", f"Coming from {n}") for n in COMING_FROM])
        out += part("How to", [item(n + ".html", self.pages[n + ".html"].title) for n in self.guides()])
        out += part("Look up", [item("functions.html", "Functions by chapter"), item("extensions.html", "Extensions")] +
                    [item(self.man[n, "1"], n) for n in ("mpiexec", "mpictl", "mpiinfo", "mpicc", "upcc", "upcrun", "impirun")] +
                    [item(self.man["pliant-settings", "7"], "Settings"), item("man/index.html", "All manual pages")])
        out += part("Inside", [item("design/index.html", "Design")] +
                    ([item(o, self.pages[o].title) for o in design] if page.out.startswith("design/") else []) +
                    [item("contributing.html", "Contributing"), item("changelog.html", "Changes"), item("license.html", "Licence")])
        return out

    def contents(self, page):
        rows = [(level, anchor, text) for level, anchor, text in page.headings if level in (2, 3)]
        if len([r for r in rows if r[0] == 2]) < 3 or re.search(r"functions\.html$|\.3\.html$", page.out):
            return ""
        if len(rows) > 24:
            rows = [r for r in rows if r[0] == 2]
        items = "".join(f'<li class="l{level}"><a href="#{anchor}">{html.escape(text)}</a></li>' for level, anchor, text in rows)
        return f"<details class=\"contents\"><summary>On this page</summary><ul>{items}</ul></details>"

    def named(self, page):
        """The body, in which a link that shows a file of the repository shows the title of that page."""
        def title(m):
            to = os.path.normpath(os.path.join(os.path.dirname(page.out), m[1]))
            return f'<a href="{m[1]}">{html.escape(self.pages[to].title)}</a>' if to in self.pages else m[0]
        return re.sub(r'<a href="([^"#]+\.html)">[\w./-]+\.md</a>', title, page.body)

    def frame(self, page):
        root = page.to(".")
        body = self.named(page).replace("</h1>", "</h1>" + self.contents(page), 1)
        title = page.title if page.out == "index.html" else f"{page.title} - Pliant MPI"
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{page.to("site.css")}">
<script src="{page.to("search.js")}" data-root="{root}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header><a class="brand" href="{page.to("index.html")}">Pliant MPI</a>
<form class="search" action="{page.to("search.html")}" role="search"><input type="search" name="q" placeholder="Search" aria-label="Search the manual" autocomplete="off"></form>
<button id="menu-button" aria-expanded="false" aria-controls="menu">Menu</button></header>
<div class="frame">
<nav id="menu" aria-label="Pages">{self.menu(page)}</nav>
<main id="main" class="{page.kind}">
{body}
</main>
</div>
</body>
</html>
"""

    def index(self):
        """Rows [page and heading, address, summary or words]: all that search.js looks through."""
        rows = []
        for page in self.pages.values():
            if page.kind == "search":
                continue
            summary = getattr(page, "summary", "")
            if page.kind == "man" and re.search(r"\.3\.html$", page.out):
                words = " ".join(t for _, h, t in page.sections if h in ("Description", "Return value"))
                rows.append([page.title, page.out, summary, words])
                continue
            rows.append([page.title, page.out, summary, page.sections[0][2] if page.sections and page.sections[0][1] in ("", page.title) else ""])
            for anchor, heading, text in page.sections:
                if anchor and heading != page.title:
                    rows.append([f"{heading} \u2013 {page.title}", f"{page.out}#{anchor}", "", text])
        for row in rows:
            row[3] = re.sub(r"\s+", " ", re.sub(r"\]\([^)]*\)|[`*|\[]", " ", row[3])).strip()
        return rows

    def check(self, texts):
        """Every address of every page leads to a file of the site and an anchor of it."""
        ids = {out: re.findall(r'\bid="([^"]*)"', text) for out, text in texts.items()}
        for out, names in ids.items():
            for name in {n for n in names if names.count(n) > 1}:
                self.problems.append(f"{out}: the anchor {html.unescape(name)} stands there twice")
        known = {out: {html.unescape(n) for n in names} for out, names in ids.items()}
        for out, text in texts.items():
            for kind, target in re.findall(r'\b(href|src)="([^"]*)"', text):
                target = html.unescape(target)
                if target == "data:," or (kind == "href" and re.match(r"https?://", target)):
                    continue
                name, _, anchor = target.partition("#")
                to = os.path.normpath(os.path.join(os.path.dirname(out), name)) if name else out
                if to not in texts and to not in self.files:
                    self.problems.append(f"{out}: {target} leads to nothing")
                elif anchor and anchor not in known.get(to, ()):
                    self.problems.append(f"{out}: {target} leads to an anchor that is not there")

    def make(self):
        self.collect()
        self.add_man()
        for path in self.where:
            if path.endswith(".md"):
                self.add_markdown(path, kind="inside" if "design" in path or "/" not in path else "guide",
                                  title="Ten minutes" if path == "README.md" else None)
        self.add_functions()
        self.add_man_index()
        self.add_coming_from()
        self.add_start()
        for name in ("site.css", "search.js"):
            self.files[name] = os.path.join(HERE, name)
        texts = {out: self.frame(page) for out, page in self.pages.items()}
        self.check(texts)
        if self.problems:
            raise SiteError("\n".join(sorted(set(self.problems))))
        texts["search-index.js"] = "manualIndex = " + json.dumps(self.index(), ensure_ascii=False, separators=(",", ":")) + ";\n"
        shutil.rmtree(self.out, ignore_errors=True)
        for out, text in texts.items():
            path = os.path.join(self.out, out)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        for out, path in self.files.items():
            os.makedirs(os.path.dirname(os.path.join(self.out, out)), exist_ok=True)
            shutil.copyfile(path, os.path.join(self.out, out))
        return len(self.pages)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        n = Site(*sys.argv[1:]).make()
    except SiteError as e:
        sys.exit(f"the manual cannot be built:\n{e}")
    print(f"{n} pages: {os.path.join(sys.argv[3], 'index.html')}")


if __name__ == "__main__":
    main()
