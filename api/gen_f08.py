"""Writes what mpi_f08 needs, from the API table: the modules, and the C functions that take buffers by descriptor.

usage: gen_f08.py API_DIR OUT_DIR

OUT_DIR gets module sources (mpi_f08_types.f90, mpi_f08_callbacks.f90, mpi_f08.f90 and, for compilers that cannot hand over arrays by
descriptor, mpi_f08_address.f90) and f08_glue.c. A routine without buffers needs no C of its own: its symbol is an alias of the
glue for mpif.h (gen_fortran.py). docs/design/fortran.md says how arrays that are not contiguous are handed on.
"""
import os
import re
import sys

import fortran_model
import gen

KINDS = ["MPI_ADDRESS_KIND", "MPI_COUNT_KIND", "MPI_INTEGER_KIND", "MPI_OFFSET_KIND"]
HANDLES = list(gen.HANDLES.values())
STATUS_SIZE = 8


def wrap(text, indent="    "):
    """One statement as lines of at most 100 columns."""
    lines, line = [], indent
    for word in re.findall(r"\S+\s*", text):
        if len(line) + len(word.rstrip()) > 98 and line.strip():
            lines.append(line.rstrip() + " &")
            line = indent + "    "
        line += word
    return lines + [line.rstrip()]


# ---- types and constants ----------------------------------------------------------------------------------------------------

def fortran_value(name, value):
    """Strings have no NUL in Fortran, so they may be one shorter."""
    number = int(value.strip("()"), 0)
    return number - 1 if name.startswith("MPI_MAX_") else number


def constant_lines(api):
    for name, ctype, value in fortran_model.constants(api):
        if name.startswith(("MPI_T_", "MPI_F_")):
            continue
        if ctype == "int":
            yield f"  integer, parameter :: {name} = {fortran_value(name, value)}"
        elif ctype == "MPI_Offset":
            yield f"  integer(MPI_OFFSET_KIND), parameter :: {name} = {value.strip('()')}"
        elif ctype in HANDLES:
            yield f"  type({ctype}), parameter :: {name} = {ctype}({int(value, 0)})"


def types_module(api, by_descriptor):
    truth = ".true." if by_descriptor else ".false."
    out = ["! Types, kinds and constants of mpi_f08. Generated from the API table.", "module mpi_f08_types",
           "  implicit none"]
    out += [f"  integer, parameter :: {kind} = {4 if 'INTEGER' in kind else 8}" for kind in KINDS]
    out += [f"  integer, parameter :: MPI_STATUS_SIZE = {STATUS_SIZE}",
            "  integer, parameter :: MPI_SOURCE = 1, MPI_TAG = 2, MPI_ERROR = 3",
            f"  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = {truth}",
            f"  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = {truth}"]
    for handle in HANDLES:
        out += [f"  type, bind(C) :: {handle}", "    integer :: MPI_VAL", f"  end type {handle}"]
    out += ["  type, bind(C) :: MPI_Status", "    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR",
            "    integer :: MPI_internal(5)", "  end type MPI_Status"]
    out += list(constant_lines(api))
    # The same blocks as in mpif.h: the library knows these variables by their addresses.
    out += ["  integer :: MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC",
            "  integer :: MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1), MPI_ERRCODES_IGNORE(1)",
            "  type(MPI_Status) :: MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE(1)",
            "  character(len=1) :: MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1, 1)",
            "  common /pliant_mpi_special/ MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC, MPI_UNWEIGHTED, &",
            "      MPI_WEIGHTS_EMPTY, MPI_ERRCODES_IGNORE, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE",
            "  common /pliant_mpi_argv/ MPI_ARGV_NULL, MPI_ARGVS_NULL",
            "  save :: /pliant_mpi_special/, /pliant_mpi_argv/"]
    for op, word in (("==", "eq"), ("/=", "ne")):
        names = ", ".join(f"{h.lower()}_{word}" for h in HANDLES)
        out += [f"  interface operator({op})"] + wrap(f"module procedure {names}") + ["  end interface"]
    out += wrap("private :: " + ", ".join(f"{h.lower()}_{w}" for h in HANDLES for w in ("eq", "ne")), "  ")
    out.append("contains")
    for handle in HANDLES:
        for op, word in (("==", "eq"), ("/=", "ne")):
            name = f"{handle.lower()}_{word}"
            out += [f"  elemental logical function {name}(a, b)", f"    type({handle}), intent(in) :: a, b",
                    f"    {name} = a%MPI_VAL {op} b%MPI_VAL", f"  end function {name}"]
    return "\n".join(out + ["end module mpi_f08_types", ""])


# ---- procedures of the program ----------------------------------------------------------------------------------------------

def callback_lines(name, cb, abstract=True):
    args = [a.name for a in cb.args] + (["ierror"] if cb.has_ierror else [])
    out = wrap(f"subroutine {name}({', '.join(args)})")
    out += ["      import", "      implicit none"]
    for a in cb.args:
        if a.conv == "pointer":
            out.append(f"      type(c_ptr), value :: {a.name}")
        else:
            out.append(f"      {a.f08_type().lower() if '(' not in a.f08_type() else a.f08_type()} :: {a.name}")
    if cb.has_ierror:
        out.append("      integer :: ierror")
    return out + [f"    end subroutine {name}"]


PREDEFINED = {"MPI_COMM_NULL_COPY_FN": "MPI_Comm_copy_attr_function", "MPI_COMM_DUP_FN": "MPI_Comm_copy_attr_function",
              "MPI_COMM_NULL_DELETE_FN": "MPI_Comm_delete_attr_function",
              "MPI_TYPE_NULL_COPY_FN": "MPI_Type_copy_attr_function", "MPI_TYPE_DUP_FN": "MPI_Type_copy_attr_function",
              "MPI_TYPE_NULL_DELETE_FN": "MPI_Type_delete_attr_function",
              "MPI_WIN_NULL_COPY_FN": "MPI_Win_copy_attr_function", "MPI_WIN_DUP_FN": "MPI_Win_copy_attr_function",
              "MPI_WIN_NULL_DELETE_FN": "MPI_Win_delete_attr_function",
              "MPI_CONVERSION_FN_NULL": "MPI_Datarep_conversion_function",
              "MPI_CONVERSION_FN_NULL_C": "MPI_Datarep_conversion_function_c"}


def callbacks_module(api):
    known = {cb.name: cb for cb in fortran_model.callbacks(api)}
    out = ["! The interfaces of procedures that MPI calls. Generated from the API table.", "module mpi_f08_callbacks",
           "  use, intrinsic :: iso_c_binding, only: c_ptr", "  use mpi_f08_types", "  implicit none", "  private :: c_ptr",
           "  abstract interface"]
    for name, cb in known.items():
        if name not in ("MPI_Copy_function", "MPI_Delete_function", "MPI_Handler_function"):
            out += callback_lines(name, cb)
    out += ["  end interface", "  interface"]
    for name, kind in PREDEFINED.items():
        out += callback_lines(name, known[kind])
    return "\n".join(out + ["  end interface", "end module mpi_f08_callbacks", ""])


# ---- the interfaces ---------------------------------------------------------------------------------------------------------

def is_choice(a):
    return a.conv in ("buffer", "choice")


def specific(routine, name, by_descriptor):
    """The name of the procedure behind a generic name, as the standard gives it."""
    return name + ("_f08ts" if by_descriptor and any(map(is_choice, routine.args)) else "_f08")


def kind_of(a):
    """What a compiler sees of a type: the kinds of addresses, offsets and counts are one."""
    return re.sub(r"MPI_\w+_KIND", "8", a.f08_type()) if a.conv != "callback" else "PROCEDURE"


def generic(name, routine, small):
    """The generic name of a form; None for a large form that has the same arguments as the other. Two that differ in a procedure alone,
    which a compiler cannot tell apart, have two names."""
    if not routine.large:
        return name
    if [kind_of(a) for a in small.args] != [kind_of(a) for a in routine.args]:
        return name[:-2]
    return name if any(a.conv == "callback" for a in routine.args) else None


def declare(routine, a, by_descriptor):
    intent = a.f08_intent()
    words = [a.f08_type()] + ([f"INTENT({intent})"] if intent else [])
    if is_choice(a):
        words = [w for w in words if w != "INTENT(OUT)"]  # what has no type cannot be defined
        asynchronous = ["ASYNCHRONOUS"] if a.conv == "buffer" and routine.is_nonblocking() and by_descriptor else []
        if by_descriptor:
            return f"{', '.join(['TYPE(*)', 'DIMENSION(..)'] + words[1:] + asynchronous)} :: {a.name}"
        return f"{', '.join(['TYPE(*)', 'DIMENSION(*)'] + words[1:])} :: {a.name}"
    later = a.extent is not None and a.direction != "in" and a.conv in ("later",)
    return f"{', '.join(words + (['ASYNCHRONOUS'] if later else []))} :: {a.name}{a.shape()}"


def interface(routine, name, by_descriptor, indent="    "):
    """The lines of one specific procedure."""
    proc = specific(routine, name, by_descriptor)
    has_choice = any(map(is_choice, routine.args))
    args = [a.name for a in routine.args] + ([] if routine.result else ["ierror"])
    bind = f' bind(C, name="{proc.lower()}_")' if has_choice and by_descriptor else ""
    kind = "function" if routine.result else "subroutine"
    out = wrap(f"{kind} {proc}({', '.join(args)}){bind}", indent)
    out += [f"{indent}  import", f"{indent}  implicit none"]
    scalars = [a for a in routine.args if a.extent is None and a.conv not in ("argv", "argvs")]
    arrays = [a for a in routine.args if a not in scalars]
    for a in sorted(scalars, key=lambda a: a.conv.startswith("string")) + arrays:
        if is_choice(a) and not by_descriptor:
            out += [f"!DIR$ IGNORE_TKR (TKR) {a.name}", f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {a.name}"]
        out += wrap(declare(routine, a, by_descriptor), indent + "  ")
    if routine.result:
        out += wrap(f"{routine.result} :: {proc}", indent + "  ")
    else:
        out.append(f"{indent}  INTEGER, OPTIONAL, INTENT(OUT) :: ierror")
    return out + [f"{indent}end {kind} {proc}"]


def generics(routines):
    """By generic name: the (routine, name) of its procedures."""
    found, small = {}, None
    for r in routines:
        if not r.large:
            small = r
        if r.is_old:
            continue
        for name in r.names:
            key = generic(name, r, small)
            if key is not None:
                found.setdefault(key, []).append((r, name))
    return found


ONLY_FORTRAN = """  interface {P}MPI_Status_f2f08
    subroutine {P}MPI_Status_f2f08_f08(f_status, f08_status, ierror)
      import
      implicit none
      INTEGER, INTENT(IN) :: f_status(MPI_STATUS_SIZE)
      TYPE(MPI_Status), INTENT(OUT) :: f08_status
      INTEGER, OPTIONAL, INTENT(OUT) :: ierror
    end subroutine
  end interface
  interface {P}MPI_Status_f082f
    subroutine {P}MPI_Status_f082f_f08(f08_status, f_status, ierror)
      import
      implicit none
      TYPE(MPI_Status), INTENT(IN) :: f08_status
      INTEGER, INTENT(OUT) :: f_status(MPI_STATUS_SIZE)
      INTEGER, OPTIONAL, INTENT(OUT) :: ierror
    end subroutine
  end interface
"""
ONLY_DESCRIPTOR = """  interface {P}MPI_F_sync_reg
    subroutine {P}MPI_F_sync_reg_f08ts(buf) bind(C, name="{p}mpi_f_sync_reg_f08ts_")
      TYPE(*), DIMENSION(..), ASYNCHRONOUS :: buf
    end subroutine
  end interface
  interface {P}MPI_Sizeof
    subroutine {P}MPI_Sizeof_f08ts(x, size, ierror) bind(C, name="{p}mpi_sizeof_f08ts_")
      TYPE(*), DIMENSION(..), INTENT(IN) :: x
      INTEGER, INTENT(OUT) :: size
      INTEGER, OPTIONAL, INTENT(OUT) :: ierror
    end subroutine
  end interface
"""
ONLY_ADDRESS = """  interface {P}MPI_F_sync_reg
    subroutine {P}MPI_F_sync_reg_f08(buf)
!DIR$ IGNORE_TKR (TKR) buf
!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
      TYPE(*), DIMENSION(*) :: buf
    end subroutine
  end interface
"""


def f08_module(routines, by_descriptor):
    out = ["! The procedures of MPI. Generated from the API table.", "module mpi_f08",
           "  use, intrinsic :: iso_c_binding, only: c_ptr", "  use mpi_f08_types", "  use mpi_f08_callbacks", "  implicit none",
           "  private :: c_ptr"]
    if not by_descriptor:
        out.insert(-2, "  use mpi_sizeof_kinds, only: MPI_Sizeof, PMPI_Sizeof")
    for key, forms in generics(routines).items():
        for prefix in ("", "P"):
            out.append(f"  interface {prefix}{key}")
            for r, name in forms:
                out += interface(r, prefix + name, by_descriptor)
            out.append("  end interface")
    for prefix in ("", "P"):
        more = ONLY_FORTRAN + (ONLY_DESCRIPTOR if by_descriptor else ONLY_ADDRESS)
        out += more.format(P=prefix, p=prefix.lower()).rstrip().split("\n")
    return "\n".join(out + ["end module mpi_f08", ""])


# ---- the C of buffers by descriptor -----------------------------------------------------------------------------------------

class Buffer:
    """How a buffer that is not contiguous is handed on.

    view      as one element of a datatype made for the `count` elements of `type`
    blocks    as elements of a datatype with the extent of a block of `count` elements; each rank or partition has one
    units     as elements of a datatype in place of `type`; `count` is an array and stays
    each      as one element of a datatype made for each rank, which has its own count, displacement and type
    copy      in memory of its own, copied before the call and when it is complete
    address   as the address of its first element
    whole     not at all: the memory must be contiguous
    """

    def __init__(self, routine, arg):
        self.arg, self.count, self.type, self.displ = arg, None, None, None
        after = routine.args[routine.args.index(arg) + 1:]
        name = routine.function.name.removesuffix("_init").lower()
        self.how = self.judge(routine, name, after)

    def judge(self, routine, name, after):
        handles = [a for a in after if a.conv == "handle" and a.handle == "MPI_Datatype"]
        counts = [a for a in after if a.conv in ("int", "count") and a.name.endswith(("count", "counts"))]
        if name.endswith("_end") or name in ("mpi_free_mem", "mpi_get_address", "mpi_win_detach",
                                              "mpi_fetch_and_op", "mpi_compare_and_swap"):
            return "address"
        if re.search("pack", name) and (self.arg.name == "outbuf") == ("unpack" not in name):
            return "copy"  # of packed bytes
        if not handles:
            return "whole"
        has_op = any(a.conv == "handle" and a.handle == "MPI_Op" for a in routine.args)
        if routine.chapter != "rma" and has_op:
            return "copy"  # operations want their own datatype
        if handles[0].extent is not None:
            self.count, self.type = counts[0], handles[0]
            self.displ = next(a for a in after if a.name.endswith("displs"))
            return "each"
        if not counts:
            return "whole"  # how many elements there are is known to the callee only
        self.count, self.type = counts[0], handles[0]
        if self.count.extent is not None:
            return "units"
        sides = {"gather": "recvbuf", "scatter": "sendbuf"}
        word = next((w for w in ("alltoall", "gather", "scatter") if w in name), None)
        if name in ("mpi_psend", "mpi_precv") or word == "alltoall" or (word and sides[word] == self.arg.name):
            return "blocks"
        return "view"


def c_decl(a):
    """The argument as it comes from Fortran."""
    ctype = {"int": "int", "aint": "MPI_Aint", "offset": "MPI_Offset", "count": "MPI_Count"}.get(a.conv)
    return f"{ctype} *{a.name}" if ctype else f"void *{a.name}"


def c_cast(a):
    """What turns a pointer to anything into the argument."""
    return f"({c_decl(a).removesuffix(a.name).strip()})"


def call_of(routine, prefix, given):
    args = [given.get(a.name, a.name) for a in routine.args] + ["ierror"]
    strings = [a for a in routine.args if a.conv.startswith("string")]
    return f"{prefix}{routine.symbol()}({', '.join(args + [f'{a.name}_length' for a in strings])});"


def fail_line(routine):
    owner = next((a for a in routine.args if a.conv == "handle" and a.handle in ("MPI_Comm", "MPI_Win", "MPI_File")), None)
    if owner is None:
        return "pli_f08_fail_comm(NULL, err)"
    return f"pli_f08_fail_{owner.handle[4:].lower()}({owner.name}, err)"


def is_by_descriptor(a):
    return is_choice(a) or a.conv.startswith("string")


def string_lines(routine):
    return [f"    size_t {a.name}_length = {a.name}->elem_len;" for a in routine.args if a.conv.startswith("string")]


def request_of(routine):
    """The name of the request that a call makes; None: there is none, or its buffer is used between start and end."""
    if routine.function.name in ("MPI_Psend_init", "MPI_Precv_init"):
        return None
    return next((a.name for a in routine.args if a.conv == "handle" and a.handle == "MPI_Request" and a.direction == "out"), None)


COMM = "PMPI_Comm_fromint(*(const int *)comm)"


def ranks_of(routine, arg):
    """How many ranks a buffer has parts for, as C; a root's buffer has none elsewhere."""
    if any(a.name == "partitions" for a in routine.args):
        return "*partitions"
    what = "size"
    if "neighbor" in routine.name.lower():
        what = "destinations" if arg.name == "sendbuf" else "sources"
    text = f"pli_argument_{what}({COMM})"
    return f"(pli_argument_is_root({COMM}, *root) ? {text} : 0)" if any(a.name == "root" for a in routine.args) else text


def needed(routine, b):
    """How many elements of which datatype the C function looks at, as C; None: it is not known, or checked elsewhere."""
    names = {a.name: a for a in routine.args}
    wide = {n: str(a.conv in ("count", "aint")).lower() for n, a in names.items()}
    if b.how == "blocks":
        return f"(MPI_Count)*{b.count.name} * {ranks_of(routine, b.arg)}", b.type.name
    if b.how == "units":
        side = {"sendbuf": "sdispls", "recvbuf": "rdispls"}[b.arg.name]
        displs = side if side in names else "displs"
        return (f"pli_f08_reach({b.count.name}, {wide[b.count.name]}, {displs}, {wide[displs]}, {ranks_of(routine, b.arg)})", b.type.name)
    if b.how != "copy" or "datatype" not in names or "pack" in routine.name.lower():
        return None
    if "count" in names:
        is_root = "root" in names and b.arg.name == "recvbuf"
        return f"(pli_argument_is_root({COMM}, *root) ? *count : 0)" if is_root else "*count", "datatype"
    in_place = "pli_argument_buffer(sendbuf->base_addr) == MPI_IN_PLACE"
    size = "pli_f08_size(comm)"
    if "recvcount" in names:
        total, own = f"(MPI_Count)*recvcount * {size}", "*recvcount"
    else:
        total = f"pli_f08_total(recvcounts, {size}, {wide['recvcounts']})"
        own = f"pli_f08_own(recvcounts, {wide['recvcounts']}, comm)"
    return total if b.arg.name == "sendbuf" else f"({in_place} ? {total} : {own})", "datatype"


def slow_lines(routine, prefix, buffers):
    """The call when some buffer is not contiguous."""
    given = {a.name: f"{a.name}->base_addr" for a in routine.args if is_by_descriptor(a)}
    before, after = [], []
    keep = request_of(routine)  # a copy lives until its request is complete
    may_copy = not routine.is_nonblocking() or keep is not None
    is_persistent = str(routine.function.name.endswith("_init")).lower()
    for b in buffers:
        n = b.arg.name
        given[n] = f"{n}_to.addr"
        if b.how == "each":
            what, _, of = b.type.extent.partition(" of ")
            wide = [str(a.conv in ("count", "aint")).lower() for a in (b.count, b.displ)]
            before += [f"    struct pli_f08_arrays {n}_from = {{ {b.count.name}, {b.displ.name}, {b.type.name}, {', '.join(wide)}, "
                       f"{str(keep is not None).lower()} }};",
                       f"    err = err ? err : pli_f08_each({n}, pli_argument_{what}(PMPI_Comm_fromint(*(const int *){of})), "
                       f"&{n}_from, &{n}_to);"]
            given[b.type.name] = f"{n}_to.is_changed ? {n}_to.types : {b.type.name}"
            for a, word in ((b.count, "counts"), (b.displ, "displs")):
                given[a.name] = f"{n}_to.is_changed ? {c_cast(a)}{n}_to.kept_{word} : {a.name}"
            after.append(f"    pli_f08_each_finish(&{n}_to);")
            continue
        need = needed(routine, b)
        if need:
            # Arguments that belong to MPI_IN_PLACE are not looked at.
            before.append(f"    err = err || pli_cdesc_is_plain({n}) ? err : pli_f08_check({n}, {need[0]}, {need[1]}, &{n}_to);")
        if b.how in ("copy", "address", "whole"):
            mode = {"copy": "copy" if may_copy else "refuse", "address": "address", "whole": "refuse"}[b.how]
            before.append(f"    err = err ? err : pli_f08_{mode}({n}, &{n}_to);")
        else:
            unit = b.how == "units"
            count = "1" if unit else f"*{b.count.name}"
            wide = "count" if b.count.conv == "count" else "small"
            how = "blocks" if unit else b.how
            file = next((a.name for a in routine.args if a.conv == "handle" and a.handle == "MPI_File"), None)
            how, more = ("file", f"{file}, ") if file else (how, "")
            before.append(f"    err = err ? err : pli_f08_{how}({n}, {count}, {b.type.name}, {str(may_copy).lower()}, {more}&{n}_to);")
            given[b.type.name] = f"{n}_to.is_changed ? &{n}_to.type : {b.type.name}"
            if not unit:
                given[b.count.name] = f"{n}_to.is_changed ? &{n}_to.{wide} : {b.count.name}"
        out = "true" if b.arg.direction != "in" else "false"
        after.append(f"    pli_f08_keep({n}, &{n}_to, {out}, err == MPI_SUCCESS ? {keep} : NULL, {is_persistent});" if keep else
                     f"    pli_f08_finish({n}, &{n}_to, {out});")
    lines = [f"    struct pli_f08_{'each' if b.how == 'each' else 'buffer'} {b.arg.name}_to = "
             f"{{ .routine = \"{routine.name}\", .argument = \"{b.arg.name}\" }};" for b in buffers]
    lines += ["    int err = MPI_SUCCESS;"] + before
    call = call_of(routine, prefix, given).replace(", ierror", ", &err", 1)
    lines += ["    if (err == MPI_SUCCESS) {", "        " + call, "    } else {",
              f"        err = {fail_line(routine)};", "    }", "    if (ierror != NULL) {", "        *ierror = err;", "    }"]
    return lines + after


def glue_function(routine, prefix):
    buffers = [Buffer(routine, a) for a in routine.buffers()]
    strings = [a for a in routine.args if a.conv.startswith("string")]
    decls = [f"const struct pli_cdesc *{a.name}" if is_by_descriptor(a) else c_decl(a) for a in routine.args]
    params = ", ".join(decls + ["int *ierror"])
    old = ", ".join([c_decl(a) for a in routine.args] + ["int *ierror"] + [f"size_t {a.name}_length" for a in strings])
    symbols = [prefix + specific(routine, name, True).lower() + "_" for name in routine.names]
    slow = f"slow_{prefix}{routine.name.lower()}"
    checked = [b.arg.name for b in buffers if b.how != "address"]
    out = [f"void {prefix}{routine.symbol()}({old});", f"void {symbols[0]}({params});"]
    if checked:
        out += [f"static pli_f08_cold void {slow}({params})", "{"] + string_lines(routine)
        out += slow_lines(routine, prefix, buffers) + ["}"]
    out += ["" if prefix else "__attribute__((weak))", f"void {symbols[0]}({params})", "{"] + string_lines(routine)
    if checked:
        test = " && ".join(f"pli_cdesc_is_plain({n})" for n in checked)
        names = ", ".join([a.name for a in routine.args] + ["ierror"])
        out += [f"    if (pli_f08_unlikely(!({test}))) {{", f"        {slow}({names});", "        return;", "    }"]
    given = {a.name: f"{a.name}->base_addr" for a in routine.args if is_by_descriptor(a)}
    out += ["    " + call_of(routine, prefix, given), "}"]
    out += [f'void {other}({params}) __attribute__((weak, alias("{symbols[0]}")));' for other in symbols[1:]]
    return [line for line in out if line] + [""]


def glue(routines):
    """Each calls the procedure of mpif.h of the same prefix, so that tools see one call."""
    out = ["// Buffers of mpi_f08, by descriptor. Generated from the API table.", '#include "fortran/argument.h"', '#include "fortran/f08.h"', ""]
    for r in routines:
        if not r.is_old and any(map(is_choice, r.args)):
            out += glue_function(r, "") + glue_function(r, "p")
    return "\n".join(out)


# ---- the synopsis of the manual ---------------------------------------------------------------------------------------------

def synopsis(forms):
    """The mpi_f08 form of a function, for its manual page: lines. `forms` are its Routines."""
    out = []
    for r in (r for r in forms if not r.is_old):
        args = [a.name for a in r.args] + ([] if r.result else ["ierror"])
        name = generic(r.name, r, forms[0])
        if name is None:
            continue  # the same as the form before it
        note = " !(_c)" if r.large else ""
        out.append(f"{name}({', '.join(args)}){note}" if not r.result else f"{r.result} {name}({', '.join(args)}){note}")
        out += ["    " + declare(r, a, True) for a in r.args]
        if not r.result:
            out.append("    INTEGER, OPTIONAL, INTENT(OUT) :: ierror")
    return out


def old_synopsis(routine):
    """The form of mpif.h and the module mpi: lines."""
    args = [a.name.upper() for a in routine.args] + ([] if routine.result else ["IERROR"])
    by_type = {}
    for a in routine.args:
        shape = "(*)" if is_choice(a) else f"(MPI_STATUS_SIZE{',*' if a.extent else ''})" if a.conv == "status" else a.shape().upper()
        if a.conv == "callback":
            by_type.setdefault("EXTERNAL", []).append(a.name.upper())
        else:
            by_type.setdefault(a.old_type() or "<type>", []).append(a.name.upper() + shape)
    if not routine.result:
        by_type.setdefault("INTEGER", []).append("IERROR")
    first = f"{routine.name.upper()}({', '.join(args)})"
    return [f"{routine.result} {first}" if routine.result else first] + [f"    {t} {', '.join(v)}" for t, v in by_type.items()]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    api, out = sys.argv[1:]
    routines = fortran_model.routines(api)
    files = {"mpi_f08_types.f90": types_module(api, True), "mpi_f08_types_address.f90": types_module(api, False),
             "mpi_f08_callbacks.f90": callbacks_module(api), "mpi_f08.f90": f08_module(routines, True),
             "mpi_f08_address.f90": f08_module(routines, False), "f08_glue.c": glue(routines)}
    for name, text in files.items():
        gen.write(os.path.join(out, name), text)


if __name__ == "__main__":
    main()
