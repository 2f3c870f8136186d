// SPDX-License-Identifier: BSD-3-Clause
// How long one change of the world takes, from the call of all ranks until a barrier of those who
// are there afterwards is done: "grow" to twice as many, "shrink" to half, "fork" of all ranks,
// "migrate HOST" of the last rank.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void resize(int size, MPI_Comm *world)
{
    char text[16];
    MPI_Info info;
    MPI_Info_create(&info);
    snprintf(text, sizeof text, "%d", size);
    MPI_Info_set(info, "size", text);
    MPIX_World_next(world, info);
    MPI_Info_free(&info);
}

// The call returns when the other host is ready; the rank is there a little later.
static void migrate(MPI_Comm world, int rank, int last, const char *host)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int len, is_there = 0;
    MPIX_Comm_migrate(world, last, host);
    while (!is_there) {
        MPI_Get_processor_name(name, &len);
        is_there = rank == last && strcmp(name, host) == 0;
        MPI_Bcast(&is_there, 1, MPI_INT, last, world);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm world;
    int rank, size, version, got = 1;
    MPI_Init(&argc, &argv);
    MPIX_World_next(&world, MPI_INFO_NULL);
    MPIX_Comm_world_version(world, &version);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    if (version > 0) { // one that came
        MPI_Barrier(world);
        MPI_Finalize();
        return 0;
    }
    MPI_Barrier(world);
    double begin = MPI_Wtime();
    if (strcmp(argv[1], "grow") == 0) {
        resize(2 * size, &world);
    } else if (strcmp(argv[1], "shrink") == 0) {
        resize(size / 2, &world);
    } else if (strcmp(argv[1], "fork") == 0) {
        got = MPI_Fork(size);
        world = MPI_COMM_WORLD;
    } else {
        migrate(world, rank, size - 1, argv[2]);
    }
    if (world != MPI_COMM_NULL) {
        MPI_Barrier(world);
        if (rank == 0 && got > 0) {
            printf("%s ranks=%d %.3f ms\n", argv[1], size, (MPI_Wtime() - begin) * 1e3);
        }
    }
    MPI_Finalize();
    return got < 0;
}
