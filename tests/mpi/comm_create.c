// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_create and MPI_Comm_create_group: random and disjoint groups, orders, outsiders, tags
// from several threads at once, groups that do not fit.
#include "comm.h"

#include <pthread.h>

enum { ROUNDS = 30, N_THREAD = 4 };

// A random selection of ranks in random order; the same everywhere.
static int choose(unsigned seed, int out[])
{
    int n = 0;
    unsigned s = seed;
    for (int i = 0; i < world_size; i++) {
        if (c_random(&s) % 3 != 0) {
            out[n++] = i;
        }
    }
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(c_random(&s) % (unsigned)(i + 1)), t = out[i];
        out[i] = out[j];
        out[j] = t;
    }
    return n;
}

static int is_in(const int list[], int n)
{
    for (int i = 0; i < n; i++) {
        if (list[i] == world_rank) {
            return 1;
        }
    }
    return 0;
}

static MPI_Group group_of(const int list[], int n)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, list, &group);
    MPI_Group_free(&world);
    return group;
}

static void free_group(MPI_Group *g)
{
    if (*g != MPI_GROUP_EMPTY) {
        MPI_Group_free(g);
    }
}

static void random_groups(void)
{
    int list[64];
    for (unsigned round = 0; round < ROUNDS; round++) {
        int n = choose(round * 31 + 7, list);
        MPI_Group g = group_of(list, n);
        MPI_Comm c;
        T_MPI(MPI_Comm_create(MPI_COMM_WORLD, g, &c));
        if (is_in(list, n)) {
            c_intra(c, list, n);
            MPI_Comm_free(&c);
        }
        T_OK(c == MPI_COMM_NULL);
        if (is_in(list, n)) {
            T_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, g, (int)round, &c));
            c_intra(c, list, n);
            MPI_Comm_free(&c);
        }
        free_group(&g);
    }
}

// Every process names its own of several disjoint groups in one call. [MPI-2.2 and later]
static void disjoint(void)
{
    int list[64], n = 0;
    for (int i = world_rank % 3; i < world_size; i += 3) {
        list[n++] = i;
    }
    MPI_Group g = group_of(list, n);
    MPI_Comm c;
    T_MPI(MPI_Comm_create(MPI_COMM_WORLD, g, &c));
    c_intra(c, list, n);
    MPI_Comm_free(&c);
    free_group(&g);
}

// Threads of every process make communicators of the same group, told apart by tags alone.
static void *in_thread(void *arg)
{
    int tag = (int)(intptr_t)arg, all[64], got = -1, rank;
    MPI_Comm c;
    for (int i = 0; i < world_size; i++) {
        all[i] = (i + tag) % world_size; // a leader of its own
    }
    for (int round = 0; round < 10; round++) {
        MPI_Group g = group_of(all, world_size);
        T_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, g, tag, &c));
        T_MPI(MPI_Comm_rank(c, &rank));
        int mine = tag * 1000 + round;
        T_MPI(MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % world_size, 0, &got, 1, MPI_INT,
                           (rank + world_size - 1) % world_size, 0, c, MPI_STATUS_IGNORE));
        T_EQ(got, mine);
        T_MPI(MPI_Comm_free(&c));
        free_group(&g);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t t[N_THREAD];
    for (int i = 0; i < N_THREAD; i++) {
        T_MUST(pthread_create(&t[i], NULL, in_thread, (void *)(intptr_t)(i + 1)) == 0);
    }
    for (int i = 0; i < N_THREAD; i++) {
        pthread_join(t[i], NULL);
    }
}

// Groups that overlap in one process each, made in a chain without a deadlock.
static void overlapping(void)
{
    MPI_Comm c;
    for (int first = 0; first + 1 < world_size; first++) {
        int pair[2] = { first, first + 1 };
        if (is_in(pair, 2)) {
            MPI_Group g = group_of(pair, 2);
            T_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, g, 9, &c));
            c_intra(c, pair, 2);
            MPI_Comm_free(&c);
            free_group(&g);
        }
    }
}

static void errors(void)
{
    MPI_Comm half, c = MPI_COMM_NULL;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0, 0, &half);
    if (world_size > 1) {
        T_REFUSED(MPI_Comm_create(half, world, &c), MPI_ERR_GROUP, "does not belong to");
        T_REFUSED(MPI_Comm_create_group(half, world, 0, &c), MPI_ERR_GROUP, "does not belong to");
    }
    T_REFUSED(MPI_Comm_create_group(MPI_COMM_WORLD, world, -1, &c), MPI_ERR_TAG, "tag");
    T_REFUSED(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &c), MPI_ERR_GROUP, "MPI_GROUP_NULL");
    T_OK(c == MPI_COMM_NULL);
    T_MPI(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &c));
    T_OK(c == MPI_COMM_NULL);
    MPI_Group_free(&world);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    T_EQ(provided, MPI_THREAD_MULTIPLE);
    random_groups();
    disjoint();
    threads();
    overlapping();
    errors();
    return t_end();
}
