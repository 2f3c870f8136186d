# The thread that serves one-sided access is no rank and no load: deadlocks are named although it sleeps
# beside the ranks, and an idle job stays idle.
. "$(dirname "$0")/t.bash"

cat >app.c <<'END'
#include <glob.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
// How often the threads of a process have gone to sleep.
static long sleeps(int pid)
{
    char name[64], line[256];
    long sum = 0, n;
    glob_t g;
    snprintf(name, sizeof name, "/proc/%d/task/*/status", pid);
    glob(name, 0, NULL, &g);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        FILE *f = fopen(g.gl_pathv[i], "r");
        while (f != NULL && fgets(line, sizeof line, f) != NULL) {
            sum += sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ? n : 0;
        }
        if (f != NULL) {
            fclose(f);
        }
    }
    globfree(&g);
    return sum;
}
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
    } else { // one rank is elsewhere, the other one sleeps in a call, soon after it has come there
        int pid = getpid(), pids[2];
        MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            sleep(1);
            long before[2] = { sleeps(pids[0]), sleeps(pids[1]) };
            sleep(1);
            for (int i = 0; i < 2; i++) {
                long n = sleeps(pids[i]) - before[i];
                printf(n < 100 ? "idle\n" : "rank %d was woken %ld times\n", i, n);
            }
            fflush(stdout);
        }
        MPI_Barrier(MPI_COMM_WORLD);
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
