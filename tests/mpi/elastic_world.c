// SPDX-License-Identifier: BSD-3-Clause
// A world that changes under a program that polls. "call": the program changes it itself, 2 -> 5 ->
// 3 ranks. "poll V": mpictl does; the program ends when version V is reached. Every step the ranks
// agree on the newest version that all of them have seen, and take it up together.
#include "obj.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static MPI_Comm now;
static int version, step;

static int my_version(void)
{
    MPI_Comm c = MPI_COMM_NULL;
    int v = 0;
    while (MPIX_Comm_world_at(v, &c) == MPI_SUCCESS && c == MPI_COMM_NULL) {
        v++;
    }
    T_OK(c == MPI_COMM_WORLD);
    return v;
}

// The ranks of a version begin together, at the same step.
static void enter(MPI_Comm c, int v)
{
    int rank, size, sum;
    now = c;
    version = v;
    T_MPI(MPI_Bcast(&step, 1, MPI_INT, 0, now));
    MPI_Comm_rank(now, &rank);
    MPI_Comm_size(now, &size);
    T_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, now));
    T_EQ(sum, size * (size - 1) / 2);
}

// One step. False: this rank is to leave.
static int work(void)
{
    int newest, agreed, sum, size, one = 1;
    MPI_Comm next;
    MPIX_World_version(&newest);
    newest = newest > version + 1 ? version + 1 : newest;
    T_MPI(MPI_Allreduce(&newest, &agreed, 1, MPI_INT, MPI_MIN, now));
    MPI_Comm_size(now, &size);
    T_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, now));
    T_EQ(sum, size);
    step++;
    if (agreed > version) {
        T_MPI(MPIX_Comm_world_at(agreed, &next));
        MPIX_World_version(&newest);
        T_OK(newest != agreed || MPI_COMM_RESIZED_WORLD == next);
        if (next == MPI_COMM_NULL) {
            return 0;
        }
        enter(next, agreed);
    }
    return 1;
}

static void change(int size)
{
    int got;
    T_MPI(MPIX_World_resize(now, size));
    while (work() && version < (size == 5 ? 1 : 2)) {
    }
    MPI_Comm_size(now, &got);
    T_EQ(now == MPI_COMM_WORLD || got == size, 1);
}

static void refuse(void)
{
    MPI_Comm c;
    T_REFUSED(MPIX_Comm_world_at(7, &c), MPI_ERR_ARG, "versions are 0 to 0");
    T_OK(MPI_COMM_RESIZED_WORLD == MPI_COMM_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    T_REFUSED(MPIX_World_resize(MPI_COMM_WORLD, 99), MPI_ERR_SPAWN,
              "99 ranks are outside --elastic");
    T_REFUSED(MPIX_World_resize(MPI_COMM_WORLD, -1), MPI_ERR_SPAWN, "cannot have -1");
    T_MPI(MPIX_World_resize(MPI_COMM_WORLD, 2)); // as it is: nothing happens
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    T_MUST(argc > 1);
    int is_new = my_version() > 0, rank = 0, stays = 1;
    if (is_new) {
        enter(MPI_COMM_WORLD, my_version());
    } else {
        now = MPI_COMM_WORLD;
    }
    if (strcmp(argv[1], "call") == 0) {
        if (!is_new) {
            refuse();
            change(5);
        }
        if (version == 1) {
            int size;
            T_MPI(MPIX_World_resize(now, 3));
            while ((stays = work()) && version < 2) {
            }
            MPI_Comm_size(now, &size);
            T_EQ(stays ? size : 3, 3);
        }
        return t_end();
    }
    int target = atoi(argv[2]);
    while (stays && version < target) {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        stays = work();
    }
    MPI_Comm_rank(now, &rank);
    if (stays && rank == 0) {
        int size;
        MPI_Comm_size(now, &size);
        printf("version %d of %d ranks\n", version, size);
    }
    return t_end();
}
