"""The rule about the words that names of files are made of."""
import os
import re

HOUSE_WORDS = 40


def read_field(path):
    words = set()
    for raw in open(path, encoding="utf-8"):
        words |= set(raw.split("#")[0].split())
    return words


def read_house(path):
    """The words of the table: rows of '| word | meaning |' below its head."""
    text = open(path, encoding="utf-8").read()
    rows = re.findall(r"^\| *([^|]+?) *\|[^|]*\|$", text, re.M)
    return [r for r in rows if r != "word" and not r.startswith("-")]


def parts(path):
    stem = os.path.basename(path)[:-2].lower()
    return [p for p in (re.sub(r"\d+$", "", w) for w in stem.split("_")) if p]


def words(sources, field, house):
    if len(house) > HOUSE_WORDS:
        yield "docs/design/words.md", 1, f"{len(house)} house words; {HOUSE_WORDS} are allowed"
    for word in sorted(set(house) & field):
        yield "docs/design/words.md", 1, f"'{word}' is in tools/style/field_words too"
    known = field | set(house)
    for src in sources:
        for word in parts(src.path):
            if word not in known and not (word.endswith("s") and word[:-1] in known):
                yield (src.path, 1, f"'{word}' is neither a word of the field (tools/style/field_words) nor "
                       "a house word (docs/design/words.md)")
