// SPDX-License-Identifier: BSD-3-Clause
// Barriers that follow what one rank gives to all: nobody leaves before all have come, and nobody
// depends on what that rank does next. Where ranks share cores it is the first to leave.
#include <mpi.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "t.h"

enum { ROUNDS = 400, MOST = 16 };

static int me, n;

static void give(int round, int root)
{
    int word = me == root ? round : -1, words[MOST], counts[MOST], from[MOST];
    MPI_Request r = MPI_REQUEST_NULL;
    for (int i = 0; i < n; i++) {
        words[i] = round;
        counts[i] = 1;
        from[i] = i;
    }
    switch (round % 5) {
    case 0:
        MPI_Bcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD);
        break;
    case 1:
        MPI_Scatterv(words, counts, from, MPI_INT, &word, 1, MPI_INT, root, MPI_COMM_WORLD);
        break;
    case 2:
        MPI_Ibcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD, &r);
        break;
    case 3:
        MPI_Iscatter(words, 1, MPI_INT, &word, 1, MPI_INT, root, MPI_COMM_WORLD, &r);
        break;
    default: // nothing: two barriers in a row
        word = round;
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    T_EQ(word, round);
}

// Rank 0 waits for the others at once, which must not wait for it.
static void collect(int round)
{
    for (int i = 1; i < n && me == 0; i++) {
        int got;
        MPI_Recv(&got, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        T_EQ(got, round);
    }
    if (me != 0) {
        MPI_Send(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Comm host; // who has come is counted there
    _Atomic int *n_come, *mine;
    MPI_Aint size;
    int unit, my_number, n_here;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    T_MUST(n <= MOST);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &my_number);
    MPI_Comm_size(host, &n_here);
    MPI_Win_allocate_shared(my_number == 0 ? sizeof *mine : 0, 1, MPI_INFO_NULL, host, &mine, &win);
    MPI_Win_shared_query(win, 0, &size, &unit, &n_come);
    if (my_number == 0) {
        atomic_store(n_come, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        give(round, round / 7 % n);
        atomic_fetch_add(n_come, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        T_OK(atomic_load(n_come) >= (round + 1) * n_here);
        if (round % 11 == 0) {
            collect(round);
        }
    }
    MPI_Win_free(&win);
    MPI_Comm_free(&host);
    MPI_Finalize();
    return t_status();
}
