#!/usr/bin/env python3
"""Writes the wrappers of mpiexec --check.

usage: gen_check.py API_DIR OUT_DIR

OUT_DIR/check_functions.def   the functions that are looked at: constant, name, class
OUT_DIR/check_calls.c         their wrappers; trace/check.h has what they call
"""
import os
import re
import sys

import gen

# Written by hand in trace/check_requests.c.
BY_HAND = {"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Start", "Startall",
           "Request_free", "Request_get_status", "Request_get_status_all", "Request_get_status_any",
           "Request_get_status_some"}
CHAPTERS = {"p2p", "coll", "comm", "rma", "io", "env", "dynamic", "session", "topo", "datatype", "group", "info", "op",
            "error", "endpoint"}
OBJECTS = ("comm", "group", "datatype", "op", "info", "errhandler", "win", "file")
# What they hand out is not the caller's to free.
LENT = re.compile(r"Comm_get_parent|Type_create_f90|Type_match_size|endpoint|Type_get_value_index|Comm_join|fromint|_f2c")
PLAIN = {"sendbuf": "sendbuf", "sendcount": "sendcount", "sendtype": "sendtype", "recvbuf": "recvbuf",
         "recvcount": "recvcount", "recvtype": "recvtype", "dest": "dest", "source": "source", "sendtag": "sendtag",
         "recvtag": "recvtag", "root": "root", "op": "op", "comm": "comm", "win": "win", "target_rank": "target_rank",
         "target_disp": "target_disp", "target_count": "target_count", "target_datatype": "target_type"}


def class_of(chapter, f):
    low = f.base.lower()
    if chapter == "coll" and f.form in (None, "coll", "icoll"):
        return "COLL"
    if chapter == "rma":
        return "RMA"
    if re.match(r"File_i?(read|write)", f.base):
        return "IO_END" if f.base.endswith("_end") else "IO"
    if chapter == "p2p":
        if "sendrecv" in low:
            return "BOTH"
        if re.match(r"i?[bsr]?send(_init)?$", low):
            return "SEND"
        if re.match(r"i?m?recv(_init)?$", low):
            return "RECV"
        if "probe" in low:
            return "PROBE"
        if low in ("psend_init", "precv_init"):
            return "PARTS"
    if f.base in ("Init", "Init_thread", "Finalize"):
        return "LIFE"
    return "OTHER"


def functions(api):
    for chapter in sorted(CHAPTERS):
        for f in gen.read_functions(os.path.join(api, chapter + ".api")):
            if not f.implemented() or f.returns != "int" or any(p.small == "..." for p in f.params):
                continue
            makes = any(p.kind.startswith(("out:", "free:")) for p in f.params)
            if chapter in ("datatype", "group", "info", "op", "error") and not makes and f.base != "Get_count":
                continue
            if re.search(r"toint|fromint|_c2f|_f2c|Initialized|Finalized|Wtime|Wtick|thread$|version", f.base) and \
                    f.base != "Init_thread":
                continue
            yield chapter, f


PREADY = {"Pready": ".part = partition, .n_part = 1", "Pready_list": ".parts = array_of_partitions, .n_part = length",
          "Pready_range": ".part = partition_low, .n_part = partition_high - partition_low + 1"}


def memory(chapter, f):
    """What is known of the memory that stays with MPI; None: nothing is noted of it."""
    if f.base in PREADY:
        return PREADY[f.base] + ", .marked = request"
    kind = class_of(chapter, f)
    if kind == "PARTS":
        return ".n_part = partitions"
    return ".n = 0" if kind == "IO" or (kind == "COLL" and any(p.kind == "out:request" for p in f.params)) else None


def is_split(f):
    """A half of a split collective, of which a file has one at a time: its handle stands for the request."""
    return re.match(r"File_.*_(begin|end)$", f.base) is not None


def facts(chapter, f, large):
    out, kind = [], class_of(chapter, f)
    for p in f.args(large):
        if p.name in PLAIN and p.ctype(large).count("*") == (1 if "buf" in p.name else 0) and "[" not in p.ctype(large):
            out.append(f".{PLAIN[p.name]} = {p.name}")
        elif p.kind == "out:request":
            out.append(f".request = {p.name}")
        elif p.kind == "status" and p.ctype(large) == "MPI_Status *":
            out.append(f".status = {p.name} == MPI_STATUS_IGNORE ? &mine : {p.name}")
        elif p.name == "flag" and p.ctype(large) == "int *":
            out.append(".flag = flag")
        elif p.kind in ("out:win", "free:win"):
            out.append(f".win_made = {p.name}")
        elif p.name == "disp_unit" and "*" not in p.ctype(large):
            out.append(".unit = (int)disp_unit")
        elif p.kind.startswith("free:comm"):
            out.append(f".comm_freed = {p.name}")
        elif p.ctype(large) == "MPI_Message *":
            out.append(f".message = {p.name}")
    names = {p.name for p in f.args(large)}
    if kind in ("SEND", "RECV", "IO") and {"buf", "count", "datatype"} <= names:
        side = "send" if kind == "SEND" or "write" in f.base else "recv"
        out += [f".{side}buf = buf", f".{side}count = count", f".{side}type = datatype"]
        if "tag" in names:
            out.append(f".{side}tag = tag")
    if kind == "PARTS":
        side = "send" if f.base == "Psend_init" else "recv"
        out += [f".{side}buf = buf", f".{side}count = count", f".{side}type = datatype", f".{side}tag = tag"]
    if memory(chapter, f) is not None:
        out += [".memory = &memory"]
    if is_split(f):
        out += [".request = &split"]
    if kind == "PROBE" and "tag" in names:
        out.append(".recvtag = tag")
    if kind == "BOTH" and "buf" in names:
        out += [".sendbuf = buf, .sendcount = count, .sendtype = datatype"]
        out += [".recvbuf = buf, .recvcount = count, .recvtype = datatype"]
    if kind == "COLL" and {"count", "datatype"} <= names:
        out += [".recvcount = count", ".recvtype = datatype"]
        out += [".recvbuf = buffer"] if "buffer" in names else []
    if kind == "COLL" and "datatype" in names and "count" not in names and "recvcount" in names:
        out += [".recvtype = datatype"]
    if kind == "RMA" and {"origin_addr", "origin_count", "origin_datatype"} <= names:
        out += [".sendbuf = origin_addr, .sendcount = origin_count, .sendtype = origin_datatype"]
    if kind == "RMA" and "target_disp" in names and "target_datatype" not in names:  # of one element
        out += [".target_count = 1, .target_type = datatype"]
    if f.base in ("Win_lock", "Win_unlock", "Win_flush", "Win_flush_local"):
        out += [".target_rank = rank"]
    if f.base == "Win_lock":
        out += [".lock_type = lock_type"]
    if kind == "RMA" and "result_addr" in names and "result_count" in names:
        out += [".recvbuf = result_addr, .recvcount = result_count, .recvtype = result_datatype"]
    return out


def body(chapter, f, large, name, is_std):
    args = ", ".join(p.name for p in f.args(large))
    types = ", ".join(re.sub(r"\b" + p.name + r"\b(?=(\[\d*\])*$)", "", p.decl(large)) for p in f.args(large)) or "void"
    number = f"PLI_CHECK_SYM_{f.base}{'_c' if large else ''}"
    proto = f.proto("", large).replace(f.name + ("_c(" if large else "("), name + "(", 1)
    status = next((p for p in f.args(large) if p.kind == "status" and p.ctype(large) == "MPI_Status *"), None)
    table = "pli_check_next_std" if is_std else "pli_check_next"
    lines = [proto + ";", proto, "{", "    void *site = __builtin_return_address(0);",
             f"    bool is_seen = pli_check_enter(&site, __builtin_frame_address(0), {str(is_std).lower()});",
             f"    int (*next)({types}) = (int (*)({types})){table}[{number}];",
             "    if (!is_seen) {", f"        return next({args});", "    }"]
    if status:
        lines += ["    MPI_Status mine;"]
    if is_split(f):
        lines += ["    MPI_Request split = (MPI_Request)(void *)fh;"]
    kept = memory(chapter, f)
    if kept:
        lines += [f"    struct pli_check_memory memory = {{ {kept} }};"]
    lines += ["    struct pli_check_call call = {", f"        .function = PLI_CHECK_FN_{f.base}, .site = site,",
              *[f"        {fact}," for fact in facts(chapter, f, large)], "    };"]
    for p in f.args(large):
        freed = re.match(r"free:(\w+)", p.kind)
        if freed and freed.group(1) in OBJECTS:
            lines += [f"    const void *old = {p.name} != NULL ? *(void **){p.name} : NULL;"]
    lines += ["    pli_check_begin(&call);"]
    if status:
        lines += [f"    {status.name} = call.status;"]
    if f.base in ("Irecv", "Recv_init"):
        lines += ["    buf = pli_check_receive_address(call.receive, buf);"]
    lines += [f"    int err = next({args});"]
    for p in f.args(large):
        made = re.match(r"out:(\w+)", p.kind)
        freed = re.match(r"free:(\w+)", p.kind)
        if freed and freed.group(1) in OBJECTS:
            lines += ["    if (err == MPI_SUCCESS) {",
                      f"        pli_check_object_freed(PLI_CHECK_{freed.group(1).upper()}, old);", "    }"]
        elif made and made.group(1) in OBJECTS and not LENT.search(f.base) and "[" not in p.ctype(large):
            lines += ["    if (err == MPI_SUCCESS && call.request == NULL) {",
                      f"        pli_check_object_made(PLI_CHECK_{made.group(1).upper()}, *{p.name}, site, PLI_CHECK_FN_{f.base});",
                      "    }"]
    lines += ["    return pli_check_end(&call, err);", "}", ""]
    return lines


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    api, out = sys.argv[1:]
    chosen = list(functions(api))
    rows = [f'PLI_CHECK_FN({f.base}, "{f.name}", {class_of(chapter, f)})' for chapter, f in chosen]
    rows.append("#ifdef PLI_CHECK_SYM")
    text = ["// The wrappers of --check. Generated from the API table.", '#include "trace/check.h"', ""]
    for chapter, f in chosen:
        for large in f.forms():
            name = f.name + ("_c" if large else "")
            rows.append(f'PLI_CHECK_SYM({f.base}{"_c" if large else ""}, "{name}")')
            if f.base not in BY_HAND:
                text += body(chapter, f, large, name, False) + body(chapter, f, large, "pli_std_" + name, True)
    rows.append("#endif")
    gen.write(os.path.join(out, "check_functions.def"), "\n".join(rows) + "\n")
    gen.write(os.path.join(out, "check_calls.c"), "\n".join(text))


if __name__ == "__main__":
    main()
