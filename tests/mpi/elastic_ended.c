// SPDX-License-Identifier: BSD-3-Clause
// Ranks that came later end while another one still combines what they have shown it, and their
// places are wanted: their memory must stay as it is. Rank 0 takes its time in the operation; rank
// 1 starts a process meanwhile.
#include "obj.h"

#include <string.h>
#include <time.h>

enum { N = 100, ALL = 5 };

static int is_slow;

static void sum_slowly(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        ((double *)inout)[i] += ((double *)in)[i];
    }
    if (is_slow) {
        is_slow = 0;
        nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
    }
}

static void combine(MPI_Comm world, MPI_Op op)
{
    double mine[N], all[N];
    int rank;
    MPI_Comm_rank(world, &rank);
    for (int i = 0; i < N; i++) {
        mine[i] = rank + i;
        all[i] = -1;
    }
    T_MPI(MPI_Allreduce(mine, all, N, MPI_DOUBLE, op, world));
    for (int i = 0; i < N; i++) {
        T_OK(all[i] == ALL * (ALL - 1) / 2 + ALL * i);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD, parent, child;
    MPI_Op op;
    int size, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        T_MPI(MPI_Comm_disconnect(&parent));
        return t_end();
    }
    MPI_Comm_size(world, &size);
    if (size == 2) {
        T_MPI(MPIX_World_resize(world, ALL));
        T_MPI(MPIX_Comm_world_at(1, &world));
    }
    MPI_Comm_rank(world, &rank);
    T_MPI(MPI_Op_create(sum_slowly, 1, &op));
    for (int i = 0; i < 5; i++) {
        combine(world, op);
    }
    is_slow = rank == 0;
    combine(world, op);
    if (rank == 1) { // it must not be one of those that are read
        char *args[] = { "child", NULL };
        nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
        T_MPI(MPI_Comm_spawn(argv[0], args, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child,
                             MPI_ERRCODES_IGNORE));
        T_MPI(MPI_Comm_disconnect(&child));
    }
    MPI_Op_free(&op);
    return t_end();
}
