#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of other MPIs that cannot run on this one, because the loader ignores the path it is given (setuid, setgid, capabilities of
the file) or because their MPI is in their file: mpiexec and mpiinfo say so, and say nothing of others."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, IS_SANITIZED, MPIEXEC, Run, check, status

INFO = os.path.join(BUILD, "bin", "mpiinfo")
OTHER = 65534  # no number of a user who runs tests
NOBODY = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]
PROGRAM = """#include <mpi.h>
#include <stdio.h>
#include <sys/auxv.h>
int main(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int len;
    MPI_Get_library_version(text, &len);
    printf("secure %lu\\n", getauxval(AT_SECURE));
    return 0;
}
"""
here = tempfile.mkdtemp()


def write(name, text):
    path = os.path.join(here, name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return path


def set_id(file, user, group, mode):
    os.chown(file, user, group)
    os.chmod(file, mode)


def set_capabilities(file):
    """Raw sockets, in the form of version 2 of vfs_cap_data(7)."""
    os.setxattr(file, "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))


def secure(compiler, change, reason, before=()):
    """The kernel says which programs are secure; those alone get the sentence. before: a command in front."""
    program = os.path.join(here, "program")
    subprocess.run([compiler, "-o", program, write("program.c", PROGRAM)], check=True)
    for is_changed in (False, True):
        if is_changed:
            change(program)
        job, info, as_it_is = (Run(*(*before, tool, *words, program)[1:], tool=(*before, tool)[0])
                               for tool, words in ((MPIEXEC, ("-n", 1)), (INFO, ("--abi",)), (MPIEXEC, ("--abi=none", "-n", 1))))
        is_secure = job.out == "secure 1\n"
        check(is_secure == is_changed or os.statvfs(here).f_flag & os.ST_NOSUID, job)
        check(job.rc == 0 and (f"{program} {reason}, so that the loader ignores LD_LIBRARY_PATH" in job.words) == is_secure, job)
        check(info.rc == is_secure and (f"the program {reason}" in info.out) == is_secure, info)
        check(as_it_is.rc == 0 and as_it_is.err == "", as_it_is)
    os.unlink(program)


def linked_in(mpi, mark):
    """mpi: None: none is in the program."""
    program, source = os.path.join(here, "inside"), write("inside.c", f'#include <stdio.h>\nint main(void) {{ return puts("{mark}") < 0; }}\n')
    for flags, has_mpi in (([], False), (["-static"], mpi is not None), (["-static-pie"], mpi is not None)):
        if subprocess.run(["cc", *flags, "-o", program, source], capture_output=True, check=False).returncode != 0:
            continue  # there is no libc.a
        r = Run("-n", 1, program)
        check(r.rc == 0 and (f"has {mpi} linked into it, so that it cannot run on Pliant MPI" in r.words) == has_mpi, r)
        r = Run("--abi", program, tool=INFO)
        check(r.rc == has_mpi and (f"has {mpi} linked into it" in r.out) == has_mpi, r)


for pair in (("MPICH", "MPIR_CVAR_DEBUG"), ("Open MPI", "OMPI_MCA_btl"), (None, "MPI_Init")):
    linked_in(*pair)
for path in (here, os.path.dirname(here)):
    os.chmod(path, 0o755)  # for the other user
for abi in ("mpich", "openmpi"):
    compiler = f"mpicc.{abi}"
    if shutil.which(compiler) and os.getuid() == 0 and not IS_SANITIZED:  # a program with rights would not find a sanitizer's library
        secure(compiler, lambda file: set_id(file, OTHER, -1, 0o4755), "is setuid")
        secure(compiler, lambda file: set_id(file, -1, OTHER, 0o2755), "is setgid")
        if shutil.which(NOBODY[0]) and subprocess.run([*NOBODY, "test", "-x", MPIEXEC], check=False).returncode == 0:
            secure(compiler, set_capabilities, "has capabilities", NOBODY)
shutil.rmtree(here)
sys.exit(status())
