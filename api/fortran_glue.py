"""The C glue of the Fortran interfaces: a function for each routine that converts the arguments and calls the C function."""
import fortran_model as model

# The C types of what Fortran hands over, by address.
CTYPES = {"aint": "MPI_Aint", "offset": "MPI_Offset", "count": "MPI_Count", "extra": "MPI_Aint", "attribute": "MPI_Aint"}
STRINGS = ("string_in", "string_out", "string_buflen", "argv", "argvs")
# By interface: the C function that stands for a procedure; those with "(" get the procedure.
CALLBACKS = {
    "MPI_User_function": "pli_callback_op(", "MPI_User_function_c": "pli_callback_op_c(",
    "MPI_Comm_errhandler_function": "pli_callback_comm_errhandler(",
    "MPI_Handler_function": "pli_callback_comm_errhandler(",
    "MPI_File_errhandler_function": "pli_callback_file_errhandler(",
    "MPI_Win_errhandler_function": "pli_callback_win_errhandler(",
    "MPI_Session_errhandler_function": "pli_callback_session_errhandler(",
}


def ctype_of(a):
    """The C type of the address that Fortran passes."""
    if a.conv in CTYPES:
        return CTYPES[a.conv] + " *"
    if a.conv in STRINGS:
        return "char *"
    if a.conv in ("buffer", "choice", "address", "address_unused"):
        return "void *"
    return "int *"


def declare(a):
    return f"pli_procedure *{a.name}" if a.conv == "callback" else ctype_of(a) + a.name


class Body:
    """Collects the lines of one function: before the call, the arguments, after it. With `is_own` false it is that of a library
    with another MPI's ABI, which gets no array sections and registers nothing."""

    def __init__(self, routine, for_f08, is_own=True):
        self.routine, self.for_f08 = routine, for_f08
        self.before, self.after, self.passed, self.checks = [], [], {}, []
        self.fail = "pli_callback_fail_memory()"
        self.at_root = any(a.conv in ("argv", "argvs") for a in routine.args)
        if self.at_root:
            self.before.append("    bool at_root = pli_argument_is_root(pli_argument_comm(*comm), *root);")
        for a in routine.args:
            if not a.result:
                self.passed[a.cname] = getattr(self, "do_" + a.conv)(a)
        if is_own and initialises(routine):
            self.after += ["    if (err == MPI_SUCCESS) {", "        pli_register_sizes();", "    }"]
        waited = next((a for a in routine.args if a.conv == "handle" and a.handle == "MPI_Request" and a.direction == "inout"), None)
        if is_own and waited is not None:
            count = f"*{waited.extent}" if waited.extent else "1"
            if routine.name in ("MPI_Start", "MPI_Startall"):
                self.before.append(f"    pli_pending_start({waited.name}, {count});")
            self.before.append(f"    int *saved = pli_pending_before({waited.name}, {count});")
            self.after += [f"    pli_pending_after(saved, {waited.name}, {count});", "    pli_later_settle();"]

    def need(self, var, **how):
        """After the arguments are made: fail where this one is NULL."""
        self.checks.append((var, how.get("full", False)))

    def only_at_root(self, expr):
        return f"at_root ? {expr} : NULL" if self.at_root else expr

    # -- numbers

    def do_int(self, a):
        if a.rows:
            return f"(int(*)[{a.rows}]){a.name}"
        buflen = next((b for b in self.routine.args if b.conv == "string_buflen" and b.length == a.cname), None)
        if buflen is not None:  # without the NUL in Fortran, with it in C
            self.before.append(f"    int {a.name}_ = *{a.name} > 0 ? *{a.name} + 1 : *{a.name};")
            self.after.append(f"    *{a.name} = {a.name}_ > 0 ? {a.name}_ - 1 : {a.name}_;")
            return f"&{a.name}_"
        return f"*{a.name}" if a.extent is None and a.direction == "in" else a.name

    do_aint = do_offset = do_count = do_int

    def do_narrow(self, a):
        if a.extent is not None:
            few = f"{a.name}_few"
            self.before += [f"    MPI_Aint {few}[PLI_ARGUMENT_FEW];",
                            f"    MPI_Aint *{a.name}_ = pli_argument_widen({a.name}, *{a.extent}, {few});"]
            self.need(f"{a.name}_")
            self.after.append(f"    pli_argument_drop({a.name}_, {few});")
            return f"{a.name}_"
        if a.direction == "in":
            return f"*{a.name}"
        self.before.append(f"    MPI_Aint {a.name}_ = 0;")
        self.after.append(f"    *{a.name} = (int){a.name}_;")
        return f"&{a.name}_"

    def do_logical(self, a):
        if a.extent is not None:
            if a.direction != "in":
                self.after += [f"    for (int i = 0; err == MPI_SUCCESS && i < *{a.extent}; i++) {{",
                               f"        {a.name}[i] = {a.name}[i] != 0;", "    }"]
            return a.name
        if a.direction == "in":
            return f"*{a.name} != 0"
        self.before.append(f"    int {a.name}_ = 0;")
        self.after.append(f"    *{a.name} = {a.name}_ != 0;")
        return f"&{a.name}_"

    def do_index(self, a):
        if a.extent is not None:
            self.before.append("    *outcount = 0;")
            self.after += ["    for (int i = 0; i < *outcount; i++) {", f"        {a.name}[i]++;", "    }"]
            return a.name
        self.before.append(f"    int {a.name}_ = MPI_UNDEFINED;")
        self.after.append(f"    *{a.name} = {a.name}_ == MPI_UNDEFINED ? {a.name}_ : {a.name}_ + 1;")
        return f"&{a.name}_"

    # -- handles and statuses

    def do_handle(self, a):
        word = model.HANDLE_TYPES[a.handle]
        if a.extent is not None:
            return self.handles(a, word)
        if a.direction == "in":
            return f"pli_argument_{word}(*{a.name})"
        null = f"MPI_{word.upper()}_NULL"
        start = null if a.direction == "out" else f"pli_argument_{word}(*{a.name})"
        self.before.append(f"    {a.handle} {a.name}_ = {start};")
        self.after.append(f"    *{a.name} = pli_argument_from_{word}({a.name}_);")
        return f"&{a.name}_"

    def handles(self, a, word):
        few, many = f"{a.name}_few", f"{a.name}_n"
        what, _, of = a.extent.partition(" of ")
        count = f"pli_argument_{what}(pli_argument_{of}(*{of}))" if of else f"*{a.extent}"
        source = a.name
        if a.name == "sendtypes":  # not looked at when the data is in place
            count = f"pli_argument_buffer(sendbuf) == MPI_IN_PLACE ? 0 : {count}"
        if self.at_root:
            count = f"at_root ? {count} : 0"
        if a.direction == "out":
            source = "NULL"
        self.before += [f"    int {many} = {count};", f"    {a.handle} {few}[PLI_ARGUMENT_FEW];",
                        f"    {a.handle} *{a.name}_ = pli_argument_{word}s({source}, {many}, {few});"]
        self.need(f"{a.name}_")
        if a.direction != "in":
            self.after.append(f"    pli_argument_{word}s_back({a.name}, {many}, {a.name}_);")
        self.after.append(f"    pli_argument_drop({a.name}_, {few});")
        if of and self.routine.is_nonblocking():  # the array is read until the request is complete
            kept = f"{a.name}_kept"
            self.before.append(f"    const {a.handle} *{kept} = "
                               f"pli_argument_keep({a.name}_, (size_t){many} * sizeof *{a.name}_);")
            self.need(kept)
            return kept
        return f"{a.name}_"

    def do_later(self, a):
        self.before.append(f"    MPI_Comm *{a.name}_ = pli_later_comm({a.name});")
        self.need(f"{a.name}_")
        self.after += ["    if (err != MPI_SUCCESS) {", f"        pli_later_forget({a.name}_);", "    }"]
        return f"{a.name}_"

    def do_status(self, a):
        return f"pli_argument_status({a.name})" if a.direction == "out" else f"(MPI_Status *){a.name}"

    # -- memory

    def do_buffer(self, a):
        return f"pli_argument_buffer({a.name})"

    def do_choice(self, a):
        return a.name

    do_address = do_choice

    def do_address_unused(self, a):
        if self.for_f08:
            return a.name
        self.before += [f"    void *{a.name}_ = NULL;", f"    (void){a.name};"]
        return f"&{a.name}_"

    def do_weights(self, a):
        return f"pli_argument_weights({a.name})"

    def do_errcodes(self, a):
        return f"pli_argument_errcodes({a.name})"

    # -- strings

    def do_string_in(self, a):
        trim = "true" if a.trim else "false"
        if a.extent is not None:
            self.before.append(f"    char **{a.name}_ = "
                               + self.only_at_root(f"pli_argument_strings({a.name}, *{a.extent}, {a.name}_length, {trim})") + ";")
            self.need(f"{a.name}_")
            self.after.append(f"    free({a.name}_);")
            return f"{a.name}_"
        few = f"{a.name}_few"
        self.before += [f"    char {few}[PLI_ARGUMENT_SHORT];",
                        f"    char *{a.name}_ = pli_argument_string({a.name}, {a.name}_length, {trim}, {few});"]
        self.need(f"{a.name}_")
        self.after.append(f"    pli_argument_drop({a.name}_, {few});")
        return f"{a.name}_"

    def text(self, a, length, want="err == MPI_SUCCESS"):
        few = f"{a.name}_few"
        if any(b.name == "flag" for b in self.routine.args):
            want += " && flag_"
        self.before += [f"    char {few}[PLI_ARGUMENT_SHORT];",
                        f"    char *{a.name}_ = pli_argument_text({a.name}, {a.name}_length, {length}, {few});"]
        self.need(f"{a.name}_")
        self.after += [f"    if ({want}) {{",
                       f"        pli_argument_text_back({a.name}, {a.name}_length, {a.name}_);", "    }",
                       f"    pli_argument_drop({a.name}_, {few});"]
        return f"{a.name}_"

    def do_string_out(self, a):
        if a.length.startswith("MPI_MAX_"):
            return self.text(a, a.length)
        return self.text(a, f"*{a.length} >= 0 ? (size_t)*{a.length} + 1 : 1")

    def do_string_buflen(self, a):
        self.before.append(f"    bool {a.name}_wanted = *{a.length} > 0;")
        return self.text(a, f"{a.name}_wanted ? (size_t)*{a.length} + 1 : 1", f"err == MPI_SUCCESS && {a.name}_wanted")

    def do_argv(self, a):
        null = f"pli_argument_is_argv_null({a.name})"
        self.before.append(f"    char **{a.name}_ = at_root && !{null} ? "
                           f"pli_argument_argv({a.name}, {a.name}_length, {a.name}_length) : MPI_ARGV_NULL;")
        self.after.append(f"    free({a.name}_);")
        return f"{a.name}_"

    def do_argvs(self, a):
        null = f"pli_argument_is_argv_null({a.name})"
        self.before.append(f"    char ***{a.name}_ = at_root && !{null} ? "
                           f"pli_argument_argvs({a.name}, *{a.extent}, {a.name}_length) : MPI_ARGVS_NULL;")
        self.after += [f"    for (int i = 0; {a.name}_ != NULL && i < *{a.extent}; i++) {{", f"        free({a.name}_[i]);",
                       "    }", f"    free({a.name}_);"]
        return f"{a.name}_"

    # -- callbacks

    def do_callback(self, a):
        if a.callback in CALLBACKS:
            self.before.append(f"    {a.callback} *{a.name}_ = {CALLBACKS[a.callback]}{a.name});")
            self.need(f"{a.name}_", full=True)
            return f"{a.name}_"
        if "conversion" in a.callback:
            what = "read" if a.name.startswith("read") else "write"
            return f"pli_callback_datarep_{what}{'_c' if self.routine.large else ''}({a.name})"
        words = a.callback.split("_", 1)[1].lower().removesuffix("_function")
        return f"pli_callback_{words}"

    def do_extra(self, a):
        if by_reference(self.routine):
            return self.request_extra(a)
        procedures = [b.name for b in self.routine.args if b.conv == "callback"] + ["NULL"] * 2
        self.before.append(f"    struct pli_callback *{a.name}_ = "
                           f"pli_callback_state({', '.join(procedures[:3])}, *{a.name});")
        self.need(f"{a.name}_")
        return f"{a.name}_"

    def request_extra(self, a):
        """The older interfaces hand the variable itself to the procedures, as programs are used to; mpi_f08 a copy of it."""
        procedures = ", ".join(b.name for b in self.routine.args if b.conv == "callback")
        form = "pli_callback_request_f08" if self.for_f08 else "pli_callback_request"
        self.before.append(f"    struct pli_callback *{a.name}_ = {form}({procedures}, {a.name});")
        self.need(f"{a.name}_")
        return f"{a.name}_"

    do_extra_int = do_extra

    def do_attribute(self, a):
        if a.direction == "in":
            self.before.append(f"    void *{a.name}_ = pli_attribute_keep(*{a.name});")
            self.need(f"{a.name}_")
            return f"{a.name}_"
        keyval = next(b.name for b in self.routine.args if b.name.endswith("keyval"))
        cast = "(int)" if a.conv == "attribute_int" else ""
        self.before.append(f"    void *{a.name}_ = NULL;")
        self.after += ["    if (err == MPI_SUCCESS && flag_) {",
                       f"        *{a.name} = {cast}pli_attribute_value({a.name}_, *{keyval});", "    }"]
        return f"&{a.name}_"

    do_attribute_int = do_attribute


# In place of what MPI 3.0 took out, where no function has the same arguments.
INSTEAD = {"Type_extent": "pli_missing_type_extent", "Type_lb": "pli_missing_type_lb", "Type_ub": "pli_missing_type_ub"}


def c_name(name, prefix):
    return name.replace("MPI", prefix.upper() + "MPI", 1)


def callee(routine, prefix):
    """What is called: the function, or for one that MPI 3.0 took out what the library has in its place."""
    name = c_name(routine.name, prefix)
    if not routine.function.removed:
        return name
    modern = INSTEAD.get(routine.function.base) or c_name(routine.function.removed.split(",")[0], prefix)
    return f"(PLI_MISSING_IS({name}) ? {modern} : {name})"


def call(routine, body, prefix):
    """The lines that call C and leave the error code in err."""
    passed = []
    for p in routine.c_args:
        if p.small == "...":
            continue
        passed.append(body.passed.get(p.name, "0" if p.small == "int" else "NULL"))
    text = f"{callee(routine, prefix)}({', '.join(passed)})"
    if routine.value is None:
        return [f"    int err = {text};"]
    v = routine.value.name
    if routine.value.conv == "handle":
        star = "*" if routine.function.returns.endswith("*") else ""
        word = model.HANDLE_TYPES[routine.value.handle]
        return [f"    *{v} = pli_argument_from_{word}({star}{text});", "    int err = MPI_SUCCESS;"]
    return [f"    int {v}_ = {text};", f"    int err = {v}_ < 0 ? -{v}_ : MPI_SUCCESS;",
            f"    *{v} = {v}_ < 0 ? 0 : {v}_;"]


def names_of(routine, prefix):
    """The linker's names: the first is that of the function, the others are its aliases."""
    names = []
    for name in routine.names:
        low = prefix + name.lower()
        names += [low + "_", low, low + "__", low.upper()]
        if any(a.conv == "address" for a in routine.args):  # the module mpi takes TYPE(C_PTR) too
            names.append(low + "_cptr_")
    return names


def f08_names(routine, prefix):
    return [prefix + n.lower() + "_f08_" for n in routine.names]


def parameters(routine):
    declared = [declare(a) for a in routine.args] + ([] if routine.result else ["int *ierror"])
    declared += [f"size_t {a.name}_length" for a in routine.args if a.conv in STRINGS]
    return ", ".join(declared) or "void"


def statements(routine, body, prefix):
    """The lines of a function between its braces."""
    if routine.result:
        return [f"    return {c_name(routine.name, prefix)}({', '.join(body.passed[p.name] for p in routine.c_args)});"]
    lines = list(body.before)
    for var, is_full in body.checks:
        test = f"{var} == NULL"
        if body.at_root and var.startswith("array_of_commands"):
            test = f"at_root && {test}"
        fail = "pli_callback_fail_full()" if is_full else "pli_callback_fail_memory()"
        lines += [f"    if (__builtin_expect({test}, 0)) {{", f"        pli_argument_set_ierror(ierror, {fail});",
                  "        return;", "    }"]
    return lines + call(routine, body, prefix) + body.after + ["    pli_argument_set_ierror(ierror, err);"]


def function(routine, prefix, for_f08=False):
    names = f08_names(routine, prefix) if for_f08 else names_of(routine, prefix)
    if not for_f08 and not routine.is_old and not needs_f08(routine):
        names += f08_names(routine, prefix)
    params = parameters(routine)
    returns = routine.function.returns if routine.result else "void"
    weak = "" if prefix else "__attribute__((weak)) "
    lines = [f"{weak}{returns} {names[0]}({params});", f"{returns} {names[0]}({params})", "{"]
    name = c_name(routine.name, prefix)
    if not routine.in_abi():
        lines.insert(0, f"PLI_MISSING_DECLARE({name})")
        if not routine.function.removed:
            lines += [f"    if (PLI_MISSING_IS({name})) {{", f"        pli_argument_set_ierror(ierror, pli_missing_fail(\"{name}\"));",
                      "        return;", "    }"]
    lines += statements(routine, Body(routine, for_f08), prefix)
    lines.append("}")
    for alias in names[1:]:
        lines.append(f"__attribute__((weak, alias(\"{names[0]}\"))) {returns} {alias}({params});")
    return "\n".join(lines) + "\n"


def initialises(routine):
    return routine.function.base in ("Init", "Init_thread", "Init_endpoints", "Session_init")


def by_reference(routine):
    """Whether the extra state is that of a request: it may change."""
    return any(a.callback == "MPI_Grequest_query_function" for a in routine.args)


def needs_f08(routine):
    """Whether a routine without buffers is not the same in mpi_f08."""
    return by_reference(routine) or any(a.conv == "address_unused" for a in routine.args)


def source(chapter, routines, prefix):
    out = [f"// The Fortran procedures {prefix}mpi_*_ of {chapter}.api. Generated from the API table.",
           '#include "fortran/argument.h"', '#include "fortran/attribute.h"', '#include "fortran/callback.h"',
           '#include "fortran/later.h"', '#include "fortran/missing.h"', '#include "fortran/pending.h"',
           *(['#include "fortran/register.h"'] if any(map(initialises, routines)) else []), "", "#include <stdlib.h>", ""]
    for routine in routines:
        out.append(function(routine, prefix))
        if needs_f08(routine):
            out.append(function(routine, prefix, for_f08=True))
    return "\n".join(out)
