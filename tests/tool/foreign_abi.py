#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs built by the real mpicc of MPICH and of Open MPI run on this MPI, alone and in one world."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SOURCE, Run, check, sanitizer_flags, status

WORLD = os.path.join(SOURCE, "tests", "abi", "foreign_world.c")
COMPILERS = {"standard": [os.path.join(BUILD, "bin", "mpicc")], "mpich": ["mpicc.mpich"], "openmpi": ["mpicc.openmpi"]}
THERE = [abi for abi, words in COMPILERS.items() if shutil.which(words[0])]
if THERE == ["standard"]:
    print("there is neither mpicc.mpich nor mpicc.openmpi")
    sys.exit(77)

LACKING = {"mpich": "MPIX_Stream_comm_create_multiplex", "openmpi": "MPI_Session_set_info"}  # functions of later releases that we do not have
SANITIZER = sanitizer_flags()
here = tempfile.mkdtemp()


def build(abi, name, source, *flags):
    to = os.path.join(here, f"{name}.{abi}")
    subprocess.run([*COMPILERS[abi], "-w", "-I", os.path.join(SOURCE, "tests"), *SANITIZER, *flags, "-o", to, source],
                   check=True)
    return to


def write(name, text):
    path = os.path.join(here, name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return path


programs = {abi: build(abi, "world", WORLD) for abi in THERE}
for abi, program in programs.items():
    r = Run("-n", 4, program, f"file.{abi}", program, cwd=here, timeout=120)
    check(r.rc == 0 and r.out == "all is well\n" and r.err == "", f"{abi}: {r}")

# The tool information interface, by the tests of our own.
for abi in THERE[1:]:
    for test in ("tool_interface", "tool_traffic"):
        tool = build(abi, test, os.path.join(SOURCE, "tests", "mpi", test + ".c"))
        r = Run("-n", 2, tool, timeout=120)
        check(r.rc == 0 and r.words == "", f"{abi}: {r}")

# Functions of C++ that MPI calls.
for abi, words in (("mpich", "mpicxx.mpich"), ("openmpi", "mpic++.openmpi")):
    library = {"mpich": "libmpichcxx.so.12", "openmpi": "libmpi_cxx.so.40"}[abi]
    if abi in THERE and shutil.which(words) and library in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout:
        program = os.path.join(here, "cxx." + abi)
        subprocess.run([words, "-w", "-I", os.path.join(SOURCE, "tests"), *SANITIZER, "-o", program, os.path.join(SOURCE, "tests", "abi", "foreign_cxx.cc")], check=True)
        r = Run("-n", 3, program, cwd=here, timeout=120)
        check(r.rc == 0, f"{abi}: {r}")

# Extensions of MPICH.
if "mpich" in THERE:
    r = Run("-n", 2, build("mpich", "extensions", os.path.join(SOURCE, "tests", "abi", "foreign_mpich.c"), "-pthread"), timeout=120)
    check(r.rc == 0 and r.out == "all is well\n" and r.err == "", r)

# In one world: each program has its own ABI, and a spawned one too.
words = []
for abi in THERE + THERE[:1]:
    words += [":", "-n", 1, programs[abi], "file.mixed", programs[THERE[-1]]]
r = Run(*words[1:], cwd=here, timeout=120)
check(r.rc == 0 and r.out == "all is well\n", r)

# Programs at a fixed address have copies of the library's variables; scripts find the library too.
SMALL = write("small.c", """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int n, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (n == 3) {
        puts("three");
    }
    fflush(stdout);
#ifdef LACKS
    extern void lacking(void) __asm__(LACKS);
    lacking();
#endif
    MPI_Finalize();
    return 0;
}
""")
for abi in THERE[1:]:
    fixed = build(abi, "fixed", SMALL, "-no-pie", "-fno-pic")
    r = Run("-n", 3, fixed)
    check(r.rc == 0 and r.out == "three\n" * 3, f"{abi}: {r}")
    for options, rc in ((["--abi", abi], 0), (["--abi=standard"], 2), ([f"--abi={'mpich' if abi == 'openmpi' else 'openmpi'}"], 2)):
        r = Run("-n", 3, *options, fixed)
        check(r.rc == rc and ("three" in r.out) == (rc == 0), f"{abi} {options}: {r}")
    r = Run("-n", 3, "sh", "-c", f"exec {fixed}")
    check(r.rc == 0 and r.out == "three\n" * 3, f"{abi}: {r}")
    r = Run("-n", 2, "--abi=none", fixed)
    check("three" not in r.out, f"{abi}: {r}")
    # What is not there ends the program at its first call, not when it is loaded.
    name = LACKING[abi]
    ours = os.path.join(BUILD, "lib", "pliant", abi, {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}[abi])
    lacks = build(abi, "lacks", SMALL, f'-DLACKS="{name}"', "-Wl,--no-as-needed,--allow-shlib-undefined", ours)
    r = Run("-n", 3, lacks)
    check(r.rc != 0 and "three\n" in r.out and f"{name} was called, which Pliant MPI does not have" in r.words, r)
    # Each of those that the table names.
    calls = build(abi, "calls", write("calls.c", """#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
int main(int argc, char **argv)
{
    int is_begun;
    MPI_Initialized(&is_begun);
    void (*fn)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, argv[argc - 1]);
    if (fn != NULL) {
        fn();
    }
    return 77;
}
"""), "-ldl")
    with open(os.path.join(SOURCE, "api", abi + ".abi"), encoding="ascii") as f:
        names = [line.split()[1] for line in f if line.startswith("lacks ")]
    check(name in names, names)
    for lacking in [*names, "P" + name]:
        r = Run(lacking, tool=calls, env={"LD_LIBRARY_PATH": os.path.dirname(ours)})
        check(r.rc == 1 and f"{lacking.removeprefix('P')} was called, which Pliant MPI does not have" in r.words, f"{lacking}: {r}")
    # The wrong MPI beside the right one.
    other = "libmpi.so.40" if abi == "mpich" else "libmpi.so.12"
    folder = os.path.join(BUILD, "lib", "pliant", "openmpi" if abi == "mpich" else "mpich")
    if not SANITIZER:  # its library would not be the first
        r = Run("-n", 1, "-x", f"LD_PRELOAD={os.path.join(folder, other)}", lacks)
        check(r.rc != 0 and "has loaded a second MPI" in r.words, f"{abi}: {r}")
    # Fortran libraries of other ABIs are not offered.
    fortran = "libmpichfort.so.10" if abi == "mpich" else "libmpi_mpifh.so.20"
    empty = write("empty.c", "int fortran_(void) { return 0; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{fortran}", "-o", os.path.join(here, fortran), empty], check=True)
    needs = build(abi, "fortran", SMALL, "-Wl,--no-as-needed", os.path.join(here, fortran))
    r = Run("-n", 1, needs)
    check(r.rc == 2 and f"needs {fortran}, which Pliant MPI does not offer" in r.words, f"{abi}: {r}")

# A program whose file names the folder of its own MPI, in which the loader looks first.
for abi in THERE[1:]:
    library = {"mpich": "libmpich.so.12", "openmpi": "libmpi.so.40"}[abi]
    own = subprocess.run(["ldd", programs[abi]], capture_output=True, text=True, check=True).stdout
    if library not in own:
        continue
    folder = os.path.join(here, "own." + abi)
    os.mkdir(folder)
    os.symlink(next(line.split("=>")[1].split()[0] for line in own.splitlines() if line.split()[0] == library),
               os.path.join(folder, library))
    for name in (folder, "$ORIGIN/own." + abi):
        rooted = build(abi, "rooted", SMALL, "-Wl,--disable-new-dtags", "-Wl,-rpath," + name)
        if not SANITIZER:  # its library would not be the first
            r = Run("-n", 3, rooted)
            check(r.rc == 0 and r.out == "three\n" * 3, f"{abi}: {r}")
            r = Run("-n", 3, "-x", "LD_PRELOAD=libm.so.6", rooted)
            check(r.rc == 0 and r.out == "three\n" * 3, f"{abi}: {r}")
r = Run("-n", 1, "sh", "-c", "echo ${LD_PRELOAD-none}")
check(r.rc == 0 and r.out == "none\n", r)

# OpenSHMEM is not offered.
if "openmpi" in THERE:
    empty = write("empty.c", "int shmem(void) { return 0; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,liboshmem.so.40", "-o", os.path.join(here, "liboshmem.so.40"), empty], check=True)
    r = Run("-n", 1, build("openmpi", "shmem", SMALL, "-Wl,--no-as-needed", os.path.join(here, "liboshmem.so.40")))
    check(r.rc == 2 and "built with Open MPI (OpenSHMEM): it needs liboshmem.so.40, which Pliant MPI does not offer" in r.words, r)

# What scripts ask ompi_info for.
TOOL = os.path.join(BUILD, "lib", "pliant", "openmpi", "bin", "ompi_info")
for words, said in ((["--version"], "Open MPI v4.1.4 (Pliant MPI "), (["--parsable", "--all"], "mpi_built_with_cuda_support:value:false\n"),
                    (["-c"], "C bindings: yes\n"), ([], "Open MPI: 4.1.4\n"), (["--all"], "MPI_THREAD_MULTIPLE: yes"),
                    (["--path", "bindir", "--parsable"], f"path:bindir:{os.path.join(BUILD, 'bin')}\n")):
    r = Run(*words, tool=TOOL)
    check(r.rc == 0 and said in r.out and r.err == "", r)
r = Run("--no-such", tool=TOOL)
check(r.rc == 1 and "is not an option" in r.err, r)
r = Run("--path", "nowhere", tool=TOOL)
check(r.rc == 1 and "no path is named 'nowhere'" in r.err, r)

# What mpiinfo says of a program; also of one that needs MPI by way of a library only.
INFO = os.path.join(BUILD, "bin", "mpiinfo")
for abi in THERE:
    r = Run("--abi", programs[abi], tool=INFO)
    check(r.rc == 0 and ("the standard ABI: runs" if abi == "standard" else f"/pliant/{abi}/libmpi") in r.out, r)
    if abi != "standard":
        r = Run("--abi=" + os.path.join(here, f"fortran.{abi}"), tool=INFO)
        check(r.rc == 1 and "Pliant MPI does not offer it" in r.out, r)
        between = os.path.join(here, f"libbetween.{abi}.so")
        subprocess.run([*COMPILERS[abi], "-shared", "-fPIC", "-o", between, write("between.c", """#include <mpi.h>
int between(void) { return MPI_Init(0, 0); }
""")], check=True)
        far = os.path.join(here, "far." + abi)
        subprocess.run(["cc", "-o", far, write("far.c", "int between(void); int main(void) { return between(); }\n"), between], check=True)
        r = Run("--abi", far, tool=INFO)
        check(r.rc == 0 and f"/pliant/{abi}/libmpi" in r.out, r)
r = Run("--abi", "/no/such/file", tool=INFO)
check(r.rc == 1 and "No such file" in r.out, r)
r = Run("--abi", write("script", "#!/bin/sh\n"), tool=INFO)
check(r.rc == 0 and "is a script" in r.out and "needs no MPI" in r.out, r)

# A program of the standard ABI does not get the folders; others do, in front of what was there.
show = build("standard", "show", write("show.c", """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    MPI_Init(NULL, NULL);
    const char *path = getenv("LD_LIBRARY_PATH");
    printf("%s\\n", path != NULL ? path : "none");
    return MPI_Finalize();
}
"""))
os.environ.pop("LD_LIBRARY_PATH", None)
r = Run("-n", 1, show)
check(r.rc == 0 and r.out == "none\n", r)
r = Run("-n", 1, "-x", "LD_LIBRARY_PATH=/nowhere", show)
check(r.rc == 0 and r.out == "/nowhere\n", r)
r = Run("-n", 1, "-x", "LD_LIBRARY_PATH=/nowhere", "sh", "-c", "echo $LD_LIBRARY_PATH")
check(r.rc == 0 and "/pliant/mpich:" in r.out and r.out.endswith("/pliant/openmpi:/nowhere\n"), r)

# Programs that look which MPI they have found, as mpi4py's wheels do, are told that these handles are not those of the standard ABI.
ASK = """
import ctypes
for name, world in (("libmpi.so.12", 0x44000000), ("libmpi.so.40", None)):
    lib = ctypes.CDLL(name)
    major, minor = ctypes.c_int(), ctypes.c_int()
    lib.MPI_Abi_get_version(ctypes.byref(major), ctypes.byref(minor))
    if world is None:
        world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(lib, "ompi_mpi_comm_world")))
        lib.MPI_Comm_fromint.restype = ctypes.c_void_p
        is_same = lib.MPI_Comm_fromint(lib.MPI_Comm_toint(world)) == world.value
    else:
        is_same = lib.MPI_Comm_toint(world) == lib.MPI_Comm_fromint(world) == world
    print(major.value, minor.value, is_same)
"""
if not SANITIZER:  # whose library must come first in a program
    r = Run("-n", 1, sys.executable, "-c", ASK)
    check(r.out == "-1 -1 True\n" * 2, r)

# R's start script puts its own folders before LD_LIBRARY_PATH: ours are in the variable it makes them of.
for folder in ("r/bin", "r/lib/R/etc"):
    os.makedirs(os.path.join(here, folder))
write("r/lib/R/etc/ldpaths", "")
script = write("r/bin/Rscript", "#!/bin/sh\necho $R_LD_LIBRARY_PATH, $PMI_RANK of $PMI_SIZE\n")
os.chmod(script, 0o755)
os.environ.pop("R_LD_LIBRARY_PATH", None)
r = Run("-n", 1, script)
check(r.rc == 0 and "/pliant/mpich:" in r.out and r.out.endswith(f"/pliant/openmpi:{os.path.realpath(here)}/r/lib/R/lib, 0 of 1\n"), r)
r = Run("-n", 1, "-x", "R_LD_LIBRARY_PATH=/mine", script)
check(r.rc == 0 and "/pliant/mpich:" in r.out and r.out.endswith("/pliant/openmpi:/mine, 0 of 1\n"), r)
r = Run("-n", 1, "--abi=none", script)
check(r.rc == 0 and r.out == ", 0 of 1\n", r)
shutil.rmtree(here)
sys.exit(status())
