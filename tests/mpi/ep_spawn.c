// SPDX-License-Identifier: BSD-3-Clause
// Endpoints, driven by threads, spawn together; their children reach every one of them, and are as
// many processes that are in no world of theirs.
#include "ep_t.h"

enum { N = 3, CHILDREN = 2 };

static char *program;

static void meet(MPI_Comm between, int is_child)
{
    int n_mine, n_theirs, sum = 0, one = 1, process;
    MPI_Comm all;
    MPI_Comm_size(between, &n_mine);
    MPI_Comm_remote_size(between, &n_theirs);
    T_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, between), MPI_SUCCESS);
    T_EQ(sum, n_theirs);
    T_EQ(MPIX_Comm_get_process(between, 0, &process), MPI_SUCCESS);
    T_EQ(process, MPI_UNDEFINED);
    T_EQ(MPI_Intercomm_merge(between, is_child, &all), MPI_SUCCESS);
    T_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all), MPI_SUCCESS);
    T_EQ(sum, n_mine + n_theirs);
    MPI_Comm_free(&all);
    T_EQ(MPI_Comm_disconnect(&between), MPI_SUCCESS);
}

static void spawn(MPI_Comm c)
{
    MPI_Comm children;
    int n, codes[CHILDREN];
    T_MUST(MPI_Comm_spawn(program, MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 1, c, &children,
                          codes) == MPI_SUCCESS);
    MPI_Comm_remote_size(children, &n);
    T_EQ(n, CHILDREN);
    meet(children, 0);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Comm parent;
    program = argv[0];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    T_MUST(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        ep_run(MPI_COMM_WORLD, N, spawn);
    } else {
        meet(parent, 1);
    }
    MPI_Finalize();
    return t_status();
}
