#!/usr/bin/env python3
"""Turns the API table and the table of another MPI's ABI into a library that offers that ABI.

usage: gen_abi.py API_DIR ABI OUT_DIR        ABI: mpich or openmpi

Each function becomes a wrapper that takes the other MPI's arguments (types and constants F_...), changes what
differs, and calls the function of the standard ABI under its second name pli_std_MPI_X. What needs more
than that is in abi/*.c: HAND names the function there. docs/design/abi.md explains the parts.
"""
import os
import re
import sys

import gen

HANDLES = {ctype: kind for kind, ctype in gen.HANDLES.items()}  # MPI_Comm -> comm

# Functions whose wrapper only hands its arguments to a function of abi/*.c.
HAND = {
    "Op_create": "pli_foreign_op_create", "Grequest_start": "pli_foreign_state_grequest",
    "Register_datarep": "pli_foreign_state_datarep",
    "Comm_create_keyval": "pli_foreign_state_comm_keyval", "Keyval_create": "pli_foreign_state_comm_keyval",
    "Type_create_keyval": "pli_foreign_state_type_keyval", "Win_create_keyval": "pli_foreign_state_win_keyval",
    "Comm_create_errhandler": "pli_foreign_error_comm", "Errhandler_create": "pli_foreign_error_comm",
    "Errhandler_free": "pli_foreign_cxx_handler_free", "Win_create_errhandler": "pli_foreign_error_win", "File_create_errhandler": "pli_foreign_error_file",
    "Session_create_errhandler": "pli_foreign_error_session",
    "Comm_get_attr": "pli_foreign_attr_comm", "Attr_get": "pli_foreign_attr_comm",
    "Win_get_attr": "pli_foreign_attr_win", "Type_get_contents": "pli_foreign_type_contents",
    "Buffer_attach": "pli_foreign_buffer_attach", "Buffer_detach": "pli_foreign_buffer_detach",
    "Get_version": "pli_foreign_env_version", "Get_library_version": "pli_foreign_env_library", "Status_c2f": "pli_foreign_env_status_c2f",
    "Status_f2c": "pli_foreign_env_status_f2c",
    "T_cvar_handle_alloc": "pli_foreign_tool_cvar", "T_pvar_handle_alloc": "pli_foreign_tool_pvar",
    "T_event_handle_alloc": "pli_foreign_tool_event", "T_event_get_info": "pli_foreign_tool_event_info",
}
# Of ours alone: its communicator is known only when the request is complete, too late for a wrapper.
WITHOUT = {"MPIX_Comm_ishrink"}
# Their Fortran libraries have these.
WITHOUT |= {"Status_c2f08", "Status_f082c", "Status_f2f08", "Status_f082f"}

# Constants that stand for each other, by what an argument means. The last ones are bits of a set.
SETS = {
    "rank": ["MPI_ANY_SOURCE", "MPI_PROC_NULL", "MPI_ROOT"],
    "tag": ["MPI_ANY_TAG"],
    "thread": r"MPI_THREAD_", "compare": ["MPI_IDENT", "MPI_CONGRUENT", "MPI_SIMILAR", "MPI_UNEQUAL"],
    "topology": ["MPI_CART", "MPI_GRAPH", "MPI_DIST_GRAPH"], "lock": r"MPI_LOCK_", "whence": r"MPI_SEEK_",
    "order": r"MPI_ORDER_", "distribution": r"MPI_DISTRIBUTE_(?!DFLT)", "darg": r"MPI_DISTRIBUTE_DFLT",
    "typeclass": r"MPI_TYPECLASS_", "split": r"MPI_COMM_TYPE_", "combiner": r"MPI_COMBINER_",
    "flavor": r"MPI_WIN_FLAVOR_", "model": ["MPI_WIN_UNIFIED", "MPI_WIN_SEPARATE"],
    "class": r"MPI(X|_T)?_ERR_(?!LASTCODE)", "verbosity": r"MPI_T_VERBOSITY_", "bind": r"MPI_T_BIND_", "scope": r"MPI_T_SCOPE_",
    "pvar_class": r"MPI_T_PVAR_CLASS_", "safety": r"MPI_T_CB_REQUIRE_", "source_order": r"MPI_T_SOURCE_",
    "keyval": ["MPI_KEYVAL_INVALID", "MPI_TAG_UB", "MPI_IO", "MPI_HOST", "MPI_WTIME_IS_GLOBAL", "MPI_APPNUM",
               "MPI_LASTUSEDCODE", "MPI_UNIVERSE_SIZE", "MPI_WIN_BASE", "MPI_WIN_DISP_UNIT", "MPI_WIN_SIZE",
               "MPI_WIN_CREATE_FLAVOR", "MPI_WIN_MODEL"],
}
BITS = {
    "amode": r"MPI_MODE_(?!NO)", "assert": r"MPI_MODE_NO",
}
INLINE = {"rank", "tag"}  # on the way of every message

# What an int argument means, by its name, where the API table says only that it is one.
INT_IN = {
    "amode": "amode", "assert": "assert", "comm_keyval": "keyval", "type_keyval": "keyval", "win_keyval": "keyval",
    "keyval": "keyval", "errorcode": "error", "errorclass": "error", "error": "error", "lock_type": "lock",
    "order": "order", "required": "thread", "split_type": "split", "typeclass": "typeclass", "whence": "whence",
    "rank": "rank", "source": "rank", "tag": "tag", "var_class": "pvar_class", "cb_safety": "safety",
}
INT_OUT = {
    "amode": "amode", "combiner": "combiner", "comm_keyval": "keyval", "type_keyval": "keyval",
    "win_keyval": "keyval", "keyval": "keyval", "error": "error", "errorclass": "error", "errorcode": "error",
    "provided": "thread", "rank_dest": "rank", "rank_source": "rank", "result": "compare", "status": "topology",
    "source": "rank", "tag": "tag", "verbosity": "verbosity", "bind": "bind", "scope": "scope", "var_class": "pvar_class",
    "ordering": "source_order",
}
# The C++ bindings have an error handler more, for all kinds of objects.
SET_HANDLER = {"Comm_set_errhandler": "COMM", "Errhandler_set": "COMM", "File_set_errhandler": "FILE", "Win_set_errhandler": "WIN"}
GET_HANDLER = {"Comm_get_errhandler", "Errhandler_get", "File_get_errhandler", "Win_get_errhandler"}
PLAIN_INT = {("Abort", "errorcode"), ("Type_create_darray", "rank")}
INT_ARRAY = {"array_of_distribs": ("distribution", "ndims"), "array_of_dargs": ("darg", "ndims"), "ranks1": ("rank", "n")}
# Strings that come back: the argument and the constant that says how long it may be.
TEXT = {
    "Comm_get_name": ("comm_name", "MPI_MAX_OBJECT_NAME"), "Type_get_name": ("type_name", "MPI_MAX_OBJECT_NAME"),
    "Win_get_name": ("win_name", "MPI_MAX_OBJECT_NAME"), "Get_processor_name": ("name", "MPI_MAX_PROCESSOR_NAME"),
    "Error_string": ("string", "MPI_MAX_ERROR_STRING"),
    "Open_port": ("port_name", "MPI_MAX_PORT_NAME"), "Lookup_name": ("port_name", "MPI_MAX_PORT_NAME"),
    "Info_get_nthkey": ("key", "MPI_MAX_INFO_KEY"), "File_get_view": ("datarep", "MPI_MAX_DATAREP_STRING"),
}


class Abi:
    """The table of another MPI's ABI."""
    first = {"keyval": 1 << 30}  # our numbers of what a program adds begin there

    def __init__(self, path):
        self.const, self.objects, self.same, self.lacks, self.handles, self.also = {}, {}, [], [], {}, []
        self.added, self.fortran, self.newer, self.own = {}, {}, set(), set()
        for line in gen.table(path):
            word = line.split()
            if word[0] in ("const", "newer", "own"):
                self.const[word[1]] = (word[2], word[3])
                self.newer |= {word[1]} if word[0] == "newer" else set()
                self.own |= {word[1]} if word[0] == "own" else set()
            elif word[0] == "object":
                self.objects[word[1]] = int(word[2])
            elif word[0] == "same":
                self.same.append((word[1], word[2]))
            elif word[0] == "lacks":
                self.lacks.append(word[1])
            elif word[0] == "handle":
                self.handles[word[1]] = word[2]
            elif word[0] == "status":
                self.status = [int(w) for w in (word[1], word[3], word[5], word[7])]
            elif word[0] == "fortran":
                self.fortran[word[1]] = int(word[2])
            elif word[0] == "added":
                self.added[word[1]] = int(word[2], 0)
            elif word[0] == "library":
                self.library = word[1]
            elif word[0] == "also":
                self.also.append(word[1])
            elif word[0] in ("mpi", "says"):
                setattr(self, word[0], " ".join(word[1:]))
            else:
                sys.exit(f"{path}: '{word[0]}' begins no row")
        self.is_int = self.handles["MPI_Comm"] != "pointer"

    def values(self, standard, names):
        """(name, theirs, ours) of the constants of a set that both have."""
        if isinstance(names, str):
            names = [n for n in standard if re.match(names, n)]
        return [(n, int(self.const[n][1], 0), standard[n]) for n in names if n in self.const]


def foreign(text):
    """A C type of the standard ABI as the other MPI's."""
    text = re.sub(r"\bMPI_(\w+_(?:function|fn|function_c))\b", r"F_\1", text)
    names = "|".join(t[4:] for t in HANDLES) + "|Status"
    return re.sub(r"\bMPI_(" + names + r")\b", r"F_\1", text)


def numbers(api):
    """The constants of the standard ABI that are numbers or handles."""
    found = {}
    for line in gen.table(os.path.join(api, "constants.api")):
        name, _, value = line.split(None, 2)
        if re.match(r"-?(0x)?[0-9a-fA-F]+$", value):
            found[name] = int(value, 0)
    return found


# ---- headers --------------------------------------------------------------------------------

def standard_header(api, functions):
    """The types and constants of the standard ABI, and its functions under their second names."""
    text = gen.header(api, [])
    protos = [standard_proto(f, large) + ";" for f in functions if f.implemented() for large in f.forms()]
    return text.replace("\n#ifdef __cplusplus\n}", "\n" + "\n".join(protos) + "\n\n#ifdef __cplusplus\n}")


def standard_proto(f, large):
    name = "pli_std_" + f.name + ("_c" if large else "")
    args = ", ".join(p.decl(large) for p in f.args(large)) or "void"
    return f"{f.returns} {name}({args})"


def conversion(abi, standard, name, names):
    """int name_in(int) and name_out(int): the values of a set of constants for each other."""
    rows = abi.values(standard, names)
    out = []
    for way, mine, theirs in (("in", 1, 2), ("out", 2, 1)):
        seen, cases = set(), []
        for row in rows:
            if row[mine] not in seen:
                seen.add(row[mine])
                cases.append(f"    case {row[mine]}: // {row[0]}\n        return {row[theirs]};")
        # A value that means nothing there must mean nothing here.
        lost = [f"    case {v}:\n        return PLI_FOREIGN_NONE;"
                for v in sorted({row[theirs] for row in rows} - seen)]
        inline = "static inline " if name in INLINE else ""
        quick = "    if (v >= 0) {\n        return v;\n    }\n" if name in INLINE else ""
        out.append(f"{inline}int pli_foreign_{name}_{way}(int v)\n{{\n{quick}    switch (v) {{\n" + "\n".join(cases + lost)
                   + f"\n    default:\n        return {added(abi, name, way)};\n    }}\n}}\n")
    return "\n".join(out)


def added(abi, name, way):
    """A value that the program has added to a set, whose numbers have one more bit there."""
    bit = abi.added.get(name)
    if bit is None:
        return "v"
    if way == "out":
        return f"v < {abi.first[name]} ? v : (int)((unsigned)v | {bit:#x})"
    return f"((unsigned)v & {bit:#x}) != 0 ? (int)((unsigned)v & ~{bit:#x}u) : PLI_FOREIGN_NONE"


def bits(abi, standard, name, names):
    rows = abi.values(standard, names)
    out = []
    for way, mine, theirs in (("in", 1, 2), ("out", 2, 1)):
        known = 0
        for row in rows:
            known |= row[mine]
        sums = "".join(f"    to |= (v & {row[mine]}) != 0 ? {row[theirs]} : 0; // {row[0]}\n" for row in rows)
        out.append(f"int pli_foreign_{name}_{way}(int v)\n{{\n    int to = (v & ~{known}) != 0 ? 1 << 30 : 0;\n{sums}    return to;\n}}\n")
    return "\n".join(out)


def types_header(api, abi, standard):
    out = [f"// The types and constants of {abi.mpi}'s ABI. Generated from its table.",
           "#ifndef PLI_FOREIGN_TYPES_H", "#define PLI_FOREIGN_TYPES_H", "", '#include "standard.h"', "",
           f'#define F_MPI_NAME "{abi.mpi}"', f'#define F_LIBRARY "{abi.library}"',
           f'#define F_LIBRARY_VERSION "{abi.says}"',
           f"#define F_HANDLES_ARE_INTS {int(abi.is_int)}", "// No value of any set of constants.",
           "#define PLI_FOREIGN_NONE (-2000000011)", ""]
    for ctype, encoding in abi.handles.items():
        short = ctype[4:]
        out.append(f"typedef struct F_{short}_object *F_{short};" if encoding == "pointer" else f"typedef int F_{short};")
        if encoding != "pointer":
            out.append(f"#define F_KIND_{short.upper()} {encoding}")
    size, source, tag, error = abi.status
    if source == 8:
        out += ["typedef struct { int count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR; } F_Status;"]
    else:
        out += ["typedef struct { int MPI_SOURCE, MPI_TAG, MPI_ERROR, is_cancelled; size_t bytes; }",
                "    __attribute__((packed, aligned(4))) F_Status; // in Fortran it is an array of INTEGERs"]
    out += [f"_Static_assert(sizeof(F_Status) == {size} && offsetof(F_Status, MPI_SOURCE) == {source} && "
            f"offsetof(F_Status, MPI_TAG) == {tag} && offsetof(F_Status, MPI_ERROR) == {error}, \"layout\");", ""]
    for line in gen.table(os.path.join(api, "types.api")):
        what, name, rest = line.split(None, 2)
        if what == "callback" and not name.startswith("MPIX_"):
            returns, params = rest.split(None, 1)
            out.append(f"typedef {returns} {foreign(name)}{foreign(params)};")
    out.append("")
    for name, (ctype, value) in abi.const.items():
        if ctype == "int" or ctype == "MPI_Offset":
            out.append(f"#define F_{name} ({value})")
        elif ctype == "pointer":
            out.append(f"#define F_{name} ((void *)({value}))")
    for symbol, size in abi.objects.items():
        out.append(f"extern struct F_object {symbol};")
    out.append("")
    for name, names in SETS.items():
        out += ([conversion(abi, standard, name, names)] if name in INLINE else
                [f"int pli_foreign_{name}_in(int v);", f"int pli_foreign_{name}_out(int v);"])
    for name in BITS:
        out += [f"int pli_foreign_{name}_in(int v);", f"int pli_foreign_{name}_out(int v);"]
    return "\n".join(out + ["", "#endif", ""])


def slot_of(value):
    """Where the predefined handle of MPICH stands in the table of its type; abi/foreign_handle.h has the same."""
    return 0x80 | value & 0x7f if value >> 30 == 2 else value & 0x7f if value >> 30 == 1 else 0x7f


def int_tables(abi, standard):
    """MPICH's predefined handles: by type and low bits to ours, and by ours to theirs."""
    out, back = ["const uint16_t pli_foreign_builtin_in[PLI_FOREIGN_N][256] = {"], {}
    for ctype in abi.handles:
        rows = {}
        for name, (t, value) in abi.const.items():
            if t == ctype and abi.handles[ctype] != "pointer":
                rows.setdefault(slot_of(int(value, 0)), standard[name])
                back.setdefault(standard[name], (int(value, 0), name))
        cells = ", ".join(f"[{slot}] = {v}" for slot, v in sorted(rows.items()))
        out.append(f"    [PLI_FOREIGN_{ctype[4:].upper()}] = {{ {cells or 0} }},")
    out += ["};", "const uint32_t pli_foreign_builtin_out[1024] = {"]
    out += [f"    [{ours}] = 0x{theirs:08x}, // {name}" for ours, (theirs, name) in sorted(back.items())]
    return out + ["};", ""]


def type_flags(abi, name):
    """Of the variable of a predefined handle: whether it is a datatype without gaps."""
    has_gaps = name in ("MPI_SHORT_INT", "MPI_LONG_INT", "MPI_DOUBLE_INT", "MPI_LONG_DOUBLE_INT", "MPI_DATATYPE_NULL")
    return "F_TYPE_IS_RUN" if abi.const[name][0] == "MPI_Datatype" and not has_gaps else "0"


def pointer_tables(abi, standard):
    """Open MPI's predefined handles: each is a variable that says which of ours it is."""
    of = {}
    for name, (ctype, value) in abi.const.items():
        if value in abi.objects:
            of.setdefault(value, name)
    out = []
    # A program that is linked at a fixed place has a copy of the variable: size and bytes must be right.
    for symbol, size in abi.objects.items():
        name = of.get(symbol)
        ours = standard.get(name, 0)
        if name == "MPI_C_COMPLEX":
            ours = standard["MPI_C_FLOAT_COMPLEX"]
        elif name == "MPI_LONG_LONG_INT":
            ours = standard["MPI_LONG_LONG"]
        if name is None:
            out.append(f"_Alignas(8) char pli_object_{symbol}[{size}] __asm__(\"{symbol}\");")
            continue
        out += [f"_Alignas(64) struct {{ struct F_object object; char rest[{size} - sizeof(struct F_object)]; }}",
                f"pli_object_{symbol} __asm__(\"{symbol}\") = {{ {{ PLI_FOREIGN_MAGIC, {ours}, {type_flags(abi, name)}, "
                f"{abi.fortran.get(name, -1)} }}, {{ 0 }} }}; // {name}"]
    out += ["", "struct F_object *const pli_foreign_builtin_out[1024] = {"]
    out += [f"    [{standard[name]}] = &{value}," for name, (ctype, value) in abi.const.items()
            if value in abi.objects and name in standard]
    return out + ["};", "", *fortran_tables(abi)]


def fortran_tables(abi):
    """The predefined handles by their numbers in Fortran."""
    out = []
    for ctype in (t for t in abi.handles if t != "MPI_File"):  # there is one, 0
        rows = {}
        for name, number in abi.fortran.items():
            if abi.const[name][0] == ctype:
                rows[number] = abi.const[name][1]
        cells = ", ".join(f"[{number}] = &{symbol}" for number, symbol in sorted(rows.items()))
        out.append(f"struct F_object *const pli_foreign_fortran_{HANDLES[ctype]}[PLI_FOREIGN_FORTRAN] = {{ {cells or 0} }};")
    return out + [""]


def tables_source(abi, standard):
    out = [f"// The tables of {abi.mpi}'s ABI. Generated.", '#include "foreign_handle.h"', ""]
    out += int_tables(abi, standard) if abi.is_int else pointer_tables(abi, standard)
    out += [conversion(abi, standard, name, names) for name, names in SETS.items() if name not in INLINE]
    out += [bits(abi, standard, name, names) for name, names in BITS.items()]
    return "\n".join(out)


# ---- wrappers -------------------------------------------------------------------------------

class Wrapper:
    """The C of one function: what it declares, how it calls, what it does afterwards."""

    def __init__(self, f, large):
        self.f, self.large = f, large
        self.before, self.args, self.after, self.leave = [], [], [], []

    def has(self, name):
        return any(p.name == name for p in self.f.args(self.large))

    def argument(self, p):
        ctype, kind = p.ctype(self.large), p.kind
        if ctype == "...":
            return
        base = re.sub(r"const |[\s*\[\]]", "", ctype)
        if p.name == "errhandler" and self.f.base in SET_HANDLER:
            self.args.append(f"pli_foreign_cxx_handler_in(errhandler, PLI_FOREIGN_ON_{SET_HANDLER[self.f.base]})")
        elif (self.f.base, p.name) == ("File_set_view", "disp"):
            self.args.append("disp == F_MPI_DISPLACEMENT_CURRENT ? MPI_DISPLACEMENT_CURRENT : disp")
        elif self.f.base in TEXT and p.name == TEXT[self.f.base][0]:
            self.text(p)
        elif p.name == "out_comm_hdls":
            self.new_handles(p, HANDLES[base], "my_num_ep")
        elif base in HANDLES and kind in ("datatypes", "requests", "infos"):
            self.handles(p, HANDLES[base], ctype.startswith("const"))
        elif base in HANDLES and "*" in ctype:
            self.handle_pointer(p, HANDLES[base])
        elif base in HANDLES:
            self.args.append(f"pli_foreign_{HANDLES[base]}_in({p.name})")
        elif base == "MPI_Status":
            self.status(p, ctype.startswith("const"))
        elif kind == "buffer" and p.side:
            self.args.append(f"pli_foreign_buffer_in({p.name})")
        elif kind in ("dest", "source", "target", "root"):
            self.args.append(f"pli_foreign_rank_in({p.name})")
        elif kind == "tag+any":
            self.args.append(f"pli_foreign_tag_in({p.name})")
        elif p.name in ("sourceweights", "destweights", "weights"):
            self.args.append(f"pli_foreign_weights_in({p.name})")
        elif p.name in INT_ARRAY:
            self.int_array(p, *INT_ARRAY[p.name])
        elif p.name == "ranks2":
            self.args.append(p.name)
            self.after.append("    for (int i = 0; err == 0 && i < n; i++) {\n"
                              "        ranks2[i] = pli_foreign_rank_out(ranks2[i]);\n    }")
        elif p.name == "array_of_errcodes":
            self.args.append(p.name)
            n = "maxprocs" if self.has("maxprocs") else "pli_foreign_env_sum(array_of_maxprocs, count)"
            self.after.append("    if (array_of_errcodes != MPI_ERRCODES_IGNORE && pli_foreign_env_is_root(comm, root)) {\n"
                              f"        pli_foreign_env_spawned(array_of_errcodes, {n});\n    }}")
        elif ctype == "MPI_T_pvar_handle":
            self.args.append(f"pli_foreign_pvar_in({p.name})")
        elif ctype in ("int", "MPI_T_cb_safety") and p.name in INT_IN and (self.f.base, p.name) not in PLAIN_INT and kind != "tag":
            self.args.append(f"pli_foreign_{INT_IN[p.name]}_in({p.name})")
        elif ctype in ("int *", "MPI_T_source_order *") and p.name in INT_OUT and (p.name != "status" or self.f.base == "Topo_test"):
            self.int_pointer(p, INT_OUT[p.name])
        else:
            self.args.append(p.name)

    def text(self, p):
        limit = TEXT[self.f.base][1]
        self.before.append(f"    char {p.name}_[{limit}];")
        self.args.append(f"{p.name} != NULL ? {p.name}_ : NULL")
        length = "resultlen" if self.has("resultlen") else "NULL"
        self.after.append(f"    if (err == 0) {{\n        pli_foreign_env_text({p.name}, {p.name}_, F_{limit}, {length});\n    }}")

    def handle_pointer(self, p, kind):
        null = "MPI_DATATYPE_NULL" if kind == "datatype" else f"MPI_{kind.upper()}_NULL"
        if p.kind.startswith(("free:", "ref:")):
            self.before.append(f"    MPI_{kind_type(kind)} {p.name}_ = {p.name} != NULL ? pli_foreign_{kind}_in(*{p.name}) : {null};\n"
                               f"    MPI_{kind_type(kind)} {p.name}_old = {p.name}_;")
            self.after.append(f"    if ({p.name}_ != {p.name}_old && {p.name} != NULL) {{\n"
                              f"        *{p.name} = pli_foreign_{kind}_out({p.name}_);\n    }}")
        else:
            self.before.append(f"    MPI_{kind_type(kind)} {p.name}_ = {null};")
            test = f"{p.name} != NULL" if kind in ("comm", "datatype") else "err == 0"  # looked at after a failure
            test = self.is_written(p) if self.f.base.startswith("T_") else test
            convert = "pli_foreign_cxx_handler_out" if self.f.base in GET_HANDLER else f"pli_foreign_{kind}_out"
            self.after.append(f"    if ({test}) {{\n"
                              f"        *{p.name} = {convert}({p.name}_);\n    }}")
        self.args.append(f"{p.name} != NULL ? &{p.name}_ : NULL")

    def is_written(self, p):
        """The test whether a result was written: those of MPI_T may be NULL."""
        return f"err == 0 && {p.name} != NULL" if self.f.base.startswith("T_") else "err == 0"

    def count_of(self, p):
        if p.name in ("sendtypes", "recvtypes"):
            return f"pli_foreign_type_blocks(comm, {'true' if 'eighbor' in self.f.base else 'false'}, " \
                   f"{'true' if p.name == 'sendtypes' else 'false'})"
        if p.name == "array_of_info":  # the others need not have it
            return "pli_foreign_env_is_root(comm, root) ? count : 0"
        return "incount" if self.has("incount") else "count"

    def handles(self, p, kind, is_const):
        t = f"MPI_{kind_type(kind)}"
        self.before.append(f"    MPI_Count {p.name}_n = {p.name} == NULL ? 0 : {self.count_of(p)};\n"
                           f"    {t} {p.name}_few[PLI_FOREIGN_FEW];\n"
                           f"    {t} *{p.name}_ = {p.name} == NULL ? NULL : "
                           f"pli_foreign_env_room({p.name}_few, {p.name}_n, sizeof *{p.name}_);\n"
                           f"    for (MPI_Count i = 0; i < {p.name}_n; i++) {{\n"
                           f"        {p.name}_[i] = pli_foreign_{kind}_in({p.name}[i]);\n    }}")
        self.args.append(f"{p.name}_")
        if not is_const:
            self.after.append(f"    for (MPI_Count i = 0; i < {p.name}_n; i++) {{\n"
                              f"        if ({p.name}_[i] != pli_foreign_{kind}_in({p.name}[i])) {{\n"
                              f"            {p.name}[i] = pli_foreign_{kind}_out({p.name}_[i]);\n        }}\n    }}")
        self.leave.append(f"    pli_foreign_env_leave({p.name}_, {p.name}_few);")

    def new_handles(self, p, kind, n):
        """An array that the call fills with handles."""
        t = f"MPI_{kind_type(kind)}"
        self.before.append(f"    {t} {p.name}_few[PLI_FOREIGN_FEW];\n"
                           f"    {t} *{p.name}_ = {p.name} == NULL ? NULL : "
                           f"pli_foreign_env_room({p.name}_few, {n}, sizeof *{p.name}_);")
        self.args.append(f"{p.name}_")
        self.after.append(f"    for (int i = 0; err == 0 && {p.name} != NULL && i < {n}; i++) {{\n"
                          f"        {p.name}[i] = pli_foreign_{kind}_out({p.name}_[i]);\n    }}")
        self.leave.append(f"    pli_foreign_env_leave({p.name}_, {p.name}_few);")

    def status(self, p, is_const):
        if p.name == "array_of_statuses":
            n = self.count_of(p)
            self.before.append(f"    bool is_ignored = array_of_statuses == F_MPI_STATUSES_IGNORE || {n} < 0;\n"
                               f"    MPI_Status statuses_few[PLI_FOREIGN_FEW];\n"
                               f"    MPI_Status *statuses = is_ignored ? MPI_STATUSES_IGNORE : "
                               f"pli_foreign_env_room(statuses_few, {n}, sizeof *statuses);\n"
                               f"    for (int i = 0; !is_ignored && i < {n}; i++) {{\n"
                               f"        pli_foreign_status_unset(&statuses[i]);\n    }}")
            self.args.append("statuses")
            self.after.append(f"    for (int i = 0; !is_ignored && i < {n}; i++) {{\n"
                              f"        pli_foreign_status_out(&array_of_statuses[i], &statuses[i]);\n    }}")
            self.leave.append("    pli_foreign_env_leave(statuses, statuses_few);")
            return
        begin = "in(&status_, status)" if is_const or self.f.base.startswith("Status_set") else "unset(&status_)"
        if "(&status_, status)" in begin:
            begin = f"if (status != F_MPI_STATUS_IGNORE && status != NULL) {{\n        pli_foreign_status_{begin};\n    }}"
        else:
            begin = f"pli_foreign_status_{begin};"
        self.before.append(f"    MPI_Status status_;\n    {begin}")
        self.args.append("status != F_MPI_STATUS_IGNORE && status != NULL ? &status_ : MPI_STATUS_IGNORE")
        if not is_const:
            self.after.append("    if (status != F_MPI_STATUS_IGNORE && status != NULL) {\n"
                              "        pli_foreign_status_out(status, &status_);\n    }")

    def int_array(self, p, meaning, n):
        self.before.append(f"    int {p.name}_few[PLI_FOREIGN_FEW];\n"
                           f"    int *{p.name}_ = {p.name} == NULL ? NULL : "
                           f"pli_foreign_env_room({p.name}_few, {n}, sizeof *{p.name}_);\n"
                           f"    for (int i = 0; {p.name} != NULL && i < {n}; i++) {{\n"
                           f"        {p.name}_[i] = pli_foreign_{meaning}_in({p.name}[i]);\n    }}")
        self.args.append(f"{p.name}_")
        self.leave.append(f"    pli_foreign_env_leave({p.name}_, {p.name}_few);")

    def int_pointer(self, p, meaning):
        begin = f"{p.name} != NULL ? pli_foreign_{meaning}_in(*{p.name}) : 0" if "_free" in self.f.base else "0"
        self.before.append(f"    int {p.name}_ = {begin};")
        self.args.append(f"{p.name} != NULL ? &{p.name}_ : NULL")
        self.after.append(f"    if ({self.is_written(p)}) {{\n        *{p.name} = pli_foreign_{meaning}_out({p.name}_);\n    }}")


def kind_type(kind):
    return gen.HANDLES[kind][4:]


def foreign_proto(f, large, prefix):
    name = f.name.replace("MPI", prefix + "MPI", 1) + ("_c" if large else "")
    args = ", ".join(foreign(p.decl(large)) for p in f.args(large)) or "void"
    return f"{foreign(f.returns)} {name}({args})"


def names_of(f, large, abi):
    """All names of a function, in the order MPI_, PMPI_ of each."""
    same = [their for their, ours in abi.same if ours == f.name and not large]
    return [n + ("_c" if large else "") for n in f.names() + same]


def converter_body(f):
    """c2f and f2c: what the handle is, or the number that stands for it."""
    kind = HANDLES[f.params[0].small] if f.base.endswith("c2f") else HANDLES[f.returns]
    arg = f.params[0].name
    if f.base.endswith("c2f"):
        return [f"    return pli_foreign_{kind}_c2f({arg});"]
    return [f"    return pli_foreign_{kind}_f2c({arg});"]


def body(f, large):
    name = f.name + ("_c" if large else "")
    if f.base in HAND:
        tail = "_large" if large else ""
        return [f"    return {HAND[f.base]}{tail}({', '.join(p.name for p in f.args(large))});"]
    if f.base.endswith(("_c2f", "_f2c")):
        return converter_body(f)
    if f.returns != "int":
        return [f"    return pli_std_{name}({', '.join(p.name for p in f.params)});"]
    w = Wrapper(f, large)
    for p in f.args(large):
        w.argument(p)
    first = ["    pli_foreign_env_check();"] if f.base in ("Init", "Init_thread", "Init_endpoints", "Session_init", "T_init_thread") else []
    call = f"pli_std_{name}({', '.join(w.args)})"
    if not w.after and not w.leave:
        return first + w.before + [f"    int err = {call};", "    return err == 0 ? 0 : pli_foreign_error_out(err);"]
    return (first + w.before + [f"    int err = {call};"] + w.after + w.leave
            + ["    return err == 0 ? 0 : pli_foreign_error_out(err);"])


def wrapper(f, large, abi):
    out = [foreign_proto(f, large, "P"), "{", *body(f, large), "}"]
    first = None
    for name in names_of(f, large, abi):
        pname = name.replace("MPI", "PMPI", 1)
        first = first or pname
        proto = foreign_proto(f, large, "")
        base = f.name + ("_c" if large else "")
        for alias in [name] + ([pname] if pname != first else []):
            out.append(re.sub(r"\b" + base + r"\(", alias + "(", proto)
                       + f' __attribute__(({"weak, " if alias[0] != "P" else ""}alias("{first}")));')
    return "\n".join(out) + "\n"


def is_wrapped(f, abi):
    if "MPI_T_CB_REQUIRE_NONE" not in abi.const and re.match(r"T_(event|source|category_get_(num_)?events)", f.base):
        return False  # an MPI without events
    return f.implemented() and f.base not in WITHOUT and not f.base.endswith(("_toint", "_fromint")) \
        and not f.base.startswith("Abi_") and (f.base.endswith("_f2c") or not foreign(f.returns).startswith("F_"))


def hand_protos(functions):
    seen, out = set(), []
    for f in functions:
        for large in f.forms():
            name = HAND.get(f.base, "") + ("_large" if large else "")
            if f.base in HAND and name not in seen:
                seen.add(name)
                out.append(f"int {name}({', '.join(foreign(p.decl(large)) for p in f.args(large))});")
    return "\n".join(out) + "\n"


def lacking_source(abi):
    out = [f"// Functions of {abi.mpi} that Pliant MPI does not have: the first call ends the program.",
           '#include "foreign_env.h"', ""]
    for name in abi.lacks:
        pname = re.sub(r"^MPI(X?)_", r"PMPI\1_", name)
        out += [f"void {pname}(void);", f"void {pname}(void)", "{", f'    pli_foreign_env_lacks("{name}");', "}", ""]
        if pname != name:
            out += [f'void {name}(void) __attribute__((weak, alias("{pname}")));', ""]
    return "\n".join(out)


def exports(abi):
    names = ["MPI_*", "MPIX_*", "PMPI_*", "PMPIX_*", "MPIR_*", "MPII_*", "OMPI_*", "ompi_*", "mpi_fortran_*", *abi.objects]
    return "{\n  global:\n" + "".join(f"    {n};\n" for n in names) + "  local: *;\n};\n"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    api, which, out = sys.argv[1:]
    abi, standard = Abi(os.path.join(api, which + ".abi")), numbers(api)
    skip = {"constants.api", "types.api"}
    everything = []
    for chapter in sorted(n[:-4] for n in os.listdir(api) if n.endswith(".api") and n not in skip):
        functions = gen.read_functions(os.path.join(api, chapter + ".api"))
        everything += functions
        text = [f"// The functions of {chapter}.api as {abi.mpi} has them. Generated from the API table.",
                '#include "foreign_cxx.h"', ""]
        text += [wrapper(f, large, abi) for f in functions if is_wrapped(f, abi) for large in f.forms()]
        gen.write(os.path.join(out, f"calls_{chapter}.c"), "\n".join(text))
    gen.write(os.path.join(out, "standard.h"), standard_header(api, everything))
    gen.write(os.path.join(out, "foreign_types.h"), types_header(api, abi, standard))
    gen.write(os.path.join(out, "calls_tables.c"), tables_source(abi, standard))
    gen.write(os.path.join(out, "foreign_hand.h"), hand_protos(everything))
    gen.write(os.path.join(out, "calls_lacking.c"), lacking_source(abi))
    gen.write(os.path.join(out, "exports.map"), exports(abi))


if __name__ == "__main__":
    main()
