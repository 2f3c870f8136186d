#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""No function that takes a communicator is forgotten where several MPI jobs are one world.

Each is called over several jobs by a program that impi_client.py runs; or is refused there, which
span_refuse.c must show, and called inside a job by one of those programs; or sends nothing.
"""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SOURCE, check, status

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "api"))
import gen  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))

# Cannot be carried.
REFUSED = """Comm_create_endpoints MPIX_Comm_create_endpoints_ranked Psend_init Precv_init MPIX_Comm_agree MPIX_Comm_shrink MPIX_Comm_revoke
MPIX_Comm_iagree MPIX_Comm_ishrink
MPIX_Checkpoint MPIX_World_resize MPIX_Comm_migrate Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect
MPIX_World_resize_with_info MPIX_Plan_create_block MPIX_Plan_create_cyclic MPIX_Plan_create_irregular Win_allocate_shared""".split()

# Have no communicator that could span jobs, and are of use inside each.
INSIDE = """Comm_join Open_port Close_port Publish_name Unpublish_name Lookup_name Comm_get_parent""".split()

# Look at or change what this process has.
LOCAL = """Attr_delete Attr_get Attr_put Comm_delete_attr Comm_set_attr Comm_attach Comm_detach Comm_endpoint_attach
MPIX_Comm_best_endpoints MPIX_Comm_get_process Comm_attach_buffer Comm_detach_buffer Comm_flush_buffer Comm_iflush_buffer Comm_get_info
Comm_set_info Comm_set_name Comm_get_name Comm_call_errhandler Comm_get_errhandler Comm_set_errhandler Errhandler_get
Errhandler_set Comm_get_parent MPIX_Comm_world_at MPIX_Comm_world_version MPIX_Comm_children_at MPIX_Comm_parents_at MPIX_Comm_ack_failed
MPIX_Comm_failure_ack MPIX_Comm_failure_get_acked MPIX_Comm_get_failed MPIX_Comm_is_revoked Topo_test Cart_map
Graph_map Pack_size Comm_toint Comm_c2f""".split()

# Ends the job or is tried elsewhere: MPI_Abort kills (impi.world_lost), restoring is a reduction.
ELSEWHERE = ["Abort", "MPIX_Checkpoint_restore"]


def functions():
    """Name and whether it is implemented, of all that have a communicator that exists."""
    for path in sorted(glob.glob(os.path.join(SOURCE, "api", "*.api"))):
        if os.path.basename(path) in ("constants.api", "types.api"):
            continue
        for f in gen.read_functions(path):
            has_comm = any(p.large == "MPI_Comm" and not p.kind.startswith("out") for p in f.params)
            if has_comm and f.implemented():
                yield f.base


def calls_of(name):
    listed = subprocess.run(["nm", "-D", "--undefined-only", os.path.join(BUILD, "tests", "bin", "mpi." + name)],
                            check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\bMPIX?_\w+", listed))


with open(os.path.join(HERE, "impi_client.py"), encoding="utf-8") as client:
    PROGRAMS = sorted(set(re.findall(r'"((?:span|p2p|coll|comm|topo|dyn)_\w+)"', client.read())))
CALLED = set().union(*(calls_of(p) for p in PROGRAMS if p != "span_refuse"))
WITHIN = CALLED | calls_of("span_refuse")
TABLE = list(functions())
check("span_p2p" in PROGRAMS and "coll_inter" in PROGRAMS, f"programs over several jobs: {PROGRAMS}")
check(len(TABLE) > 150 and "Send" in TABLE and "Comm_split" in TABLE, f"the table: {TABLE}")
with open(os.path.join(SOURCE, "tests", "mpi", "span_refuse.c"), encoding="utf-8") as program:
    SHOWN = set(re.findall(r'"(MPIX?_\w+)"', program.read()))
for name in TABLE:
    full = name if name.startswith("MPIX_") else "MPI_" + name
    if name in REFUSED:
        check(full in WITHIN, f"no program calls {full} inside a job that IMPI joins to others")
        check(full in SHOWN, f"{full} is to be refused on a communicator that spans jobs: span_refuse.c does not show it")
    elif name not in LOCAL and name not in ELSEWHERE:
        check(full in CALLED, f"{full} takes a communicator, but no program calls it over several MPI jobs "
                              f"({', '.join(PROGRAMS)}); one must, or it must be refused there")
for name in INSIDE:
    check("MPI_" + name in CALLED, f"no program calls MPI_{name} inside a job that IMPI joins to others")
sys.exit(status())
