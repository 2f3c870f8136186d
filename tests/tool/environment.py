#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs work wherever they are started: paths with blanks, no home or one of another user, any locale, closed files, no TMPDIR or a full one,
a folder that is gone, as nobody, with few open files."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SOURCE, Run, check, sanitizer_flags, status

PROBE = os.path.join(BUILD, "tests", "bin", "environment_probe")
ENV = shutil.which("env")
FOLDER = "a folder, with 'quotes' \" and blänks"


def said(comma="."):
    return [f"sum 1 half 0{comma}5 nobody came"] * 2


def check_job(what, *before, comma=".", **more):
    """Two ranks run, behind these words of env."""
    r = Run(*before, MPIEXEC, "-n", 2, PROBE, tool=ENV, **more)
    check(r.rc == 0 and sorted(r.out.splitlines()) == said(comma) and r.err == "", f"{what}: {r}", depth=2)


def check_homes(d):
    """HOME unset, empty, absent, not a folder, and one in which not even root can write."""
    bare = ("-u", "HOME", "-u", "XDG_CONFIG_HOME", "-u", "XDG_CACHE_HOME")
    check_job("no HOME", *bare)
    for home in ("", "/no/such/folder", "/dev/null", "/proc", "relative"):
        check_job(f"HOME={home}", *bare, f"HOME={home}")
        r = Run(*bare, f"HOME={home}", os.path.join(BUILD, "bin", "mpiinfo"), "--settings", tool=ENV)
        check(r.rc == 0 and "PLIANT_NET" in r.out and r.err == "", f"mpiinfo with HOME={home}: {r}")
    home = os.path.join(d, "home")
    os.mkdir(home)
    check_job("a home of its own", *bare[2:], f"HOME={home}")
    check(os.listdir(home) == [], f"a job leaves {os.listdir(home)} in the home")


def check_blanks(d):
    """The program, the working directory, files of options and of output; mpicc, its source and what it builds."""
    here = os.path.join(d, FOLDER)
    os.mkdir(here)
    shutil.copy(PROBE, os.path.join(here, "a program"))
    for words, cwd in (((os.path.join(here, "a program"),), d), (("./a program",), here), (("-wdir", here, "./a program"), d),
                       (("-path", here, "a program"), d)):
        r = Run("-n", 2, *words, cwd=cwd)
        check(r.rc == 0 and sorted(r.out.splitlines()) == said(), f"{words}: {r}")
    r = Run("-n", 2, "-outfile-pattern", os.path.join(here, "out %r"), "--hostfile", os.path.join(here, "the hosts"), "./a program", cwd=here)
    check(r.rc == 2 and "the hosts" in r.words, r)
    with open(os.path.join(here, "the hosts"), "w", encoding="utf-8-sig") as f:  # with the mark that some editors write
        f.write("localhost:2\n")
    r = Run("-outfile-pattern", os.path.join(here, "out %r"), "--hostfile", os.path.join(here, "the hosts"), "./a program", cwd=here)
    with open(os.path.join(here, "out 1"), encoding="utf-8") as f:
        check(r.rc == 0 and r.out == "" and f.read().splitlines() == said()[:1], r)
    shutil.copy(os.path.join(SOURCE, "tests", "tool", "environment_probe.c"), os.path.join(here, "the source.c"))
    r = Run(*sanitizer_flags(), "-o", "built here", "the source.c", tool=os.path.join(BUILD, "bin", "mpicc"), cwd=here)
    check(r.rc == 0, r)
    r = Run("-n", 2, "./built here", cwd=here)
    check(r.rc == 0 and sorted(r.out.splitlines()) == said(), r)


def check_locales(d):
    """Numbers are read and written in the same way everywhere, also where a half is 0,5."""
    for name in ("C", "C.UTF-8", "xx_YY.UTF-8", ""):
        check_job(f"LC_ALL={name}", f"LC_ALL={name}", f"LANG={name}")
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(d, "de_DE.UTF-8")], capture_output=True, check=False)
    if made.returncode != 0:
        print("a locale with decimal commas is not tried: the sources of locales are not installed (Debian: locales)")
        return
    german = (f"LOCPATH={d}", "LC_ALL=de_DE.UTF-8")
    check_job("a locale with commas", *german, comma=",")
    r = Run(*german, MPIEXEC, "--timeout", "0.5", "-n", 1, "sleep", "600", tool=ENV)
    check(r.rc != 0 and "0.5" in r.words, r)


def check_files():
    """Standard input, output and error that are closed; a folder for temporary files that is not there."""
    words = subprocess.list2cmdline([MPIEXEC, "-n", "2", PROBE])
    for closed, want in (("<&-", said()), ("2>&-", said()), (">&-", []), ("<&- >&- 2>&-", [])):
        r = Run("-c", f"{words} {closed}", tool="/bin/sh")
        check(r.rc == 0 and sorted(r.out.splitlines()) == want, f"{closed}: {r}")
    check_job("no TMPDIR", "-u", "TMPDIR")
    check_job("a TMPDIR that is not there", "TMPDIR=/no/such/folder")


def check_folders(d):
    """A working directory that was removed; a folder for temporary files in which nothing can be written."""
    mpicc = os.path.join(BUILD, "bin", "mpicc")
    source = os.path.join(SOURCE, "tests", "tool", "environment_probe.c")
    r = Run("-c", f"mkdir gone && cd gone && rmdir ../gone && exec {MPIEXEC} -n 2 {PROBE}", tool="/bin/sh", cwd=d)
    check(r.rc == 0 and sorted(r.out.splitlines()) == said() and r.err == "", f"a folder that is gone: {r}")
    spawner = os.path.join(BUILD, "tests", "bin", "spawn_probe")
    for words, want in ((f"{MPIEXEC} -n 1 {spawner} spawn 2", "child 1 of 2"), (f"{spawner} spawn 2", "child 1 of 2"),
                        (f"{spawner} spawn 1 program=./a", "there is no program ./a in the current directory, which was removed"),
                        (f"{spawner} spawn 1 wdir=..", "hint wdir is '..', below a directory that was removed")):
        r = Run("-c", f"mkdir gone && cd gone && rmdir ../gone && exec {words}", tool="/bin/sh", cwd=d)
        check(r.rc == 0 and want in r.out and r.err == "", f"a folder that is gone, {words}: {r}")
    if os.geteuid() != 0:
        print("a full TMPDIR and another user are not tried: that needs root")
        return
    full = os.path.join(d, "full")
    os.mkdir(full)
    script = f"mount -t tmpfs -o size=4k none {full} && {{ head -c 8192 /dev/zero >{full}/x 2>/dev/null; cd {d}; TMPDIR={full} exec \"$@\"; }}"
    r = Run("-m", "sh", "-c", script, "sh", MPIEXEC, "-n", 2, PROBE, tool="unshare")
    if "mount" in r.err or "unshare" in r.err:
        print(f"a full TMPDIR is not tried: {r.err}")
    else:
        check(r.rc == 0 and sorted(r.out.splitlines()) == said() and r.err == "", f"a full TMPDIR: {r}")
        r = Run("-m", "sh", "-c", script, "sh", mpicc, "-c", "-save-temps=obj", "-o", f"{full}/probe.o", source, tool="unshare")
        check(r.rc != 0 and "No space left" in r.err, f"mpicc and a full TMPDIR: {r}")
    check_nobody(d)


def check_nobody(d):
    """A user without a home, in the home of another, where he may not even look."""
    nobody = ("--reuid=65534", "--regid=65534", "--clear-groups")
    if Run(*nobody, "test", "-x", PROBE, tool="setpriv", cwd="/").rc != 0:
        print("nobody is not tried: the build folder is not for all")
        return
    for home in (d, "/nonexistent"):
        r = Run(*nobody, ENV, "-u", "TMPDIR", f"HOME={home}", MPIEXEC, "-n", 2, PROBE, tool="setpriv", cwd="/")
        check(r.rc == 0 and sorted(r.out.splitlines()) == said() and r.err == "", f"nobody at {home}: {r}")


def check_few_files():
    """A limit of open files that is too small is named, with what is needed."""
    r = Run("-c", f"ulimit -n 16 && exec {MPIEXEC} -n 2 {PROBE}", tool="/bin/sh")
    check(r.rc == 1 and "only 16 are allowed" in r.words and "ulimit" in r.words, r)
    r = Run("-c", f"ulimit -n 64 && exec {MPIEXEC} -n 2 {PROBE}", tool="/bin/sh")
    check(r.rc == 0 and sorted(r.out.splitlines()) == said() and r.err == "", r)


def check_mistyped():
    """A mistyped setting is told once for a job, and by a program without mpiexec."""
    for words, said_of in (((ENV, "PLIANT_EGER_MAX=1", MPIEXEC, "-n", 4, PROBE), ["unknown setting PLIANT_EGER_MAX"]),
                           ((ENV, "PLIANT_NOD=1", MPIEXEC, "-n", 2, "--elastic", "1:4", PROBE), ["unknown setting PLIANT_NOD "]),
                           ((MPIEXEC, "-n", 4, "-x", "PLIANT_EGER_MAX=1", "-x", "PLIANT_NET=nut", PROBE),
                            ["unknown setting PLIANT_EGER_MAX", "PLIANT_NET=nut is not one of"]),
                           ((MPIEXEC, "-n", 1, "-env", "PLIANT_NOD", "1", PROBE, ":", "-n", 2, "-env", "PLIANT_NOD", "1", PROBE),
                            ["unknown setting PLIANT_NOD "]),
                           ((ENV, "PLIANT_EGER_MAX=1", PROBE), ["unknown setting PLIANT_EGER_MAX"])):
        r = Run(*words[1:], tool=words[0])
        lines = r.err.splitlines()
        check(r.rc == 0 and len(lines) == len(said_of) and all(w in line for w, line in zip(said_of, lines)), r)


with tempfile.TemporaryDirectory() as top:
    check_homes(top)
    check_blanks(top)
    check_locales(top)
    check_files()
    check_folders(top)
    check_few_files()
    check_mistyped()
sys.exit(status())
