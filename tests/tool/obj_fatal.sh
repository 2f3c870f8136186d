# What a program says and how it ends when an error is fatal, with a launcher and without.
. "$(dirname "$0")/t.bash"
program=$BUILD_DIR/tests/bin/mpi.obj_fatal
sentence='MPI_Send: argument dest is 77, but communicator MPI_COMM_WORLD has'

# expect STATUS PATTERN ARG: alone and as two ranks.
expect() {
    must_fail "$1" "$2" "$program" "$3"
    must_fail "$1" "$2" mpiexec -n 2 "$program" "$3"
}
expect 6 "$sentence" default
expect 6 'MPI_ERRORS_ARE_FATAL, so the job ends' default
expect 6 'MPI_ERRORS_ABORT, so the job ends' abort
expect 1 'out of coffee' user
expect 16 'MPI_Comm_rank was called before MPI_Init\.' early
expect 16 'MPI_Type_size was called before MPI_Init' early-type
must_fail 16 'MPI_Comm_size was called after MPI_Finalize\.' "$program" late

# The handler that communicators start with can be chosen.
must_say survived env PLIANT_INITIAL_ERRHANDLER=mpi_errors_return "$program" default
must_fail 6 MPI_ERRORS_ABORT env PLIANT_INITIAL_ERRHANDLER=mpi_errors_abort "$program" default

# The paragraph is one piece, also when every rank fails at once.
out=$(mpiexec -n 4 "$program" early 2>&1) && fail "four failing ranks succeeded"
[ "$(grep -c 'was called before' <<<"$out")" -ge 1 ] || fail "no rank said why: $out"
