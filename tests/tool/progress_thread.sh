# The thread that serves one-sided access is no rank and no load: deadlocks are named although it sleeps
# beside the ranks, and an idle job stays idle.
. "$(dirname "$0")/t.bash"

cat >app.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    long memory[8] = { 0 };
    int rank, size, word = 0;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (strcmp(argv[1], "deadlock") == 0) {
        MPI_Recv(&word, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else { // one rank is elsewhere, the other ones sleep in a call
        struct rusage used, before;
        getrusage(RUSAGE_SELF, &before);
        if (rank == 0) {
            sleep(2);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        getrusage(RUSAGE_SELF, &used);
        long n = used.ru_nvcsw - before.ru_nvcsw;
        printf(n < 200 ? "idle\n" : "rank %d was woken %ld times\n", rank, n);
        fflush(stdout);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
END
mpicc -o app app.c
for way in PLIANT_FAKE_HOSTS=2 PLIANT_PROGRESS_THREAD=always; do
    must_fail 123 'deadlock: every rank' env $way mpiexec --timeout 60 -n 2 ./app deadlock
    [ "$(env $way mpiexec --timeout 60 -n 2 ./app idle | grep -c '^idle')" = 2 ] ||
        fail "a rank is not idle with $way"
done
