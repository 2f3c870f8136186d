"""Compares our mpi.h with the standard's data: every type, constant and signature, by compiling C.

The data is tests/data/mpi-5.0.json. The generated program assigns each function to a pointer of
the type the standard gives it, and compares each constant's value and type when it runs.
"""
import json
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["SOURCE_DIR"], os.environ["BUILD_DIR"]
DATA = json.load(open(os.path.join(SOURCE, "tests", "data", "mpi-5.0.json"), encoding="utf-8"))
STRICT = ["-std=c17", "-Wall", "-Wextra", "-Werror", "-pedantic-errors"]


def params(function):
    return ", ".join(p["ctype"] for p in function["params"]) or "void"


def signatures(lines):
    n = 0
    for f in DATA["functions"]:
        for prefix in ("", "P"):
            name = f["name"].replace("MPI_", prefix + "MPI_", 1)
            lines.append(f"extern {f['returns']} (*want_{n})({params(f)}); "
                         f"__extension__ _Static_assert(__builtin_types_compatible_p("
                         f"__typeof__(&{name}), __typeof__(want_{n})), \"{name}\");")
            n += 1
    for c in DATA["callbacks"]:
        lines.append(f"typedef {c['returns']} want_{c['name']}({c['params']}); "
                     f"__extension__ _Static_assert(__builtin_types_compatible_p("
                     f"{c['name']} *, want_{c['name']} *), \"{c['name']}\");")
    return n


def types(lines):
    for t in DATA["types"]:
        if t["kind"].startswith("handle"):
            lines.append(f"struct {t['tag']}; extern {t['name']} h_{t['name']}; "
                         f"__extension__ _Static_assert(__builtin_types_compatible_p("
                         f"{t['name']}, struct {t['tag']} *), \"{t['name']}\");")
        elif t["kind"] == "integer":
            lines.append(f"__extension__ _Static_assert(__builtin_types_compatible_p("
                         f"{t['name']}, {t['c']}), \"{t['name']}\");")
        else:
            lines.append("struct want_status { " + "; ".join(t["fields"]) + "; };")
            lines.append(f"_Static_assert(sizeof({t['name']}) == sizeof(struct want_status), \"\");")
            for field in t["fields"]:
                member = field.split()[-1].split("[")[0]
                lines.append(f"_Static_assert(offsetof({t['name']}, {member}) == "
                             f"offsetof(struct want_status, {member}), \"{member}\");")


def constants(lines):
    for c in DATA["constants"]:
        name, ctype, value = c["name"], c["ctype"], c["value"]
        if ctype == "alias":
            lines.append(f"    CHECK({name} == {value}, \"{name}\");")
        else:
            lines.append(f"    CHECK((long long)(intptr_t)({name}) == {value}, \"{name}\");")
            lines.append(f"    CHECK(_Generic(({name}), {ctype}: 1, default: 0), \"type of {name}\");")


def program():
    lines = ["#include <mpi.h>", "#include <stdint.h>", "#include <stdio.h>", "#include <stddef.h>"]
    types(lines)
    n = signatures(lines)
    lines += ["static int n_bad, n_good;", "static void check(int ok, const char *what)", "{",
              "    ok ? n_good++ : n_bad++;", "    if (!ok) {",
              '        printf("differs: %s\\n", what);', "    }", "}",
              "#define CHECK(ok, what) check((ok), (what))", "int main(void)", "{"]
    constants(lines)
    lines += [f'    printf("{n} signatures, %d checks of constants\\n", n_good);',
              "    return n_bad != 0;", "}", ""]
    return "\n".join(lines)


def run(words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(words)}\n{done.stdout[-4000:]}")
    return done.stdout


def exports():
    """What the library exports is in the standard's data or in our own table, and comes twice."""
    known = set()
    for line in open(os.path.join(BUILD, "gen", "coverage.def"), encoding="utf-8"):
        name, _, there = [w.strip(' "') for w in line[line.index("(") + 1:line.index(")")].split(",")]
        if there == "1":
            known.add(name)
    library = os.path.join(BUILD, "lib", "libmpi_abi.so")
    got = {w.split()[2] for w in run(["nm", "-D", "--defined-only", library]).splitlines()
           if len(w.split()) == 3}
    # What compiled UPC programs call, the libraries with other MPIs' ABIs, and the recorder of --profile.
    got = {name for name in got if not name.startswith(("pli_upc_", "pli_std_MPI", "pli_handle_", "pli_user_calls", "pli_grequest_poll_by", "pli_cursor_type_iov", "pli_observe_"))}
    got -= {"MPIR_dll_name", "pli_debug_layout"}  # for debuggers
    want = known | {n.replace("MPI", "PMPI", 1) for n in known}
    # The variables of the standard that the ABI leaves out, because they point into a Fortran program.
    want |= {f"MPI_{form}_STATUS{many}_IGNORE" for form in ("F", "F08") for many in ("", "ES")}
    if got != want:
        sys.exit(f"failed: exported but not in the table: {sorted(got - want)[:9]}; "
                 f"in the table but not exported: {sorted(want - got)[:9]}")
    return len(known)


def main():
    include = os.path.join(BUILD, "gen", "include")
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        source, binary = os.path.join(folder, "abi.c"), os.path.join(folder, "abi")
        with open(source, "w", encoding="utf-8") as out:
            out.write(program())
        run(["cc"] + STRICT + ["-I" + include, source, "-o", binary])
        print(run([binary]), end="")
        header = os.path.join(folder, "header.h")
        with open(header, "w", encoding="utf-8") as out:
            out.write("#include <mpi.h>\nMPI_Comm world(void);\nMPI_Comm world(void) { return MPI_COMM_WORLD; }\n")
        for words in (["cc", "-x", "c", "-ansi"], ["cc", "-x", "c", "-std=c99"], ["c++", "-x", "c++", "-std=c++98"],
                      ["c++", "-x", "c++"]):
            run(words + ["-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-fsyntax-only", "-I" + include, header])
    print(f"{exports()} functions exported as MPI_ and PMPI_")


main()
