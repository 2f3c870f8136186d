# Profiling: a tool's own MPI_Send is called instead of ours and reaches ours as PMPI_Send.
. "$(dirname "$0")/t.bash"

cat >prof.c <<'EOF'
#include <mpi.h>
#include <stdio.h>
static int n_send;
int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    n_send++;
    return PMPI_Send(buf, count, type, dest, tag, comm);
}
int MPI_Finalize(void)
{
    printf("profile: %d sends\n", n_send);
    fflush(stdout);
    return PMPI_Finalize();
}
EOF
cat >app.c <<'EOF'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, v = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        if (rank == 0) {
            MPI_Send(&v, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&v, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
EOF

# Linked in before the library, as an object and as a library of its own.
mpicc -o linked app.c prof.c
must_say "profile: 3 sends" mpiexec -n 2 ./linked
must_say "profile: 0 sends" mpiexec -n 2 ./linked
mpicc -shared -fPIC -o libprof.so prof.c
mpicc -o with_lib app.c -L. -Wl,-rpath,"$scratch" -Wl,--no-as-needed -lprof
must_say "profile: 3 sends" mpiexec -n 2 ./with_lib
# The same with the static library.
mpicc -c prof.c
ar rc libsprof.a prof.o
mpicc -static-mpi -o static app.c libsprof.a
must_say "profile: 3 sends" mpiexec -n 2 ./static
# Without the tool nothing is profiled.
mpicc -o alone app.c
mpiexec -n 2 ./alone | grep profile && fail "profiled without a profiler"
# Put in front of a finished program; a sanitizer's library insists on being first itself.
if ! is_sanitized; then
    must_say "profile: 3 sends" mpiexec -n 2 env LD_PRELOAD="$scratch/libprof.so" ./alone
fi
exit 0
