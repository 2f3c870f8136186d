"""What the Fortran interfaces know of each MPI function, from the API table.

routines(API_DIR) yields a Routine for every function that Fortran has, and one more for each large-count form. A Routine has
the arguments as Fortran sees them (without ierror) and, for each, how the C glue turns it into the argument of the C
function. callbacks(API_DIR) does the same for the procedures that a program hands to MPI.

Most of it follows from the kind and the C type of a parameter. Where it does not, the line of the parameter ends with
an @ and words (docs/design/fortran.md lists them).
"""
import os
import re

import gen

HANDLE_TYPES = {t: w for w, t in gen.HANDLES.items()}  # MPI_Comm -> comm
EXTENSIONS = ("elastic", "endpoint", "failure", "mpix")  # chapters that the standard ABI does not have
NUMBER_TYPES = {"int": "int", "MPI_Aint": "aint", "MPI_Offset": "offset", "MPI_Count": "count", "MPI_Fint": "int"}
FORTRAN_NUMBER = {
    "int": "INTEGER", "aint": "INTEGER(KIND=MPI_ADDRESS_KIND)", "offset": "INTEGER(KIND=MPI_OFFSET_KIND)",
    "count": "INTEGER(KIND=MPI_COUNT_KIND)", "double": "DOUBLE PRECISION",
}
NOTES = {"none", "argv", "argvs", "strings", "trim", "choice", "address", "unused", "attribute", "extra", "int", "len",
         "out", "inout", "in", "weights", "errcodes", "later", "logical", "index", "loose"}
# Fortran names that differ from those of C.
FORTRAN_NAMES = {"indx": "index"}
SPECIAL_EXTENTS = ("size of comm", "sources of comm", "destinations of comm")


def handle_functions(handle):
    """MPI_Comm -> ("MPI_Comm_fromint", "MPI_Comm_toint"), the conversions of the standard ABI."""
    base = {"MPI_Datatype": "MPI_Type"}.get(handle, handle)
    return base + "_fromint", base + "_toint"


class Arg:
    """One argument.

    name       the Fortran name (lower case)
    cname      the name in C
    ctype      the C type of this form, as the table has it ("" where C returns the value)
    conv       how it is converted; one of
                 int aint offset count     a number or, with an extent, an array: passed on as it is
                 narrow                    a default INTEGER (or array) where C has an MPI_Aint: the removed functions
                 logical                   LOGICAL <-> int, array with an extent
                 index                     counts from 1 in Fortran, from 0 in C (MPI_UNDEFINED stays); array with an extent
                 handle                    INTEGER or TYPE(MPI_X) <-> MPI_X; array with an extent
                 later                     as handle, but C writes it when the request is complete
                 status                    MPI_Status, or MPI_STATUS_IGNORE when direction is "out"; array with an extent
                 buffer                    choice buffer; MPI_BOTTOM, MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC are meant by address
                 choice                    a variable of any type that is no message buffer: no special address
                 string_in                 blank padded -> NUL terminated; `trim`: leading blanks are dropped too
                 string_out                NUL terminated -> blank padded; `length` is the constant or argument that bounds it
                 string_buflen             as string_out, bounded by the inout argument `length`, which counts without a NUL in Fortran
                 strings argv argvs        arrays of strings: `extent` many; until a blank one; both
                 weights                   int array, or MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY
                 errcodes                  int array, or MPI_ERRCODES_IGNORE
                 callback                  a procedure; `callback` is the name of its interface
                 extra extra_int           extra state of callbacks: address kind, or default INTEGER in the old functions
                 attribute attribute_int   attribute value: the same
                 address address_unused    C writes a pointer: TYPE(C_PTR), or INTEGER(KIND=MPI_ADDRESS_KIND) in the older
                                           interfaces; unused: the older interfaces do not get the address
    direction  "in", "out", "inout", or "" for buffers that are written
    handle     for handle and later: the type, as MPI_Comm
    extent     None for a scalar, else "*", the Fortran name of the argument that is the number of elements, or one of SPECIAL_EXTENTS.
    rows       3 for the triplets of MPI_Group_range_incl, else None
    is_loose   whether the module mpi takes a variable of any type and rank
    """

    def __init__(self, name, ctype, conv, direction, **more):
        self.cname, self.ctype, self.conv, self.direction = name, ctype, conv, direction
        self.name = FORTRAN_NAMES.get(name, name).lower()
        self.handle = self.extent = self.rows = self.length = self.callback = None
        self.trim = self.result = self.is_loose = False
        self.__dict__.update(more)

    def shape(self):
        """The dimensions in a declaration: "", "(*)", "(count)", "(3,n)"."""
        if self.conv == "argv":
            return "(*)"
        if self.conv == "argvs":
            return f"({self.extent},*)"
        if self.extent is None:
            return ""
        last = "*" if self.extent in SPECIAL_EXTENTS else self.extent
        return f"({self.rows},{last})" if self.rows else f"({last})"

    def old_type(self):
        """The type in mpif.h and the module mpi (a buffer has none)."""
        if self.conv in FORTRAN_NUMBER:
            return FORTRAN_NUMBER[self.conv]
        if self.conv in ("logical",):
            return "LOGICAL"
        if self.conv in ("extra", "attribute", "address"):
            return FORTRAN_NUMBER["aint"]
        if self.conv.startswith(("string", "argv")):
            return "CHARACTER(LEN=*)"
        if self.conv in ("buffer", "choice", "address_unused", "callback"):
            return None
        return "INTEGER"  # handles, statuses, indices, weights

    def f08_type(self):
        """The type in mpi_f08, without dimensions."""
        if self.conv in ("handle", "later"):
            return f"TYPE({self.handle})"
        if self.conv == "status":
            return "TYPE(MPI_Status)"
        if self.conv in ("buffer", "choice"):
            return "TYPE(*)"
        if self.conv in ("address", "address_unused"):
            return "TYPE(C_PTR)"
        if self.conv == "callback":
            return f"PROCEDURE({self.callback})"
        if self.conv == "string_out":
            return f"CHARACTER(LEN={self.length})"
        return self.old_type()

    def f08_intent(self):
        """The INTENT in mpi_f08, or None: none for buffers that are written and for procedures. MPI_STATUS_IGNORE and its like
        cannot be INTENT(OUT) either where the compiler would define them; the standard leaves out the intent there."""
        if self.conv == "callback" or not self.direction:
            return None
        if self.direction != "in" and self.conv in ("status", "weights", "errcodes"):
            return None if self.direction == "out" else self.direction.upper()
        return self.direction.upper()


class Routine:
    """A function of Fortran. `function` is the stanza (gen.Function); `large` says which form. `name` is the C name, `result` the
    Fortran type of a function ("" for a subroutine, which has ierror). `value` is how a subroutine hands out what C returns:
    None (C returns the error code), or the Arg of it."""

    def __init__(self, function, large, chapter):
        self.function, self.large, self.chapter = function, large, chapter
        self.name = function.name + ("_c" if large else "")
        self.names = [n + ("_c" if large else "") for n in function.names()]
        self.is_old = bool(function.removed) or function.fortran == ["old"]  # not in mpi_f08
        self.args = [a for p in function.args(large) for a in [argument(function, p, large)] if a is not None]
        self.c_args = function.args(large)  # all of C, also those that Fortran has not
        self.result, self.value = "", None
        if function.returns in ("double", "MPI_Aint"):
            self.result = FORTRAN_NUMBER[NUMBER_TYPES.get(function.returns, "double")]
        elif function.fortran[:1] == ["result"]:
            handle = function.returns.rstrip(" *")
            conv = "handle" if handle in HANDLE_TYPES else "int"
            self.value = Arg(function.fortran[1], "", conv, "out", handle=handle if conv == "handle" else None, result=True)
            self.args.append(self.value)
        elif function.returns != "int":
            raise SystemExit(f"api: {function.name} returns {function.returns}: say `fortran none` or `fortran result NAME`")

    def in_abi(self):
        """Whether the standard ABI has the C function: neither extensions nor what MPI 3.0 took out, nor a large form with the same
        arguments as the other."""
        same = self.large and [p.decl(False) for p in self.function.args(False)] == [p.decl(True) for p in self.c_args]
        return not (self.name.startswith("MPIX_") or self.chapter in EXTENSIONS or self.function.removed or same)

    def buffers(self):
        return [a for a in self.args if a.conv == "buffer"]

    def is_nonblocking(self):
        """Whether the buffers are in use after the call: mpi_f08 has ASYNCHRONOUS for them."""
        made = any(a.conv == "handle" and a.handle == "MPI_Request" and a.direction == "out" for a in self.args)
        return made or self.name.endswith(("_begin", "_begin_c")) or self.chapter == "rma" or "attach" in self.name.lower()

    def symbol(self, name=None):
        """The linker's name of mpif.h's procedure: lower case with an underscore, as gfortran and flang make it."""
        return (name or self.name).lower() + "_"


def is_distinct(small, large):
    """Whether a compiler can tell the two forms of a generic name apart by type or number of arguments."""
    if len(small.args) != len(large.args):
        return True
    wide = ("aint", "offset", "count")  # of one kind, whatever they are called
    return any(a.old_type() != b.old_type() and not (a.conv in wide and b.conv in wide)
               for a, b in zip(small.args, large.args))


def is_generic(small, large):
    """Whether the module mpi has both forms by one name. Where an argument is an array it has not: with a generic name an element could not
    stand for the array that begins there, as in MPI_Recv(..., statuses(1, 2), ierror)."""
    return is_distinct(small, large) and not any(a.extent is not None or a.conv == "status" for a in small.args)


def words_of(function, param):
    """The notes behind the @: the words, the extent or None, and the word after `len`."""
    m = re.match(r"([^\[]*)(?:\[([^\]]*)\])?$", param.note.strip())
    words, extent = m.group(1).split(), m.group(2)
    length = words.pop(words.index("len") + 1) if "len" in words else None
    wrong = [w for w in words if w not in NOTES]
    if wrong:
        raise SystemExit(f"api: {function.name}: '@{wrong[0]}' of {param.name} is no note; docs/design/fortran.md lists them")
    return words, extent, length


def direction_of(function, param, words, ctype):
    said = [w for w in words if w in ("in", "out", "inout")]
    if said:
        return said[0]
    if param.kind == "out" or param.kind.startswith("out:"):
        return "out"
    if param.kind.startswith(("free:", "ref:")):
        return "inout"
    if "const" in ctype or not ctype.endswith(("*", "]")) or ctype.endswith(("function *", "function_c *")):
        return "in"
    if param.kind == "status":
        return "out"
    if param.kind == "buffer":
        return ""
    if set(words) & {"extra", "attribute", "argv", "argvs", "strings", "choice"}:
        return "in"
    raise SystemExit(f"api: {function.name}: {param.name} needs @in, @out or @inout for Fortran")


def argument(function, param, large):
    """The Arg of a parameter of C, or None where Fortran has none."""
    ctype = param.ctype(large)
    words, extent, length = words_of(function, param)
    if "none" in words:
        return None
    direction = direction_of(function, param, words, ctype)
    base = re.sub(r"\bconst\b|\[\d*\]|\*", "", ctype).strip()
    if extent is None and "[" in ctype:
        extent = "*"
    extent = FORTRAN_NAMES.get(extent, extent)
    more = {"extent": extent, "rows": 3 if ctype.endswith("[3]") else None, "is_loose": "loose" in words}
    old = " int" if "int" in words else ""

    def made(conv, **extra):
        return Arg(param.name, ctype, conv, direction, **{**more, **extra})

    for word in ("argv", "argvs", "strings", "weights", "errcodes", "choice"):
        if word in words:
            if word in ("weights", "errcodes"):
                more["extent"] = extent or "*"
            return made("string_in" if word == "strings" else word, trim="trim" in words)
    for word in ("extra", "attribute"):
        if word in words:
            return made(word + ("_int" if old else ""))
    if "address" in words:
        return made("address_unused" if "unused" in words else "address")
    if param.kind == "buffer":
        return made("buffer")
    if base.endswith(("_function", "_function_c")):
        return made("callback", callback=base)
    if base == "char":
        more["extent"] = None
        if direction == "in":
            return made("string_in", trim="trim" in words)
        bound_by = [p for p in function.params if p.name == length and p.small.endswith("*")]
        return made("string_buflen" if bound_by else "string_out", length=length)
    if base == "MPI_Status":
        return made("status")
    if base in HANDLE_TYPES:
        return made("later" if "later" in words else "handle", handle=base)
    if "logical" in words:
        return made("logical")
    if "index" in words:
        return made("index")
    if base == "MPI_Aint" and function.removed:
        return made("narrow")
    if base in NUMBER_TYPES:
        return made(NUMBER_TYPES[base])
    raise SystemExit(f"api: {function.name}: Fortran has nothing for {param.name}, a {ctype}")


def functions(api):
    """(chapter, gen.Function) of all functions that Fortran has."""
    skip = {"constants.api", "types.api"}
    for name in sorted(n for n in os.listdir(api) if n.endswith(".api") and n not in skip):
        for f in gen.read_functions(os.path.join(api, name)):
            # The standard gives the tools interface no Fortran form.
            if f.implemented() and f.fortran != ["none"] and not f.name.startswith("MPI_T_"):
                yield name[:-4], f


def routines(api):
    return [Routine(f, large, chapter) for chapter, f in functions(api) for large in f.forms()]


def fortran_only():
    """Names of the procedures that only Fortran has; they are written by hand or made for each type."""
    return ["MPI_F_sync_reg", "MPI_Sizeof", "MPI_Status_f2f08", "MPI_Status_f082f"]


# ---- the procedures of a program -------------------------------------------------------------------------------------------

class Callback:
    """The interface of a procedure that MPI calls. `name` as in C, `args` as Arg with the conv that the call back from C needs;
    `has_ierror` where C returns the error code. conv `pointer` is TYPE(C_PTR), VALUE: what the older interfaces call a
    choice argument."""

    def __init__(self, name, returns, params):
        self.name, self.has_ierror, self.args = name, returns == "int", []
        old = name in ("MPI_Copy_function", "MPI_Delete_function")
        for text in params:
            if text == "...":
                continue
            m = re.match(r"(.*?)(\w+)$", text)
            ctype, pname = m.group(1).strip(), m.group(2)
            base = re.sub(r"\bconst\b|\*", "", ctype).strip()
            out = "out" if pname in ("attribute_val_out", "flag", "extent") or (pname, ctype) == ("bytes", "MPI_Count *") else "in"
            if base in HANDLE_TYPES:
                arg = Arg(pname, ctype, "handle", "in", handle=base)
            elif base == "MPI_Status":
                arg = Arg(pname, ctype, "status", "inout")
            elif pname in ("extra_state", "arg"):
                arg = Arg(pname, ctype, "extra_int" if old else "extra", "in")
            elif pname.startswith("attribute_val"):
                arg = Arg(pname, ctype, "attribute_int" if old else "attribute", out)
            elif base == "void":
                arg = Arg(pname, ctype, "pointer", "in")
            elif pname in ("flag", "complete"):
                arg = Arg(pname, ctype, "logical", out)
            else:
                arg = Arg(pname, ctype, NUMBER_TYPES[base], "inout" if pname == "error_code" else out)
            self.args.append(arg)


def callbacks(api):
    for line in gen.table(os.path.join(api, "types.api")):
        what, name, rest = line.split(None, 2)
        if what == "callback" and not name.startswith("MPI_T_") and name.endswith(("_function", "_function_c")):
            returns, params = rest.split(None, 1)
            yield Callback(name, returns, [p.strip() for p in params.strip("()").split(",")])


def constants(api):
    """(name, C type, value) of all constants; an alias has the type of what it stands for, unless that is a C expression."""
    rows = [line.split(None, 2) for line in gen.table(os.path.join(api, "constants.api"))]
    by_name = {name: (ctype, value) for name, ctype, value in rows}
    for name, ctype, value in rows:
        if ctype == "alias":
            if value not in by_name:
                continue
            ctype, value = by_name[value]
        yield name, ctype, value
