# SPDX-License-Identifier: BSD-3-Clause
"""Turns the Markdown that our pages use into HTML: headings, paragraphs, lists, tables, code, links, images."""
import html
import re


class MarkdownError(Exception):
    pass


def slug(text):
    """The anchor of a heading, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", text).lower()).strip().replace(" ", "-")


def split_row(line):
    """The cells of a row of a table; a bar inside code or behind a backslash is text."""
    cells, cell, is_code = [], "", False
    text = line.strip().removeprefix("|")
    i = 0
    while i < len(text):
        c = text[i]
        if c == "\\" and text[i + 1:i + 2] == "|":
            cell += "|"
            i += 1
        elif c == "|" and not is_code:
            cells.append(cell.strip())
            cell = ""
        else:
            is_code ^= c == "`"
            cell += c
        i += 1
    if cell.strip():
        cells.append(cell.strip())
    return cells


class Markdown:
    """One page. `link(target, is_image)` gives the address to write, `code(text)` the HTML of a piece of inline code."""

    def __init__(self, text, link, code=None):
        self.link = link
        self.code = code or html.escape
        self.headings = []  # (level, anchor, text)
        self.sections = []  # [anchor, heading, plain text]: what a search looks through
        self.blocks = []    # (language or "", text) of blocks of code
        self.anchors = {}
        self.html = self.convert(text.split("\n"))

    @property
    def title(self):
        return self.headings[0][2] if self.headings else ""

    def note(self, text):
        if not self.sections:
            self.sections.append(["", "", ""])
        self.sections[-1][2] += " " + text

    def inline(self, text):
        """Code, links, images, bold and italic; pieces that are done are kept aside from later rules."""
        done = []

        def keep(piece):
            done.append(piece)
            return f"\x00{len(done) - 1}\x00"

        def image(m):
            return keep(f'<img src="{html.escape(self.link(m[2], True))}" alt="{html.escape(m[1])}">')

        def anchor(m):
            return keep(f'<a href="{html.escape(self.link(m[2], False))}">') + m[1] + keep("</a>")

        def code(m):
            text = m[2].strip()
            kind = ' class="short"' if len(text) <= 32 else ""  # stays on one line, on a phone too
            return keep(f"<code{kind}>{self.code(text)}</code>")

        text = re.sub(r"(`+)(.+?)\1", code, text)
        text = re.sub(r"!\[([^\]]*)\]\(([^)\s]+)\)", image, text)
        text = re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", anchor, text)
        text = re.sub(r"\\([*_`|\\])", lambda m: keep(m[1]), text)
        text = html.escape(text, quote=False)
        text = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<strong>\1</strong>", text)
        text = re.sub(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])", r"<em>\1</em>", text)
        # A link inside bold text holds code that was kept before it.
        while "\x00" in text:
            text = re.sub(r"\x00(\d+)\x00", lambda m: done[int(m[1])], text)
        return text

    def heading(self, level, text):
        plain = re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
        anchor = slug(plain)
        n = self.anchors.get(anchor, 0)
        self.anchors[anchor] = n + 1
        anchor += f"-{n}" if n else ""
        self.headings.append((level, anchor, plain))
        self.sections.append([anchor, plain, ""])
        mark = f'<a class="here" href="#{anchor}" aria-label="link to this heading">#</a>' if level > 1 else ""
        return f'<h{level} id="{anchor}">{self.inline(text)}{mark}</h{level}>'

    def block_of_code(self, lines, language):
        while lines and not lines[-1].strip():
            lines.pop()
        text = "\n".join(lines)
        self.blocks.append((language, text))
        self.note(text)
        return f'<pre tabindex="0"><code>{html.escape(text, quote=False)}</code></pre>'

    def table(self, lines):
        rows = [split_row(line) for line in lines]
        width = len(rows[0])
        out = ['<div class="table" tabindex="0"><table>', "<thead><tr>"]
        out += [f"<th>{self.inline(c)}</th>" for c in rows[0]]
        out.append("</tr></thead><tbody>")
        for row in rows[2:]:
            if len(row) > width:
                raise MarkdownError(f"a row of a table has {len(row)} cells, its heading {width}: {' | '.join(row)}")
            row += [""] * (width - len(row))
            self.note(" ".join(row))
            out.append("<tr>" + "".join(f"<td>{self.inline(c)}</td>" for c in row) + "</tr>")
        out.append("</tbody></table></div>")
        return "".join(out)

    def list(self, lines, at):
        """A list that begins at a line; returns its HTML and the line after it."""
        item = re.compile(r"(\s*)([*-]|\d+\.)(\s+)(.*)")
        first = item.match(lines[at])
        indent, is_numbered = len(first[1]), first[2][0].isdigit()
        items, is_loose = [], False
        while at < len(lines):
            m = item.match(lines[at])
            if not m or len(m[1]) != indent or m[2][0].isdigit() != is_numbered:
                break
            body, inner = [m[4]], indent + len(m[2]) + len(m[3])
            at += 1
            while at < len(lines):
                line = lines[at]
                lead = len(line) - len(line.lstrip())
                if not line.strip():
                    following = next((x for x in lines[at + 1:] if x.strip()), "")
                    if not following.startswith(" " * inner):
                        break
                    is_loose = True
                elif lead <= indent and (item.match(line) or re.match(r"#|\||```", line)):
                    break
                elif lead <= indent and not body[-1].strip():
                    break
                body.append(line[min(inner, lead):])
                at += 1
            items.append(body)
            if at < len(lines) and not lines[at].strip():
                following = next((i for i in range(at, len(lines)) if lines[i].strip()), len(lines))
                if following < len(lines) and item.match(lines[following]) and len(item.match(lines[following])[1]) == indent:
                    at = following
        kind = "ol" if is_numbered else "ul"
        out = []
        for body in items:
            text = self.convert(body)
            if not is_loose:
                text = re.sub(r"^<p>(.*?)</p>", r"\1", text, flags=re.DOTALL)
            out.append(f"<li>{text}</li>")
        return f"<{kind}>" + "\n".join(out) + f"</{kind}>", at

    def convert(self, lines):
        out, at, paragraph = [], 0, []

        def end_paragraph():
            if paragraph:
                text = "\n".join(paragraph)
                self.note(text)
                out.append(f"<p>{self.inline(text)}</p>")
                paragraph.clear()

        while at < len(lines):
            line = lines[at]
            head = re.match(r"(#{1,6})\s+(.*?)\s*#*$", line)
            fence = re.match(r"```(\w*)\s*$", line)
            if head:
                end_paragraph()
                out.append(self.heading(len(head[1]), head[2]))
                at += 1
            elif fence:
                end_paragraph()
                end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("```")), None)
                if end is None:
                    raise MarkdownError("a block of code that ``` begins does not end")
                out.append(self.block_of_code(lines[at + 1:end], fence[1]))
                at = end + 1
            elif line.startswith("    ") and line.strip() and not paragraph:
                end = at
                while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                    end += 1
                out.append(self.block_of_code([x[4:] for x in lines[at:end]], ""))
                at = end
            elif line.startswith("|") and at + 1 < len(lines) and re.match(r"\|[\s:|-]+$", lines[at + 1]):
                end_paragraph()
                end = at
                while end < len(lines) and lines[end].startswith("|"):
                    end += 1
                out.append(self.table(lines[at:end]))
                at = end
            elif re.match(r"([*-]|\d+\.)\s+\S", line) and (not paragraph or not line[0].isdigit()):
                end_paragraph()
                text, at = self.list(lines, at)
                out.append(text)
            elif re.fullmatch(r"<!--.*-->\s*", line):  # for scripts that write parts of a page
                end_paragraph()
                at += 1
            elif re.match(r">|<[a-zA-Z!/]|(=+|-{3,})\s*$", line):
                raise MarkdownError(f"docs/site/markdown.py does not know what this line means: {line}")
            else:
                if line.strip():
                    paragraph.append(line.strip())
                else:
                    end_paragraph()
                at += 1
        end_paragraph()
        return "\n".join(out)
