"""Writes a Fortran program that calls every procedure of mpi_f08, by both of its names and in both forms, with the plainest arguments:
null handles, ones, short strings. Each must succeed, or fail with the error that its manual page names for one of them.

usage: gen_f08_test.py API_DIR OUT_FILE
"""
import sys

import fortran_model
import gen
import gen_f08

# Not called here, and why.
LEFT_OUT = {
    "MPI_Init": "main calls it", "MPI_Init_thread": "MPI is initialised", "MPI_Init_endpoints": "MPI is initialised",
    "MPI_Finalize": "main calls it", "MPI_Abort": "it ends the job", "MPI_Fork": "it starts processes",
    "MPIX_Fork_with_info": "it starts processes", "MPIX_World_resize": "it starts processes", "MPIX_Comm_migrate": "it moves processes",
    "MPIX_World_resize_with_info": "it starts processes", "MPI_Comm_join": "1 is the standard output", "MPI_Free_mem": "the memory is not MPI's",
}
ERRORS = {"MPI_Comm": "COMM", "MPI_Group": "GROUP", "MPI_Datatype": "TYPE", "MPI_Op": "OP", "MPI_Request": "REQUEST", "MPI_Info": "INFO",
          "MPI_Errhandler": "ERRHANDLER", "MPI_Session": "SESSION", "MPI_Win": "WIN", "MPI_File": "FILE", "MPI_Message": "REQUEST"}
MAY_BE_NULL = ("MPI_Info", "MPI_Request", "MPI_Errhandler")
# What else the plainest arguments of a function may come to.
ALSO = {
    "MPI_Comm_get_name": ["SUCCESS"], "MPI_Type_get_name": ["SUCCESS"], "MPI_Win_get_name": ["SUCCESS"],  # the null handles have names
    "MPI_File_call_errhandler": ["SUCCESS"], "MPI_File_get_errhandler": ["SUCCESS"],  # MPI_FILE_NULL has an error handler
    "MPI_Type_match_size": ["ARG"], "MPI_Close_port": ["PORT"], "MPI_Lookup_name": ["NAME"], "MPI_File_delete": ["NO_SUCH_FILE"],
    "MPIX_Comm_world_at": ["ARG"], "MPIX_Comm_children_at": ["ARG"], "MPIX_Comm_parents_at": ["ARG"],  # there is no version 1
    "MPIX_Plan_get_count": ["ARG"], "MPIX_Plan_get_global": ["ARG"], "MPIX_Plan_get_missing": ["ARG"],  # 1 is no plan
    "MPIX_Plan_free": ["ARG"], "MPIX_Plan_execute": ["ARG"],
    "MPI_Add_error_string": ["ARG"], "MPI_Remove_error_class": ["ARG"], "MPI_Remove_error_code": ["ARG"],
    "MPI_Remove_error_string": ["ARG"],  # 1 is not of those that were added
    # The second call of the same finds what the first has done.
    "MPI_Publish_name": ["SERVICE"], "MPI_Unpublish_name": ["SERVICE"], "MPIX_Checkpoint_register": ["ARG"],
    "MPI_Abi_set_fortran_booleans": ["ABI"], "MPI_Register_datarep": ["DUP_DATAREP"], "MPI_Buffer_attach": ["BUFFER"],
    "MPI_Buffer_detach": ["BUFFER"],
}
FEW = 32  # elements of each array


def variable(routine, k, a):
    """The variable that is passed for argument k."""
    array = f"(1, {k})" if a.extent is not None or a.conv in ("argv", "argvs") else f"({k})"
    what = {"int": "n", "aint": "b", "offset": "b", "count": "b", "logical": "l", "index": "n", "status": "st", "weights": "n",
            "errcodes": "n", "extra": "b", "attribute": "b", "address": "p", "address_unused": "p", "argv": "w", "argvs": "w"}
    if a.conv in ("handle", "later"):
        what = "h_" + a.handle[4:].lower()
    elif a.conv == "callback":
        return "take_" + a.callback[4:].lower() if a.callback.startswith("MPI_") else "take_" + a.callback.lower()
    elif gen_f08.is_choice(a):
        return f"buf(:, {k})"
    elif a.conv == "string_in" and a.extent is None:
        return "'x'"
    elif a.conv.startswith("string"):
        what = "w" if a.extent is not None else "text"
        array = f"(1, {k})" if a.extent is not None else ""
    else:
        what = what[a.conv]
    if a.rows:
        return "triplets"
    if a.conv == "argvs":
        return "w_ss"
    if "1, " in array:
        return f"{what}_s(:, {k})"
    return what + array


def allowed(routine):
    """The error classes that may come, without MPI_ERR_."""
    found = [ERRORS[a.handle] for a in routine.args if a.conv == "handle" and a.direction != "out"]
    found += ["KEYVAL"] if any("keyval" in a.name and a.direction != "out" for a in routine.args) else []
    return found + ALSO.get(routine.function.name, [])


def may_succeed(routine):
    handles = [a.handle for a in routine.args if a.conv == "handle" and a.direction != "out"]
    return all(h in MAY_BE_NULL for h in handles)


def call_lines(routine, name):
    args = [variable(routine, k + 1, a) for k, a in enumerate(routine.args)]
    if routine.result:
        return gen_f08.wrap(f"call must(real({name}({', '.join(args)}), 8) >= 0, '{name}')", "    ")
    classes = ", ".join("MPI_SUCCESS" if e == "SUCCESS" else f"MPI_ERR_{e}" for e in dict.fromkeys(allowed(routine)))
    expected = f"[integer :: {'MPI_SUCCESS' if may_succeed(routine) else ''}{', ' if classes and may_succeed(routine) else ''}{classes}]"
    out = ["    call reset()"] + gen_f08.wrap(f"call {name}({', '.join(args + ['ie'])})", "    ")
    return out + gen_f08.wrap(f"call judge({expected}, '{name}{'!(_c)' if routine.large else ''}')", "    ")


def procedure_lines(cb):
    name = "take_" + (cb.name[4:].lower() if cb.name.startswith("MPI_") else cb.name.lower())
    out = gen_f08.callback_lines(name, cb)
    out = [line for line in out if line.strip() != "import"]
    return [line[2:] for line in out[:-1]] + [f"  end subroutine {name}"]


def program(api):
    routines = fortran_model.routines(api)
    out = ["! Calls every procedure of mpi_f08. Generated from the API table. One rank.", "module plain",
           "  use mpi_f08", "  use, intrinsic :: iso_c_binding, only: c_ptr, c_null_ptr", "  implicit none",
           "  integer :: failed = 0, called = 0, ie", f"  integer :: n(20), n_s({FEW}, 20), buf({FEW}, 20)",
           f"  integer :: triplets(3, {FEW})", f"  integer(8) :: b(20), b_s({FEW}, 20)", f"  logical :: l(20), l_s({FEW}, 20)",
           f"  type(MPI_Status) :: st(20), st_s({FEW}, 20)", "  type(c_ptr) :: p(20)",
           "  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: text", f"  character(len=8) :: w_s({FEW}, 20), w_ss(1, {FEW})"]
    for h in gen_f08.HANDLES:
        out.append(f"  type({h}) :: h_{h[4:].lower()}(20), h_{h[4:].lower()}_s({FEW}, 20)")
    out += ["contains", "  subroutine reset()", "    n = 1", "    n_s = 1", "    triplets = 1", "    b = 1", "    b_s = 1", "    l = .true.", "    l_s = .true.",
            "    buf = 0", "    ie = -1", "    text = 'x'", "    w_s = ''", "    w_ss = ''", "    p = c_null_ptr"]
    for h in gen_f08.HANDLES:
        word = h[4:].lower()
        for v in (f"h_{word}", f"h_{word}_s"):
            out.append(f"    {v} = MPI_{word.upper()}_NULL")
    out += ["  end subroutine", "  subroutine must(ok, what)", "    logical, intent(in) :: ok", "    character(len=*), intent(in) :: what",
            "    called = called + 1", "    if (.not. ok) then", "      failed = failed + 1", "      print '(2a)', 'failed: ', what", "    end if",
            "  end subroutine", "  subroutine judge(expected, what)", "    integer, intent(in) :: expected(:)",
            "    character(len=*), intent(in) :: what", "    integer :: class, code, length",
            "    character(len=MPI_MAX_ERROR_STRING) :: said", "    code = ie", "    class = -1",
            "    if (code >= 0) call MPI_Error_class(code, class)", "    call must(any(expected == class), what)",
            "    if (.not. any(expected == class)) then", "      said = ''", "      if (code >= 0) call MPI_Error_string(code, said, length)",
            "      print '(a, i0, 2a)', '  class ', class, ': ', trim(said)", "    end if", "  end subroutine"]
    for cb in fortran_model.callbacks(api):
        out += procedure_lines(cb)
    groups = {}
    for key, forms in gen_f08.generics(routines).items():
        for r, name in forms:
            if r.function.name in LEFT_OUT:
                continue
            for prefix in ("", "P"):
                groups.setdefault(r.chapter, []).extend(call_lines(r, prefix + key))
    for chapter, lines in groups.items():
        out += [f"  subroutine calls_{chapter}()"] + lines + ["  end subroutine"]
    out += ["end module", "program f08_calls", "  use plain", "  implicit none", "  call MPI_Init()",
            "  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)",
            "  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)",
            "  call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN)"]
    out += [f"  call calls_{chapter}()" for chapter in groups]
    out += ["  if (failed > 0) call MPI_Abort(MPI_COMM_WORLD, 1)", "  call MPI_Finalize()",
            "  print '(i0, a)', called, ' calls: all good'", "end program", ""]
    return "\n".join(out)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    gen.write(sys.argv[2], program(sys.argv[1]))


if __name__ == "__main__":
    main()
