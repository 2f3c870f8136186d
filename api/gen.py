#!/usr/bin/env python3
"""Turns the API table (*.api) into C: the public header, the entry points, the export list.

usage: gen.py API_DIR OUT_DIR

A stanza is a function name without MPI_ and one line per parameter: kind, name, C type
("small | large" where the large-count form differs). `large` asks for the _c form,
`call f` says which function does the work: it gets looked-up objects and widened
counts and returns enum pli_err. `collective` stands for three functions and their callees (gen_coll.py). `hand f` passes the arguments as they are and returns what f
returns. A second name after either is for a large-count form that needs a function of its own. `also f` is
another name of the same function. `fortran` and the words behind an @ are for the Fortran interfaces
(fortran_model.py). `removed f` names what to use in place of one that MPI has no more. A stanza with
neither call nor hand is declared but not exported. `doc` lines describe the function.
HANDLES, NUMBERS and PLAIN below are the kinds; docs/design/api.md says what a body does with each.
"""
import os
import re
import sys

import gen_coll

HANDLES = {
    "comm": "MPI_Comm", "group": "MPI_Group", "datatype": "MPI_Datatype", "op": "MPI_Op",
    "request": "MPI_Request", "info": "MPI_Info", "errhandler": "MPI_Errhandler",
    "session": "MPI_Session", "win": "MPI_Win", "file": "MPI_File", "message": "MPI_Message",
}
# Checks on plain numbers: kind -> the shared test in glue/check.h (gets the communicator or not).
NUMBERS = {
    "count": ("count", False), "length": ("length", False), "tag": ("tag", False),
    "tag+any": ("tag_any", False), "dest": ("dest", True), "source": ("source", True),
    "target": ("dest", True), "root": ("root", True),
}
OWNERS = ("comm", "win", "file", "session")
# Passed on as they are, or in the form that the callee checks.
PLAIN = {"buffer", "raw", "int", "status", "out", "function", "aint", "count?", "counts", "displs", "datatypes",
         "requests", "infos"}


class Param:
    def __init__(self, line):
        m = re.match(r"\s+(\S+)\s+(\S+)\s+(.*)$", line)
        self.kind, self.name, types = m.group(1), m.group(2), m.group(3)
        types, _, self.note = types.partition("@")  # what Fortran needs to know besides (fortran_model.py)
        side, _, kind = self.kind.partition(":")
        self.side = side if side in ("send", "recv") else None  # of a collective's data
        if self.side:
            self.kind = kind
        parts = [t.strip() for t in types.split("|")]
        self.small, self.large = parts[0], parts[-1]

    def ctype(self, large):
        return self.large if large else self.small

    def decl(self, large):
        t = self.ctype(large)
        if t == "...":
            return t
        m = re.match(r"(.*?)((\[\d*\])+)$", t)
        if m:
            base = m.group(1)
            return base + ("" if base.endswith("*") else " ") + self.name + m.group(2)
        return t + ("" if t.endswith("*") else " ") + self.name


class Function:
    def __init__(self, head, lines, form=None, prefix="MPI_"):
        m = re.match(r"(\w+)(?:\s+->\s+(.*))?$", head)
        self.base, self.returns = m.group(1), (m.group(2) or "int").strip()
        self.name = self.base if self.base.startswith("MPIX_") else prefix + self.base
        self.params, self.has_large, self.call, self.hand, self.doc = [], False, None, None, []
        self.also, self.removed, self.form, self.errors, self.fortran = [], None, form, None, []
        for line in lines:
            word = line.split()
            if word == ["large"]:
                self.has_large = True
            elif word[0] == "call":
                self.call = word[1:]
            elif word[0] == "hand":
                self.hand = word[1:]
            elif word[0] == "also":
                self.also.append(word[1])
            elif word[0] == "errors":
                self.errors = word[1]
            elif word[0] == "fortran":
                self.fortran = word[1:]
            elif word[0] == "removed":
                self.removed = " ".join(word[1:])
            elif word[0] == "doc":
                self.doc.append(line.strip()[3:].strip())
            else:
                self.params.append(Param(line))

    def implemented(self):
        return bool(self.call or self.hand)

    def forms(self):
        return [False, True] if self.has_large else [False]

    def args(self, large):
        return [p for p in self.params if large or p.small != "-"]

    def names(self):
        return [self.name] + self.also

    def proto(self, prefix, large, name=None):
        name = (name or self.name).replace("MPI", prefix + "MPI", 1) + ("_c" if large else "")
        args = ", ".join(p.decl(large) for p in self.args(large)) or "void"
        sep = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{sep}{name}({args})"


def stanzas(path):
    head, lines = None, []
    for raw in open(path, encoding="utf-8"):
        line = raw.rstrip()
        if not line or line.startswith("#"):
            continue
        if line[0] != " ":
            if head:
                yield head, lines
            head, lines = line, []
        else:
            lines.append(line)
    if head:
        yield head, lines


def read_functions(path):
    """All functions of a table, with those that a stanza of a collective stands for."""
    return [Function(*form) for head, lines in stanzas(path) for form in gen_coll.forms(head, lines)]


def table(path):
    for raw in open(path, encoding="utf-8"):
        line = raw.rstrip()
        if line and not line.startswith("#"):
            yield line


# ---- the public header ----------------------------------------------------------------------

def header(api, functions):
    out = ["/* The MPI 5.0 standard ABI and Pliant MPI's extensions. Generated from the API table. */",
           "#ifndef MPI_H_PLIANT", "#define MPI_H_PLIANT", "", "#include <stddef.h>",
           "#include <stdint.h>", "",
           "#ifdef __GNUC__", "#define MPI_REMOVED_PLIANT(instead) \\",
           '    __attribute__((deprecated("removed in MPI 3.0: use " instead)))',
           "#else", "#define MPI_REMOVED_PLIANT(instead)", "#endif", "",
           "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    callbacks, variables_ = [], []
    for line in table(os.path.join(api, "types.api")):
        what, name, rest = line.split(None, 2)
        if what == "handle":
            out.append(f"typedef {rest}{name};")
        elif what == "integer":
            out.append(f"typedef {rest} {name};")
        elif what == "variable":
            variables_.append(f"extern {rest}{name};")
        else:
            returns, params = rest.split(None, 1)
            callbacks.append(f"typedef {returns} {name}{params};")
    out += ["", "typedef struct MPI_Status {", "    int MPI_SOURCE, MPI_TAG, MPI_ERROR;",
            "    int MPI_internal[5];", "} MPI_Status;", "typedef MPI_Status MPI_F08_status;", ""]
    out += callbacks + [""] + variables_ + [""]
    for line in table(os.path.join(api, "constants.api")):
        name, ctype, value = line.split(None, 2)
        if ctype in ("int", "alias"):
            out.append(f"#define {name} {value if not value.startswith('-') else f'({value})'}")
        else:
            out.append(f"#define {name} (({ctype}){value if ctype != 'MPI_Offset' else f'({value})'})")
    out.append("")
    for f in functions:
        for large in f.forms():
            for name in f.names():
                for prefix in ("", "P"):
                    note = f' MPI_REMOVED_PLIANT("{f.removed}")' if f.removed and not prefix else ""
                    out.append(f.proto(prefix, large, name) + note + ";")
    out += ["", "#ifdef __cplusplus", "}", "#endif", "#endif", ""]
    return "\n".join(out)


# ---- the entry points -----------------------------------------------------------------------

def handle_in(p, large, owner):
    """Look up one handle argument: declaration, check, and what to pass on."""
    kind, _, unless = p.kind.split(":")[-1].split("+")[0].rstrip("?").partition("!")
    var = p.name + "_"
    value = ("*" + p.name) if p.kind.startswith(("free:", "ref:")) else p.name
    any_ = "_any" if p.kind.endswith("+any") else ""  # also where nothing can be sent any more
    decl = f"    struct pli_{kind} *{var} = pli_arg_{kind}{any_}({value});"
    if p.kind.endswith("?"):
        return [decl.replace(f"pli_arg_{kind}(", f"pli_arg_{kind}_committed(")], var
    test = f"{var} == NULL"
    if kind == "info":
        test = f"{var} == NULL && {value} != MPI_INFO_NULL"
    if unless:  # the null type of a message to MPI_PROC_NULL, or of no elements, does not count
        test = f"{var} == NULL && ({value} != MPI_DATATYPE_NULL || (count != 0 && {unless} != MPI_PROC_NULL))"
    code = []
    if p.kind.startswith(("free:", "ref:")):
        code += [f"    if ({p.name} == NULL) {{",
                 f'        return pli_bad_pointer({owner}, fn, "{p.name}");', "    }"]
    code += [decl, f"    if (pli_unlikely({test})) {{",
             f'        return pli_bad_handle({owner}, fn, "{p.name}", PLI_KIND_{kind.upper()}, {value});',
             "    }"]
    if unless:
        code += [f"    if (pli_unlikely({var} == NULL)) {{", f"        {var} = pli_datatype_basic(MPI_BYTE);", "    }"]
    if p.kind.endswith("+committed"):
        code += [f"    if (pli_unlikely(!{var}->is_committed)) {{",
                 f'        return pli_bad_uncommitted({owner}, fn, "{p.name}", {var});', "    }"]
    return code, var


def number_in(p, owner, comm):
    check, with_comm = NUMBERS[p.kind]
    args = f"{comm}, {p.name}" if with_comm and comm else p.name
    if with_comm and not comm:
        check = "any_rank"
        args = p.name
    return [f"    if (pli_unlikely(!pli_ok_{check}({args}))) {{",
            f'        return pli_bad_{check}({owner}, fn, "{p.name}", {args});', "    }"]


def out_param(p, large, owner):
    what = p.kind.split(":")[1]
    null = [f"    if (pli_unlikely({p.name} == NULL)) {{",
            f'        return pli_bad_pointer({owner}, fn, "{p.name}");', "    }"]
    if what == "count":
        ctype = p.ctype(large).rstrip("* ")
        init = f"*{p.name}" if p.kind.startswith("ref:") else "0"
        return (null + [f"    MPI_Count {p.name}_ = {init};"], f"&{p.name}_",
                [f"        *{p.name} = pli_narrow_{ctype}({p.name}_);"])
    return (null + [f"    struct pli_{what} *{p.name}_ = NULL;"], f"&{p.name}_",
            [f"        *{p.name} = ({HANDLES[what]})pli_handle_of({p.name}_, PLI_KIND_{what.upper()});"])


def is_handle_in(kind):
    base = kind.split("+")[0].split("!")[0].rstrip("?")
    return base in HANDLES or kind.startswith("free:") or (
        kind.startswith("ref:") and kind != "ref:count")


def checked_body(f, large):
    params = f.args(large)
    first = next((p for p in params if p.kind.split(":")[-1].removesuffix("+any") in OWNERS and
                  not p.kind.startswith("out:")), None)
    owner, comm, done = f.errors or "NULL", None, {}
    code = [f'    static const char fn[] = "{f.name}{"_c" if large else ""}";']
    after = []
    if first is not None:
        lines, var = handle_in(first, large, f.errors or "NULL")
        code += lines
        done[first.name] = var
        owner = f.errors or f"&{var}->obj"
        comm = var if first.kind.split(":")[-1].removesuffix("+any") == "comm" else None
    else:  # errors of a request or message belong to its communicator, of a group to its session
        first = next((p for p in params if p.kind in
                      ("request", "ref:request", "free:message", "group", "free:group")), None)
        if first is not None:
            lines, var = handle_in(first, large, "NULL")
            code += lines
            done[first.name] = var
            what = first.kind.split(":")[-1]
            room = "session" if what == "group" else "request"
            owner = f"pli_{room}_calls_{what}_owner({var})"
    passed = []
    for p in params:
        if p.name in done:
            passed.append(done[p.name])
        elif is_handle_in(p.kind):
            lines, var = handle_in(p, large, owner)
            code += lines
            passed.append(var)
        elif p.kind in NUMBERS:
            code += number_in(p, owner, comm)
            passed.append(p.name)
        elif p.kind.startswith(("out:", "ref:")):
            lines, arg, tail = out_param(p, large, owner)
            code += lines
            after += tail
            passed.append(arg)
        elif p.kind in ("counts", "displs"):
            wide = "true" if "MPI_" in p.ctype(large) else "false"
            passed.append(f"(struct pli_ints){{ {p.name}, {wide} }}")
        elif p.kind == "out":
            code += [f"    if (pli_unlikely({p.name} == NULL)) {{",
                     f'        return pli_bad_pointer({owner}, fn, "{p.name}");', "    }"]
            passed.append(p.name)
        else:
            passed.append(p.name)
        if p.kind.startswith("free:"):
            what = p.kind.split(":")[1].removesuffix("+any")
            after.append(f"        *{p.name} = ({HANDLES[what]})pli_handle_of(NULL, PLI_KIND_{what.upper()});")
    code.append(f"    enum pli_err err = {f.call[-1 if large else 0]}({', '.join(passed)});")
    if after:
        code += ["    if (err == PLI_OK) {"] + after + ["    }"]
    for p in params:
        if p.kind in ("out:comm", "out:datatype"):  # programs look at these after a failure
            code += ["    if (pli_unlikely(err != PLI_OK)) {",
                     f"        *{p.name} = MPI_{p.kind[4:].upper()}_NULL;", "    }"]
    final_owner = owner
    if first is not None and (first.kind.startswith("free:") or "_calls_" in owner):
        final_owner = f"err == PLI_OK ? NULL : {owner}"  # the object may be gone
    code.append(f"    return pli_glue_return({final_owner}, fn, err);")
    return code


def entry(f, large):
    suffix = "_c" if large else ""
    name = f"{f.name}{suffix}"
    pname = name.replace("MPI", "PMPI", 1)
    out = [f"{f.proto('P', large)}", "{"]
    if f.hand:
        args = ", ".join(p.name for p in f.args(large) if p.small != "...")
        out.append(f"    return {f.hand[-1 if large else 0]}({args});")
    else:
        out += checked_body(f, large)
    out.append("}")
    alias = re.sub(r"\b" + name + r"\(", f"{name}(", f.proto("", large))
    out.append(f'{alias} __attribute__((weak, alias("{pname}")));')
    # For libraries that offer other ABIs (gen_abi.py).
    second = re.sub(r"\b" + name + r"\(", f"pli_std_{name}(", f.proto("", large))
    out.append(f'{second} __attribute__((alias("{pname}")));')
    for also in f.also:
        for prefix, how in (("P", ""), ("", "weak, ")):
            out.append(f'{f.proto(prefix, large, also)} __attribute__(({how}alias("{pname}")));')
    return "\n".join(out) + "\n"


def entries(chapter, functions):
    out = [f"// Entry points of {chapter}.api. Generated from the API table.",
           '#include "glue/entry.h"', ""]
    out += [entry(f, large) for f in functions if f.implemented() for large in f.forms()]
    return "\n".join(out)


# ---- lists ----------------------------------------------------------------------------------

def variables(api):
    """Names of the variables that C programs see."""
    return [line.split()[1] for line in table(os.path.join(api, "types.api")) if line.startswith("variable")]


def exports(functions, variable_names):
    names = list(variable_names)
    for f in functions:
        if f.implemented():
            for large in f.forms():
                for name in f.names():
                    n = name + ("_c" if large else "")
                    names += [n, n.replace("MPI", "PMPI", 1)]
    names.append("pli_upc_*")  # the runtime of UPC programs
    names.append("pli_observe_get_*")  # the recorder of --profile and --timeline
    names += ["MPIR_dll_name", "pli_debug_layout"]  # debuggers
    names.append("pli_observe_note_*")  # the checker of --check
    names += ["pli_std_*", "pli_handle_base", "pli_handle_used", "pli_user_calls", "pli_user_calls_op", "pli_user_calls_errhandler",
              "pli_grequest_poll_by", "pli_cursor_type_iov"]  # libraries of other ABIs
    listed = "  global:\n" + "".join(f"    {n};\n" for n in names)
    return "{\n" + listed + "  local: *;\n};\n"


def coverage(functions):
    rows = []
    for chapter, f in functions:
        for n in (n + ("_c" if large else "") for n in f.names() for large in f.forms()):
            rows.append(f'PLI_COVERAGE("{n}", "{chapter}", {1 if f.implemented() else 0})')
    return "\n".join(rows) + "\n"


# What a kind means to a reader of the manual.
WORDS = {
    "buffer": "the data", "count": "number of elements", "count?": "number of elements",
    "counts": "number of elements for each rank", "displs": "where the data of each rank begins",
    "comm": "communicator", "datatype": "datatype", "datatypes": "datatypes", "op": "operation",
    "group": "group", "info": "hints", "infos": "hints", "session": "session", "win": "window",
    "file": "file", "status": "status, or MPI_STATUS_IGNORE", "request": "request",
    "requests": "requests", "root": "rank of the root", "dest": "rank to send to",
    "source": "rank to receive from", "target": "rank of the target", "tag": "tag",
    "message": "message", "errhandler": "error handler", "function": "function of the program",
}


# The error class that says that an argument of a kind is wrong.
ERRORS = {
    "buffer": "MPI_ERR_BUFFER", "count": "MPI_ERR_COUNT", "counts": "MPI_ERR_COUNT", "comm": "MPI_ERR_COMM",
    "datatype": "MPI_ERR_TYPE", "datatypes": "MPI_ERR_TYPE", "op": "MPI_ERR_OP", "group": "MPI_ERR_GROUP",
    "info": "MPI_ERR_INFO", "infos": "MPI_ERR_INFO", "session": "MPI_ERR_SESSION", "win": "MPI_ERR_WIN",
    "file": "MPI_ERR_FILE", "request": "MPI_ERR_REQUEST", "requests": "MPI_ERR_REQUEST", "root": "MPI_ERR_ROOT",
    "dest": "MPI_ERR_RANK", "source": "MPI_ERR_RANK", "target": "MPI_ERR_RANK", "tag": "MPI_ERR_TAG",
    "message": "MPI_ERR_REQUEST", "errhandler": "MPI_ERR_ERRHANDLER", "keyval": "MPI_ERR_KEYVAL",
}


def error_rows(f):
    """By error class: the arguments of which it says that they are wrong."""
    rows = {}
    for p in f.params:
        how, _, what = p.kind.rpartition(":")
        what = re.sub(r"[?!+].*", "", what)
        if what in ERRORS and how != "out":
            rows.setdefault(ERRORS[what], []).append(f"\\fI{p.name}\\fR")
    return rows


def words_for(kind):
    """A kind as a person would say it; "" where the type says it all."""
    how, _, what = kind.rpartition(":")
    what = re.sub(r"[?!+].*", "", what)
    said = WORDS.get(what, "" if what in ("raw", "int", "out", "aint", "length") else what)
    if kind == "out" or how == "out":
        said = "result" + (": " + said if said else "")
    elif how == "free":
        said += ", null afterwards"
    elif how == "ref":
        said += ", may be changed"
    more = {"committed": "committed", "any": "or the wildcard" if what == "tag" else ""}
    return said + "".join(", " + more[m] for m in kind.split("+")[1:] if more.get(m))


def read_examples(path):
    """By function: the lines of its example, from the C file of all."""
    found, names, lines = {}, [], []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip()
        if line.startswith("// man:"):
            names, lines = names + line[7:].split(), []
        elif line == "}":
            found.update({name: lines for name in names})
            names = []
        elif names and (line.startswith((" ", "#")) or not line):
            lines.append(re.sub(r"^    ", "", line).replace("pli_examples_", ""))
    return found


def check_examples(functions, found):
    known = {name for f in functions if f.implemented() for name in f.names()}
    missing = [f.name for f in functions
               if f.implemented() and not found.get(f.name) and any(n.startswith("MPIX_") for n in f.names())]
    wrong = [f"{name} is no function" for name in found if name not in known]
    if missing or wrong:
        sys.exit("api/examples.c: " + "; ".join(wrong + [f"no example of {name}" for name in missing]))


def check_docs(functions):
    bare = [f.name for f in functions if f.implemented() and len(f.doc) < 2]
    if bare:
        sys.exit(f"api: a title and a description, two lines of doc, are missing for {', '.join(bare)}")


def check_kinds(functions):
    for f in functions:
        for p in f.params:
            how, _, what = p.kind.rpartition(":")
            base = re.sub(r"[?!+].*", "", what)
            is_known = base in HANDLES or (how in ("out", "ref") and base == "count") if how else \
                base in HANDLES or what in NUMBERS or what in PLAIN
            if not is_known or how not in ("", "out", "free", "ref"):
                sys.exit(f"api: {f.name}: '{p.kind}' of {p.name} is no kind; docs/design/api.md lists them")


def see_also(f, known):
    """The functions that its description names."""
    named = re.findall(r"\bMPIX?_\w+", " ".join(f.doc) + " " + (f.removed or ""))
    return [n for n in dict.fromkeys(named) if n in known and n not in f.names()]


def fortran_synopsis(api):
    """By name of a function: the lines of its Fortran forms, of mpi_f08 and the older one."""
    import fortran_model  # they read the table by this module
    import gen_f08
    found = {}
    for routine in fortran_model.routines(api):
        found.setdefault(routine.function.name, []).append(routine)
    lines = {}
    for name, forms in found.items():
        new, old = gen_f08.synopsis(forms), gen_f08.old_synopsis(forms[0])
        lines[name] = ([".sp", "use mpi_f08", ".sp"] + new if new else []) + [".sp", "use mpi, or include 'mpif.h'", ".sp"] + old
    return lines


def folded(proto, width=72):
    """A prototype in lines that fit a terminal of 80 columns behind the margin of a manual page; no argument is cut."""
    lines = [""]
    indent = re.match(" *", proto)[0] + "    "
    for piece in re.split(r"(?<=,) ", proto):
        if lines[-1] and len(lines[-1]) + 1 + len(piece) > width:
            lines.append(indent + piece)
        else:
            lines[-1] += (" " if lines[-1] else "") + piece
    return lines


def man_page(f, example, known, fortran):
    title = f.doc[0]
    lines = [f'.TH {f.name} 3 "" "Pliant MPI" "MPI functions"', ".SH NAME",
             f"{f.name} \\- {title}", ".SH SYNOPSIS", ".nf", "#include <mpi.h>", ".sp"]
    lines += [line for large in f.forms() for line in folded(f.proto("", large) + ";")]
    lines += [line.replace("'mpif.h'", "\\(aqmpif.h\\(aq") for form in fortran for line in folded(form)]
    description = [f.doc[1:2]] + [[".PP", more] for more in f.doc[2:]]
    lines += [".fi", ".SH DESCRIPTION"] + [line for part in description for line in part]
    if f.removed:
        lines += [".PP", f"MPI 3.0 took this function out; it is here for older programs. New ones use {f.removed}."]
    if f.also:
        lines += [".PP", f"The function has the name {' and '.join(f.also)} too."]
    lines += [".SH PARAMETERS"] if f.params else []
    for p in f.params:
        types = p.small + (f"; {p.large} in the _c form" if p.large != p.small else "")
        types = "more arguments, of any type" if p.small == "..." else types  # a dot would begin a macro
        said = words_for(p.kind)
        lines += [".TP", f"\\fI{p.name}\\fR", f"{said} ({types})" if said else types]
    is_tool = f.name.startswith("MPI_T_")  # of the tool interface, which has errors of its own
    lines += [".SH RETURN VALUE", f"The result, of type {f.returns}." if f.returns != "int" else
              "MPI_SUCCESS, or one of the codes MPI_T_ERR_...; no error handler is called." if is_tool else
              "MPI_SUCCESS, or an error code after the error handler was called."]
    rows = error_rows(f) if f.returns == "int" and not is_tool else {}
    if rows:
        lines += [".SH ERRORS", "The text of an error (MPI_Error_string) names the mistake. Among the classes are"]
    for name, wrong in rows.items():
        lines += [".TP", name, f"{' or '.join(wrong)} cannot be used"]
    if example:
        text = [re.sub(r"^(?=[.'])", r"\\&", line.replace("\\", "\\e")) for line in example]
        lines += [".SH EXAMPLE", ".nf", *text, ".fi"]
    lines += [".SH SEE ALSO"] + [f".BR {name} (3)," for name in see_also(f, known)]
    lines += [".BR mpiexec (1),", ".BR mpiinfo (1)"]
    return "\n".join(lines) + "\n"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path) and open(path, encoding="utf-8").read() == text:
        return
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    api, out = sys.argv[1:]
    skip = {"constants.api", "types.api"}
    chapters = sorted(n[:-4] for n in os.listdir(api) if n.endswith(".api") and n not in skip)
    all_functions = []
    for chapter in chapters:
        functions = read_functions(os.path.join(api, chapter + ".api"))
        write(os.path.join(out, "entry", f"entry_{chapter}.c"), entries(chapter, functions))
        all_functions += [(chapter, f) for f in functions]
    flat = [f for _, f in all_functions]
    check_kinds(flat)
    write(os.path.join(out, "include", "mpi.h"), header(api, flat))
    write(os.path.join(out, "exports.map"), exports(flat, variables(api)))
    # A program has copies of these, which the library must read; all else it binds to itself.
    write(os.path.join(out, "dynamic.list"), "{\n" + "".join(f"  {v};\n" for v in variables(api)) + "};\n")
    write(os.path.join(out, "coverage.def"), coverage(all_functions))
    for name, text in gen_coll.files(flat):
        write(os.path.join(out, "coll", name), text)
    examples = read_examples(os.path.join(api, "examples.c"))
    check_examples(flat, examples)
    check_docs(flat)
    known = {f.name for f in flat if f.implemented()}
    fortran = fortran_synopsis(api)
    for f in flat:
        if f.implemented():
            folder = os.path.join(out, "man", "man3")
            write(os.path.join(folder, f.name + ".3"), man_page(f, examples.get(f.name), known, fortran.get(f.name, [])))
            for other in f.also:
                write(os.path.join(folder, other + ".3"), f".so man3/{f.name}.3\n")


if __name__ == "__main__":
    main()
