#!/usr/bin/env python3
"""Makes the Fortran library of another MPI's ABI: the glue of ours, over that MPI's C library, with its names.

usage: gen_abi_fortran.py API_DIR ABI OUT_DIR        ABI: openmpi

OUT_DIR/mpi.h             types, constants and functions of that C library, as far as the glue and fortran/*.c need them
OUT_DIR/fortran_<chapter>.c    ompi_send_f and the other names of each procedure, which calls PMPI_Send
OUT_DIR/fortran_only.c         procedures that C does not have: MPI_SIZEOF for each type and rank, MPI_F_SYNC_REG, MPI_STATUS_F2F08, MPI_STATUS_F082F
docs/design/abi.md explains it.
"""
import os
import re
import sys

import fortran_glue
import fortran_model as model
import gen
import gen_abi

# The types of MPI_SIZEOF and their bytes, as its module names them.
SIZEOF = {"character": 1, "logical": 4, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "real32": 4, "real64": 8,
          "real128": 16, "complex32": 8, "complex64": 16, "complex128": 32}

# Extensions that the Fortran library of Open MPI 5 has.
EXTENSIONS = {f"MPIX_Comm_{name}" for name in ("ack_failed", "agree", "failure_ack", "failure_get_acked", "get_failed", "iagree",
                                               "is_revoked", "revoke", "shrink")}


def header(api, abi, functions):
    out = [f"// {abi.mpi}'s C library, for the Fortran library above it. Generated from the API table and that of the ABI.",
           "#ifndef PLI_FOREIGN_MPI_H", "#define PLI_FOREIGN_MPI_H", "", "#include <stddef.h>", "#include <stdint.h>", ""]
    out += [f"typedef struct {t}_object *{t};" for t in abi.handles]
    out += ["typedef intptr_t MPI_Aint;", "typedef int64_t MPI_Offset, MPI_Count;", "typedef int MPI_Fint;",
            "typedef struct { int MPI_SOURCE, MPI_TAG, MPI_ERROR, is_cancelled; size_t bytes; }",
            "    __attribute__((packed, aligned(4))) MPI_Status;",
            f"_Static_assert(sizeof(MPI_Status) == {abi.status[0]}, \"layout\");", ""]
    for line in gen.table(os.path.join(api, "types.api")):
        what, name, rest = line.split(None, 2)
        if what == "callback" and not name.startswith("MPI_T_"):
            returns, params = rest.split(None, 1)
            out.append(f"typedef {returns} {name}{params};")
    out += ["", "#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function *)0)",
            "#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c *)0)"]
    objects = []
    for name, (ctype, value) in abi.const.items():
        if ctype == "pointer":
            out.append(f"#define {name} ((void *){value})")
        elif value in abi.objects:
            objects.append(value)
            out.append(f"#define {name} (({'MPI_Datatype' if ctype == 'alias' else ctype})(void *)&{value})")
        else:
            out.append(f"#define {name} ({value})")
    out += [f"extern char {symbol}[];" for symbol in sorted(set(objects))]
    for handle in abi.handles:
        base = {"MPI_Datatype": "MPI_Type"}.get(handle, handle)
        out += [f"#define P{base}_fromint P{base}_f2c", f"#define P{base}_toint P{base}_c2f"]
    out += [""] + [f.proto("P", large) + ";" for f in functions for large in f.forms()] + ["", "#endif", ""]
    return "\n".join(out)


def aliases(cname):
    """The names of a procedure besides that of its function, MPI_Send -> mpi_send_ and the others."""
    found = []
    for name in (cname, "P" + cname):
        low = name.lower()
        found += [low, low + "_", low + "__", low.upper(), name + "_f", name + "_f08"]
    return found


def function_name(cname):
    return "o" + cname.lower() + "_f"


def names_of(routine, abi):
    """All names; the first is that of the function."""
    names = []
    for cname in gen_abi.names_of(routine.function, False, abi):
        names += [function_name(cname), *aliases(cname)]
        if any(a.conv == "address" for a in routine.args):  # the module mpi takes TYPE(C_PTR) too
            names += [function_name(cname + "_cptr"), *aliases(cname + "_cptr")]
    return names


def parameters(routine):
    """As fortran_glue has them, but for the lengths of strings: its modules pass ints."""
    declared = [fortran_glue.declare(a) for a in routine.args] + ([] if routine.result else ["int *ierror"])
    return ", ".join(declared + [f"int {a.name}_bytes" for a in routine.args if a.conv in fortran_glue.STRINGS]) or "void"


def function(routine, abi):
    names, params = names_of(routine, abi), parameters(routine)
    returns = routine.function.returns if routine.result else "void"
    lines = [f"{returns} {names[0]}({params});", f"{returns} {names[0]}({params})", "{"]
    lines += [f"    size_t {a.name}_length = {a.name}_bytes > 0 ? (size_t){a.name}_bytes : 0;"
              for a in routine.args if a.conv in fortran_glue.STRINGS]
    lines += fortran_glue.statements(routine, fortran_glue.Body(routine, False, is_own=False), "p") + ["}"]
    lines += [f"__attribute__((weak, alias(\"{names[0]}\"))) {returns} {alias}({params});" for alias in names[1:]]
    return "\n".join(lines) + "\n"


def is_there(routine, abi):
    """Whether the C library has all that a routine needs."""
    handles = [a.handle for a in routine.args if a.conv in ("handle", "later")]
    return not routine.large and gen_abi.is_wrapped(routine.function, abi) and \
        (not routine.name.startswith("MPIX_") or routine.name in EXTENSIONS) and \
        all(f"MPI_{model.HANDLE_TYPES[h].upper()}_NULL" in abi.fortran for h in handles)


def source(chapter, routines, abi):
    out = [f"// The Fortran procedures of {chapter}.api as {abi.mpi} has them. Generated from the API table.",
           '#include "fortran/argument.h"', '#include "fortran/attribute.h"', '#include "fortran/callback.h"', '#include "fortran/missing.h"', "",
           "#include <stdlib.h>", ""]
    return "\n".join(out + [function(r, abi) for r in routines])


def only_source(abi):
    out = [f"// The procedures of {abi.mpi} that only Fortran has. Generated.", "#include <stddef.h>", "#include <string.h>", "",
           "void ompi_f_sync_reg_f(void *buf);", "void ompi_f_sync_reg_f(void *buf)", "{",
           "    (void)buf; // that it was called is enough: the compiler believes that the buffer changed", "}",
           *(f"__attribute__((weak, alias(\"ompi_f_sync_reg_f\"))) void {name}(void *buf);" for name in aliases("MPI_F_sync_reg"))]
    # A TYPE(MPI_Status) has the bytes of the INTEGERs.
    for cname in ("MPI_Status_f2f08", "MPI_Status_f082f"):
        first, params = function_name(cname), "(const void *from, void *to, int *ierror)"
        out += [f"void {first}{params};", f"void {first}{params}", f"{{\n    memcpy(to, from, {abi.status[0]});\n"
                "    if (ierror != NULL) {\n        *ierror = 0;\n    }\n}"]
        out += [f"__attribute__((weak, alias(\"{first}\"))) void {name}{params};" for name in aliases(cname)]
    for word, size in SIZEOF.items():
        body = ("{\n    (void)x;\n" f"    *size = {size};\n" "    if (ierror != NULL) {\n        *ierror = 0;\n    }\n}")
        params, first = "(const void *x, int *size, int *ierror)", f"mpi_sizeof_{word}_scalar_"
        out += [f"void {first}{params};", f"void {first}{params}", body]
        names = [f"{p}mpi_sizeof_{word}_{rank}_" for p in ("", "p") for rank in ["scalar"] + [f"r{i}" for i in range(1, 16)]]
        out += [f"__attribute__((weak, alias(\"{first}\"))) void {name}{params};" for name in names if name != first]
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    api, which, out = sys.argv[1:]
    abi = gen_abi.Abi(os.path.join(api, which + ".abi"))
    routines = [r for r in model.routines(api) if is_there(r, abi)]
    skip = {"constants.api", "types.api", "tools.api", "handle.api"}
    needed = []
    for chapter in sorted(n[:-4] for n in os.listdir(api) if n.endswith(".api")):
        if chapter + ".api" not in ("constants.api", "types.api"):
            needed += [f for f in gen.read_functions(os.path.join(api, chapter + ".api"))
                       if gen_abi.is_wrapped(f, abi) and not re.search(r"\bMPI_T_", f.proto("", False))]
        if chapter + ".api" not in skip:
            those = [r for r in routines if r.chapter == chapter]
            gen.write(os.path.join(out, f"fortran_{chapter}.c"), source(chapter, those, abi))
    gen.write(os.path.join(out, "mpi.h"), header(api, abi, needed))
    gen.write(os.path.join(out, "fortran_only.c"), only_source(abi))


if __name__ == "__main__":
    main()
