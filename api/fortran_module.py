"""mpif.h and the module mpi, from the API table."""
import fortran_model as model

# Fortran counts the elements of a status from 1.
STATUS = [("MPI_STATUS_SIZE", 8), ("MPI_SOURCE", 1), ("MPI_TAG", 2), ("MPI_ERROR", 3)]
KINDS = [("MPI_ADDRESS_KIND", 8), ("MPI_OFFSET_KIND", 8), ("MPI_COUNT_KIND", 8), ("MPI_INTEGER_KIND", 4)]
LOGICALS = ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"]  # only mpi_f08 has what they promise
# The common blocks (fortran/argument.h has the same in C).
SPECIAL = ["MPI_BOTTOM", "MPI_IN_PLACE", "MPI_BUFFER_AUTOMATIC", "MPI_UNWEIGHTED(1)", "MPI_WEIGHTS_EMPTY(1)",
           "MPI_ERRCODES_IGNORE(1)", "MPI_STATUS_IGNORE(MPI_STATUS_SIZE)", "MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)"]
SPECIAL_ARGV = ["MPI_ARGV_NULL(1)", "MPI_ARGVS_NULL(1,1)"]
SPECIAL_BLOCK, ARGV_BLOCK = "PLIANT_MPI_SPECIAL", "PLIANT_MPI_ARGV"
# What MPI 3.0 took out and the ABI has no value for: no type was made so, so programs that ask never hear it.
REMOVED = [("MPI_COMBINER_HVECTOR_INTEGER", -1), ("MPI_COMBINER_HINDEXED_INTEGER", -2), ("MPI_COMBINER_STRUCT_INTEGER", -3)]
KIND_NAMES = [name for name, _ in KINDS]


def integer_value(name, value):
    """The value in Fortran of a constant of C: strings have no room for a NUL there."""
    number = int(value, 0)
    return number - 1 if name.startswith("MPI_MAX_") else number


def numbers(constants):
    """(name, value) of the constants that are INTEGERs in mpif.h, handles among them."""
    for name, ctype, value in constants:
        if name.startswith(("MPI_T_", "MPI_F_")):
            continue
        if ctype == "int":
            yield name, integer_value(name, value)
        elif ctype in model.HANDLE_TYPES:
            yield name, int(value, 0)


def procedures(constants):
    """Names of the predefined procedures, as MPI_COMM_DUP_FN."""
    return [name for name, ctype, _ in constants if ctype.endswith(("_function*", "_function_c*"))]


def offsets(constants):
    return [(name, int(value, 0)) for name, ctype, value in constants if ctype == "MPI_Offset"]


def bare(declared):
    return declared.partition("(")[0]


def functions(routines):
    """(name, type) of what Fortran calls as a function."""
    return [(p + n, r.result) for r in routines if r.result for p in ("", "P") for n in r.names]


def declarations(constants, block, with_procedures):
    """The statements that mpif.h and the module share; each fits on a line of fixed form."""
    out = []
    for name, value in STATUS + KINDS + list(numbers(constants)) + REMOVED:
        out += [f"INTEGER {name}", f"PARAMETER ({name}={value})"]
    for name, value in offsets(constants):
        out += [f"INTEGER(KIND=MPI_OFFSET_KIND) {name}", f"PARAMETER ({name}={value})"]
    for name in LOGICALS:
        out += [f"LOGICAL {name}", f"PARAMETER ({name}=.FALSE.)"]
    for kind, names, where in (("INTEGER", SPECIAL, SPECIAL_BLOCK), ("CHARACTER*1", SPECIAL_ARGV, ARGV_BLOCK)):
        out += [f"{kind} {name}" for name in names] + [f"COMMON /{where}/ {bare(name)}" for name in names]
        if block:
            out.append(f"SAVE /{where}/")
    if with_procedures:
        out += [f"EXTERNAL {name}" for name in procedures(constants)]
    return out


def header(constants, routines):
    out = ["! The MPI 5.0 standard ABI for Fortran. Generated from the API table; in fixed and in free form."]
    for line in declarations(constants, True, True):
        out.append("      " + line)
    for name, kind in functions(routines):
        out += [f"      {kind} {name}", f"      EXTERNAL {name}"]
    long = [line for line in out if len(line) > 72 and not line.startswith("!")]
    if long:
        raise SystemExit(f"mpif.h: a line is too long for fixed form: {long[0]}")
    return "\n".join(out) + "\n"


def wrapped(text):
    """A statement of free form on lines of at most 130 characters."""
    lines, line = [], ""
    for part in text.split(", "):
        piece = part if not line else ", " + part
        if len(line) + len(piece) > 120:
            lines.append(line + ", &")
            line = "        " + part
        else:
            line += piece
    return lines + [line]


def dimensions(a):
    """Dimensions in the module mpi: an array is as long as the program says."""
    if a.conv == "status":
        return "(MPI_STATUS_SIZE)" if a.extent is None else "(MPI_STATUS_SIZE,*)"
    if a.conv == "argvs":
        return a.shape()
    if a.rows:
        return f"({a.rows},*)"
    return "(*)" if a.extent is not None or a.conv == "argv" else ""


def declare(a, cptr):
    """The lines that declare an argument in an interface of the module mpi."""
    if a.conv == "callback":
        return [f"EXTERNAL :: {a.name}"]
    kind = a.old_type()
    if kind is None:
        intent = ", INTENT(IN)" if a.direction == "in" else ""
        return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {a.name}", f"!DIR$ IGNORE_TKR {a.name}",
                f"TYPE(*), DIMENSION(*){intent} :: {a.name}"]
    if cptr and a.conv == "address":
        kind = "TYPE(C_PTR)"
    may_change = a.conv == "extra"  # MPI_Grequest_start hands the variable on
    intent = f", INTENT({a.direction.upper()})" if a.f08_intent() and not may_change else ""
    loose = [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {a.name}", f"!DIR$ IGNORE_TKR {a.name}"] if a.is_loose else []
    return loose + [f"{kind}{intent} :: {a.name}{dimensions(a)}"]


def specific(routine, name, cptr=False):
    """One interface body."""
    names = [a.name for a in routine.args] + ([] if routine.result else ["ierror"])
    what = "FUNCTION" if routine.result else "SUBROUTINE"
    result = " RESULT(res)" if routine.result else ""
    out = wrapped(f"{what} {name}({', '.join(names)}){result}")
    lines = [line for a in routine.args for line in declare(a, cptr)]
    text = " ".join(lines) + routine.result
    used = [k for k in KIND_NAMES + ["MPI_STATUS_SIZE"] if k in text]
    if used:
        out.append(f"  USE mpi_constants, ONLY: {', '.join(used)}")
    if cptr:
        out.append("  USE, INTRINSIC :: iso_c_binding, ONLY: C_PTR")
    out.append("  IMPLICIT NONE")
    out += ["  " + line if not line.startswith("!") else line for line in lines]
    out.append(f"  {routine.result} :: res" if routine.result else "  INTEGER, INTENT(OUT) :: ierror")
    return out + [f"END {what}"]


def interfaces(routines, prefix):
    """All interfaces of a prefix: one generic name for the small and the large form where that takes nothing from the small one."""
    out, by_name = [], {}
    for r in routines:
        by_name.setdefault(r.function.name, {})[r.large] = r
    for forms in by_name.values():
        small, large = forms[False], forms.get(True)
        for i, base in enumerate(small.names):
            name = prefix + base
            bodies = [specific(small, name)]
            has_cptr = any(a.conv == "address" for a in small.args)
            if has_cptr:
                bodies.append(specific(small, name + "_cptr", cptr=True))
            apart = []
            if large is not None:
                (bodies if model.is_generic(small, large) else apart).append(specific(large, prefix + large.names[i]))
                if has_cptr and model.is_generic(small, large):
                    bodies.append(specific(large, prefix + large.names[i] + "_cptr", cptr=True))
            # A name with one form is not generic, for the sake of elements that stand for arrays (model.is_generic).
            out.append(f"INTERFACE {name}" if len(bodies) > 1 else "INTERFACE")
            out += ["  " + line if not line.startswith("!") else line for body in bodies for line in body]
            out.append("END INTERFACE")
            for body in apart:
                out += ["INTERFACE"] + ["  " + line if not line.startswith("!") else line for line in body] + ["END INTERFACE"]
    return out


def descriptor_interface(prefix, name, args):
    """A procedure that takes any variable by its C descriptor, which has its size; the C function is that of mpi_f08."""
    declared = {"x": "TYPE(*), DIMENSION(..), INTENT(IN) :: x", "size": "INTEGER, INTENT(OUT) :: size",
                "ierror": "INTEGER, INTENT(OUT) :: ierror"}
    label = f"{prefix.lower()}{name.lower()}_f08ts_"
    return [f"INTERFACE {prefix}{name}", f"  SUBROUTINE {prefix}{name}_f08ts({', '.join(args)}) &", f"      BIND(C, NAME=\"{label}\")",
            "    IMPLICIT NONE"] + ["    " + declared[a] for a in args] + ["  END SUBROUTINE", "END INTERFACE"]


def status_interfaces(prefix):
    """What converts between the two forms of a status; the symbols are those of mpi_f08."""
    out = []
    for name, (first, second) in (("Status_f2f08", ("f_status", "f08_status")), ("Status_f082f", ("f08_status", "f_status"))):
        declared = {"f_status": "INTEGER, INTENT({}) :: f_status(MPI_STATUS_SIZE)", "f08_status": "TYPE(MPI_Status), INTENT({}) :: f08_status"}
        out += [f"INTERFACE {prefix}MPI_{name}", f"  SUBROUTINE {prefix}MPI_{name}_f08({first}, {second}, ierror)",
                "    USE mpi_constants, ONLY: MPI_STATUS_SIZE", "    USE mpi_f08_types, ONLY: MPI_Status", "    IMPLICIT NONE",
                "    " + declared[first].format("IN"), "    " + declared[second].format("OUT"), "    INTEGER, OPTIONAL, INTENT(OUT) :: ierror",
                "  END SUBROUTINE", "END INTERFACE"]
    return out


SIZEOF_KINDS = [(word, kind) for word, kinds in (
    ("integer", ("int8", "int16", "int32", "int64")), ("logical", ("int8", "int16", "int32", "int64")),
    ("real", ("real32", "real64")), ("complex", ("real32", "real64"))) for kind in kinds] + [("character", "*")]
SIZEOF_RANKS = range(8)  # what Fortran 2003 has


def sizeof_module():
    """MPI_Sizeof for compilers without descriptors: a procedure for each type, kind and rank. Logicals have the kinds of integers."""
    names, bodies = [], []
    for word, kind in SIZEOF_KINDS:
        declared = f"{word}(len=*)" if word == "character" else f"{word}(kind={kind})"
        for rank in SIZEOF_RANKS:
            name = f"sizeof_{word}_{kind.replace('*', 'any')}_{rank}"
            shape = f"({', '.join([':'] * rank)})" if rank else ""
            names.append(name)
            bodies += [f"  subroutine {name}(x, size, ierror)", f"    {declared}, intent(in) :: x{shape}",
                       "    integer, intent(out) :: size", "    integer, optional, intent(out) :: ierror",
                       "    size = storage_size(x) / 8", "    if (present(ierror)) ierror = 0", "  end subroutine"]
    out = ["! MPI_Sizeof for compilers that hand over buffers by address. Generated.", "module mpi_sizeof_kinds",
           "  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64", "  implicit none", "  private",
           "  public :: MPI_Sizeof, PMPI_Sizeof"]
    for prefix in ("", "P"):
        out += [f"  interface {prefix}MPI_Sizeof", *(f"    module procedure {name}" for name in names), "  end interface"]
    return "\n".join([*out, "contains", *bodies, "end module", ""])


def module(constants, routines, by_descriptor=True):
    out = ["! The module mpi. Generated from the API table.", "MODULE mpi_constants", "IMPLICIT NONE", "PUBLIC"]
    out += declarations(constants, True, False)
    out += ["END MODULE mpi_constants", "", "MODULE mpi", "USE mpi_constants"]
    # The standard wants the types of mpi_f08 and the comparison of handles here too.
    out += wrapped(f"USE mpi_f08_types, ONLY: OPERATOR(==), OPERATOR(/=), MPI_Status, {', '.join(model.HANDLE_TYPES)}")
    if not by_descriptor:
        out.append("USE mpi_sizeof_kinds, ONLY: MPI_Sizeof, PMPI_Sizeof")
    out += ["IMPLICIT NONE", "PUBLIC"]
    out += [f"EXTERNAL :: {name}" for name in procedures(constants)]
    for prefix in ("", "P"):
        out += interfaces(routines, prefix)
        if by_descriptor:
            out += descriptor_interface(prefix, "MPI_Sizeof", ["x", "size", "ierror"])
        out += status_interfaces(prefix)
        out += [f"INTERFACE {prefix}MPI_F_SYNC_REG", f"  SUBROUTINE {prefix}MPI_F_SYNC_REG(buf)",
                "    IMPLICIT NONE", "!GCC$ ATTRIBUTES NO_ARG_CHECK :: buf", "!DIR$ IGNORE_TKR buf",
                "    TYPE(*), DIMENSION(*) :: buf", "  END SUBROUTINE", "END INTERFACE"]
    return "\n".join(out + ["END MODULE mpi", ""])
