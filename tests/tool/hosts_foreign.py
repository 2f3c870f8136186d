#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs built by the real mpicc of MPICH and of Open MPI on several virtual hosts, alone and in one world."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import SOURCE, check, sanitizer_flags, status

THERE = [abi for abi in ("mpich", "openmpi") if shutil.which(f"mpicc.{abi}")]
if not THERE:
    print("there is neither mpicc.mpich nor mpicc.openmpi")
    sys.exit(77)
C = open_cluster(2)
here = tempfile.mkdtemp()
programs = [os.path.join(here, abi) for abi in THERE]
for abi, program in zip(THERE, programs):
    subprocess.run([f"mpicc.{abi}", "-g", "-w", *sanitizer_flags(), "-o", program,
                    os.path.join(SOURCE, "tests", "abi", "foreign_job.c")], check=True)
    r = HostRun(C, "--hosts", "vc1:2,vc2:2", "-n", "4", program, "work", timeout=120)
    check(r.rc == 0 and r.out == "right with 4\n", f"{abi}: {r}")
words = [w for program in programs for w in (":", "-n", "2", program, "work")]
r = HostRun(C, "--hosts", "vc1:2,vc2:2", *words[1:], timeout=120)
check(r.rc == 0 and r.out == f"right with {2 * len(programs)}\n", r)
check(not left_behind(C, C.names), "something is left behind")
shutil.rmtree(here)
sys.exit(status())
