// SPDX-License-Identifier: BSD-3-Clause
// Threads with endpoints of their own have connections of their own to the same process. args: how
// many.
#include "ep_t.h"
#include "net_t.h"

enum { BIG = 1 << 20 };

static int n_ep;

// With the one that has my place in the other process; all at the same time.
static void exchange(MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    int other = rank < n_ep ? rank + n_ep : rank - n_ep;
    char *out = malloc(BIG), *in = malloc(BIG);
    for (int i = 0; i < 5; i++) {
        memset(out, rank + i, BIG);
        MPI_Sendrecv(out, BIG, MPI_CHAR, other, 0, in, BIG, MPI_CHAR, other, 0, comm,
                     MPI_STATUS_IGNORE);
        T_OK(in[0] == (char)(other + i) && in[BIG - 1] == (char)(other + i));
    }
    MPI_Barrier(comm);
    if (rank == 0 || rank == n_ep) {
        T_OK(connections() >= n_ep);
    }
    MPI_Barrier(comm);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    int level, size;
    n_ep = argc > 1 ? atoi(argv[1]) : 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_MUST(level == MPI_THREAD_MULTIPLE && size == 2);
    MPI_Barrier(MPI_COMM_WORLD);
    T_OK(connections() >= 1 && connections() <= 2); // two that were made at once become one
    ep_run(MPI_COMM_WORLD, n_ep, exchange);
    MPI_Finalize();
    return t_status();
}
