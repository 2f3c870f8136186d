// SPDX-License-Identifier: BSD-3-Clause
// A world that grows and shrinks while its ranks have files and windows: those of the first world
// go on among its ranks, and the new world has its own, with a shared pointer of all its ranks.
#include "obj.h"

#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { N_OLD = 2, N_NEW = 5, BASE = 100 };

static void await(int version)
{
    for (int now = 0; now < version;) {
        MPIX_World_version(&now);
        usleep(200);
    }
}

static MPI_File open_file(MPI_Comm comm, const char *what)
{
    char name[256];
    MPI_File f = MPI_FILE_NULL;
    snprintf(name, sizeof name, "/tmp/elastic_files.%d.%s", (int)getppid(), what);
    T_MPI(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                        MPI_INFO_NULL, &f));
    return f;
}

static void add(MPI_File f, int rank, MPI_Offset want)
{
    MPI_Offset size = 0;
    T_MPI(MPI_File_write_ordered(f, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    T_MPI(MPI_File_get_size(f, &size));
    T_EQ(size, want);
}

// All ranks of the first resize, of which most leave at the second.
static void work_in_new(void)
{
    MPI_Comm world;
    int rank, one = 1, sum = 0;
    T_MPI(MPIX_Comm_world_at(1, &world));
    MPI_Comm_rank(world, &rank);
    T_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world));
    T_EQ(sum, N_NEW);
    MPI_File f = open_file(world, "new");
    add(f, rank, N_NEW * (MPI_Offset)sizeof rank);
    T_MPI(MPIX_World_resize(world, N_OLD));
    await(2);
    add(f, rank, 2 * N_NEW * (MPI_Offset)sizeof rank);
    for (int i = 0; i < 2 * N_NEW; i++) {
        int got = -1;
        T_MPI(MPI_File_read_at(f, i * (MPI_Offset)sizeof got, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
        T_EQ(got, i % N_NEW);
    }
    MPI_File_close(&f);
}

static void work_in_old(void)
{
    int rank, *words, x, got = 0;
    MPI_Win win;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File f = open_file(MPI_COMM_WORLD, "old");
    T_MPI(MPI_Win_allocate(sizeof *words, sizeof *words, MPI_INFO_NULL, MPI_COMM_WORLD, &words,
                           &win));
    *words = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    T_MPI(MPIX_World_resize(MPI_COMM_WORLD, -1) == MPI_SUCCESS ? MPI_ERR_OTHER : MPI_SUCCESS);
    T_MPI(MPIX_World_resize(MPI_COMM_WORLD, N_NEW));
    await(1);
    x = BASE + rank;
    T_MPI(MPI_File_write_at_all(f, rank * (MPI_Offset)sizeof x, &x, 1, MPI_INT, MPI_STATUS_IGNORE));
    work_in_new();
    MPI_Win_fence(0, win);
    T_MPI(MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    MPI_Win_fence(0, win);
    T_OK(rank != 0 || *words == N_OLD * BASE + 1);
    T_MPI(MPI_File_sync(f));
    MPI_Barrier(MPI_COMM_WORLD);
    T_MPI(MPI_File_read_at(f, (1 - rank) * (MPI_Offset)sizeof got, &got, 1, MPI_INT,
                           MPI_STATUS_IGNORE));
    T_EQ(got, BASE + 1 - rank);
    MPI_File_close(&f);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int version;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPIX_World_version(&version);
    if (version == 0) {
        work_in_old();
    } else {
        work_in_new();
    }
    MPI_Finalize();
    return t_status();
}
