# What a Fortran program is told, by each of the three interfaces: the report of a deadlock names the lines of its source, and an error
# the argument that is wrong.
. "$(dirname "$0")/t.bash"
unset PLIANT_FC
if ! command -v gfortran >/dev/null; then
    echo "skipped: there is no gfortran"
    exit 77
fi
export PLIANT_FC=gfortran
# program NAME INTERFACE STATUS LINE...: the lines are between MPI_Init and MPI_Finalize, from line 8 on.
program() {
    local name=$1 interface=$2 status=$3 use='' include=''
    shift 3
    case $interface in
    mpif.h) include="include 'mpif.h'" ;;
    *) use="use $interface" ;;
    esac
    {
        printf '%s\n' "program $name" "  $use" "  implicit none" "  $include"
        printf '%s\n' "  integer :: rank, ierror, x(4), $status"
        printf '%s\n' "  call MPI_Init(ierror)" "  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)" "$@"
        printf '%s\n' "  call MPI_Finalize(ierror)" "end program"
    } >"$name.f90"
    mpifort -g -O0 -w -o "$name" "$name.f90"
}
for interface in mpif.h mpi mpi_f08; do
    name=hang_${interface%.h}
    program "$name" $interface other "  other = 1 - rank" \
        "  call MPI_Recv(x, 1, MPI_INTEGER, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)"
    must_fail 123 "rank 1 receives from rank 0, tag 3, on MPI_COMM_WORLD, called at $name\.f90:9" mpiexec -n 2 "./$name"
    name=wrong_${interface%.h}
    program "$name" $interface other "  other = 77" "  call MPI_Send(x, 1, MPI_INTEGER, other, 3, MPI_COMM_WORLD, ierror)"
    must_fail 6 "MPI_Send: argument dest is 77" mpiexec -n 1 "./$name"
    name=count_${interface%.h}
    program "$name" $interface other "  other = -4" "  call MPI_Bcast(x, other, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)"
    must_fail 2 "MPI_Bcast: argument count is -4" mpiexec -n 1 "./$name"
done
# A section that goes by a datatype, and one that is copied.
program section mpi_f08 "wide(4, 4)" "  wide = 1" "  call MPI_Send(wide(1, :), 4, MPI_INTEGER, -9, 3, MPI_COMM_WORLD)"
must_fail 6 "MPI_Send: argument dest is -9" mpiexec -n 1 ./section
program copied mpi_f08 "wide(4, 4)" "  wide = 1" "  call MPI_Allreduce(MPI_IN_PLACE, wide(1, :), 4, MPI_INTEGER, MPI_OP_NULL, MPI_COMM_WORLD)"
must_fail 10 "MPI_Allreduce: argument op is" mpiexec -n 1 ./copied
# A section that is too short: the message names the call and the argument, whether it would be copied or not.
program short mpi_f08 "wide(4, 4)" "  wide = 1" "  call MPI_Bcast(wide(1, :), 5, MPI_INTEGER, 0, MPI_COMM_WORLD)"
must_fail 2 "MPI_Bcast: argument buffer is an array section of 16 bytes, but count and datatype ask for more" mpiexec -n 1 ./short
must_fail 2 "an error in MPI_Bcast, called at short\.f90:9" mpiexec -n 1 ./short
