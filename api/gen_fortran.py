#!/usr/bin/env python3
"""Makes the Fortran interfaces of the API table: the C glue, mpif.h and the module mpi.

usage: gen_fortran.py API_DIR OUT_DIR

OUT_DIR/glue/glue_<chapter>.c    mpi_send_ and its like, which call MPI_Send
OUT_DIR/glue/pglue_<chapter>.c   pmpi_send_ and its like, which call PMPI_Send
OUT_DIR/include/mpif.h           valid in fixed and in free form
OUT_DIR/module/mpi.f90           the module mpi, behind its constants (mpi_constants)
OUT_DIR/module/mpi_address.f90   the same for compilers that hand over buffers by address, and mpi_sizeof_kinds.f90 for it
docs/design/fortran.md says how arguments are converted; fortran_model.py what each of them is.
"""
import os
import sys

import fortran_glue
import fortran_model as model
import fortran_module
import gen


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    api, out = sys.argv[1:]
    all_routines = model.routines(api)
    skip = ("constants", "types")
    for chapter in sorted(n[:-4] for n in os.listdir(api) if n.endswith(".api") and n[:-4] not in skip):
        those = [r for r in all_routines if r.chapter == chapter]
        for prefix in ("", "p"):
            gen.write(os.path.join(out, "glue", f"{prefix}glue_{chapter}.c"), fortran_glue.source(chapter, those, prefix))
    constants = list(model.constants(api))
    gen.write(os.path.join(out, "include", "mpif.h"), fortran_module.header(constants, all_routines))
    gen.write(os.path.join(out, "module", "mpi.f90"), fortran_module.module(constants, all_routines))
    gen.write(os.path.join(out, "module", "mpi_address.f90"), fortran_module.module(constants, all_routines, by_descriptor=False))
    gen.write(os.path.join(out, "module", "mpi_sizeof_kinds.f90"), fortran_module.sizeof_module())


if __name__ == "__main__":
    main()
