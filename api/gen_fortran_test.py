"""Writes two Fortran programs that call every routine of mpif.h and of the module mpi, by both of its names and in both forms, with
the plainest arguments: null handles, ones, short strings. Each must succeed, or fail with the error that its manual page
names for one of them.

usage: gen_fortran_test.py API_DIR OUT_DIR
"""
import os
import sys

import fortran_model as model
import fortran_module
import gen
import gen_f08_test as plain

FEW = 32  # elements of each array
NUMBERS = {"aint": "b", "offset": "b", "count": "b", "extra": "b", "attribute": "b", "address": "b", "logical": "l"}
HANDLES = list(gen.HANDLES)


def variable(k, a):
    """The variable that is passed for argument k."""
    many = a.extent is not None or a.conv in ("argv", "argvs")
    if a.conv == "callback":
        return "take"
    if a.conv in ("handle", "later"):
        name = "h_" + model.HANDLE_TYPES[a.handle]
    elif a.conv == "status":
        return f"st_s(:, :, {k})" if many else f"st(:, {k})"
    elif a.conv in ("buffer", "choice", "address_unused"):
        return f"buf(:, {k})"
    elif a.conv == "argvs":
        return "w_ss"
    elif a.conv == "string_in" and not many:
        return "'x'"
    elif a.conv.startswith("string") and not many:
        return "text"
    elif a.conv.startswith(("string", "argv")):
        name = "w"
    elif a.rows:
        return "triplets"
    else:
        name = NUMBERS.get(a.conv, "n")
    return f"{name}_s(:, {k})" if many else f"{name}({k})"


def call_lines(routine, name):
    args = [variable(k + 1, a) for k, a in enumerate(routine.args)]
    if routine.result:
        return [f"    call must(real({name}({', '.join(args)}), 8) >= 0, '{name}')"]
    classes = ["SUCCESS"] if plain.may_succeed(routine) else []
    classes += [c for c in plain.allowed(routine) if c not in classes]
    listed = ", ".join("MPI_SUCCESS" if c == "SUCCESS" else f"MPI_ERR_{c}" for c in dict.fromkeys(classes))
    what = name + (" with large counts" if routine.large else "")
    return (["    call reset()"] + fortran_module.wrapped(f"    call {name}({', '.join(args + ['ie'])})")
            + fortran_module.wrapped(f"    call judge([integer :: {listed}], '{what}')"))


def names(routine, small, is_module):
    """The names by which a routine is called: the generic one where it has one."""
    for base in routine.names:
        if is_module and routine.large and model.is_generic(small[routine.function.name], routine):
            base = base.removesuffix("_c")
        yield from (base, "P" + base)


def program(api, is_module):
    routines = model.routines(api)
    small = {r.function.name: r for r in routines if not r.large}
    title = "the module mpi" if is_module else "mpif.h"
    name = "mpi_calls" if is_module else "mpif_calls"
    access = ["  use mpi", "  implicit none"] if is_module else ["  implicit none", "  include 'mpif.h'"]
    out = [f"! Calls every routine of {title}. Generated from the API table. One rank.", "module plain"] + access
    out += ["  integer :: failed = 0, called = 0, ie", f"  integer :: n(20), n_s({FEW}, 20), buf({FEW}, 20), triplets(3, {FEW})",
            f"  integer(8) :: b(20), b_s({FEW}, 20)", f"  logical :: l(20), l_s({FEW}, 20)",
            f"  integer :: st(MPI_STATUS_SIZE, 20), st_s(MPI_STATUS_SIZE, {FEW}, 20)",
            "  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: text", f"  character(len=8) :: w_s({FEW}, 20), w_ss(1, {FEW})",
            "  external :: take"]
    out += [f"  integer :: h_{h}(20), h_{h}_s({FEW}, 20)" for h in HANDLES]
    out += ["contains", "  subroutine reset()", "    n = 1", "    n_s = 1", "    triplets = 1", "    b = 1", "    b_s = 1", "    l = .true.",
            "    l_s = .true.", "    buf = 0", "    ie = -1", "    text = 'x'", "    w_s = ''", "    w_ss = ''", "    st = 0", "    st_s = 0"]
    out += [f"    {v} = MPI_{h.upper()}_NULL" for h in HANDLES for v in (f"h_{h}", f"h_{h}_s")]
    out += ["  end subroutine", "  subroutine must(ok, what)", "    logical, intent(in) :: ok", "    character(len=*), intent(in) :: what",
            "    called = called + 1", "    if (.not. ok) then", "      failed = failed + 1", "      print '(2a)', 'failed: ', what",
            "    end if", "  end subroutine", "  subroutine judge(expected, what)", "    integer, intent(in) :: expected(:)",
            "    character(len=*), intent(in) :: what", "    integer :: class, code, length, ierror",
            "    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: said", "    code = ie", "    class = -1",
            "    if (code >= 0) call MPI_Error_class(code, class, ierror)", "    call must(any(expected == class), what)",
            "    if (.not. any(expected == class)) then", "      said = ''",
            "      if (code >= 0) call MPI_Error_string(code, said, length, ierror)",
            "      print '(a, i0, 2a)', '  class ', class, ': ', trim(said)", "    end if", "  end subroutine"]
    chapters = {}
    for r in routines:
        if r.function.name not in plain.LEFT_OUT:
            for called in names(r, small, is_module):
                chapters.setdefault(r.chapter, []).extend(call_lines(r, called))
    for chapter, lines in chapters.items():
        out += [f"  subroutine calls_{chapter}()"] + lines + ["  end subroutine"]
    out += ["end module", "subroutine take()", "  stop 1", "end subroutine", f"program {name}", "  use plain", "  implicit none",
            "  integer :: ierror", "  call MPI_Init(ierror)"]
    out += [f"  call MPI_{what}_set_errhandler(MPI_{handle}, MPI_ERRORS_RETURN, ierror)"
            for what, handle in (("Comm", "COMM_WORLD"), ("Comm", "COMM_SELF"), ("File", "FILE_NULL"))]
    out += [f"  call calls_{chapter}()" for chapter in chapters]
    out += ["  if (failed > 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)", "  call MPI_Finalize(ierror)",
            "  print '(i0, a)', called, ' calls: all good'", "end program", ""]
    return name, "\n".join(out)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for is_module in (False, True):
        name, text = program(sys.argv[1], is_module)
        gen.write(os.path.join(sys.argv[2], name + ".f90"), text)


if __name__ == "__main__":
    main()
