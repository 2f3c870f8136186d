// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators of uneven groups: create, merge in every order, copy, split, create from
// groups, leaders that are not first, several at once on one peer communicator, and mistakes.
#include "comm.h"

static int low[64], high[64], n_low, n_high; // world ranks of the two groups
static int is_low;

static void check(MPI_Comm inter)
{
    c_inter(inter, is_low ? low : high, is_low ? n_low : n_high, is_low ? high : low,
            is_low ? n_high : n_low);
}

static void merge(MPI_Comm inter)
{
    int both[64];
    MPI_Comm c;
    for (int first = 0; first < 2; first++) { // which group passes high = 0
        int low_first = first == 0;
        memcpy(both, low_first ? low : high, sizeof(int) * (size_t)(low_first ? n_low : n_high));
        memcpy(both + (low_first ? n_low : n_high), low_first ? high : low,
               sizeof(int) * (size_t)(low_first ? n_high : n_low));
        T_MPI(MPI_Intercomm_merge(inter, is_low != low_first, &c));
        c_intra(c, both, world_size);
        MPI_Comm_free(&c);
    }
    for (int same = 0; same < 2; same++) { // any order will do, but one for all
        int rank, ranks[64];
        T_MPI(MPI_Intercomm_merge(inter, same, &c));
        MPI_Comm_rank(c, &rank);
        MPI_Allgather(&world_rank, 1, MPI_INT, ranks, 1, MPI_INT, c);
        c_intra(c, ranks, world_size);
        int low_first = ranks[0] == low[0];
        T_OK(low_first || ranks[0] == high[0]);
        MPI_Comm_free(&c);
    }
}

static void copies(MPI_Comm inter)
{
    MPI_Comm a, b;
    MPI_Request r;
    int same;
    T_MPI(MPI_Comm_dup(inter, &a));
    check(a);
    T_MPI(MPI_Comm_idup(a, &b, &r));
    T_MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    check(b);
    T_MPI(MPI_Comm_compare(a, b, &same));
    T_EQ(same, MPI_CONGRUENT);
    T_MPI(MPI_Comm_compare(a, MPI_COMM_WORLD, &same));
    T_EQ(same, MPI_UNEQUAL);
    T_MPI(MPI_Comm_free(&a));
    check(b);
    T_MPI(MPI_Comm_free(&b));
}

// Members of a list that a rule picks, in reverse order when asked.
static int pick(const int from[], int n, int odd, int is_reversed, int to[])
{
    int m = 0;
    for (int k = 0; k < n; k++) {
        int i = is_reversed ? n - 1 - k : k;
        if (odd < 0 || i % 2 == odd) {
            to[m++] = from[i];
        }
    }
    return m;
}

static void split(MPI_Comm inter)
{
    int mine[64], theirs[64], rank;
    MPI_Comm c;
    MPI_Comm_rank(inter, &rank);
    // Even and odd ranks meet; the low side is turned round by its keys.
    T_MPI(MPI_Comm_split(inter, rank % 2, is_low ? -rank : 0, &c));
    int n = pick(is_low ? low : high, is_low ? n_low : n_high, rank % 2, is_low, mine);
    int m = pick(is_low ? high : low, is_low ? n_high : n_low, rank % 2, !is_low, theirs);
    if (m > 0) {
        c_inter(c, mine, n, theirs, m);
        MPI_Comm_free(&c);
    }
    T_OK(c == MPI_COMM_NULL);
    T_MPI(MPI_Comm_split(inter, is_low, 0, &c)); // a color on one side only
    T_OK(c == MPI_COMM_NULL);
    T_MPI(MPI_Comm_split(inter, rank == 0 ? 4 : MPI_UNDEFINED, 0, &c));
    if (rank == 0) {
        c_inter(c, is_low ? low : high, 1, is_low ? high : low, 1);
        MPI_Comm_free(&c);
    }
    T_OK(c == MPI_COMM_NULL);
}

static void create(MPI_Comm inter)
{
    MPI_Group local, sub;
    MPI_Comm c;
    int rank, last[3] = { is_low ? n_low - 1 : n_high - 1, 0, -1 };
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_group(inter, &local);
    MPI_Group_incl(local, 1, last, &sub);
    T_MPI(MPI_Comm_create(inter, sub, &c));
    if (rank == last[0]) {
        c_inter(c, is_low ? &low[n_low - 1] : &high[n_high - 1], 1,
                is_low ? &high[n_high - 1] : &low[n_low - 1], 1);
        MPI_Comm_free(&c);
    }
    T_OK(c == MPI_COMM_NULL);
    T_MPI(MPI_Comm_create(inter, is_low ? sub : MPI_GROUP_EMPTY, &c));
    T_OK(c == MPI_COMM_NULL);
    MPI_Group_free(&sub);
    MPI_Group_free(&local);
}

// Groups of the first k ranks and the others, led by the given members.
static void uneven(int k, int leader_low, int leader_high)
{
    MPI_Comm half, inter;
    n_low = n_high = 0;
    for (int i = 0; i < world_size; i++) {
        *(i < k ? &low[n_low++] : &high[n_high++]) = i;
    }
    is_low = world_rank < k;
    MPI_Comm_split(MPI_COMM_WORLD, is_low, 0, &half);
    int mine = is_low ? leader_low : leader_high;
    int far = is_low ? high[leader_high] : low[leader_low];
    int rank;
    MPI_Comm_rank(half, &rank);
    // What peer_comm and remote_leader are elsewhere than at the leader does not matter.
    T_MPI(MPI_Intercomm_create(half, mine, rank == mine ? MPI_COMM_WORLD : MPI_COMM_NULL,
                               rank == mine ? far : -55, 12, &inter));
    MPI_Comm_free(&half); // nothing of it is needed any more
    check(inter);
    merge(inter);
    copies(inter);
    split(inter);
    create(inter);
    T_MPI(MPI_Comm_free(&inter));
}

static void mistakes(void)
{
    MPI_Comm c = MPI_COMM_NULL, half;
    int rank;
    T_REFUSED(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &c), MPI_ERR_COMM, "intracommunicator");
    T_REFUSED(MPI_Intercomm_create(MPI_COMM_WORLD, world_size, MPI_COMM_WORLD, 0, 0, &c),
              MPI_ERR_RANK, "local_leader");
    T_REFUSED(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_WORLD, 0, -3, &c), MPI_ERR_TAG,
              "tag");
    // The leader's mistake reaches its whole group.
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    T_REFUSED(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_NULL, 0, 0, &c), MPI_ERR_COMM,
              rank == 0 ? "peer_comm is MPI_COMM_NULL" : "rank 0, failed");
    // Both groups are the same two processes: found by all.
    if (world_size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, world_rank < 2, 0, &half);
        if (world_rank < 2) {
            MPI_Comm both;
            MPI_Comm_dup(half, &both);
            int me;
            MPI_Comm_rank(half, &me);
            T_REFUSED(MPI_Intercomm_create(both, me, half, 1 - me, 0, &c), MPI_ERR_COMM,
                      "in common");
            MPI_Comm_free(&both);
        }
        MPI_Comm_free(&half);
    }
    T_OK(c == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    c_start(&argc, &argv);
    for (int k = 1; k<world_size; k += world_size> 6 ? 3 : 1) {
        uneven(k, 0, 0);
        uneven(k, k - 1, world_size - k - 1);
    }
    mistakes();
    return t_end();
}
