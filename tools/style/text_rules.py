"""Rules that the text of one file decides."""
import os
import re

FUNCTION_LIMIT, COLUMNS = 80, 100
SPDX = "// SPDX-License-Identifier: BSD-3-Clause"


def whitespace(root, path):
    data = open(os.path.join(root, path), "rb").read()
    if b"\0" in data or not data:
        return
    for n, line in enumerate(data.split(b"\n"), 1):
        if line != line.rstrip():
            yield n, "blanks at the end of the line"
    if not data.endswith(b"\n"):
        yield data.count(b"\n") + 1, "no line end at the end of the file"


def licence(src):
    if not src.lines or src.lines[0] != SPDX:
        yield 1, f"the first line is not '{SPDX}' (style.py --fix adds it)"


def length(src):
    for n, line in enumerate(src.lines, 1):
        if len(line) > COLUMNS:
            yield n, f"{len(line)} columns; {COLUMNS} are allowed"
    for name, _, begin, _, n_line in src.functions():
        if n_line > FUNCTION_LIMIT:
            yield begin, f"{name} has {n_line} lines; {FUNCTION_LIMIT} are allowed", name


def comments(src):
    for n, token in src.comments:
        if token.startswith("/*"):
            yield n, "a /* comment */: write //"
        elif re.match(r"//+\s*[-=*#~+_]{3,}", token):
            yield n, "a banner: a blank line separates"
        elif re.match(r"//[^\s/]", token):
            yield n, "no blank after //"


def opening(src):
    """The line below the licence begins a sentence that says what the file is for."""
    if src.lines and src.lines[0] == SPDX and not (len(src.lines) > 1 and re.match(r"// \S", src.lines[1])):
        yield 2, "no sentence here that says what the file is for"


def guard(src):
    if not src.path.endswith(".h"):
        return
    m = re.search(r"^#ifndef (\w+)\n#define (\w+)$", src.text, re.M)
    stem = re.sub(r"\W", "_", os.path.basename(src.path)).upper()
    if not m or m.group(1) != m.group(2):
        yield 1, "no guard (#ifndef, #define)"
    elif not (m.group(1).startswith("PLI_") and m.group(1).endswith("_" + stem)):
        yield 1, f"the guard {m.group(1)} should be PLI_<ROOM>_{stem}"


def types(src):
    for m in re.finditer(r"\btypedef\s+(struct|enum|union)\b[^;{]*", src.code):
        # A function pointer is fine, and an alignment cannot be said without a typedef.
        if not re.search(r"\(\*\w+_fn\)|\baligned\(", m.group(0)):
            yield src.line_of(m.start()), f"typedef of a {m.group(1)}: spell the type out"


def jumps(src):
    for m in re.finditer(r"\bgoto\s+(\w+)", src.code):
        if m.group(1) != "fail":
            yield src.line_of(m.start()), f"goto {m.group(1)}: one way out, called fail"
    for m in re.finditer(r"^[ \t]*#[ \t]*define\b(?:.*\\\n)*.*", src.code, re.M):
        if re.search(r"\b(return|goto)\b", m.group(0)) and "{ " not in m.group(0) and \
                not re.search(r"\)\s*\\?\n?\s*\{", m.group(0)):
            yield src.line_of(m.start()), "a macro with a jump inside"


def places(src):
    """Nothing is ever created where a crash would leave it."""
    if os.path.basename(src.path) == "tmpdir.c":  # has a process that removes it after a crash
        return
    for n, text in src.strings:
        if re.search(r"/dev/shm|^\"/tmp|/var/tmp", text):
            yield n, f"{text}: nothing is created there"
    for m in re.finditer(r"\b(shm_open|mkstemp|tmpfile|tempnam|tmpnam|mkdtemp)\s*\(", src.code):
        yield src.line_of(m.start()), f"{m.group(1)}: leaves a file behind after a crash"


def environment(src):
    if os.path.basename(src.path) == "conf.c":
        return
    for m in re.finditer(r"\b(secure_)?getenv\s*\(", src.code):
        yield src.line_of(m.start()), "getenv: a setting is a row of base/conf.def"


def codes(src):
    if src.path.startswith("src/glue/"):
        return
    for m in re.finditer(r"\bMPI_ERR_\w+", src.code):
        yield src.line_of(m.start()), f"{m.group(0)}: MPI codes live in src/glue; use enum pli_err"


HOT = re.compile(r"(?<![.>\w])(malloc|calloc|realloc|free|aligned_alloc|mmap|munmap|pli_log|printf|fprintf|"
                 r"snprintf|pthread_mutex_\w+|pthread_cond_\w+|syscall|read|write|futex|poll|"
                 r"nanosleep|usleep|sched_yield|clock_gettime|pli_futex_\w+|getenv|assert)\s*\(")


def hot(src, cold_names):
    """A file of tools/style/hot: no allocation, system call, mutex or log outside cold functions."""
    own = {name for name, *_ in src.functions()}  # a function of the file's own may be called poll
    for name, signature, begin, body, _ in src.functions():
        if re.search(r"\bcold\b", signature) or name in cold_names:
            continue
        for m in HOT.finditer(body):
            if m.group(1) in own:
                continue
            line = begin + signature.count("\n") + body.count("\n", 0, m.start())
            yield line, f"{name} is on the small-message path and calls {m.group(1)}", name


def cold_names(sources):
    """Functions declared __attribute__((cold)) anywhere."""
    found = set()
    for src in sources:
        for m in re.finditer(r"(\w+)\s*\([^;{}]*\)\s*__attribute__\s*\(\([^;{}]*\bcold\b", src.code):
            found.add(m.group(1))
        for m in re.finditer(r"__attribute__\s*\(\([^()]*\bcold\b[^()]*\)\)[^;{}()]*?(\w+)\s*\(",
                             src.code):
            found.add(m.group(1))
    return found
