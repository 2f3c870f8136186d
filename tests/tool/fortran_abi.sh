# The Fortran library needs only functions of the standard ABI, and runs over a library that has no others: calls of what is
# missing there fail with a sentence. `make test-fortran-abi LIB=folder` does more, over the library of another MPI.
. "$(dirname "$0")/t.bash"
unset PLIANT_FC
lib=$BUILD_DIR/lib
python3 -c '
import json, sys
for f in json.load(open(sys.argv[1]))["functions"]:
    print(f["name"], f["name"].replace("MPI", "PMPI", 1), sep="\n")' "$SOURCE_DIR/tests/data/mpi-5.0.json" | LC_ALL=C sort >abi
[ "$(wc -l <abi)" -gt 1000 ] || fail "the list of the ABI's functions has $(wc -l <abi) names"
nm -D --undefined-only "$lib/libpliant_mpifort.so" | awk '$1 == "U" { print $2 }' | grep -E '^P?MPIX?_' | LC_ALL=C sort >needed
[ "$(wc -l <needed)" -gt 1000 ] || fail "libpliant_mpifort needs $(wc -l <needed) functions of MPI"
beyond=$(LC_ALL=C comm -23 needed abi)
[ -z "$beyond" ] || fail "libpliant_mpifort cannot be loaded without these, which the standard ABI does not have:" $beyond
nm -D --undefined-only "$lib/libpliant_mpifort.so" | grep -qE ' w MPIX_Comm_shrink$' || fail "it does not know MPIX_Comm_shrink"

if ! command -v gfortran >/dev/null || is_sanitized; then
    echo "the rest is skipped: it needs gfortran and a library without sanitizers"
    exit 0
fi
# A library with these functions alone.
mkdir only
{
    echo '{ global:'
    grep -vE '^P?MPI_P(send|recv)_init_c$' abi | sed 's/$/;/'
    echo 'local: *; };'
} >only.map
cc -shared -o only/libmpi_abi.so.1 -Wl,-soname,libmpi_abi.so.1 -Wl,--version-script=only.map -Wl,-Bsymbolic \
    -Wl,--whole-archive "$lib/libmpi_abi.a" -Wl,--no-whole-archive -lpthread -ldl -lm
cat >beyond.f90 <<'F'
program beyond
  use mpi
  implicit none
  integer :: ierror, class, length, extent, type, sum, comm
  character(len=MPI_MAX_ERROR_STRING) :: text
  call MPI_Init(ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
  call MPIX_Comm_shrink(MPI_COMM_WORLD, comm, ierror)
  call MPI_Error_class(ierror, class, length)
  call MPI_Error_string(ierror, text, length, class)
  print '(2a)', 'shrink: ', text(:length)
  call MPI_Type_struct(2, [1, 1], [0, 8], [MPI_INTEGER, MPI_INTEGER], type, ierror)
  call MPI_Type_extent(type, extent, ierror)
  call MPI_Type_free(type, ierror)
  call MPI_Allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  print '(a,i0,a,i0)', 'extent ', extent, ', ranks ', sum
  call MPI_Finalize(ierror)
end program
F
PLIANT_FC=gfortran mpifort -o beyond beyond.f90
must_say '^extent 12, ranks 2$' mpiexec -n 2 ./beyond
must_say 'shrink: .*the MPI library in use has no MPIX_Comm_shrink, which is not in the standard ABI: run' \
    mpiexec -n 2 env LD_LIBRARY_PATH="$scratch/only" ./beyond
must_say '^extent 12, ranks 2$' mpiexec -n 2 env LD_LIBRARY_PATH="$scratch/only" ./beyond
