"""The files of the tree, and C source with comments, strings and functions told apart."""
import os
import re
import subprocess


def files(root):
    """Every file that is, or could be, committed."""
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                             capture_output=True, check=True).stdout.decode()
        names = [n for n in out.split("\0") if n]
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        names = [os.path.relpath(os.path.join(d, f), root)
                 for d, subs, fs in os.walk(root) for f in fs
                 if not os.path.relpath(d, root).startswith(("build", ".git"))]
    return sorted(n for n in set(names) if os.path.isfile(os.path.join(root, n)))


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


class Source:
    """One C file. `code` has comments and the insides of strings blanked, line for line."""

    def __init__(self, root, path):
        self.path = path
        self.text = open(os.path.join(root, path), encoding="utf-8").read()
        self.lines = self.text.split("\n")
        if self.lines and self.lines[-1] == "":
            self.lines.pop()
        self.comments, self.strings = [], []
        self.code = TOKEN.sub(self._blank, self.text)
        self.code_lines = self.code.split("\n")

    def _blank(self, m):
        token = m.group(0)
        line = self.text.count("\n", 0, m.start()) + 1
        if token[0] == "/":
            self.comments.append((line, token))
            return re.sub(r"[^\n]", " ", token)
        if token[0] == '"':
            self.strings.append((line, token))
        return token[0] + " " * (len(token) - 2) + token[0]

    def line_of(self, offset):
        return self.code.count("\n", 0, offset) + 1

    def functions(self):
        """(name, signature, first line, body's text, number of lines) of each definition."""
        lines, i = self.code_lines, 0
        while i < len(lines):
            if lines[i].rstrip() != "{":
                i += 1
                continue
            end = next((j for j in range(i + 1, len(lines)) if lines[j].startswith("}")), i)
            begin = i
            while begin > 0 and lines[begin - 1].strip() and lines[begin - 1][0] not in "}#;" \
                    and not lines[begin - 1].rstrip().endswith((";", "}")):
                begin -= 1
            signature = " ".join(lines[begin:i])
            m = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", signature))
            if m and lines[end].rstrip() == "}":
                yield m.group(1), signature, begin + 1, "\n".join(lines[i:end + 1]), end - i + 1
            i = max(end, i + 1)

    def includes(self):
        for n, line in enumerate(self.lines, 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if m:
                yield n, m.group(1)
