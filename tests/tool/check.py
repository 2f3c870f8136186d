"""mpiexec --check: every kind of mistake is found, with the lines of both sides, and nothing in a program without any."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from lib.launch import BUILD, IS_SANITIZED, Run, check, sanitizer_behind, status

PROBE = os.path.join(BUILD, "tests", "bin", "check_probe")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_probe.c")
# What the argument of the probe finds, where that is not a sentence of the same name.
KINDS = ["type", "changed", "freed", "unmapped", "early-read", "early-write", "receive-overlap", "send-overlap", "receive-into-send", "sendrecv-overlap", "self", "unsafe",
         "ready", "unreceived", "collective", "root", "operation", "collective-type", "alias", "unfinished",
         "request-leak", "file-leak", "race", "thread", "threads-at-once"]
LEAKS = ["comm-leak", "group-leak", "datatype-leak", "op-leak", "info-leak", "errhandler-leak", "window-leak"]


def line_of(mark):
    for n, line in enumerate(open(SOURCE, encoding="utf-8"), 1):
        if re.search(r"// " + re.escape(mark) + "$", line.rstrip()):
            return f"check_probe.c:{n}"
    return None


def said(r, kind):
    return [line for line in r.err.splitlines() if line.startswith("check: rank") and line.endswith(f"[{kind}]")]


def one(kind, argument=None, option="--check", marks=None):
    r = Run(option, "-n", 3, PROBE, argument or kind, env={"TMPDIR": os.environ["TMPDIR"]})
    lines = said(r, kind)
    check(lines, f"{kind} is not found: {r}")
    others = [line for line in r.err.splitlines() if line.startswith("check: ") and line not in lines]
    # A file with half a collective cannot be closed.
    others = [line for line in others if not (argument == "split-unfinished" and line.endswith("[file-leak]"))]
    check(not others or argument == "leaks", f"{kind}: besides {others}")
    check("the data is not what was sent" not in r.err, r)
    for place in filter(None, map(line_of, marks or (f"here: {kind}", f"there: {kind}"))):
        check(any(place + end in line for line in lines for end in " :;,"), f"{kind} names {place}: {lines}")
    return r


def foreign():
    """Programs that were built with other MPIs and run on this one."""
    for compiler in ("mpicc.mpich", "mpicc.openmpi"):
        if shutil.which(compiler) is None or IS_SANITIZED:
            print(f"{compiler}: not tried")
            continue
        with tempfile.TemporaryDirectory() as d:
            program = os.path.join(d, "probe")
            subprocess.run([compiler, "-g", "-pthread", "-w", "-o", program, SOURCE], check=True)
            r = Run("--check", "-n", 3, program, "type")
            check(any(line_of("here: type") in line for line in said(r, "type")), f"{compiler}: {r}")


# Its memory is not the C library's, which would end a program that frees it there.
ALLOCATOR = """
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static char arena[1 << 30], *end = arena;
static void *take(size_t align, size_t n)
{
    char *old = __atomic_load_n(&end, __ATOMIC_RELAXED), *at;
    do {
        at = (char *)(((uintptr_t)old + 16 + align - 1) / align * align);
    } while (!__atomic_compare_exchange_n(&end, &old, at + n, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    ((size_t *)at)[-1] = n;
    return at;
}
void *malloc(size_t n) { return take(16, n); }
void *calloc(size_t n, size_t size) { return take(16, n * size); }
void *memalign(size_t align, size_t n) { return take(align < 16 ? 16 : align, n); }
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
int posix_memalign(void **to, size_t align, size_t n) { *to = memalign(align, n); return 0; }
void free(void *p)
{
    if (p != NULL && ((char *)p < arena || (char *)p >= end)) {
        abort();
    }
}
void *realloc(void *p, size_t n)
{
    void *q = malloc(n);
    size_t had = p != NULL ? ((size_t *)p)[-1] : 0;
    return memcpy(q, p != NULL ? p : q, had < n ? had : n);
}
"""


def other_allocator():
    """A program that has malloc and free of a library of its own, linked or loaded before all others."""
    if IS_SANITIZED:
        print("another allocator: not tried")
        return
    with tempfile.TemporaryDirectory() as d:
        library, program = os.path.join(d, "liballocator.so"), os.path.join(d, "probe")
        with open(os.path.join(d, "a.c"), "w", encoding="ascii") as f:
            f.write(ALLOCATOR)
        subprocess.run(["cc", "-O2", "-w", "-fno-builtin", "-fPIC", "-shared", "-o", library, os.path.join(d, "a.c")], check=True)
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-g", "-pthread", "-w", "-o", program, SOURCE, "-Wl,--no-as-needed", library,
                        f"-Wl,-rpath,{d}"], check=True)
        for words in ((program,), ("-x", f"LD_PRELOAD={library}", PROBE)):
            r = Run("--check", "-n", 3, *words, "fine")
            check(r.rc == 0 and r.err == "", r)
            r = Run("--check", "-n", 3, *words, "freed")
            check(said(r, "freed") and line_of("here: freed") in said(r, "freed")[0], r)


def sanitized():
    """A program with a sanitizer whose library it says to load first, which is done."""
    library = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    if IS_SANITIZED or not os.path.isabs(library):
        print("a sanitizer that is a shared library: not tried")
        return
    with tempfile.TemporaryDirectory() as d:
        program = os.path.join(d, "probe")
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-g", "-fsanitize=address", "-pthread", "-w", "-o", program, SOURCE], check=True)
        r = Run("--check", "-n", 3, "-x", f"LD_PRELOAD={library}", "-x", "ASAN_OPTIONS=detect_leaks=0", program, "type")
        check(any(line_of("here: type") in line for line in said(r, "type")), r)


def inlined():
    """The line is the program's, also where a function of <string.h> was put there by the compiler."""
    if IS_SANITIZED:
        return
    with tempfile.TemporaryDirectory() as d:
        program = os.path.join(d, "probe")
        subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "-g", "-O2", "-D_FORTIFY_SOURCE=2", "-pthread", "-w", "-o", program, SOURCE], check=True)
        r = Run("--check", "-n", 3, program, "early-write")
        check(any(line_of("here: early-write") in line for line in said(r, "early-write")), r)


def main():
    sanitizer_behind()
    r = Run("--check", "-n", 3, PROBE, "fine")
    check(r.rc == 0 and r.err == "", r)
    # Where every message waits for its receive, those of the checker must not.
    for hosts in ("1", "3"):
        for n, program in ((3, "fine"), (2, "notes"), (3, "notes")):
            r = Run("--check", "-n", n, PROBE, program, env={"PLIANT_EAGER_MAX": "0", "PLIANT_FAKE_HOSTS": hosts})
            check(r.rc == 0 and r.err == "", r)
    r = Run("--check=timing", "-n", 1, PROBE, "fine")
    check(r.rc == 0 and r.err == "", r)
    # Each of the programs below, without its mistake.
    for twins in ("twins", "twins-threads"):
        r = Run("--check=timing", "-n", 3, PROBE, twins, env={"TMPDIR": os.environ["TMPDIR"]})
        check(r.rc == 0 and r.err == "", r)
    for kind in KINDS:
        if not (kind in ("freed", "unmapped") and IS_SANITIZED):  # the sanitizer has its own free and munmap
            one(kind)
    one("amount")
    for kind in LEAKS:
        one(kind, "leaks")
    one("type", "type_struct", marks=("here: type_struct", "there: type_struct"))
    one("unsafe", "unsafe-ring", marks=("here: unsafe-ring", "there: unsafe-ring"))
    one("unsafe", "unsafe-early", marks=("here: unsafe-early", "there: unsafe-early"))
    one("race", "own-race", marks=("here: own-race", "there: own-race"))
    one("race", "lock-race", marks=("here: lock-race", "there: lock-race"))
    one("early-write", "early-small", marks=("here: early-small", "there: early-small"))
    one("timing", option="--check=timing")
    for kind, arguments in (("type", ("parts-type", "parts-endpoints")), ("changed", ("file-changed", "split-changed", "coll-changed", "parts-changed")), ("freed", ("file-freed",)),
                            ("receive-overlap", ("file-overlap", "split-overlap")), ("unfinished", ("file-unfinished", "split-unfinished")), ("request-leak", ("parts-leak",))):
        for argument in arguments:
            if not (kind == "freed" and IS_SANITIZED):
                one(kind, argument, marks=("here: " + argument, "there: " + argument))
    r = Run("-n", 3, PROBE, "type")
    check("check:" not in r.err, r)
    r = Run("--check=nonsense", "-n", 1, PROBE)
    check(r.rc != 0 and "--check=nonsense: there is --check" in r.words, r)
    # On three pretended hosts, the notes go over TCP.
    r = Run("--check", "-n", 3, PROBE, "type", env={"PLIANT_FAKE_HOSTS": "3"})
    check(said(r, "type"), r)
    # Ranks of one IMPI client are looked at on communicators of several, too.
    for argument, lines in (("fine-impi", 0), ("type", 1)):
        r = Run("--local", "--check", "-n", 2, PROBE, argument, ":", "--check", "-n", 1, PROBE, argument, tool=os.path.join(BUILD, "bin", "impirun"))
        check(r.rc == 0 and len(said(r, "type")) == lines and r.err.count("check:") == lines, r)
    foreign()
    other_allocator()
    sanitized()
    inlined()
    sys.exit(status())


if __name__ == "__main__":
    main()
