"""What a manual page says: its options and words, and that it can be shown."""
import os
import re
import shutil
import subprocess

from launch import BUILD, SOURCE, check


class Page:
    def __init__(self, name):
        made = os.path.join(BUILD, "share", "man", "man1", name)  # from the table of options
        self.path = made if os.path.exists(made) else os.path.join(SOURCE, "docs", "man", name)
        with open(self.path, encoding="utf-8") as f:
            source = f.read()
        self.text = re.sub(r"\\f.|\\~", lambda m: " " if m.group() == "\\~" else "", source).replace("\\-", "-")

    def section(self, first, last=None):
        """From one heading up to another, or to the next one."""
        begin = self.text.index(f".SH {first}")
        end = self.text.find(f".SH {last}" if last else ".SH ", begin + 4)
        return self.text[begin:end if end >= 0 else None]

    def heads(self, first, last=None):
        """The lines of a section that head a paragraph: what is described there."""
        return "\n".join(re.findall(r"^\.T[PQ]\n(.*)$", self.section(first, last), re.MULTILINE))

    def check_shown(self, *pieces):
        if shutil.which("man"):
            p = subprocess.run(["man", "--warnings", "-l", self.path], capture_output=True, text=True, check=False,
                               env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
            check(p.returncode == 0 and p.stderr == "" and all(piece in p.stdout for piece in pieces),
                  f"man -l {self.path}: {p.returncode} {p.stderr}")


def options(text):
    """The names of options in a text, without their dashes."""
    return {w.lstrip("-") for w in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text)}


def check_same(what, a, b):
    check(a == b and len(a) > 1, f"{what}: only here {sorted(a - b)}, only there {sorted(b - a)}")
