// SPDX-License-Identifier: BSD-3-Clause
// Groups and the questions about communicators, as a program sees them.
#include "obj.h"

static int rank, size;

// The ranks in the world of the members of a group.
static void expect(MPI_Group g, int n, const int want[])
{
    MPI_Group world;
    int got, mine = -1, ranks[64], found[64];
    T_MPI(MPI_Group_size(g, &got));
    T_EQ(got, n);
    T_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < n; i++) {
        ranks[i] = i;
        mine = want[i] == rank ? i : mine;
    }
    T_MPI(MPI_Group_translate_ranks(g, n, ranks, world, found));
    for (int i = 0; i < n; i++) {
        T_EQ(found[i], want[i]);
    }
    T_MPI(MPI_Group_rank(g, &got));
    T_EQ(got, mine == -1 ? MPI_UNDEFINED : mine);
    T_MPI(MPI_Group_free(&world));
    T_OK(world == MPI_GROUP_NULL);
}

static void operations(void)
{
    MPI_Group world, low, high, r;
    int last = size - 1, result, both[2] = { 0, last };
    T_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    T_MPI(MPI_Group_incl(world, 1, (int[]){ 0 }, &low));
    expect(low, 1, (int[]){ 0 });
    T_MPI(MPI_Group_excl(world, last, (int[]){ 0, 1, 2, 3, 4, 5, 6, 7 }, &high));
    expect(high, 1, (int[]){ last });
    T_MPI(MPI_Group_union(high, low, &r));
    if (size > 1) {
        expect(r, 2, (int[]){ last, 0 });
        MPI_Group s;
        T_MPI(MPI_Group_union(low, high, &s));
        expect(s, 2, both);
        T_MPI(MPI_Group_compare(r, s, &result));
        T_EQ(result, MPI_SIMILAR);
        T_MPI(MPI_Group_free(&s));
    }
    T_MPI(MPI_Group_compare(r, r, &result));
    T_EQ(result, MPI_IDENT);
    T_MPI(MPI_Group_free(&r));
    T_MPI(MPI_Group_intersection(world, low, &r));
    T_MPI(MPI_Group_compare(r, low, &result));
    T_EQ(result, MPI_IDENT);
    T_MPI(MPI_Group_free(&r));
    T_MPI(MPI_Group_difference(low, world, &r));
    T_OK(r == MPI_GROUP_EMPTY);
    T_MPI(MPI_Group_compare(r, low, &result));
    T_EQ(result, MPI_UNEQUAL);
    T_MPI(MPI_Group_free(&r)); // a result may be freed even when it is the empty group
    T_MPI(MPI_Group_size(MPI_GROUP_EMPTY, &result));
    T_EQ(result, 0);
    T_MPI(MPI_Group_range_incl(world, 1, (int[][3]){ { last, 0, -1 } }, &r));
    int back[64];
    for (int i = 0; i < size; i++) {
        back[i] = last - i;
    }
    expect(r, size, back);
    T_MPI(MPI_Group_free(&r));
    T_MPI(MPI_Group_range_excl(world, 1, (int[][3]){ { 0, last, 1 } }, &r));
    T_OK(r == MPI_GROUP_EMPTY);
    int out[2];
    T_MPI(MPI_Group_translate_ranks(world, 2, (int[]){ MPI_PROC_NULL, 0 }, MPI_GROUP_EMPTY, out));
    T_EQ(out[0], MPI_PROC_NULL);
    T_EQ(out[1], MPI_UNDEFINED);
    T_MPI(MPI_Group_free(&low));
    T_MPI(MPI_Group_free(&high));
    T_MPI(MPI_Group_free(&world));
}

static void mistakes(void)
{
    MPI_Group g, r, stale;
    int n;
    T_MPI(MPI_Comm_group(MPI_COMM_WORLD, &g));
    T_REFUSED(MPI_Group_incl(g, -1, NULL, &r), MPI_ERR_ARG, "n is -1");
    T_REFUSED(MPI_Group_incl(g, 1, NULL, &r), MPI_ERR_ARG, "ranks is NULL");
    T_REFUSED(MPI_Group_incl(g, 1, (int[]){ size }, &r), MPI_ERR_RANK, "the group has");
    T_REFUSED(MPI_Group_excl(g, 2, (int[]){ 0, 0 }, &r), MPI_ERR_RANK, "before");
    T_REFUSED(MPI_Group_range_incl(g, 1, (int[][3]){ { 0, 0, 0 } }, &r), MPI_ERR_ARG, "stride 0");
    T_REFUSED(MPI_Group_range_excl(g, 1, NULL, &r), MPI_ERR_ARG, "ranges is NULL");
    T_REFUSED(MPI_Group_incl(MPI_GROUP_NULL, 0, NULL, &r), MPI_ERR_GROUP, "MPI_GROUP_NULL");
    T_REFUSED(MPI_Group_union(g, (MPI_Group)MPI_COMM_WORLD, &r), MPI_ERR_GROUP, "communicator");
    T_REFUSED(MPI_Group_union(g, g, NULL), MPI_ERR_ARG, "newgroup is NULL");
    T_REFUSED(MPI_Group_size((MPI_Group)&n, &n), MPI_ERR_GROUP, "not a handle");
    T_REFUSED(MPI_Group_size(g, NULL), MPI_ERR_ARG, "size is NULL");
    T_REFUSED(MPI_Group_translate_ranks(g, 1, (int[]){ -7 }, g, &n), MPI_ERR_RANK, "-7");
    T_REFUSED(MPI_Group_translate_ranks(g, 1, NULL, g, &n), MPI_ERR_ARG, "NULL");
    stale = g;
    T_MPI(MPI_Group_free(&g));
    T_REFUSED_FREED(MPI_Group_size(stale, &n), MPI_ERR_GROUP, "freed");
    T_REFUSED_FREED(MPI_Group_free(&stale), MPI_ERR_GROUP, "freed");
    T_REFUSED(MPI_Group_free(&g), MPI_ERR_GROUP, "MPI_GROUP_NULL");
    T_REFUSED(MPI_Group_free(NULL), MPI_ERR_ARG, "group is NULL");
    T_MPI(MPI_Comm_size(MPI_COMM_WORLD, &n)); // the communicator kept its own
    T_EQ(n, size);
    T_MPI(MPI_Comm_group(MPI_COMM_WORLD, &g));
    T_MPI(MPI_Group_free(&g));
}

static void questions(void)
{
    char name[MPI_MAX_OBJECT_NAME], big[2 * MPI_MAX_OBJECT_NAME];
    int len, flag, result;
    MPI_Group g;
    T_MPI(MPI_Comm_get_name(MPI_COMM_WORLD, name, &len));
    T_STR(name, "MPI_COMM_WORLD");
    T_EQ(len, 14);
    T_MPI(MPI_Comm_get_name(MPI_COMM_SELF, name, &len));
    T_STR(name, "MPI_COMM_SELF");
    T_MPI(MPI_Comm_get_name(MPI_COMM_NULL, name, &len));
    T_STR(name, "MPI_COMM_NULL");
    T_MPI(MPI_Comm_set_name(MPI_COMM_SELF, "me"));
    T_MPI(MPI_Comm_get_name(MPI_COMM_SELF, name, &len));
    T_STR(name, "me");
    memset(big, 'n', sizeof big);
    big[sizeof big - 1] = '\0';
    T_MPI(MPI_Comm_set_name(MPI_COMM_SELF, big));
    T_MPI(MPI_Comm_get_name(MPI_COMM_SELF, name, &len));
    T_EQ(len, MPI_MAX_OBJECT_NAME - 1);
    T_MPI(MPI_Comm_set_name(MPI_COMM_SELF, ""));
    T_MPI(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
    T_EQ(flag, 0);
    T_MPI(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
    T_EQ(result, MPI_IDENT);
    T_MPI(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result));
    T_EQ(result, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    T_REFUSED(MPI_Comm_remote_size(MPI_COMM_WORLD, &len), MPI_ERR_COMM, "intercommunicator");
    T_REFUSED(MPI_Comm_remote_group(MPI_COMM_WORLD, &g), MPI_ERR_COMM, "MPI_COMM_WORLD");
    T_REFUSED(MPI_Comm_set_name(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "NULL");
    T_REFUSED(MPI_Comm_get_name(MPI_COMM_WORLD, NULL, &len), MPI_ERR_ARG, "comm_name");
    T_REFUSED(MPI_Comm_get_name((MPI_Comm)MPI_INT, name, &len), MPI_ERR_COMM, "datatype");
    T_REFUSED(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "rank is NULL");
    T_REFUSED(MPI_Comm_rank((MPI_Comm)0x77, &len), MPI_ERR_COMM, "not a handle");
    T_REFUSED(MPI_Comm_group(MPI_COMM_NULL, &g), MPI_ERR_COMM, "MPI_COMM_NULL");
    T_REFUSED(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_NULL, &result), MPI_ERR_COMM, "comm2");
}

static void hint(MPI_Comm c, const char *key, const char *want)
{
    MPI_Info info;
    char value[64];
    int flag;
    T_MPI(MPI_Comm_get_info(c, &info));
    T_MPI(MPI_Info_get(info, key, 63, value, &flag));
    T_EQ(flag, want != NULL);
    T_OK(want == NULL || strcmp(value, want) == 0);
    T_MPI(MPI_Info_free(&info));
}

static void hints(void)
{
    MPI_Info info;
    hint(MPI_COMM_WORLD, "mpi_assert_no_any_tag", "false");
    T_MPI(MPI_Info_create(&info));
    T_MPI(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    T_MPI(MPI_Info_set(info, "colour", "blue"));
    T_MPI(MPI_Comm_set_info(MPI_COMM_SELF, info));
    hint(MPI_COMM_SELF, "mpi_assert_no_any_tag", "true");
    hint(MPI_COMM_SELF, "mpi_assert_no_any_source", "false");
    hint(MPI_COMM_SELF, "mpi_assert_exact_length", "false");
    hint(MPI_COMM_SELF, "mpi_assert_allow_overtaking", "false");
    hint(MPI_COMM_SELF, "colour", NULL);
    hint(MPI_COMM_WORLD, "mpi_assert_no_any_tag", "false");
    T_MPI(MPI_Comm_set_info(MPI_COMM_SELF, MPI_INFO_NULL));
    hint(MPI_COMM_SELF, "mpi_assert_no_any_tag", "true");
    T_MPI(MPI_Info_set(info, "mpi_assert_no_any_tag", "false"));
    T_MPI(MPI_Comm_set_info(MPI_COMM_SELF, info));
    hint(MPI_COMM_SELF, "mpi_assert_no_any_tag", "false");
    T_MPI(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_OK(rank >= 0 && rank < size && size <= 9);
    operations();
    mistakes();
    questions();
    hints();
    return t_end();
}
