// SPDX-License-Identifier: BSD-3-Clause
// A rank dies while the others synchronise with it at a window, as the argument says: they hear of
// it, free the window, and go on with one of their own. Needs mpiexec --on-failure=shrink.
#include <mpi.h>

#include "t.h"

#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

enum { VICTIM = 2, LEN = 100000 };

static int rank, size, *mem, big[LEN];
static MPI_Win win;

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

// The victim dies when all the others have got so far.
static void die(void)
{
    for (int i = 1; rank == VICTIM && i < size; i++) {
        MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == VICTIM) {
        raise(SIGKILL);
    }
    MPI_Send(NULL, 0, MPI_INT, VICTIM, 0, MPI_COMM_WORLD);
}

static int access_dead(const char *how)
{
    int code = MPI_SUCCESS;
    if (strcmp(how, "fence") == 0) {
        MPI_Win_fence(0, win);
        die();
        MPI_Put(big, LEN, MPI_INT, VICTIM, 0, LEN, MPI_INT, win);
        return MPI_Win_fence(0, win);
    }
    if (strcmp(how, "start") == 0) {
        MPI_Group all, one;
        MPI_Win_get_group(win, &all);
        MPI_Group_incl(all, 1, (int[]){ VICTIM }, &one);
        die();
        code = MPI_Win_start(one, 0, win);
        MPI_Group_free(&one);
        MPI_Group_free(&all);
        return code;
    }
    if (rank == VICTIM) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, VICTIM, 0, win);
    }
    die();
    return MPI_Win_lock(MPI_LOCK_SHARED, VICTIM, 0, win);
}

int main(int argc, char **argv)
{
    MPI_Comm rest;
    int got = -1;
    MPI_Init(&argc, &argv);
    T_MUST(argc == 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    mem = malloc(LEN * sizeof *mem);
    MPI_Win_create(mem, LEN * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    T_EQ(class_of(access_dead(argv[1])), MPIX_ERR_PROC_FAILED);
    T_EQ(MPI_Win_free(&win), MPI_SUCCESS);
    T_EQ(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest), MPI_SUCCESS);
    MPI_Comm_rank(rest, &rank);
    MPI_Comm_size(rest, &size);
    mem[0] = rank;
    MPI_Win_create(mem, sizeof *mem, 1, MPI_INFO_NULL, rest, &win);
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    T_EQ(got, (rank + 1) % size);
    MPI_Win_free(&win);
    MPI_Comm_free(&rest);
    free(mem);
    MPI_Finalize();
    return t_status();
}
