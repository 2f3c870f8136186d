"""The collectives of the API table: the forms of each, and the adapters between entry points and src/coll.

A stanza with the line `collective` describes a blocking collective. forms() makes the nonblocking and the
persistent function of it; files() writes build/gen/coll: the adapters, each of which puts its arguments
into a struct pli_coll_args and hands them to coll_run.c, and the list of all collectives (coll_kind).
"""

# By kind of a parameter that has a side: the field of struct pli_blocks, and the type that an adapter gets.
FIELDS = {
    "buffer": ("buf", None), "count?": ("count", "MPI_Count "), "counts": ("counts", "struct pli_ints "),
    "displs": ("displs", "struct pli_ints "), "datatype?": ("type", "struct pli_datatype *"),
    "datatypes": ("types", "const MPI_Datatype *"),
}
# The other parameters: the type that an adapter gets.
OTHERS = {
    "root": "int ", "op": "struct pli_op *", "comm": "struct pli_comm *", "info": "struct pli_info *",
    "out:request": "struct pli_request **",
}
REQUEST = "    out:request         request                 MPI_Request *"
INFO = "    info                info                    MPI_Info"
# A form: the file of its adapters, what it adds to the parameters and to the manual, and how its adapters run it.
FORMS = {
    "coll": ([], "", [], "pli_coll_run_now(&a)"),
    "icoll": ([REQUEST], ", nonblocking",
              ["It goes on inside any MPI call of this process and ends with MPI_Wait or MPI_Test."],
              "pli_coll_run_begin(&a, false, request)"),
    "pcoll": ([INFO, REQUEST], ", persistent request",
              ["The request is begun with MPI_Start, any number of times, and freed with MPI_Request_free."],
              "pli_coll_run_begin(&a, true, request)"),
}
TITLES = {
    "coll": "Blocking collectives. [MPI-5.0 6, 8.6]",
    "icoll": "Nonblocking collectives: all of them are schedules. [MPI-5.0 6.12, 8.7]",
    "pcoll": "Persistent collectives: the request keeps the schedule. [MPI-5.0 6.13, 8.8]",
}
MADE = "// Generated from the API table."


def name_of(base, form):
    if form == "icoll":
        return "I" + base[0].lower() + base[1:]
    return base + ("_init" if form == "pcoll" else "")


def forms(head, lines):
    """The stanzas (head, lines, form) that one of the table stands for."""
    if ["collective"] not in [line.split() for line in lines]:
        yield head, lines, None
        return
    rest = [line for line in lines if not line.split()[0] in ("doc", "collective")]
    docs = [line.strip()[3:].strip() for line in lines if line.split()[0] == "doc"]
    for form, (params, title, more, _) in FORMS.items():
        said = [docs[0] + title] + docs[1:2] + more + docs[2:]
        call = f"    call pli_{form}_{head.lower()}"
        yield name_of(head, form), rest + params + [call] + ["    doc " + d for d in said], form


def wrapped(begin, parts, end):
    """begin, parts with commas between, end; as lines of at most 100 columns."""
    lines, line = [], begin
    for i, part in enumerate(parts):
        part += end if i == len(parts) - 1 else ","
        if len(line) + 1 + len(part) > 100:
            lines.append(line)
            line = " " * len(begin) + part
        else:
            line += part if line == begin else " " + part
    return "\n".join(lines + [line])


def prototype(f, end):
    params = []
    for p in f.params:
        ctype = FIELDS[p.kind][1] if p.side else OTHERS[p.kind]
        params.append(p.decl(False) if ctype is None else ctype + p.name)
    return wrapped(f"enum pli_err {f.call[0]}(", params, ")" + end)


def side_of(f, side):
    fields = [f".{FIELDS[p.kind][0]} = {p.name}" for p in f.params if p.side == side]
    return [wrapped(f"        .{side} = {{ ", fields, " },")] if fields else []


def adapter(f):
    has = {p.kind for p in f.params}
    kind = f.call[0].split("_", 2)[2].upper()
    out = [prototype(f, ""), "{", "    struct pli_coll_args a = {", f"        .kind = PLI_COLL_{kind},"]
    out += ["        .root = root,"] if "root" in has else []
    out += side_of(f, "send") + side_of(f, "recv")
    out += ["        .op = op,"] if "op" in has else []
    out += ["        .comm = comm,", "    };"]
    out += ["    (void)info; // a collective knows no hints"] if "info" in has else []
    return "\n".join(out + [f"    return {FORMS[f.form][3]};", "}", ""])


def source(form, functions):
    return "\n".join([f"// {TITLES[form]}", MADE, f'#include "coll/{form}.h"', "",
                      '#include "coll/coll_args.h"', '#include "coll/coll_run.h"', ""]
                     + [adapter(f) for f in functions])


def header(form, functions):
    guard = f"PLI_COLL_{form.upper()}_H"
    objects = ["comm", "datatype", "op"] + {"coll": [], "icoll": ["request"], "pcoll": ["info", "request"]}[form]
    return "\n".join([f"// {TITLES[form]}", MADE, f"#ifndef {guard}", f"#define {guard}", "",
                      '#include "base/err.h"', '#include "obj/ints.h"', "", "#include <mpi.h>", ""]
                     + [f"struct pli_{name};" for name in objects]
                     + ["", "// Arguments and meaning are those of the MPI functions. Every argument that counts is checked.",
                        "// Context: no lock held, any thread; one collective at a time on a communicator."]
                     + [prototype(f, ";") for f in functions] + ["", "#endif", ""])


def layout(f, side):
    """How the arguments of a side say where the blocks are."""
    kinds = {p.kind for p in f.params if p.side == side}
    if "displs" not in kinds:
        return "PLI_COLL_ONE"
    return "PLI_COLL_BY_TYPES" if "datatypes" in kinds else "PLI_COLL_BY_COUNTS"


def kind_header(functions):
    return "\n".join(["// All collectives, and what their arguments are like.", MADE,
                      "#ifndef PLI_COLL_COLL_KIND_H", "#define PLI_COLL_COLL_KIND_H", "", "#include <stdbool.h>", "",
                      "enum pli_coll_kind {"]
                     + [f"    PLI_COLL_{f.base.upper()}," for f in functions]
                     + ["    PLI_N_COLL", "};", "",
                        "// Blocks of one size, by counts and displacements, or by these and datatypes.",
                        "enum pli_coll_layout { PLI_COLL_ONE, PLI_COLL_BY_COUNTS, PLI_COLL_BY_TYPES };", "",
                        "struct pli_coll_kind_info {",
                        '    const char *name;     // "allreduce", as settings and messages call it',
                        '    const char *function; // "MPI_Allreduce"',
                        '    const char *nonblocking; // "MPI_Iallreduce"',
                        "    enum pli_coll_layout send, recv;",
                        "    bool is_rooted;", "};",
                        "extern const struct pli_coll_kind_info pli_coll_kind_info[PLI_N_COLL];", "", "#endif", ""])


def kind_source(functions):
    out = ["// All collectives, and what their arguments are like.", MADE, '#include "coll/coll_kind.h"', "",
           "const struct pli_coll_kind_info pli_coll_kind_info[PLI_N_COLL] = {"]
    for f in functions:
        rooted = "true" if any(p.kind == "root" for p in f.params) else "false"
        out += [f"    [PLI_COLL_{f.base.upper()}] = {{",
                f'        "{f.base.lower()}", "{f.name}", "MPI_I{f.base.lower()}", {layout(f, "send")}, {layout(f, "recv")}, {rooted} }},']
    return "\n".join(out + ["};", ""])


def files(functions):
    """(name, text) of the files of build/gen/coll."""
    made = {form: [f for f in functions if f.form == form] for form in FORMS}
    for form, those in made.items():
        yield form + ".c", source(form, those)
        yield form + ".h", header(form, those)
    yield "coll_kind.c", kind_source(made["coll"])
    yield "coll_kind.h", kind_header(made["coll"])
