#!/usr/bin/env python3
"""Writes the layers between a program and the library that mpiexec can put there.

usage: gen_trace.py API_DIR OUT_DIR

OUT_DIR/functions.def   the functions that --profile and --timeline record: constant, name, class
OUT_DIR/trace_calls.c   their wrappers; trace/trace.h has what they call
OUT_DIR/trace_short.c   the way of most calls of one small message, before those
OUT_DIR/stack_calls.c   MPI_X and PMPI_X of all functions, which lead through the tools of --tool
"""
import os
import re
import sys

import gen

# Written by hand in trace/trace_requests.c and trace/trace_phases.c.
BY_HAND = {"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Start", "Startall",
           "Request_free", "Type_free", "Pcontrol", "MPIX_Phase_begin", "MPIX_Phase_end"}
CHAPTERS = {"p2p", "coll", "comm", "rma", "io", "env", "dynamic", "elastic", "endpoint", "failure", "session", "topo",
            "mpix"}
# Local calls that cost less than recording them would.
LOCAL = re.compile(r"_(get|set)_(?!accumulate)|_(rank|size|compare|test_inter|name|amode|group|coords|shape|map|view|count|info)$(?<!create_group)(?<!from_group)(?<!with_info)|"
                   r"_(rank|size|group)_|Get_(?!acc)|Test_cancelled|toint|^Is_|Initialized|Finalized|Wtime|Wtick|Query_thread|Free_mem|Alloc_mem|"
                   r"^(Cart|Graph|Dist_graph|Topo|Dims)_(get|rank|coords|shift|map|test|neighbors|create_f)|Dims_create|"
                   r"^Buffer_|_buffer$|Status_|_keyval|_errhandler|remote|Parrived|version|_f2c|_c2f|sizeof|Psize|"
                   r"_attr|Dimsget|Cartdim|Graphdims|Topo_test|neighbors|Pack|Unpack|Aint|Address|Type_|num_psets|nth_pset")


def class_of(chapter, f):
    base = f.base
    if chapter == "io":
        return "IO"
    if chapter == "rma":
        return "RMA"
    if chapter == "coll":
        return "COLL"
    if chapter == "p2p":
        if re.match(r"I?(b|s|r)?send$|I?[bsr]?send|Send|Bsend|Ssend|Rsend", base, re.I) and not base.endswith("_init"):
            return "BOTH" if "recv" in base.lower() else "SEND"
        if re.match(r"I?m?recv$|Recv$|Mrecv$", base, re.I):
            return "RECV"
        if "robe" in base:
            return "PROBE"
        if re.match(r"Wait|Test", base):
            return "WAIT"
    if base in ("Init", "Init_thread", "Finalize", "Session_init", "Session_finalize", "Abort"):
        return "LIFE"
    if chapter in ("elastic", "dynamic", "failure"):
        return "WORLD"
    return "OTHER"


def recorded(api):
    for chapter in sorted(CHAPTERS | {"datatype"}):
        for f in gen.read_functions(os.path.join(api, chapter + ".api")):
            if f.base in BY_HAND or (chapter in CHAPTERS and f.implemented() and not LOCAL.search(f.base) and f.returns == "int" and
                                     not any(p.small == "..." for p in f.params)):
                yield chapter, f


def find(f, kinds, large):
    return next((p for p in f.args(large) if p.kind in kinds), None)


def sized(f, large):
    """The count and the datatype that say how much is moved."""
    for side in ("send", "recv", None):
        count = next((p for p in f.args(large) if p.side == side and p.kind in ("count", "count?")), None)
        kind = next((p for p in f.args(large) if p.side == side and p.kind.startswith("datatype") and
                     not p.kind.startswith("datatypes")), None)
        if count and kind:
            return count, kind
    return None, None


def facts(chapter, f, large):
    """Members of struct pli_trace_args for one call."""
    out = [f".function = PLI_TRACE_FN_{f.base}", ".site = site"]
    comm = find(f, ("comm", "comm+any"), large)
    if comm:
        out.append(f".comm = {comm.name}")
    peer = find(f, ("dest", "target"), large) or find(f, ("source",), large) or find(f, ("root",), large)
    if peer:
        out.append(f".peer = {peer.name}, .has_peer = true")
    tag = find(f, ("tag", "tag+any"), large)
    if tag:
        out.append(f".tag = {tag.name}")
    count, kind = sized(f, large)
    if count:
        out.append(f".count = {count.name}, .datatype = {kind.name}")
    request = find(f, ("out:request",), large)
    if request:
        out.append(f".request = err == MPI_SUCCESS ? *{request.name} : MPI_REQUEST_NULL")
    flag = next((p for p in f.args(large) if p.name == "flag" and "robe" in f.base), None)
    if flag:
        out.append(".is_idle = err == MPI_SUCCESS && !*flag")
    status = find(f, ("status",), large)
    if status and status.ctype(large) == "MPI_Status *":
        out.append(f".status = {status.name}")
    if f.base.endswith("_init") and request:
        out.append(".is_persistent = true")
    if is_sampled(chapter, f):
        out.append(f".kind = PLI_TRACE_KIND_{f.base}, .is_wait = {'true' if waits(f) else 'false'}")
    if chapter in ("elastic", "session", "dynamic", "endpoint", "env", "failure") or \
            any(p.kind.startswith("free:") for p in f.params):
        out.append(".is_change = true")
    return out


def is_sampled(chapter, f):
    """Whether short calls of it are not all timed: those of one small message."""
    return chapter == "p2p" and class_of(chapter, f) in ("SEND", "RECV") and find(f, ("comm",), False) is not None


def waits(f):
    """Whether a sampled call waits for the peer."""
    return find(f, ("status",), False) is not None


def parts(f, large):
    """Names and types of the arguments of a call."""
    args = ", ".join(p.name for p in f.args(large))
    types = ", ".join(re.sub(r"\b" + p.name + r"\b(?=(\[\d*\])*$)", "", p.decl(large)) for p in f.args(large)) or "void"
    return args, types


def begin_sampled(f, large, key):
    comm, (count, kind) = find(f, ("comm",), large), sized(f, large)
    peer = find(f, ("dest",), large) or find(f, ("source",), large)
    return f"pli_trace_sample_begin(self, {key}, {comm.name}, {kind.name}, ({'uint64_t' if large else 'uint32_t'}){count.name}, {peer.name});"


def slow_name(name):
    return "pli_trace_calls_" + name


def short(f, large, name, table):
    """The way of a call that is counted and not timed, with as few instructions as possible: what it does not care for is left to
    the slow function, which has the same arguments and is jumped to, so that it has the same caller."""
    args, types = parts(f, large)
    request = find(f, ("out:request",), large)
    call = f"((int (*)({types})){table}[PLI_TRACE_SYM_{f.base}{'_c' if large else ''}])({args})"
    slow = f"{slow_name(name)}({args})"
    proto = f.proto("", large)
    rename = f.name + ("_c(" if large else "(")
    lines = [proto.replace(rename, name + "(", 1) + ";", proto.replace(rename, slow_name(name) + "(", 1) + " PLI_TRACE_HIDDEN;",
             proto.replace(rename, name + "(", 1), "{"]
    is_std = table != "pli_trace_next"
    if is_std:
        lines += ["    struct pli_trace_thread *self = pli_trace_std.self;", "    void *site = pli_trace_std.outer;",
                  "    if (__builtin_expect(self == NULL, 0)) {", f"        return {slow};", "    }"]
    else:  # our library of another ABI calls MPI itself
        lines += ["    struct pli_trace_thread *self = pli_trace_self;", "    void *site = __builtin_return_address(0);",
                  "    if (__builtin_expect(self == NULL, 0)) {", "        if (!pli_trace_is_foreign) {", f"            return {slow};", "        }",
                  "        pli_trace_std.outer = site;", f"        return {call};", "    }"]
    lines += [f"    uint64_t key = pli_trace_sample_key(site, PLI_TRACE_KIND_{f.base}, true);",
              "    struct pli_trace_sampled *sampled =",
              f"        {begin_sampled(f, large, 'key')}",
              "    if (__builtin_expect(sampled == NULL, 0)) {", f"        return {slow};", "    }",
              *(["    pli_trace_std.outer = NULL;"] if is_std else []),
              f"    int err = {call};",
              f"    return pli_trace_sample_end_post(self, sampled, {request.name}, err);" if request else
              "    return pli_trace_sample_end_call(self, NULL, err);",
              "}", ""]
    return lines


def again(f, large, next_call):
    """A sampled call that the short way does not find: the Fortran library called it, or the status says whom it waited for."""
    status, request = find(f, ("status",), large), find(f, ("out:request",), large)
    named = f"{find(f, ('source',), large).name} >= 0" if waits(f) else "true"
    lines = [f"    uint64_t key = pli_trace_sample_key(site, PLI_TRACE_KIND_{f.base}, {named});",
             "    struct pli_trace_sampled *sampled =",
             f"        {begin_sampled(f, large, 'key')}", "    if (sampled != NULL) {"]
    if request:
        return lines + [f"        return pli_trace_sample_end_post(self, sampled, {request.name}, {next_call});", "    }"]
    if status:
        lines += ["        MPI_Status own;", f"        {status.name} = {status.name} == MPI_STATUS_IGNORE ? &own : {status.name};"]
    return lines + [f"        return pli_trace_sample_end_call(self, {status.name if status else 'NULL'}, {next_call});", "    }"]


def body(chapter, f, large, name, enter, table):
    args, types = parts(f, large)
    number = f"PLI_TRACE_SYM_{f.base}{'_c' if large else ''}"
    is_short = is_sampled(chapter, f)
    proto = f.proto("", large).replace(f.name + ("_c(" if large else "("), (slow_name(name) if is_short else name) + "(", 1)
    status = find(f, ("status",), large)
    own = status is not None and status.ctype(large) == "MPI_Status *"
    lines = [proto + (" PLI_TRACE_HIDDEN;" if is_short else ";"), proto, "{", "    void *site = __builtin_return_address(0);",
             "    void *frame = __builtin_frame_address(0);",
             f"    struct pli_trace_thread *self = {enter}(&site, frame);",
             f"    int (*next)({types}) = (int (*)({types})){table}[{number}];",
             "    if (__builtin_expect(self == NULL, 0)) {",
             f"        return next({args});", "    }"]
    if is_short:
        lines += again(f, large, f"next({args})")
    if own:
        lines += ["    MPI_Status mine;",
                  f"    {status.name} = {status.name} == MPI_STATUS_IGNORE ? &mine : {status.name};"]
    lines += [f"    uint64_t begin = pli_trace_begin(self, PLI_TRACE_FN_{f.base});",
              f"    int err = next({args});",
              "    const struct pli_trace_args args = {",
              *[f"        {fact}," for fact in facts(chapter, f, large)], "    };",
              "    pli_trace_end(self, begin, &args, err);",
              "    return err;", "}", ""]
    return lines


def trace_calls(functions):
    out = ["// The wrappers of --profile and --timeline. Generated from the API table.",
           '#include "trace/trace_sample.h"', ""]
    for chapter, f in functions:
        if f.base in BY_HAND:
            continue
        for large in f.forms():
            name = f.name + ("_c" if large else "")
            out += body(chapter, f, large, name, "pli_trace_enter", "pli_trace_next")
            out += body(chapter, f, large, "pli_std_" + name, "pli_trace_enter_std", "pli_trace_next_std")
            for also in f.also:
                proto = f.proto("", large, also)
                out.append(f'{proto};\n{proto} __attribute__((alias("{name}")));\n')
    return "\n".join(out)


def trace_short(functions):
    out = ["// The way of calls that --profile counts and does not time. Generated from the API table.",
           '#include "trace/trace_sample.h"', ""]
    for chapter, f in functions:
        for large in f.forms() if is_sampled(chapter, f) else ():
            name = f.name + ("_c" if large else "")
            out += short(f, large, name, "pli_trace_next")
            out += short(f, large, "pli_std_" + name, "pli_trace_next_std")
    return "\n".join(out)


def functions_def(functions):
    rows = []
    for chapter, f in functions:
        rows.append(f'PLI_TRACE_FN({f.base}, "{f.name}", {class_of(chapter, f)})')
    rows.append("#ifdef PLI_TRACE_SYM")
    for _, f in functions:
        for large in f.forms():
            suffix = "_c" if large else ""
            rows.append(f'PLI_TRACE_SYM({f.base}{suffix}, "{f.name}{suffix}")')
    rows.append("#endif")
    return "\n".join(rows) + "\n"


def stack_calls(api):
    """Every function that the library exports, as MPI_X and as PMPI_X."""
    out = ["// The calls between the tools of --tool. Generated from the API table.", '#include "trace/stack.h"', ""]
    names, n = [], 0
    skip = {"constants.api", "types.api"}
    for table in sorted(t for t in os.listdir(api) if t.endswith(".api") and t not in skip):
        for f in gen.read_functions(os.path.join(api, table)):
            if not f.implemented():
                continue
            for large in f.forms():
                for base in f.names():
                    name = base + ("_c" if large else "")
                    args = f.args(large)
                    types = ", ".join(re.sub(r"\b" + p.name + r"\b(?=(\[\d*\])*$)", "", p.decl(large)) for p in args) or "void"
                    passed = ", ".join(p.name for p in args if p.small != "...")
                    if any(p.small == "..." for p in args):  # as many as MPI_Pcontrol of a tool may want
                        types, passed = "int, ...", passed + ", 0L, 0L, 0L"
                    for prefix, is_p in (("", "false"), ("P", "true")):
                        proto = f.proto(prefix, large, base)
                        kind = f"{f.returns} (*)({types})"
                        out += [proto + ";", proto, "{",
                                f"    return (({kind})pli_stack_next({n}, {is_p}, __builtin_return_address(0)))({passed});",
                                "}", ""]
                    names.append(name)
                    n += 1
    out += ["const char *const pli_stack_names[] = {", *[f'    "{name}",' for name in names], "};",
            f"const int pli_stack_n = {n};", ""]
    return "\n".join(out), n


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    api, out = sys.argv[1:]
    functions = list(recorded(api))
    gen.write(os.path.join(out, "functions.def"), functions_def(functions))
    gen.write(os.path.join(out, "trace_calls.c"), trace_calls(functions))
    gen.write(os.path.join(out, "trace_short.c"), trace_short(functions))
    text, n = stack_calls(api)
    gen.write(os.path.join(out, "stack_calls.c"), text)
    gen.write(os.path.join(out, "stack_size.h"), f"enum {{ PLI_STACK_N = {n} }};\n")


if __name__ == "__main__":
    main()
