// SPDX-License-Identifier: BSD-3-Clause
// Every rank says who it is and where it runs; rank 0 draws the job from what they tell it.
#define _GNU_SOURCE // sched_getcpu
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { TAG_CARD = 1 };

struct card {
    int rank, pid, core;
    char host[MPI_MAX_PROCESSOR_NAME];
};

static struct card my_card(int rank)
{
    struct card c = { .rank = rank, .pid = (int)getpid(), .core = sched_getcpu() };
    int len;
    MPI_Get_processor_name(c.host, &len);
    return c;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    struct card mine = my_card(rank);
    if (rank != 0) {
        MPI_Send(&mine, sizeof mine, MPI_BYTE, 0, TAG_CARD, MPI_COMM_WORLD);
    } else {
        printf("Hello from a world of %d ranks:\n", size);
        for (int r = 0; r < size; r++) {
            struct card c = mine;
            if (r != 0) {
                MPI_Recv(&c, sizeof c, MPI_BYTE, r, TAG_CARD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            printf("  rank %d is process %d on host %s, now on core %d\n", c.rank, c.pid, c.host,
                   c.core);
        }
    }
    MPI_Finalize();
    return 0;
}
