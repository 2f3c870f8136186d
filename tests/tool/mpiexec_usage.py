#!/usr/bin/env python3
"""A wrong command line gets one clear sentence and exit status 2, and nothing is started."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import MPIEXEC, PROBE, Run, check, status

GOOD = (PROBE, "print", "started")
CASES = [
    # command line, words that the sentence must have
    ((), ("no program",)),
    (("-n", "4"), ("no program",)),
    (("-n",), ("-n needs", "N")),
    (("-n", "0", *GOOD), ("whole number", "'0'")),
    (("-n", "-3", *GOOD), ("whole number", "'-3'")),
    (("-n", "two", *GOOD), ("whole number", "'two'")),
    (("-n", "2x", *GOOD), ("'2x'",)),
    (("-n", "99999999999999999999", *GOOD), ("whole number",)),
    (("-np=", *GOOD), ("whole number",)),
    (("-n", "1048576", *GOOD, ":", "-n", "1", *GOOD), ("more than",)),
    (("--ranks-per-proc", "0", *GOOD), ("--ranks-per-proc",)),
    (("-n2", *GOOD), ("'-n2'", "did you mean -n 2?")),
    (("--bnd-to", "core", *GOOD), ("--bnd-to", "--bind-to")),
    (("--timout=4", *GOOD), ("--timeout",)),
    (("-zzzzzzzzz", *GOOD), ("-zzzzzzzzz", "--help")),
    (("--timeout", "soon", *GOOD), ("--timeout", "'soon'")),
    (("--timeout", "0", *GOOD), ("above 0",)),
    (("--timeout", "nan", *GOOD), ("'nan'",)),
    (("--label=yes", *GOOD), ("no value",)),
    (("-env", "A", ":", *GOOD), ("-env needs",)),
    (("-env", "=B", *GOOD), ("variable",)),
    (("-x", "NO_SUCH_VARIABLE_", *GOOD), ("NO_SUCH_VARIABLE_",)),
    (("--stdin", "9", *GOOD), ("rank 9", "0 to 0")),
    (("--stdin", "some", *GOOD), ("'some'",)),
    (("--bind-to", "moon", *GOOD), ("'moon'", "core")),
    (("--map-by", "core:X=2", *GOOD), (":PE=N",)),
    (("--color", "blue", *GOOD), ("auto always never",)),
    (("--on-failure", "cry", *GOOD), ("abort continue restart shrink respawn end",)),
    (("-wdir", "/no/such/place", *GOOD), ("/no/such/place",)),
    (("-wdir", "/etc/passwd", *GOOD), ("not a directory",)),
    (("/no/such/program",), ("no such file", "/no/such/program")),
    (("/tmp",), ("is a directory",)),
    (("no-such-program-at-all",), ("no-such-program-at-all", "PATH")),
    (("4", *GOOD), ("no program 4", "try -n 4")),
    ((".",), (".: it is a directory",)),
    (("./a.c",), ("it is a source", "mpicc -o ./a ./a.c")),
    (("b.f90",), ("it is a source", "mpifort -o b b.f90")),
    (("./c.py",), ("python3 ./c.py",)),
    (("./d.o",), ("not linked", "mpicc -o ./d ./d.o")),
    ((*GOOD, ":"), ("no program",)),
    ((*GOOD, ":", "-n", "1", "/no/such/program"), ("/no/such/program",)),
    (("",), ("no program",)),
]

# Files that people name, of which some never end and others are no text: what is said of each.
FILES = [("/dev/zero", "it is a device, not a file"), (".", "Is a directory"), ("./nuls", "it has NUL bytes: it is no text"),
         ("./large", "it has more than 16 MiB"), ("/dev/fd/9", "it has more than 16 MiB")]


def unreadable(folder):
    """mpiexec reads none of them without an end; descriptor 9 is a pipe whose writer goes on."""
    with open(os.path.join(folder, "nuls"), "wb") as f:
        f.write(b"localhost\n\0\0")
    with open(os.path.join(folder, "large"), "wb") as f:
        f.truncate(1 << 30)
    for name, why in FILES:
        for option, rest in (("--hostfile", GOOD), ("-configfile", ()), ("--join", GOOD)):
            if option == "--join" and name == ".":
                continue  # a word without a slash is a token
            words = ["timeout", "60", "bash", "-c", 'exec 9< <(yes); exec "$@"', "-", MPIEXEC, option, name, *rest]
            p = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            said = " ".join(p.stderr.split())
            check(p.returncode == 2 and p.stdout == "" and f"{name}: {why}" in said, f"{option} {name}: {p}")


def others(folder):
    """The other commands, with a file that never ends."""
    def tool(name):
        return os.path.join(os.path.dirname(MPIEXEC), name)
    device = "it is a device, not a file"
    for words, env, rc, said in (((tool("impirun"), "--join", "/dev/zero", "-n", "1", PROBE), {}, 2, device),
                                 ((tool("upcrun"), "-n", "2", PROBE), {"HOSTS": "/dev/zero"}, 2, device),
                                 ((tool("upcc"), "@/dev/zero"), {}, 1, device),
                                 ((tool("upcc"), "@."), {}, 1, "Is a directory"),
                                 ((tool("mpiinfo"), "--abi", "/dev/zero"), {}, 1, "it is a device or a pipe, not a file"),
                                 ((MPIEXEC, *GOOD), {"PLIANT_TUNE_FILE": "/dev/zero"}, 0, f"is not used: {device}")):
        p = subprocess.run(["timeout", "60", *words], cwd=folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           check=False)
        check(p.returncode == rc and said in " ".join((p.stdout + p.stderr).split()), f"{words} {env}: {p}")


def late_count():
    """Who puts -n behind the program is told so, at a terminal alone, and where -n was not given before it."""
    for before, after, is_told in (((), ("-n", "3"), True), ((), ("-np", "12"), True), (("-n", "1"), ("-n", "3"), False),
                                   ((), ("-n", "3x"), False), ((), ("-n",), False), ((), ("-m", "3"), False)):
        ours, theirs = os.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            p = subprocess.run([MPIEXEC, *before, "true", *after], stdin=subprocess.DEVNULL, stderr=theirs, check=False)
            os.write(theirs, b"end")
            os.close(theirs)
            said = b""
            while not said.endswith(b"end"):
                said += terminal.read(1000)
        said = " ".join(said.decode().split())
        told = f"true gets '{' '.join(after)}' as its own arguments and runs as one rank"
        check(p.returncode == 0 and (told in said if is_told else said == "end"), f"{before} true {after}: {p} {said}")
    r = Run("true", "-n", "3")
    check(r.rc == 0 and r.err == "", r)


def no_exec(folder):
    """Where no program may be run chmod does not help. Only root can mount such a file system."""
    place = os.path.join(folder, "mount")
    os.mkdir(place)
    p = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o noexec none "$1" || exit 78; cp /bin/true "$1"; exec "$2" "$1/true"', "-",
                        place, MPIEXEC], capture_output=True, text=True, check=False)
    if p.returncode == 78 or "unshare failed" in p.stderr:
        print("a file system cannot be mounted here: noexec was not tried")
        return
    check(p.returncode == 2 and "mounted with noexec" in " ".join(p.stderr.split()) and "chmod" not in p.stderr, p)


with tempfile.TemporaryDirectory() as here:
    no_exec(here)
    for name in ("a.c", "b.f90", "c.py", "d.o"):
        with open(os.path.join(here, name), "w", encoding="ascii") as f:
            f.write("text\n")
    unreadable(here)
    others(here)
    late_count()
    for args, words in CASES:
        r = Run(*args, cwd=here)
        check(r.rc == 2 and r.out == "", f"{args}: {r}")
        check(r.err.startswith("mpiexec: ") and len(r.words) < 240, f"{args}: {r}")
        check(all(w in r.words for w in words), f"{args} lacks one of {words}: {r}")
    with open(os.path.join(here, "prog"), "w", encoding="ascii") as f:
        f.write("echo from a script\n")
    r = Run("./prog", cwd=here)
    check(r.rc == 2 and "chmod +x ./prog" in r.words, r)
    r = Run("prog", cwd=here)
    check(r.rc == 2 and "./prog" in r.words, r)
    os.chmod(os.path.join(here, "prog"), stat.S_IRWXU)
    r = Run("-n", 2, "./prog", cwd=here)
    check(r.rc == 0 and r.out == "from a script\n" * 2, r)
    # A program of another MPI, here of a library with the name that it has there. Some are offered (mpich_abi.py).
    with open(os.path.join(here, "other.c"), "w", encoding="ascii") as f:
        f.write("int other(void); int main(void) { return other(); }\n")
    with open(os.path.join(here, "lib.c"), "w", encoding="ascii") as f:
        f.write("int other(void) { return 0; }\n")
    for library, mpi in (("libmpi.so.40", "Open MPI"), ("libmpich.so.12", "MPICH"), ("libmpi.so.12", "MPICH"),
                         ("libmpi_abi.so.0", None), ("libmpi.so.120", "Open MPI"), ("libmpix.so.1", None)):
        subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", library, "lib.c"], cwd=here, check=True)
        subprocess.run(["cc", "-o", "other", "other.c", f"./{library}", f"-Wl,-rpath,{here}"], cwd=here, check=True)
        for args in (("./other",), ("-n", 2, PROBE, "sleep", 60, ":", "./other"), ("-wdir", here, "./other")):
            r = Run("--abi=standard", *args, cwd=here) if mpi else Run("./other", cwd=here)
            check(r.rc == 0 if mpi is None else r.rc == 2 and r.err.startswith(f"mpiexec: ./other was built with {mpi}") and
                  f"needs {library}," in r.words and "--abi=none" in r.words, f"{library}: {r}")
        for option in ("--foreign-mpi", "--abi=none", "--abi none"):
            r = Run("-n", 2, *option.split(), "./other", cwd=here)
            check(r.rc == 0 and r.err == "", r)
        r = Run("-n", 2, "--abi=none", "sh", "-c", "exec ./other", cwd=here)
        check(r.rc == 0, r)
        if library == "libmpi.so.120":  # and there is no such library of ours
            r = Run("./other", cwd=here)
            check(r.rc == 2 and f"needs {library}, which Pliant MPI does not offer" in r.words, r)
    r = Run("--abi=mpc", "./other", cwd=here)
    check(r.rc == 2 and "openmpi" in r.words, r)
    # What can only be found out by trying is said with the rank, and ends the job.
    with open(os.path.join(here, "odd"), "w", encoding="ascii") as f:
        f.write("#!/no/such/interpreter\n")
    os.chmod(os.path.join(here, "odd"), stat.S_IRWXU)
    r = Run("-n", 2, PROBE, "sleep", 60, ":", "-n", 2, "./odd", cwd=here)
    check(r.rc == 1 and "cannot start rank 2" in r.words and "interpreter in its first line" in r.words and r.seconds < 25, r)
    with open(os.path.join(here, "odd"), "wb") as f:
        f.write(b"\177ELF for some other machine")
    r = Run("-n", 2, "./odd", cwd=here)
    check(r.rc == 1 and "built for another kind of machine" in r.words, r)
    # A build or an installation of which a part is missing.
    os.makedirs(os.path.join(here, "lib", "pliant"))
    os.mkdir(os.path.join(here, "bin"))
    shutil.copy(MPIEXEC, os.path.join(here, "bin"))
    for option, library in (("--profile", "trace"), ("--timeline=t", "trace"), ("--check", "check"), ("--record=r", "record"),
                            ("--tool=libc.so.6", "tools")):
        r = Run(option, *GOOD, tool=os.path.join(here, "bin", "mpiexec"), cwd=here)
        check(r.rc == 2 and f"libpliant_{library}.so is not there: build all" in r.words and r.out == "", f"{option}: {r}")
sys.exit(status())
