// SPDX-License-Identifier: BSD-3-Clause
// Making endpoints: counts per process, order of ranks, parents, hints, mistakes, freeing by one
// thread in turn. Run by one thread per process at the lowest thread level.
#include "ep_t.h"

enum { MANY = 20 };

static int world_rank, world_size;

// How many endpoints a process has in the uneven case: 0, 1, 2, 0, 1, ...
static int share(int rank)
{
    return rank % 3;
}

static void check_order(MPI_Comm *comms, const int *n_of)
{
    int first = 0, total = 0;
    for (int r = 0; r < world_size; r++) {
        first += r < world_rank ? n_of[r] : 0;
        total += n_of[r];
    }
    for (int i = 0; i < n_of[world_rank]; i++) {
        int rank, size;
        T_MUST(MPI_Comm_rank(comms[i], &rank) == MPI_SUCCESS);
        T_MUST(MPI_Comm_size(comms[i], &size) == MPI_SUCCESS);
        T_EQ(rank, first + i);
        T_EQ(size, total);
    }
}

// Everybody to everybody by one thread, nonblocking.
static void exchange(MPI_Comm *comms, int n)
{
    int size = 0, in[MANY][4 * MANY], out[MANY];
    MPI_Request reqs[MANY * 8 * MANY];
    int n_req = 0;
    for (int i = 0; i < n; i++) {
        int rank;
        MPI_Comm_size(comms[i], &size);
        MPI_Comm_rank(comms[i], &rank);
        out[i] = rank * 7;
        for (int k = 0; k < size; k++) {
            T_MUST(MPI_Irecv(&in[i][k], 1, MPI_INT, k, 5, comms[i], &reqs[n_req++]) == MPI_SUCCESS);
            T_MUST(MPI_Isend(&out[i], 1, MPI_INT, k, 5, comms[i], &reqs[n_req++]) == MPI_SUCCESS);
        }
    }
    T_MUST(MPI_Waitall(n_req, reqs, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < size; k++) {
            T_EQ(in[i][k], k * 7);
        }
    }
}

// Nonblocking collectives of all endpoints by one thread.
static void collectives(MPI_Comm *comms, int n)
{
    int in[MANY], sum[MANY], size = 0;
    MPI_Request reqs[MANY];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < n; i++) {
            MPI_Comm_rank(comms[i], &in[i]);
            MPI_Comm_size(comms[i], &size);
            MPI_Iallreduce(&in[i], &sum[i], 1, MPI_INT, MPI_SUM, comms[i], &reqs[i]);
        }
        T_MUST(MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < n; i++) {
            T_EQ(sum[i], size * (size - 1) / 2);
            MPI_Ibarrier(comms[i], &reqs[i]);
        }
        for (int i = n - 1; i >= 0; i--) {
            T_MUST(MPI_Wait(&reqs[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    }
}

static void make(MPI_Comm parent, const int *n_of, MPI_Info info)
{
    MPI_Comm comms[MANY];
    int n = n_of[world_rank];
    T_MUST(MPI_Comm_create_endpoints(parent, n, info, comms) == MPI_SUCCESS);
    check_order(comms, n_of);
    exchange(comms, n);
    collectives(comms, n);
    for (int i = 0; i < n; i++) {
        T_EQ(MPI_Comm_free(&comms[i]), MPI_SUCCESS);
    }
}

// Groups name endpoints: the group of one handle knows its own rank, and all are the same group.
static void groups(void)
{
    MPI_Comm comms[3];
    MPI_Group a, b, w;
    int rank, want, result, zero = 0, there;
    T_MUST(MPI_Comm_create_endpoints(MPI_COMM_WORLD, 3, MPI_INFO_NULL, comms) == MPI_SUCCESS);
    MPI_Comm_group(comms[0], &a);
    MPI_Comm_group(comms[2], &b);
    MPI_Comm_group(MPI_COMM_WORLD, &w);
    MPI_Group_rank(a, &rank);
    T_EQ(rank, 3 * world_rank);
    MPI_Group_rank(b, &rank);
    MPI_Comm_rank(comms[2], &want);
    T_EQ(rank, want);
    MPI_Group_compare(a, b, &result);
    T_EQ(result, MPI_IDENT);
    MPI_Comm_compare(comms[0], comms[1], &result);
    T_EQ(result, MPI_IDENT); // two handles of one communicator
    MPI_Group_translate_ranks(a, 1, &zero, w, &there);
    T_EQ(there, MPI_UNDEFINED); // an endpoint is not the process
    for (int i = 0; i < 3; i++) {
        MPI_Comm_free(&comms[i]);
    }
    // Numbers are not used again while a group names them.
    MPI_Comm again[3];
    MPI_Group c, both;
    T_MUST(MPI_Comm_create_endpoints(MPI_COMM_WORLD, 3, MPI_INFO_NULL, again) == MPI_SUCCESS);
    MPI_Comm_group(again[0], &c);
    MPI_Group_intersection(a, c, &both);
    T_OK(both == MPI_GROUP_EMPTY);
    MPI_Group_free(&a);
    MPI_Group_free(&b);
    MPI_Group_free(&c);
    MPI_Group_free(&w);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_free(&again[i]);
    }
}

static void mistakes(void)
{
    MPI_Comm comms[2] = { MPI_COMM_NULL, MPI_COMM_NULL };
    int class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    // One rank is wrong: all are told.
    int rc =
        MPI_Comm_create_endpoints(MPI_COMM_WORLD, world_rank == 0 ? -1 : 2, MPI_INFO_NULL, comms);
    MPI_Error_class(rc, &class);
    T_EQ(class, MPI_ERR_ARG);
    if (world_rank == 0) {
        char text[MPI_MAX_ERROR_STRING];
        int len;
        MPI_Error_string(rc, text, &len);
        T_HAS(text, "my_num_ep is -1");
    }
    rc = MPI_Comm_create_endpoints(MPI_COMM_WORLD, 1, MPI_INFO_NULL, NULL);
    MPI_Error_class(rc, &class);
    T_EQ(class, MPI_ERR_ARG);
    // Nobody has any: no communicator.
    T_EQ(MPI_Comm_create_endpoints(MPI_COMM_WORLD, 0, MPI_INFO_NULL, NULL), MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    int uneven[64], two[64], one[64];
    for (int r = 0; r < world_size; r++) {
        uneven[r] = share(r);
        two[r] = 2;
        one[r] = r == 0 ? 11 : 1;
    }
    make(MPI_COMM_WORLD, two, MPI_INFO_NULL);
    make(MPI_COMM_WORLD, uneven, MPI_INFO_NULL);
    make(MPI_COMM_WORLD, one, MPI_INFO_NULL);
    static const char *const lanes[] = { "1", "2", "5", "8", "nonsense" };
    for (int i = 0; i < 5; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "pliant_num_lanes", lanes[i]);
        make(MPI_COMM_WORLD, one, info);
        MPI_Info_free(&info);
    }
    int best;
    T_EQ(MPIX_Comm_best_endpoints(MPI_COMM_WORLD, &best), MPI_SUCCESS);
    T_OK(best >= 1);
    int *attr = NULL, flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_BEST_ENDPOINTS, &attr, &flag);
    T_OK(flag && *attr == best);
    groups();
    mistakes();
    MPI_Finalize();
    return t_status();
}
