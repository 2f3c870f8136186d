// SPDX-License-Identifier: BSD-3-Clause
// Deaths and resizes of one world. "after": the next resize drops who died, and keeps the order of
// the others. "meanwhile": a rank dies while new ones are on their way; at most one more resize
// makes a world of those who live. Needs mpiexec --elastic 1:8 --on-failure=shrink -n 4.
#include "obj.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, size, version;
static MPI_Comm world;

static void use(MPI_Comm c)
{
    world = c;
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    T_MPI(MPIX_Comm_world_version(c, &version));
}

static int works(MPI_Comm c)
{
    int n = -1, one = 1, flag = MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, c) == MPI_SUCCESS;
    flag = MPIX_Comm_agree(c, &flag) == MPI_SUCCESS && flag;
    T_OK(!flag || n == size);
    return flag;
}

// The rank dies when all others have got so far, and they know.
static void die(int victim)
{
    int n = 0, before;
    MPI_Group dead;
    MPIX_Comm_get_failed(world, &dead);
    MPI_Group_size(dead, &before);
    MPI_Group_free(&dead);
    for (int i = 1; rank == victim && i < size - before; i++) {
        MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE);
    }
    if (rank == victim) {
        raise(SIGKILL);
    }
    for (MPI_Send(NULL, 0, MPI_INT, victim, 0, world); n == before;) {
        MPIX_Comm_get_failed(world, &dead);
        MPI_Group_size(dead, &n);
        MPI_Group_free(&dead);
    }
}

// Those who live have the world resized, and take up the new version.
static void resize(int n, MPI_Comm *left)
{
    MPI_Comm living;
    T_MPI(MPIX_Comm_shrink(world, &living));
    T_MPI(MPIX_World_resize(living, n));
    MPIX_Comm_world_at(version + 1, left);
    MPI_Comm_free(&living);
}

static void after(void)
{
    MPI_Comm next;
    int old = rank;
    if (version == 0) {
        die(1);
        resize(5, &next); // 0, 2, 3 and two new ones
        use(next);
        T_EQ(rank, old == 0 ? 0 : old - 1);
    }
    T_EQ(version, 1);
    T_EQ(size, 5);
    T_OK(works(world));
    die(4);
    resize(4, &next); // as many as there are: without the dead
    T_MUST(next != MPI_COMM_NULL);
    old = rank;
    use(next);
    T_EQ(version, 2);
    T_EQ(size, 4);
    T_EQ(rank, old);
    T_OK(works(world));
    MPI_Barrier(world);
    resize(2, &next);
    int is_leaving = -1;
    T_MPI(MPIX_World_leaving(&is_leaving));
    T_EQ(is_leaving, rank >= 2);
    T_EQ(next == MPI_COMM_NULL, rank >= 2);
    if (rank < 2) {
        use(next);
        T_EQ(size, 2);
        T_OK(works(world));
    }
}

static void meanwhile(void)
{
    MPI_Comm next;
    if (version == 0) {
        if (rank == 2) {
            MPI_Recv(NULL, 0, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
            raise(SIGKILL);
        }
        if (rank == 0) {
            MPI_Send(NULL, 0, MPI_INT, 2, 0, world);
            T_MPI(MPIX_World_resize(MPI_COMM_SELF, 6));
        }
        for (int newest = 0; newest < 1;) {
            MPIX_World_version(&newest);
            usleep(1000);
        }
        T_MPI(MPIX_Comm_world_at(1, &next));
        use(next);
    }
    if (!works(world)) { // it died after the new version counted
        resize(size - 1, &next);
        use(next);
        T_EQ(version, 2);
        T_OK(works(world));
    }
    T_OK(size == 5 || size == 6); // 6: it had died before the resize was planned
}

int main(int argc, char **argv)
{
    int of_self;
    MPI_Init(&argc, &argv);
    T_MUST(argc == 2);
    use(MPI_COMM_WORLD);
    T_MPI(MPIX_Comm_world_version(MPI_COMM_SELF, &of_self));
    T_EQ(of_self, MPI_UNDEFINED);
    if (strcmp(argv[1], "after") == 0) {
        after();
    } else {
        meanwhile();
    }
    MPI_Finalize();
    return t_status();
}
