// SPDX-License-Identifier: BSD-3-Clause
// Ranks that call different collectives: mismatch_probe FIRST OTHERS WARM [last]. Rank 0 calls the
// first, the others the second, and then all a barrier, unless the call is to be the last, after
// WARM rounds of calls that are the same.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
static int mine[MOST], all[MOST], counts[MOST], places[MOST];
static MPI_Request req = MPI_REQUEST_NULL;

static void barrier(int root)
{
    (void)root;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int root)
{
    MPI_Bcast(mine, 1, MPI_INT, root, MPI_COMM_WORLD);
}

static void reduce(int root)
{
    MPI_Reduce(mine, all, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
}

static void allreduce(int root)
{
    (void)root;
    MPI_Allreduce(mine, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(int root)
{
    MPI_Gather(mine, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
}

static void gatherv(int root)
{
    MPI_Gatherv(mine, 1, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD);
}

static void scatter(int root)
{
    MPI_Scatter(all, 1, MPI_INT, mine, 1, MPI_INT, root, MPI_COMM_WORLD);
}

static void allgather(int root)
{
    (void)root;
    MPI_Allgather(mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
}

static void alltoall(int root)
{
    (void)root;
    MPI_Alltoall(mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
}

static void scan(int root)
{
    (void)root;
    MPI_Scan(mine, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void ibarrier(int root)
{
    (void)root;
    MPI_Ibarrier(MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void ibcast(int root)
{
    MPI_Ibcast(mine, 1, MPI_INT, root, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*run)(int root);
} calls[] = { { "barrier", barrier },     { "bcast", bcast },         { "reduce", reduce },
              { "allreduce", allreduce }, { "gather", gather },       { "gatherv", gatherv },
              { "scatter", scatter },     { "allgather", allgather }, { "alltoall", alltoall },
              { "scan", scan },           { "ibarrier", ibarrier },   { "ibcast", ibcast } };

// "bcast1" is a broadcast of rank 1.
static void run(const char *name)
{
    size_t len = strcspn(name, "01");
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strlen(calls[i].name) == len && strncmp(calls[i].name, name, len) == 0) {
            calls[i].run(name[len] == '1');
            return;
        }
    }
    abort();
}

int main(int argc, char **argv)
{
    int rank;
    if (argc < 4) {
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MOST; i++) {
        counts[i] = 1;
        places[i] = i;
    }
    for (int i = 0; i < atoi(argv[3]); i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(mine, 1, MPI_INT, i % 2, MPI_COMM_WORLD);
    }
    run(argv[rank == 0 ? 1 : 2]);
    if (argc < 5) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    if (rank == 0) {
        puts("done");
    }
    return 0;
}
