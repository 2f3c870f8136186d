// SPDX-License-Identifier: BSD-3-Clause
// A job on several hosts, pretended ones (args: how many): who shares memory with whom, whatever
// tells it, is the same everywhere; and messages of all kinds cross.
#include "comm.h"

enum { BIG = 300000 };

static int n_host;

static int host_of(int rank)
{
    return rank * n_host / world_size;
}

// The ranks of my host, in order.
static int mates(int want[64])
{
    int n = 0;
    for (int i = 0; i < world_size; i++) {
        if (host_of(i) == host_of(world_rank)) {
            want[n++] = i;
        }
    }
    return n;
}

static void shared(void)
{
    int want[64], n = mates(want);
    MPI_Comm c;
    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c));
    c_intra(c, want, n);
    MPI_Comm_free(&c);
}

static void sets(void)
{
    MPI_Session s;
    MPI_Group g;
    char name[64];
    int want[64], n = mates(want), n_set, n_found = 0;
    T_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s));
    snprintf(name, sizeof name, "mpi://hw/node/%d", host_of(world_rank));
    T_MPI(MPI_Group_from_session_pset(s, name, &g));
    int size, rank;
    MPI_Group_size(g, &size);
    MPI_Group_rank(g, &rank);
    T_EQ(size, n);
    T_OK(rank >= 0 && rank < n && want[rank] == world_rank);
    MPI_Group_free(&g);
    T_MPI(MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n_set));
    for (int i = 0; i < n_set; i++) {
        char set[MPI_MAX_PSET_NAME_LEN];
        int len = sizeof set;
        T_MPI(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, set));
        n_found += strncmp(set, "mpi://host/", 11) == 0;
    }
    T_EQ(n_found, 1); // of those that this process is in
    MPI_Session_finalize(&s);
}

// Ranks that sit side by side in a line should be on one host, if they can.
static void reordered(void)
{
    MPI_Comm c, there;
    int zero = 0, rank, all[64], crossings = 0, mine = host_of(world_rank);
    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank % 2 * 64 + world_rank, &there));
    T_MPI(MPI_Cart_create(there, 1, &world_size, &zero, 1, &c));
    MPI_Comm_rank(c, &rank);
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, c);
    for (int i = 0; i + 1 < world_size; i++) {
        crossings += all[i] != all[i + 1];
    }
    T_EQ(crossings, n_host - 1);
    MPI_Comm_free(&c);
    MPI_Comm_free(&there);
}

// From everybody to everybody, large and small, with any source.
static void crossing(void)
{
    static int out[BIG], in[BIG];
    MPI_Request r[2 * 64];
    for (int round = 0; round < 3; round++) {
        int count = round == 0 ? 1 : round == 1 ? 1000 : BIG / 8, n = 0;
        for (int i = 0; i < BIG; i++) {
            out[i] = world_rank * 1000000 + i;
        }
        for (int i = 0; i < world_size; i++) {
            T_MPI(MPI_Isend(out, count, MPI_INT, i, round, MPI_COMM_WORLD, &r[n++]));
        }
        for (int i = 0; i < world_size; i++) {
            MPI_Status s;
            int got;
            T_MPI(MPI_Recv(in, BIG, MPI_INT, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &s));
            MPI_Get_count(&s, MPI_INT, &got);
            T_EQ(got, count);
            T_EQ(in[0], s.MPI_SOURCE * 1000000);
            T_EQ(in[count - 1], s.MPI_SOURCE * 1000000 + count - 1);
        }
        T_MPI(MPI_Waitall(n, r, MPI_STATUSES_IGNORE));
    }
}

static void together(void)
{
    for (int i = 0; i < 20; i++) {
        int x = world_rank + i, sum = 0;
        T_MPI(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        T_EQ(sum, world_size * (world_size - 1) / 2 + world_size * i);
        T_MPI(MPI_Barrier(MPI_COMM_WORLD));
        x = world_rank == i % world_size ? 77 + i : -1;
        T_MPI(MPI_Bcast(&x, 1, MPI_INT, i % world_size, MPI_COMM_WORLD));
        T_EQ(x, 77 + i);
    }
}

int main(int argc, char **argv)
{
    c_start(&argc, &argv);
    n_host = argc > 1 ? atoi(argv[1]) : 1;
    n_host = n_host < world_size ? n_host : world_size;
    shared();
    sets();
    reordered();
    crossing();
    together();
    return t_end();
}
