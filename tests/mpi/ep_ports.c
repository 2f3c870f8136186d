// SPDX-License-Identifier: BSD-3-Clause
// An endpoint opens a port and accepts at it. Others have come to the port before that, when it was
// known to be the process's.
#include "ep_t.h"

#include <time.h>

enum { EARLY_MS = 300 }; // by then they have usually come

static int n_ep;

// The last endpoint of process 0 serves the first ones of the others, one after the other.
static void meet(MPI_Comm c)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, size, x = 0;
    MPI_Comm alone, both;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    T_EQ(MPI_Comm_split(c, rank, 0, &alone), MPI_SUCCESS);
    if (rank == n_ep - 1) {
        T_EQ(MPI_Open_port(MPI_INFO_NULL, port), MPI_SUCCESS);
    }
    T_EQ(MPI_Bcast(port, sizeof port, MPI_CHAR, n_ep - 1, c), MPI_SUCCESS);
    if (rank == n_ep - 1) {
        nanosleep(&(struct timespec){ .tv_nsec = EARLY_MS * 1000000L }, NULL);
        for (int i = n_ep; i < size; i += n_ep) {
            T_EQ(MPI_Comm_accept(port, MPI_INFO_NULL, 0, alone, &both), MPI_SUCCESS);
            T_EQ(MPI_Send(&i, 1, MPI_INT, 0, 0, both), MPI_SUCCESS);
            T_EQ(MPI_Comm_free(&both), MPI_SUCCESS);
        }
        T_EQ(MPI_Close_port(port), MPI_SUCCESS);
    } else if (rank >= n_ep && rank % n_ep == 0) {
        T_EQ(MPI_Comm_connect(port, MPI_INFO_NULL, 0, alone, &both), MPI_SUCCESS);
        T_EQ(MPI_Recv(&x, 1, MPI_INT, 0, 0, both, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_OK(x >= n_ep);
        T_EQ(MPI_Comm_free(&both), MPI_SUCCESS);
    }
    MPI_Comm_free(&alone);
}

int main(int argc, char **argv)
{
    int level;
    n_ep = argc > 1 ? atoi(argv[1]) : 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    T_MUST(level == MPI_THREAD_MULTIPLE);
    ep_run(MPI_COMM_WORLD, n_ep, meet);
    MPI_Finalize();
    return t_status();
}
