#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/security.md: every row and sentence that says what is protected, and every sentence on what others can do, names the tests that try it, and those are there.
A mark is <!-- test: FILE FUNCTION, FILE FUNCTION -->, behind the sentence."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import SOURCE, check, status

MARK = re.compile(r"<!-- test: (.*?) -->", re.S)


def section(text, title):
    return text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def without_mark(text):
    """Sentences of paragraphs behind which there is no mark."""
    bad = []
    for paragraph in text.strip().split("\n\n"):
        pieces = re.split(r"(?<=\.)\s+", " ".join(MARK.sub("MARK", paragraph).split()))
        bad += [one for one, follows in zip(pieces, [*pieces[1:], ""]) if one.endswith(".") and not follows.startswith("MARK")]
        bad += [one for one in pieces[-1:] if not one.endswith("MARK")]
    return list(dict.fromkeys(one.removeprefix("MARK ") for one in bad))


with open(os.path.join(SOURCE, "docs", "security.md"), encoding="utf-8") as f:
    page = f.read()
rows = [line for line in section(page, "What is protected").split("\n") if line.startswith("|")][2:]
check(len(rows) >= 8, f"{len(rows)} rows are there")
for row in rows:
    check(MARK.search(row), f"a row names no test: {row}")
protected = "\n".join(line for line in section(page, "What is protected").split("\n") if not line.startswith("|"))
others = section(page, "What others can and cannot do")
for sentence in without_mark(protected) + without_mark(others):
    check(False, f"a sentence names no test: {sentence}")
check(without_mark("He can. <!-- test: a b -->\nHe cannot.\n") == ["He cannot."] and without_mark("He can. He cannot. <!-- test: a b -->") == ["He can."],
      "a sentence without a mark is not found")

names = [name.strip() for mark in MARK.findall(page) for name in mark.split(",")]
check(len(names) > 25, f"{len(names)} tests are named")
for name in names:
    path, _, function = name.partition(" ")
    try:
        with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
            text = f.read()
    except OSError as e:
        check(False, f"{name}: {e.strerror}")
        continue
    # It is defined, and named once more: by who runs it.
    is_there = re.search(rf"^(def|static void) {function}\(", text, re.M) and len(re.findall(rf"\b{function}\b", text)) > 1
    check(is_there or (function.startswith("case_") and f"def {function}(" in text), f"{path} has no {function}, or does not run it")
sys.exit(status())
