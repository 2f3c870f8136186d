// SPDX-License-Identifier: BSD-3-Clause
// What a program of another MPI does in a job that is hung, checkpointed, resized or on several
// hosts. The first argument says what.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Pliant MPI's, which no other MPI's header declares; the library has them.
extern int MPIX_World_version(int *version) __attribute__((weak));
extern int MPIX_World_resize(MPI_Comm comm, int size) __attribute__((weak));
extern int MPIX_Comm_world_at(int version, MPI_Comm *comm) __attribute__((weak));

static int rank, size;

// A sum over all, and a message around.
static int work(MPI_Comm comm)
{
    int r, n, sum, from = -1;
    MPI_Status status;
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &n);
    MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(&r, 1, MPI_INT, (r + 1) % n, 3, &from, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 comm, &status);
    return sum == n * (n - 1) / 2 && from == (r + n - 1) % n && status.MPI_SOURCE == from &&
           status.MPI_TAG == 3;
}

// Until a file is there: what was made before a checkpoint must be good after it.
static int wait_for(const char *path)
{
    MPI_Comm comm;
    int is_there = 0, ok = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 0) {
        puts("ready");
        fflush(stdout);
    }
    while (!is_there && ok) {
        is_there = rank == 0 && access(path, F_OK) == 0;
        MPI_Bcast(&is_there, 1, MPI_INT, 0, comm);
        ok = work(comm);
        usleep(1000);
    }
    MPI_Comm_free(&comm);
    return ok;
}

static int grow(void)
{
    int version = -1;
    MPI_Comm now;
    MPIX_World_version(&version);
    if (version == 0 && MPIX_World_resize(MPI_COMM_WORLD, size + 1) != MPI_SUCCESS) {
        return 0;
    }
    MPIX_Comm_world_at(1, &now);
    MPI_Comm_size(now, &size);
    return size == 3 && work(now);
}

int main(int argc, char **argv)
{
    int ok = 1, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "hang") == 0 && rank == 0) {
        MPI_Recv(&ok, 1, MPI_INT, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // the hang
    } else if (strcmp(argv[1], "wait") == 0) {
        ok = wait_for(argv[2]);
    } else if (strcmp(argv[1], "grow") == 0) {
        ok = grow();
    } else {
        ok = work(MPI_COMM_WORLD);
    }
    if (strcmp(argv[1], "grow") != 0) {
        MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        ok = all;
    }
    if (rank == 0) {
        printf("%s with %d\n", ok ? "right" : "wrong", size);
        fflush(stdout);
    }
    MPI_Finalize();
    return !ok;
}
