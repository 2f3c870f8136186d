// SPDX-License-Identifier: BSD-3-Clause
// Ranks die, the job goes on without them or with others in their places, makes checkpoints, and
// is restarted.
//   ckpt_fail_probe shrink|respawn [state]
//   ckpt_fail_probe agree GATE
// The last rank dies; those who are left, and come, make a checkpoint. In the restarted job the
// last rank dies as well. "state": what is saved is one number of each rank, registered; the
// restarted job tells the sum of all. "agree": rank 0 has voted in an agreement, and the others
// have not before the file GATE is there.
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

static int value;

static int size_of(void *arg, MPI_Count *bytes)
{
    (void)arg;
    *bytes = sizeof value;
    return MPI_SUCCESS;
}

static int pack(void *arg, void *buf, MPI_Count bytes)
{
    (void)arg;
    memcpy(buf, &value, (size_t)bytes);
    return MPI_SUCCESS;
}

static int unpack(void *arg, int piece, int n_pieces, const void *buf, MPI_Count bytes)
{
    int one;
    (void)arg, (void)piece, (void)n_pieces;
    memcpy(&one, buf, (size_t)bytes);
    value += one;
    return MPI_SUCCESS;
}

// Registered state: saved by those who are left, and by those who came.
static void save_state(int version, int is_respawn)
{
    int rank, size, sum = 0, n_pieces = 0, restarted = 0, rc = MPI_SUCCESS;
    MPI_Comm world = MPI_COMM_WORLD;
    MPIX_Checkpoint_register("value", size_of, pack, unpack, NULL);
    if (version == 0) {
        MPIX_Checkpoint_restore(world, &n_pieces);
    }
    if (n_pieces == 0) {
        if (version == 0) {
            lose_one(world);
            world = next_world(world, is_respawn);
        }
        MPI_Comm_rank(world, &rank);
        value = rank + 1;
        rc = MPIX_Checkpoint(world, &restarted);
    }
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, world);
    if (rank == 0) {
        printf("%s by %d ranks, %d pieces, sum %d\n",
               rc != MPI_SUCCESS ? "refused"
               : n_pieces > 0    ? "restored"
                                 : "saved",
               size, n_pieces, sum);
    }
}

static void agree(const char *gate)
{
    int rank, flag = 7;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int code = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    if (rank == 1) {
        printf("the first is %d, code %d\n", flag, code);
        fflush(stdout);
    }
    while (rank > 0 && access(gate, F_OK) != 0) {
        usleep(1000);
    }
    flag = 15 & ~(1 << rank);
    code = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    printf("rank %d agrees on %d, code %d\n", rank, flag, code);
}

int main(int argc, char **argv)
{
    int is_respawn, rank, size, version, restarted = 0, one = 1, sum = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    is_respawn = strcmp(argv[1], "respawn") == 0;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPIX_Comm_world_version(world, &version);
    if (strcmp(argv[1], "agree") == 0) {
        agree(argv[2]);
        MPI_Finalize();
        return 0;
    }
    if (argc > 2) {
        save_state(version, is_respawn);
        MPI_Finalize();
        return 0;
    }
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
