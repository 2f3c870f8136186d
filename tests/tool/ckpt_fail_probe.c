// SPDX-License-Identifier: BSD-3-Clause
// Ranks die, the job goes on without them or with others in their places, makes checkpoints, and
// is restarted.
//   ckpt_fail_probe shrink|respawn
// The last rank dies; those who are left, and come, make a checkpoint. In the restarted job the
// last rank dies as well.
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void die(void)
{
    fflush(stdout);
    kill(getpid(), SIGKILL);
    pause();
}

// Until a rank has died and all who are left know it.
static void lose_one(MPI_Comm world)
{
    int rank, size, one = 1, sum, rc;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Barrier(world);
    if (rank == size - 1) {
        die();
    }
    do {
        rc = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
    } while (rc == MPI_SUCCESS);
    MPIX_Comm_revoke(world);
}

static MPI_Comm next_world(MPI_Comm world, int is_respawn)
{
    static int version;
    MPI_Comm next;
    int newest;
    if (!is_respawn) {
        MPIX_Comm_shrink(world, &next);
    } else {
        do {
            usleep(1000);
            MPIX_World_version(&newest);
        } while (newest == version);
        MPIX_Comm_world_at(++version, &next);
    }
    MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
    return next;
}

int main(int argc, char **argv)
{
    int is_respawn, rank, size, version, restarted = 0, one = 1, sum = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    is_respawn = strcmp(argv[1], "respawn") == 0;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPIX_Comm_world_version(world, &version);
    if (version == 0) {
        lose_one(world);
        world = next_world(world, is_respawn);
    }
    if (version < 2) { // those who take the place of one that died after the restart come later
        int rc = MPIX_Checkpoint(world, &restarted);
        if (rc != MPI_SUCCESS) {
            char text[MPI_MAX_ERROR_STRING];
            int len;
            MPI_Error_string(rc, text, &len);
            printf("no checkpoint: %s\n", text);
        }
    }
    if (restarted && version < 2) {
        lose_one(world);
        world = is_respawn && version == 1 ? MPI_COMM_NULL : next_world(world, is_respawn);
    }
    if (world != MPI_COMM_NULL) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world);
        MPI_Comm_rank(world, &rank);
        MPI_Comm_size(world, &size);
        printf("rank %d of %d counts %d, restarted %d\n", rank, size, sum, restarted);
    }
    MPI_Finalize();
    return 0;
}
