// SPDX-License-Identifier: BSD-3-Clause
// Connections are made on first contact, and collectives go host by host: who does not speak for
// its host has none. args: how many hosts. Counted are descriptors that are connected.
#include "net_t.h"

#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

// Connections, when there are no more than this: two that were made at once become one.
static int settled(int most)
{
    int n = connections(), is_there;
    for (int i = 0; i < 1000 && n > most; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        usleep(10000);
        n = connections();
    }
    return n;
}

static void collect(MPI_Comm c)
{
    static double v[40000], sum[40000];
    for (int i = 0; i < 5; i++) {
        MPI_Barrier(c);
        MPI_Bcast(v, 40000, MPI_DOUBLE, 0, c);
        MPI_Allreduce(v, sum, 1, MPI_DOUBLE, MPI_SUM, c);
        MPI_Reduce(v, sum, 500, MPI_DOUBLE, MPI_SUM, 0, c);
    }
}

int main(int argc, char **argv)
{
    int rank, size, n_host = argc > 1 ? atoi(argv[1]) : 1, here, place;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_EQ(connections(), 0); // starting makes none
    MPI_Comm mates, heads;
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    T_EQ(MPIX_Comm_create_sparse(session, NULL, "count", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                 &mates, &heads),
         MPI_SUCCESS);
    MPI_Comm_rank(mates, &place);
    MPI_Comm_size(mates, &here);
    collect(mates);
    if (heads != MPI_COMM_NULL) {
        collect(heads);
    }
    T_OK(settled(n_host - 1) <= (place == 0 ? n_host - 1 : 0));
    collect(MPI_COMM_WORLD);
    T_OK(settled(n_host - 1) <= (place == 0 ? n_host - 1 : 0));
    MPI_Barrier(MPI_COMM_WORLD); // nobody goes on before all have counted
    int *all = calloc((size_t)size, sizeof *all), *got = calloc((size_t)size, sizeof *got);
    int *ones = malloc((size_t)size * sizeof *ones), *at = malloc((size_t)size * sizeof *at);
    MPI_Allgather(all, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(all, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    if (size % n_host == 0) { // each with those who have its place on the other hosts
        T_EQ(settled(n_host - 1), n_host - 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        ones[i] = 1;
        at[i] = i;
    }
    MPI_Alltoallv(all, ones, at, MPI_INT, got, ones, at, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(settled(size - here), size - here); // now everybody knows everybody on the other hosts
    MPI_Barrier(MPI_COMM_WORLD);
    free(all);
    free(got);
    free(ones);
    free(at);
    MPI_Comm_free(&mates);
    if (heads != MPI_COMM_NULL) {
        MPI_Comm_free(&heads);
    }
    MPI_Session_finalize(&session);
    MPI_Finalize();
    return t_status();
}
