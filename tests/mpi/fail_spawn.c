// SPDX-License-Identifier: BSD-3-Clause
// A rank dies while processes are spawned that have not called MPI_Init yet: the root of the call
// (argument 0), which they are to be connected to, or another one. The survivors go on for longer
// than the new processes need, which are gone at the end. A second argument is how many
// milliseconds the new processes take: nobody waits for them once the rank is dead. With "told" the
// rank dies (PLIANT_FAULT) when they are connected and some of the others have the communicator.
// Needs mpiexec --on-failure=shrink.
#include <mpi.h>

#include "t.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { DEATH_MS = 100, LIFE_MS = 1000 };

static void nap(int ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

// It sends a signal to this process in the middle of MPI_Comm_spawn.
static void die_later(void)
{
    timer_t t;
    struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
    struct itimerspec when = { .it_value = { .tv_nsec = DEATH_MS * 1000000L } };
    T_EQ(timer_create(CLOCK_MONOTONIC, &how, &t), 0);
    T_EQ(timer_settime(t, 0, &when, NULL), 0);
}

// The root has it ended soon after the rank, unless it did not notice.
static int connected(void)
{
    int unused;
    MPI_Comm parent;
    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    MPI_Recv(&unused, 1, MPI_INT, 2, 0, parent, MPI_STATUS_IGNORE); // from the rank that dies
    nap(2 * LIFE_MS);
    _exit(1);
}

static int child(int ms)
{
    nap(ms);
    MPI_Init(NULL, NULL); // does not return
    fprintf(stderr, "a child of the failed call is connected\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}

int main(int argc, char **argv)
{
    int rank, class = -1, n, sum = 0, one = 1;
    char *args[] = { "child", argc > 2 ? argv[2] : "300", argc > 3 ? argv[3] : NULL, NULL };
    MPI_Comm both, left;
    if (argc > 2 && strcmp(argv[1], "child") == 0) {
        return argc > 3 ? connected() : child(atoi(argv[2]));
    }
    int victim = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    T_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    if (rank == victim && argc <= 3) {
        die_later();
    }
    MPI_Error_class(MPI_Comm_spawn(argv[0], args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both,
                                   MPI_ERRCODES_IGNORE),
                    &class);
    if (class == MPI_SUCCESS && argc > 3) {
        MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
        MPI_Error_class(MPI_Recv(&n, 1, MPI_INT, 0, 0, both, MPI_STATUS_IGNORE), &class);
        MPI_Comm_free(&both);
    }
    T_EQ(class, MPIX_ERR_PROC_FAILED);
    if (rank == victim) {
        pause();
    }
    T_EQ(MPIX_Comm_shrink(MPI_COMM_WORLD, &left), MPI_SUCCESS);
    nap(LIFE_MS);
    MPI_Comm_size(left, &n);
    T_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left), MPI_SUCCESS);
    T_EQ(sum, n);
    MPI_Comm_free(&left);
    MPI_Finalize();
    return t_status();
}
