// SPDX-License-Identifier: BSD-3-Clause
// A resize that is told by an error comes while processes are spawned, and while spawned ones run.
// Needs mpiexec --elastic --on-resize=error and 2 ranks.
#include <mpi.h>

#include "t.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, version;

// It is in a world of its own, which nobody resizes.
static int lasting(MPI_Comm parent)
{
    int size = 0, go, rc;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        MPI_Recv(&go, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
        rc = MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(&rc, 1, MPI_INT, 0, 0, parent);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_EQ(size, 2);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return t_status();
}

// It calls MPI_Init when the file is gone.
static int late(const char *file)
{
    while (access(file, F_OK) == 0) {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    MPI_Init(NULL, NULL); // does not return
    fprintf(stderr, "a child of the failed call is connected\n");
    return 1;
}

static MPI_Comm spawn_lasting(char *program)
{
    char *args[] = { "lasting", NULL };
    MPI_Comm c;
    T_EQ(
        MPI_Comm_spawn(program, args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c, MPI_ERRCODES_IGNORE),
        MPI_SUCCESS);
    return c;
}

// All are told of the resize, the root in the middle of the call, and the old version works on.
static void spawn_and_resize(char *program)
{
    char file[64] = "/tmp/pliant-resize-XXXXXX", *args[] = { "late", file, NULL };
    int rc, x = rank, code;
    MPI_Comm c = MPI_COMM_NULL, old;
    if (rank == 0) {
        close(mkstemp(file));
    }
    T_EQ(MPI_Bcast(file, sizeof file, MPI_CHAR, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    if (rank == 0) {
        rc = MPI_Comm_spawn(program, args, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c, &code);
    } else {
        T_EQ(MPIX_World_resize(MPI_COMM_SELF, 3), MPI_SUCCESS);
        unlink(file);
        rc = MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    T_EQ(rc, MPI_WORLD_RESIZED);
    T_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS); // with those who wait in MPI_Init
    T_EQ(MPIX_Comm_world_at(0, &old), MPI_SUCCESS);
    MPI_Comm_set_errhandler(old, MPI_ERRORS_RETURN);
    x = rank == 0 ? 42 : 0;
    T_EQ(MPI_Bcast(&x, 1, MPI_INT, 0, old), MPI_SUCCESS);
    T_EQ(x, 42);
    T_EQ(MPI_Barrier(old), MPI_SUCCESS);
}

static void ask_lasting(MPI_Comm c)
{
    int rc[2] = { -1, -1 };
    for (int i = 0; i < 2 && rank == 0; i++) {
        MPI_Send(&i, 1, MPI_INT, i, 0, c);
    }
    for (int i = 0; i < 2 && rank == 0; i++) {
        MPI_Recv(&rc[i], 1, MPI_INT, i, 0, c, MPI_STATUS_IGNORE);
        T_EQ(rc[i], MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    int rc = MPI_SUCCESS;
    MPI_Comm parent, children = MPI_COMM_NULL;
    if (argc > 2 && strcmp(argv[1], "late") == 0) {
        return late(argv[2]);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        return lasting(parent);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPIX_Comm_world_version(MPI_COMM_WORLD, &version);
    if (version == 0) {
        children = spawn_lasting(argv[0]);
        spawn_and_resize(argv[0]);
        ask_lasting(children);
    }
    if (version <= 1) { // the spawned ones need not hear of the last resize
        if (rank == 0) {
            T_EQ(MPIX_World_resize(MPI_COMM_SELF, 4), MPI_SUCCESS);
        }
        while (rc == MPI_SUCCESS) {
            rc = MPI_Barrier(MPI_COMM_WORLD);
        }
        T_EQ(rc, MPI_WORLD_RESIZED);
        T_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    }
    if (version == 0) {
        ask_lasting(children);
        MPI_Comm_disconnect(&children);
    }
    MPI_Finalize();
    return t_status();
}
