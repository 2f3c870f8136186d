"""The rules about the words that names of files and identifiers are made of."""
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


def read_retired(path):
    """Word -> what is meant by it, of lines "word  meaning"."""
    rows = (raw.split("#")[0].split(None, 1) for raw in open(path, encoding="utf-8"))
    return {row[0]: row[1].strip() for row in rows if len(row) == 2}


# Comments and messages say which process, rank or user is meant.
VAGUE = re.compile(r"\b(somebody|someone|nobody|everybody|anybody|the own)\b", re.I)
PLAIN = ("launcher/", "tools/")  # where no such word is left


def retired(sources, words):
    for src in sources:
        seen = set()
        for m in re.finditer(r"[A-Za-z_]\w+", src.code):
            name = m.group(0)
            for word in set(name.lower().split("_")) & set(words) if name not in seen else ():
                seen.add(name)
                yield (src.path, src.line_of(m.start()),
                       f"{name}: '{word}' is retired (tools/style/retired_words): {words[word]}", name)
        if src.path.startswith(PLAIN):
            for line, text in src.comments + src.strings:
                m = VAGUE.search(text)
                if m:
                    yield src.path, line, f"'{m.group(1)}': name the process, rank or user", None
