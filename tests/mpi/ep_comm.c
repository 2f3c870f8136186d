// SPDX-License-Identifier: BSD-3-Clause
// Endpoint communicators as communicators: hints, disconnecting in turn, endpoints of an
// intercommunicator, which process a rank lives in, what is made of them, and messages that name
// them.
#include "ep_t.h"

enum { N = 3 };

static int me, n_rank;

static void hints(void)
{
    MPI_Info asked, kept;
    MPI_Comm c[N];
    char text[64];
    int flag;
    MPI_Info_create(&asked);
    MPI_Info_set(asked, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(asked, "pliant_num_lanes", "2");
    T_MUST(MPI_Comm_create_endpoints(MPI_COMM_WORLD, N, asked, c) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) {
        T_EQ(MPI_Comm_get_info(c[i], &kept), MPI_SUCCESS);
        MPI_Info_get(kept, "mpi_assert_no_any_tag", 63, text, &flag);
        T_MUST(flag);
        T_STR(text, "true");
        MPI_Info_get(kept, "mpi_assert_no_any_source", 63, text, &flag);
        T_MUST(flag);
        T_STR(text, "false");
        MPI_Info_get(kept, "pliant_num_lanes", 63, text, &flag);
        T_MUST(flag);
        T_STR(text, "2");
        MPI_Info_free(&kept);
    }
    MPI_Info_free(&asked);
    for (int i = 0; i < N; i++) { // by one thread, in turn
        T_EQ(MPI_Comm_disconnect(&c[i]), MPI_SUCCESS);
        T_OK(c[i] == MPI_COMM_NULL);
    }
}

static void processes(void)
{
    MPI_Comm c[N + 1];
    int n = me % 2 == 0 ? N : N + 1, size, at = 0, process = -1;
    T_MUST(MPI_Comm_create_endpoints(MPI_COMM_WORLD, n, MPI_INFO_NULL, c) == MPI_SUCCESS);
    MPI_Comm_size(c[0], &size);
    for (int p = 0; p < n_rank; p++) {
        for (int k = 0; k < (p % 2 == 0 ? N : N + 1); k++) {
            T_EQ(MPIX_Comm_get_process(c[n - 1], at++, &process), MPI_SUCCESS);
            T_EQ(process, p);
        }
    }
    T_EQ(at, size);
    T_EQ(MPIX_Comm_get_process(MPI_COMM_WORLD, me, &process), MPI_SUCCESS);
    T_EQ(process, me);
    // Who calls wrongly is told which endpoint it was.
    int rc = MPIX_Comm_get_process(c[1], size, &process), len, rank;
    char text[MPI_MAX_ERROR_STRING], want[64];
    T_OK(rc != MPI_SUCCESS);
    MPI_Error_string(rc, text, &len);
    MPI_Comm_rank(c[1], &rank);
    snprintf(want, sizeof want, "(endpoint rank %d)", rank);
    T_HAS(text, want);
    for (int i = 0; i < n; i++) {
        MPI_Comm_free(&c[i]);
    }
}

// What an endpoint of an intercommunicator between even and odd ranks does.
static void talk(MPI_Comm c)
{
    int flag, rank, n_mine, n_theirs, sum = 0, one = 1, in = -1;
    MPI_Comm_test_inter(c, &flag);
    T_OK(flag);
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &n_mine);
    MPI_Comm_remote_size(c, &n_theirs);
    T_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c), MPI_SUCCESS);
    T_EQ(sum, n_theirs);
    if (rank < n_theirs) {
        int out = rank + 100; // the longer group has ranks without a partner
        MPI_Sendrecv(&out, 1, MPI_INT, rank, 3, &in, 1, MPI_INT, rank, 3, c, MPI_STATUS_IGNORE);
        T_EQ(in, rank + 100);
    }
    MPI_Comm merged, copy;
    int size;
    T_EQ(MPI_Intercomm_merge(c, me % 2, &merged), MPI_SUCCESS);
    MPI_Comm_size(merged, &size);
    T_EQ(size, n_mine + n_theirs);
    T_EQ(MPI_Comm_dup(c, &copy), MPI_SUCCESS);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&merged);
}

static void inter(void)
{
    MPI_Comm half, between, c[N];
    if (n_rank < 2) {
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    T_MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 9, &between) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    ep_run(between, me % 2 == 0 ? N : N - 1, talk);
    // One group that asks for none, or a member that cannot, makes all fail.
    int rc = MPI_Comm_create_endpoints(between, me % 2 == 0 ? 1 : 0, MPI_INFO_NULL, c), class;
    MPI_Error_class(rc, &class);
    T_EQ(class, MPI_ERR_ARG);
    rc = MPI_Comm_create_endpoints(between, me == 1 ? -1 : 1, MPI_INFO_NULL, c);
    MPI_Error_class(rc, &class);
    T_EQ(class, MPI_ERR_ARG);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

// Made of an endpoint communicator, before and after attaching and detaching.
static void children(MPI_Comm c)
{
    int rank, size, sum, one = 1, part;
    MPI_Comm copy, half, group_comm;
    MPI_Group g;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    T_EQ(MPI_Comm_attach(c), MPI_SUCCESS);
    T_EQ(MPI_Comm_dup(c, &copy), MPI_SUCCESS);
    T_EQ(MPI_Comm_detach(c), MPI_SUCCESS);
    T_EQ(MPI_Comm_split(copy, rank % 2, -rank, &half), MPI_SUCCESS);
    T_EQ(MPI_Comm_attach(half), MPI_SUCCESS); // the same endpoint
    MPI_Comm_size(half, &part);
    T_EQ(part, rank % 2 == 0 ? (size + 1) / 2 : size / 2);
    T_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half), MPI_SUCCESS);
    T_EQ(sum, part);
    MPI_Comm_group(half, &g);
    T_EQ(MPI_Comm_create_group(c, g, 5, &group_comm), MPI_SUCCESS);
    T_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, group_comm), MPI_SUCCESS);
    T_EQ(sum, part);
    MPI_Group_free(&g);
    T_EQ(MPI_Comm_detach(group_comm), MPI_SUCCESS);
    MPI_Barrier(c);
    T_EQ(MPI_Comm_free(&group_comm), MPI_SUCCESS);
    T_EQ(MPI_Comm_disconnect(&half), MPI_SUCCESS);
    T_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
}

// Both ways to give the arguments compile: as printed where the call was proposed, and as MPI_Init.
static int init_as_printed(int argc, char *argv[])
{
    int provided;
    return argc > 0 ? MPI_Init_endpoints(&argc, argv, 1, MPI_THREAD_SINGLE, &provided)
                    : MPI_Init_endpoints(&argc, &argv, 1, MPI_THREAD_SINGLE, &provided);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    T_MUST(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    hints();
    processes();
    inter();
    ep_run(MPI_COMM_WORLD, N, children);
    T_OK(init_as_printed(argc, argv) != MPI_SUCCESS); // it was done
    MPI_Finalize();
    return t_status();
}
