#!/usr/bin/env python3
"""A rank that fails: the job ends in time, with its status and one paragraph."""
# ctest: alone
import os
import re
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, IS_SANITIZED, PROBE, SLOW, Run, check, mark, nothing_left, status

HOST = os.uname().nodename


def paragraph(r, *words):
    """Exactly one paragraph of mpiexec, with these words."""
    check(r.err.count("mpiexec: ") == 1, f"not one paragraph: {r}")
    check(all(w in r.words for w in words), f"lacks one of {words}: {r}")


def crash():
    r = Run("-n", 4, PROBE, "init", "barrier", "only", 2, "kill", "SEGV", "end", "sleep", 60)
    check(r.rc == 139 and r.seconds < 25, r)
    paragraph(r, "rank 2 (process ", f" on host {HOST}, program {PROBE})", "signal 11, SIGSEGV",
              "before MPI_Finalize", "3 others", "gdb", "-fsanitize=address", "core")
    r = Run("-n", 2, PROBE, "init", "barrier", "only", 1, "kill", "KILL", "end", "sleep", 60)
    check(r.rc == 137 and "memory" in r.words and "SIGKILL" in r.words, r)
    r = Run("-n", 3, PROBE, "init", "barrier", "kill", "SEGV")
    check(r.rc == 139 and r.err.count("mpiexec: ") <= 3, r)
    # What it printed last comes before the paragraph.
    r = Run("-n", 2, PROBE, "init", "only", 0, "warn", "last words", "kill", "SEGV", "end", "sleep", 60)
    check(r.err.startswith("last words\nmpiexec: rank 0"), r)


def how_fast():
    """From the death of a rank to the end of mpiexec."""
    times = []
    with tempfile.TemporaryDirectory() as here:
        stamp = os.path.join(here, "stamp")
        # Others may use the machine: the best of several tries counts, for each of the two.
        for stubborn in ([], ["ignore", "TERM"]) * 8:
            if len(times) >= 8 and max(min(times[::2]), min(times[1::2])) < 100:
                break
            r = Run("-n", 4, PROBE, "init", *stubborn, "barrier", "only", 3, "stamp", stamp, "exit", 1,
                    "end", "sleep", 60, is_timed=True)
            end = time.time_ns()
            with open(stamp, encoding="ascii") as f:
                times.append((end - int(f.read())) / 1e6)
            check(r.rc == 1 and "rank 3" in r.words, r)
    print(f"job over after a death: median {statistics.median(times):.0f} ms, most {max(times):.0f} ms")
    check(min(times[::2]) < 100 * SLOW, f"{times[::2]} ms")
    check(min(times[1::2]) < 100 * SLOW, f"{times[1::2]} ms when SIGTERM is ignored")


def no_finalize():
    r = Run("-n", 3, PROBE, "init", "barrier", "only", 1, "exit", 0, "end", "sleep", 60)
    check(r.rc == 1 and r.seconds < 25, r)
    paragraph(r, "rank 1", "exit status 0 without having called MPI_Finalize", "MPI_Init")
    r = Run("-n", 3, PROBE, "init", "barrier", "only", 1, "exit", 6, "end", "sleep", 60)
    check(r.rc == 6, r)
    paragraph(r, "rank 1", "exit status 6 without having called MPI_Finalize")
    # Every one of them, as in a program that forgot it.
    r = Run("-n", 3, PROBE, "init", "barrier")
    check(r.rc == 1 and "MPI_Finalize" in r.words, r)


def abort():
    for code, want in ((7, 7), (0, 0), (256, 1), (-1, 255)):
        r = Run("-n", 4, PROBE, "init", "barrier", "only", 3, "print", "before the end", "abort", code,
                "end", "sleep", 60)
        check(r.rc == want and r.seconds < 25, r)
        check(r.out == "before the end\n", f"what was printed before MPI_Abort is lost: {r}")
        paragraph(r, "rank 3", f"ended the job with code {code}: told to")
    for options in ([], ["--profile"])[:1 if IS_SANITIZED else 2]:  # the recorder is no sanitizer's
        r = Run(*options, "-n", 2, os.path.join(BUILD, "tests", "bin", "hang_probe"), "wrong_rank")
        check(r.rc != 0 and re.search(r"an error in MPI_Send, called at hang_probe.c:\d+\.", r.words), r)
    r = Run("-n", 2, "sh", "-c", f"{PROBE} init barrier only 1 abort 3 end sleep 60; sleep 60")
    check(r.rc == 3 and r.seconds < 25, r)
    r = Run(PROBE, "init", "abort", 4)
    check(r.rc == 4, r)


def before_init():
    # It fails before MPI_Init while others are in MPI, or come to it later: they would wait for ever.
    for pause in ("0", "0.3"):
        r = Run("-n", 3, "sh", "-c", f"test $PLIANT_RANK = 1 && exit 5; exec {PROBE} sleep {pause} init"
                " sleep 60")
        check(r.rc == 5 and r.seconds < 25, r)
        paragraph(r, "rank 1", "exit status 5, before MPI_Init")
    r = Run("-n", 2, "sh", "-c", "no-such-command-here")
    check(r.rc == 127 and "127 usually means" in r.words, r)


def go_on():
    r = Run("-n", 3, "--on-failure=continue", PROBE, "init", "barrier", "only", 1, "kill", "SEGV", "end",
            "sleep", "0.3", "print", "done", "final")
    check(r.rc == 139 and r.out == "done\ndone\n", r)
    paragraph(r, "rank 1", "The others go on")
    r = Run("-n", 2, PROBE, "init", "barrier", "final", "only", 1, "exit", 4, "end", "sleep", "0.3",
            "print", "done")
    check(r.rc == 4 and r.out == "done\n", r)


def timeout():
    r = Run("-n", 3, "--timeout", "2", PROBE, "init", "barrier", "only", 0, "final", "exit", 0, "end",
            "sleep", 60)
    check(r.rc == 124 and 2 <= r.seconds < 25, r)
    check("after 2 s" in r.words and "2 are between MPI_Init and MPI_Finalize, 1 ended" in r.words, r)
    r = Run("-n", 2, "--timeout=300ms", "--grace", "0.2", PROBE, "ignore", "TERM", "sleep", 60)
    check(r.rc == 124 and 0.5 <= r.seconds < 25, r)
    r = Run("-n", 2, PROBE, "init", "sleep", 60, env={"MPIEXEC_TIMEOUT": "0.3"})
    check(r.rc == 124 and r.seconds < 25 and "after 0.3 s, the MPIEXEC_TIMEOUT" in r.words, r)
    for none, option in (("-1", ()), ("0", ()), ("", ()), ("0.1", ("--timeout", "10"))):  # the option goes before it
        r = Run("-n", 2, *option, PROBE, "init", *(("sleep", 0.3) if option else ()), "final", env={"MPIEXEC_TIMEOUT": none})
        check(r.rc == 0, f"MPIEXEC_TIMEOUT={none}: {r}")
    for wrong in ("5x", "nan", "x"):
        r = Run("-n", 2, PROBE, env={"MPIEXEC_TIMEOUT": wrong})
        check(r.rc == 2 and f"MPIEXEC_TIMEOUT needs a number of seconds, not '{wrong}'" in r.words, r)
    r = Run("-n", 2, "--timeout", "10", PROBE, "init", "final")
    check(r.rc == 0 and r.seconds < 25, r)


def under_wrappers():
    r = Run("-n", 3, "sh", "-c", f"{PROBE} init barrier only 1 kill SEGV end sleep 60; true")
    check(r.rc in (1, 139) and r.seconds < 25 and "rank 1" in r.words, r)
    # In a session of its own, out of reach of the process group.
    r = Run("-n", 2, "sh", "-c", f"{PROBE} setsid init barrier only 1 kill SEGV end sleep 60; true")
    check(r.rc in (1, 139) and r.seconds < 25, r)
    r = Run("-n", 2, "sh", "-c", "setsid sleep 60 & setsid sleep 60 & kill -9 $$")
    check(r.rc == 137 and r.seconds < 25, r)
    r = Run("-n", 4, "--ranks-per-proc=2", "sh", "-c",
            f"{PROBE} init barrier only 3 kill SEGV end sleep 60 &"
            f"{PROBE} init barrier only 3 kill SEGV end sleep 60 & wait")
    check(r.rc in (1, 139) and r.seconds < 25 and "rank 3" in r.words, r)


env = mark()
os.environ.update(env)
for part in (crash, how_fast, no_finalize, abort, before_init, go_on, timeout, under_wrappers):
    begin = time.monotonic()
    part()
    nothing_left(env, f"{part.__name__}: processes are left")
    print(f"{part.__name__} {time.monotonic() - begin:.2f} s", flush=True)
sys.exit(status())
