# SPDX-License-Identifier: BSD-3-Clause
"""Turns a manual page into HTML: the macros of man(7) that our pages use. One that is not known is an error."""
import html
import re
import shlex

from markdown import slug

ESCAPES = {"-": "-", "e": "\\", "&": "", "~": "\u00a0", "(aq": "'", "(bu": "\u2022", "(em": "\u2014", "(en": "\u2013",
           "(dq": '"', "(co": "\u00a9", "(mu": "\u00d7", "(ha": "^", "(ti": "~", "%": "", "/": "", "|": "", " ": "\u00a0"}
TAGS = {"B": "b", "I": "i"}
QUIET = {"sp", "PD", "ad", "nh", "hy", "na", "ne", ""}  # spacing, which the stylesheet decides


class RoffError(Exception):
    pass


def words(rest):
    """The arguments of a macro: words, or what stands between quotes."""
    lexer = shlex.shlex(rest, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.escape, lexer.quotes = True, "", "", '"'
    try:
        return list(lexer)
    except ValueError as e:
        raise RoffError(f"{e}: {rest}") from None


class Roff:
    """One page. `reference(name, section)` gives the address of another page, or None; `word(text)` links words."""

    def __init__(self, text, reference, word=lambda text: text):
        self.reference, self.word = reference, word
        self.name = self.section = self.summary = ""
        self.same_as = None  # "man3/X.3" of a page that only names another
        self.headings, self.sections, self.terms = [], [], {}
        self.out, self.text = [], []  # HTML that is done, and pieces of the paragraph that is being read
        self.shape = None    # "dd", "li": the paragraph is inside of one
        self.is_list = None  # "dl", "ul": the list that is open
        self.nested = []     # lists around an .RS
        self.plain_lines = None  # lines between .nf and .fi
        self.wants_term = False
        self.font = "R"
        for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
            try:
                self.read(line)
            except RoffError as e:
                raise RoffError(f"line {number}: {e}") from None
        self.end_list()
        if self.plain_lines is not None:
            raise RoffError(".nf without .fi")
        self.html = "\n".join(self.out)

    # Text: escapes become HTML, fonts become tags.

    def escape(self, text):
        def one(m):
            if m[1].startswith("f"):
                return f"\x01{m[1][1]}"
            if m[1] not in ESCAPES:
                raise RoffError(f"the escape \\{m[1]} is not known")
            return ESCAPES[m[1]]
        return re.sub(r"\\(f.|\(..|.)", one, text)

    def styled(self, text, font=None):
        """HTML of a text that begins in a font; \\f changes it."""
        now, out = font or self.font, []
        for i, piece in enumerate(re.split("\x01(.)", self.escape(text))):
            if i % 2:
                now = {"P": "R"}.get(piece, piece)
                if now not in ("R", "B", "I"):
                    raise RoffError(f"the font {now} is not known")
            elif piece:
                shown = html.escape(piece, quote=False)
                shown = shown if now != "R" else self.word(shown)
                out.append(f"<{TAGS[now]}>{shown}</{TAGS[now]}>" if now in TAGS else shown)
        self.font = "R" if font else now
        return "".join(out)

    def alternate(self, fonts, rest):
        args = words(rest)
        out = "".join(self.styled(arg, fonts[i % 2]) for i, arg in enumerate(args))
        if fonts == "BR" and len(args) > 1:
            m = re.match(r"\((\d)\)", args[1])
            to = m and self.reference(self.escape(args[0]), m[1])
            if to:
                out = f'<a href="{html.escape(to)}">{out.split("</b>")[0]}</b>({m[1]})</a>' + html.escape(self.escape(args[1][3:]))
        return out

    def add(self, piece):
        if self.plain_lines is not None:
            self.plain_lines.append(piece)
        elif self.wants_term:
            self.wants_term = False
            self.shape = "dd"
            self.term(piece)
        else:
            self.text.append(piece)

    def term(self, piece):
        """What a paragraph describes: an option, a setting, a parameter; the first word is its anchor."""
        plain = html.unescape(re.sub("<[^>]*>", "", piece))
        first = (plain.split() or [""])[0].rstrip(",")
        anchor = re.sub(r"[^\w-]", "", first.split("=")[0])
        if anchor and anchor not in self.terms and anchor not in {h[1] for h in self.headings}:
            self.terms[anchor] = plain
            self.sections.append([anchor, plain, ""])
            self.out.append(f'<dt id="{html.escape(anchor)}">{piece}</dt>')
        else:
            self.note(plain)
            self.out.append(f"<dt>{piece}</dt>")

    # Paragraphs and lists.

    def note(self, text):
        if self.sections:
            self.sections[-1][2] += " " + html.unescape(re.sub("<[^>]*>", "", text))

    def end_paragraph(self):
        text = "\n".join(self.text).strip()
        self.text = []
        if text:
            self.note(text)
            self.out.append(f"<{self.shape or 'p'}>{text}</{self.shape or 'p'}>")

    def end_list(self):
        self.end_paragraph()
        if self.is_list:
            self.out.append(f"</{self.is_list}>")
        self.is_list = self.shape = None

    def begin_list(self, kind):
        self.end_paragraph()
        if self.is_list != kind:
            self.end_list()
            self.out.append(f"<{kind}>")
            self.is_list = kind

    def heading(self, level, text):
        self.end_list()
        plain = self.escape(text.strip().strip('"')).replace("\x01", "")
        plain = plain.capitalize() if plain.isupper() else plain
        anchor = slug(plain)
        anchor += f"-{len(self.headings)}" if anchor in {h[1] for h in self.headings} else ""
        self.headings.append((level, anchor, plain))
        self.sections.append([anchor, plain, ""])
        self.out.append(f'<h{level} id="{anchor}">{html.escape(plain)}<a class="here" href="#{anchor}" '
                        f'aria-label="link to this heading">#</a></h{level}>')

    def begin_plain(self):
        self.end_paragraph()
        if self.plain_lines is not None:
            raise RoffError("a block without filling inside of one")
        self.plain_lines = []

    def end_plain(self):
        if self.plain_lines is None:
            raise RoffError(".fi without .nf")
        text = "\n".join(self.plain_lines).strip("\n")
        self.plain_lines = None
        self.note(text)
        self.out.append(f'<{"dd" if self.shape == "dd" else "div"}><pre tabindex="0"><code>{text}</code></pre>'
                        f'</{"dd" if self.shape == "dd" else "div"}>')

    # Lines.

    def read(self, line):
        if line.startswith('.\\"') or line.startswith("'\\\""):
            return
        if line.startswith("."):
            name, _, rest = line[1:].lstrip().partition(" ")
            self.macro(name, rest.strip())
        elif not line and self.plain_lines is None:
            self.end_paragraph()
        else:
            if self.sections and self.sections[-1][1] == "Name" and not self.summary and " \\- " in line:
                self.summary = self.escape(line.split(" \\- ", 1)[1])
            self.add(self.styled(line))

    def macro(self, name, rest):
        if name == "TH":
            self.name, self.section = (self.escape(w) for w in words(rest)[:2])
        elif name == "so":
            self.same_as = rest
        elif name in ("SH", "SS"):
            self.heading(2 if name == "SH" else 3, rest)
        elif name in ("PP", "P", "LP"):
            self.end_list()
        elif name in ("TP", "TQ"):
            self.begin_list("dl")
            self.wants_term = True
        elif name == "IP":
            self.begin_list("ul")
            self.shape = "li"
        elif name == "RS":
            self.end_paragraph()
            self.nested.append((self.is_list, self.shape))
            self.out.append("<dd>" if self.is_list == "dl" else "<div>")
            self.is_list = self.shape = None
        elif name == "RE":
            self.end_list()
            if not self.nested:
                raise RoffError(".RE without .RS")
            self.is_list, self.shape = self.nested.pop()
            self.out.append("</dd>" if self.is_list == "dl" else "</div>")
        elif name in ("nf", "EX"):
            self.begin_plain()
        elif name in ("fi", "EE"):
            self.end_plain()
        elif name == "br":
            self.add("<br>")
        elif name in ("B", "I"):
            self.add(self.styled(" ".join(words(rest)), name))
        elif name in ("BR", "RB", "IR", "RI", "BI", "IB"):
            self.add(self.alternate(name, rest))
        elif name in QUIET:
            if self.plain_lines is not None and name == "sp":
                self.plain_lines.append("")
        else:
            raise RoffError(f"the macro .{name} is not known")
