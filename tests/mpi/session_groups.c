// SPDX-License-Identifier: BSD-3-Clause
// Communicators from many groups at once: overlapping, reordered, with colliding and reused tags;
// intercommunicators from groups, and their mistakes.
#include "session.h"

static int rank, size;

// Every pair of neighbours, each process in two of them; in an order that would deadlock a
// constructor which involved others than the members.
static void pairs(MPI_Session s)
{
    MPI_Group world = s_group(s, "mpi://WORLD");
    for (int round = 0; round < 2 && size > 1; round++) {
        for (int k = 0; k < size - 1; k++) {
            int first = round == 0 ? k : size - 2 - k;
            if (rank != first && rank != first + 1) {
                continue;
            }
            int members[2] = { first + (round == 1), first + (round == 0) };
            MPI_Group g;
            MPI_Comm c;
            MPI_Group_incl(world, 2, members, &g);
            T_MPI(MPI_Comm_create_from_group(g, "pair", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
            s_check(c, first);
            int mine;
            MPI_Comm_rank(c, &mine);
            T_EQ(mine, members[0] == rank ? 0 : 1);
            MPI_Comm_free(&c);
            MPI_Group_free(&g);
        }
    }
    MPI_Group_free(&world);
}

// The same tag over and over, and tags that differ only at the end.
static void tags(MPI_Session s)
{
    MPI_Group world = s_group(s, "mpi://WORLD");
    MPI_Comm c[8];
    char tag[MPI_MAX_STRINGTAG_LEN];
    for (int i = 0; i < 8; i++) {
        T_MPI(MPI_Comm_create_from_group(world, "same", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c[i]));
    }
    for (int i = 7; i >= 0; i--) {
        s_check(c[i], i);
        MPI_Comm_free(&c[i]);
    }
    memset(tag, 'x', sizeof tag);
    tag[sizeof tag - 1] = '\0';
    for (int i = 0; i < 8; i++) {
        tag[sizeof tag - 2] = (char)('a' + i);
        T_MPI(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c[i]));
    }
    for (int i = 0; i < 8; i++) {
        s_check(c[i], i);
        MPI_Comm_free(&c[i]);
    }
    char longer[MPI_MAX_STRINGTAG_LEN + 8];
    memset(longer, 'y', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    T_REFUSED(MPI_Comm_create_from_group(world, longer, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c[0]),
              MPI_ERR_ARG, "MPI_MAX_STRINGTAG_LEN");
    T_REFUSED(
        MPI_Comm_create_from_group(MPI_GROUP_NULL, "t", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c[0]),
        MPI_ERR_GROUP, "MPI_GROUP_NULL");
    MPI_Group_free(&world);
}

// All subsets of the first few processes, as a bit mask.
static void subsets(MPI_Session s)
{
    MPI_Group world = s_group(s, "mpi://WORLD");
    int low = size < 4 ? size : 4;
    for (int mask = 1; mask < 1 << low; mask++) {
        int members[4], n = 0;
        for (int r = 0; r < low; r++) {
            if (mask >> r & 1) {
                members[n++] = r;
            }
        }
        if (rank < low && (mask >> rank & 1)) {
            MPI_Group g;
            MPI_Comm c;
            MPI_Group_incl(world, n, members, &g);
            T_MPI(MPI_Comm_create_from_group(g, "subset", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
            s_check(c, mask);
            MPI_Comm_free(&c);
            MPI_Group_free(&g);
        }
    }
    MPI_Group_free(&world);
}

static void inter(MPI_Session s)
{
    MPI_Group world = s_group(s, "mpi://WORLD"), low, high;
    MPI_Comm c;
    int half = size / 2, n_low, n_high;
    if (size < 2) {
        MPI_Group_free(&world);
        return;
    }
    int a[1][3] = { { 0, half - 1, 1 } }, b[1][3] = { { half, size - 1, 1 } };
    MPI_Group_range_incl(world, 1, a, &low);
    MPI_Group_range_incl(world, 1, b, &high);
    MPI_Group_size(low, &n_low);
    MPI_Group_size(high, &n_high);
    int is_low = rank < half;
    MPI_Group mine = is_low ? low : high, theirs = is_low ? high : low;
    int my_leader = is_low ? 0 : n_high - 1, far = is_low ? n_high - 1 : 0, me, n, sum = 0;
    MPI_Group_rank(mine, &me);
    T_MPI(MPI_Intercomm_create_from_groups(mine, my_leader,
                                           me == my_leader ? theirs : MPI_GROUP_NULL, far, "inter",
                                           MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
    MPI_Comm_test_inter(c, &n);
    T_EQ(n, 1);
    MPI_Comm_remote_size(c, &n);
    T_EQ(n, is_low ? n_high : n_low);
    int one = is_low ? 1 : 100;
    T_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c));
    T_EQ(sum, is_low ? 100 * n_high : n_low);
    MPI_Comm merged;
    T_MPI(MPI_Intercomm_merge(c, !is_low, &merged));
    s_check(merged, 5);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&c);
    // The leader's mistake reaches its whole group; the other group never called.
    T_OK(MPI_Intercomm_create_from_groups(mine, my_leader, MPI_GROUP_NULL, 0, "bad", MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &c) != MPI_SUCCESS);
    T_OK(c == MPI_COMM_NULL);
    T_OK(MPI_Intercomm_create_from_groups(mine, my_leader, world, 0, "bad", MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &c) != MPI_SUCCESS);
    MPI_Group_free(&low);
    MPI_Group_free(&high);
    MPI_Group_free(&world);
}

int main(void)
{
    MPI_Session s = s_open();
    s_world(s, &rank, &size);
    pairs(s);
    tags(s);
    subsets(s);
    inter(s);
    T_MPI(MPI_Session_finalize(&s));
    return t_status();
}
