// SPDX-License-Identifier: BSD-3-Clause
// Process sets: those of the launcher (launched with --pset evens=... --pset pair=0-1) and those
// made while the job runs, which the others find by name; versions; sparse worlds.
#include "host.h"
#include "session.h"

static int rank, size;

// The members of a set are the processes for which fits(rank) holds, in order.
static void expect(MPI_Session s, const char *name, int (*fits)(int))
{
    MPI_Group world = s_group(s, "mpi://WORLD"), g = s_group(s, name);
    int n = 0, want = 0;
    MPI_Group_size(g, &n);
    for (int r = 0; r < size; r++) {
        if (fits(r)) {
            int at = want, got = -1;
            want++;
            if (at < n) {
                MPI_Group_translate_ranks(g, 1, &at, world, &got);
            }
            T_EQ(got, r);
        }
    }
    T_EQ(n, want);
    if (g != MPI_GROUP_EMPTY) {
        MPI_Group_free(&g);
    }
    MPI_Group_free(&world);
}

static int is_even(int r)
{
    return r % 2 == 0;
}

static int is_odd(int r)
{
    return r % 2 == 1;
}

static int is_pair(int r)
{
    return r < 2;
}

static int is_zero(int r)
{
    return r == 0;
}

static int is_any(int r)
{
    return r >= 0;
}

static int is_here(int r)
{
    return h_host[r] == h_mine;
}

static int is_even_or_pair(int r)
{
    return is_even(r) || is_pair(r);
}

static int is_low_half(int r)
{
    return r < (size + 1) / 2;
}

static void fact(MPI_Session s, const char *set, const char *key, const char *want)
{
    MPI_Info info;
    char value[256] = "";
    int len = sizeof value, flag = 0;
    T_MPI(MPI_Session_get_pset_info(s, set, &info));
    T_MPI(MPI_Info_get_string(info, key, &len, value, &flag));
    T_EQ(flag, 1);
    T_STR(value, want);
    MPI_Info_free(&info);
}

static int is_listed(MPI_Session s, const char *set)
{
    int n, found = 0;
    MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n);
    for (int i = 0; i < n; i++) {
        char name[MPI_MAX_PSET_NAME_LEN];
        int len = sizeof name;
        MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, name);
        found += strcmp(name, set) == 0;
    }
    return found;
}

static void launched(MPI_Session s)
{
    char host[MPI_MAX_PROCESSOR_NAME + 16] = "mpi://host/";
    char node[32];
    int len;
    MPI_Get_processor_name(host + strlen(host), &len);
    snprintf(node, sizeof node, "mpi://hw/node/%d", h_mine);
    expect(s, host, is_here);
    expect(s, node, is_here);
    expect(s, "mpi://app/0", is_any);
    expect(s, "mpi://app/mpi.session_psets", is_any);
    expect(s, "evens", is_even);
    expect(s, "pair", is_pair);
    fact(s, "evens", "pliant_origin", "user");
    fact(s, host, "pliant_origin", "host");
    fact(s, "mpi://world", "pliant_origin", "mpi");
    fact(s, "evens", "pliant_member", is_even(rank) ? "true" : "false");
    T_EQ(is_listed(s, "evens"), is_even(rank));
    T_EQ(is_listed(s, "mpi://app/0"), 1);
    MPI_Group g;
    T_REFUSED(MPI_Group_from_session_pset(s, "even", &g), MPI_ERR_ARG, "did you mean 'evens'");
}

static void made(MPI_Session s)
{
    T_MPI(MPIX_Pset_union(s, "evens", "pair", "both"));
    T_MPI(MPIX_Pset_intersection(s, "evens", "pair", "zero"));
    T_MPI(MPIX_Pset_difference(s, "mpi://WORLD", "evens", "odds"));
    T_MPI(MPIX_Pset_union(s, "evens", "pair", "both")); // again, the same
    expect(s, "both", is_even_or_pair);
    expect(s, "zero", is_zero);
    expect(s, "odds", is_odd);
    fact(s, "odds", "pliant_origin", "made");
    T_EQ(is_listed(s, "both"), is_even_or_pair(rank));
    T_EQ(is_listed(s, "zero"), is_zero(rank));
    T_EQ(is_listed(s, "odds"), is_odd(rank));
    T_REFUSED(MPIX_Pset_union(s, "evens", "pair", "odds"), MPI_ERR_NAME, "sets never change");
    T_REFUSED(MPIX_Pset_union(s, "evens", "nothing", "x"), MPI_ERR_ARG, "'nothing'");
    T_REFUSED(MPIX_Pset_union(s, "evens", "pair", "mpi://mine"), MPI_ERR_ARG, "belong to MPI");
    T_REFUSED(MPIX_Pset_union(s, "evens", "pair", "a@2"), MPI_ERR_ARG, "versions");
    T_REFUSED(MPIX_Pset_union(s, "evens", "pair", ""), MPI_ERR_ARG, "empty");
}

// One process makes a set; the others wait for the name.
static void published(MPI_Session s)
{
    if (rank == size - 1) {
        MPI_Group world = s_group(s, "mpi://WORLD"), half;
        int range[1][3] = { { 0, (size + 1) / 2 - 1, 1 } };
        MPI_Group_range_incl(world, 1, range, &half);
        T_MPI(MPIX_Pset_from_group(s, half, "half"));
        MPI_Group_free(&half);
        MPI_Group_free(&world);
    }
    T_MPI(MPIX_Pset_wait(s, "half"));
    expect(s, "half", is_low_half);
    if (is_low_half(rank)) {
        MPI_Comm c = s_comm(s, "half", "half");
        s_check(c, 4);
        MPI_Comm_free(&c);
    }
}

static void versions(MPI_Session s)
{
    MPI_Group odds = s_group(s, "odds"), world = s_group(s, "mpi://WORLD");
    char name[MPI_MAX_PSET_NAME_LEN] = "";
    T_MPI(MPIX_Pset_revise(s, "evens", world, name));
    T_STR(name, "evens@2");
    T_MPI(MPIX_Pset_revise(s, "evens", world, name)); // the newest is so already
    T_STR(name, "evens@2");
    expect(s, "evens@2", is_any);
    expect(s, "evens", is_even);
    fact(s, "evens@2", "pliant_version", "2");
    fact(s, "evens", "pliant_version", "1");
    fact(s, "evens", "pliant_latest", "evens@2");
    T_REFUSED(MPIX_Pset_revise(s, "unknown", world, name), MPI_ERR_ARG, "to revise");
    MPI_Comm all = s_comm(s, "mpi://WORLD", "versions");
    MPI_Barrier(all); // nobody goes on to version 3 while others are at 2
    T_MPI(MPIX_Pset_revise(s, "evens", odds, name));
    T_STR(name, "evens@3");
    expect(s, "evens@3", is_odd);
    fact(s, "evens@2", "pliant_latest", "evens@3");
    MPI_Comm_free(&all);
    MPI_Group_free(&odds);
    MPI_Group_free(&world);
}

// A sum over two levels is the sum over all.
static void two_levels(MPI_Session s, const char *prefix, int n_leader)
{
    MPI_Comm local, leaders;
    int mine = rank + 1, part = 0, sum = 0, n;
    T_MPI(MPIX_Comm_create_sparse(s, prefix, "sparse", MPI_INFO_NULL, MPI_ERRORS_RETURN, &local,
                                  &leaders));
    T_MPI(MPI_Reduce(&mine, &part, 1, MPI_INT, MPI_SUM, 0, local));
    if (leaders != MPI_COMM_NULL) {
        T_MPI(MPI_Allreduce(&part, &sum, 1, MPI_INT, MPI_SUM, leaders));
        MPI_Comm_size(leaders, &n);
        T_EQ(n, n_leader);
        MPI_Comm_free(&leaders);
    }
    T_MPI(MPI_Bcast(&sum, 1, MPI_INT, 0, local));
    T_EQ(sum, size * (size + 1) / 2);
    MPI_Comm_free(&local);
}

static void sparse(MPI_Session s)
{
    MPI_Comm local, leaders;
    two_levels(s, NULL, h_count);
    T_MPI(MPIX_Pset_union(s, "evens", "evens", "part/even"));
    T_MPI(MPIX_Pset_difference(s, "mpi://WORLD", "evens", "part/odd"));
    two_levels(s, "part/", size > 1 ? 2 : 1);
    T_REFUSED(MPIX_Comm_create_sparse(s, "nopart/", "t", MPI_INFO_NULL, MPI_ERRORS_RETURN, &local,
                                      &leaders),
              MPI_ERR_ARG, "none of the 0");
    if (rank == 0) {
        T_MPI(MPIX_Pset_union(s, "pair", "evens", "part/more"));
        T_REFUSED(MPIX_Comm_create_sparse(s, "part/", "t", MPI_INFO_NULL, MPI_ERRORS_RETURN, &local,
                                          &leaders),
                  MPI_ERR_ARG, "not disjoint");
    }
}

// Whether all processes have one table of sets.
static int is_one_table(MPI_Comm all)
{
    MPI_Comm here;
    int n;
    T_MPI(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    MPI_Comm_size(here, &n);
    MPI_Comm_free(&here);
    return n == size;
}

// A set that all have freed is gone, at other hosts a little later; its name stays at its number in
// those who were shown it.
static void freed(MPI_Session s)
{
    MPI_Group g;
    char name[MPI_MAX_PSET_NAME_LEN];
    int n, more;
    T_MPI(MPIX_Pset_union(s, "mpi://WORLD", "mpi://WORLD", "short life"));
    T_EQ(is_listed(s, "short life"), 1);
    MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n);
    MPI_Comm all = s_comm(s, "short life", "freed"); // all have made it
    snprintf(name, sizeof name, "own %d", rank);
    T_MPI(MPIX_Pset_from_group(s, MPI_GROUP_EMPTY, name));
    snprintf(name, sizeof name, "own %d", (rank + 1) % size);
    T_MPI(MPIX_Pset_wait(s, name)); // hosts know of each other's
    MPI_Barrier(all);
    snprintf(name, sizeof name, "own %d", rank);
    T_MPI(MPIX_Pset_free(s, name));
    T_MPI(MPIX_Pset_free(s, "short life"));
    while (MPI_Group_from_session_pset(s, "short life", &g) == MPI_SUCCESS) {
        MPI_Group_free(&g);
    }
    T_REFUSED(MPI_Group_from_session_pset(s, "short life", &g), MPI_ERR_ARG, "was freed");
    T_REFUSED(MPIX_Pset_free(s, "short life"), MPI_ERR_ARG, "no process set");
    MPI_Barrier(all);
    T_EQ(is_listed(s, "short life"), 1);
    MPI_Session_get_num_psets(s, MPI_INFO_NULL, &more);
    T_EQ(more, n);
    s_check(all, 5);
    if (is_one_table(all)) {
        T_MPI(MPIX_Pset_from_group(s, MPI_GROUP_EMPTY, "short life")); // another one
        T_MPI(MPIX_Pset_free(s, "short life"));
    }
    for (int i = 0; i < 40000 / size; i++) { // more than the table has room for
        snprintf(name, sizeof name, "passing %d %d", rank, i);
        T_MUST(MPIX_Pset_union(s, "evens", "pair", name) == MPI_SUCCESS);
        T_MUST(MPIX_Pset_free(s, name) == MPI_SUCCESS);
    }
    T_REFUSED(MPIX_Pset_free(s, "evens"), MPI_ERR_ARG, "no program has made it");
    T_REFUSED(MPIX_Pset_free(s, "mpi://app/0"), MPI_ERR_ARG, "no program has made it");
    MPI_Comm_free(&all);
}

int main(void)
{
    MPI_Session s = s_open();
    s_world(s, &rank, &size);
    MPI_Comm all = s_comm(s, "mpi://WORLD", "hosts");
    h_find(all);
    MPI_Comm_free(&all);
    launched(s);
    made(s);
    freed(s);
    published(s);
    if (size > 1) {
        versions(s);
    }
    sparse(s);
    T_MPI(MPI_Session_finalize(&s));
    return t_status();
}
