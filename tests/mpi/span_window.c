// SPDX-License-Identifier: BSD-3-Clause
// Windows of each kind, of ranks that are far from each other: run on one job, and over several
// that IMPI joins.
#include <mpi.h>

#include "t.h"

static int rank, size;

// A number goes to the rank at the other end, and one comes from there; then all add to rank 0.
static void use(MPI_Win win, int *mine, MPI_Aint at, MPI_Aint at_root)
{
    int to = size - 1 - rank, one = 1, got = -1;
    MPI_Win_fence(0, win);
    T_EQ(MPI_Put(&rank, 1, MPI_INT, to, at, 1, MPI_INT, win), MPI_SUCCESS);
    MPI_Win_fence(0, win);
    T_EQ(*mine, to);
    T_EQ(MPI_Get(&got, 1, MPI_INT, to, at, 1, MPI_INT, win), MPI_SUCCESS);
    MPI_Win_fence(0, win);
    T_EQ(got, rank);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, at_root, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        T_EQ(*mine, size - 1 + size);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int own = -1, late = -1, *made;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create(&own, sizeof own, sizeof own, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    use(win, &own, 0, 0);
    MPI_Win_allocate(sizeof *made, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made, &win);
    use(win, made, 0, 0);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, &late, sizeof late);
    MPI_Aint here, there, root;
    MPI_Get_address(&late, &here);
    int to = size - 1 - rank;
    MPI_Sendrecv(&here, 1, MPI_AINT, to, 0, &there, 1, MPI_AINT, to, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    root = here;
    MPI_Bcast(&root, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    use(win, &late, there, root);
    MPI_Finalize();
    return t_status();
}
