// SPDX-License-Identifier: BSD-3-Clause
// Groups of a million: regular ones cost a few words and no time, irregular ones milliseconds.
#include "obj/group.h"
#include "obj/group_index.h"
#include "obj/group_pick.h"
#include "obj/group_sets.h"
#include "t.h"

#include <mpi.h>
#include <time.h>

enum { N = 1000000 };

static double last_ms;

// Processor time of this thread: others on the machine must not count.
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// Note how long `call` took; it must succeed.
#define TIMED(what, call)                                                                          \
    do {                                                                                           \
        double t_from = now_ms();                                                                  \
        T_MUST((call) == PLI_OK);                                                                  \
        last_ms = now_ms() - t_from;                                                               \
        printf("%-44s %9.4f ms\n", what, last_ms);                                                 \
        T_OK(last_ms < 2000);                                                                      \
    } while (0)

static struct pli_group *world, *evens, *odds, *grid, *mixed, *mixed2;
static int *ranks, *found;

static void make_regular(void)
{
    struct pli_group *r;
    struct pli_group_run run = { .first = { 7ull << 32, 0 }, .proc_step = 1, .n = N };
    TIMED("create world", pli_group_create_run(run, NULL, &world));
    T_EQ(world->n_run, 1);
    TIMED("range_incl evens",
          pli_group_pick_range_incl(world, 1, (int[][3]){ { 0, N - 1, 2 } }, &evens));
    T_EQ(evens->n_run, 1);
    T_EQ(evens->size, N / 2);
    TIMED("difference world - evens", pli_group_sets_difference(world, evens, &odds));
    T_EQ(odds->n_run, 1);
    TIMED("intersection evens, world", pli_group_sets_intersection(evens, world, &r));
    T_EQ(r->size, N / 2);
    pli_group_release(r);
    TIMED("union evens, odds", pli_group_sets_union(evens, odds, &r));
    T_EQ(r->n_run, 2);
    int relation;
    TIMED("compare (evens, odds) with world", pli_group_sets_compare(r, world, &relation));
    T_EQ(relation, MPI_SIMILAR);
    pli_group_release(r);
    TIMED("excl one rank", pli_group_pick_excl(world, 1, (int[]){ N / 2 }, &r));
    T_EQ(r->n_run, 2);
    pli_group_release(r);
}

// Columns of a 1000 x 1000 grid, one after the other: a thousand interleaved runs.
static void make_grid(void)
{
    int(*range)[3] = malloc(1000 * sizeof *range);
    struct pli_group *r;
    int relation;
    for (int c = 0; c < 1000; c++) {
        range[c][0] = c;
        range[c][1] = N - 1;
        range[c][2] = 1000;
    }
    TIMED("range_incl transpose (1000 ranges)",
          pli_group_pick_range_incl(world, 1000, range, &grid));
    T_EQ(grid->n_run, 1000);
    TIMED("compare transpose with world", pli_group_sets_compare(grid, world, &relation));
    T_EQ(relation, MPI_SIMILAR);
    TIMED("intersection transpose, evens", pli_group_sets_intersection(grid, evens, &r));
    T_EQ(r->size, N / 2);
    pli_group_release(r);
    TIMED("translate 10^6 ranks world -> transpose",
          pli_group_translate_ranks(world, N, ranks, grid, found));
    for (int i = 0; i < N; i++) {
        T_MUST(found[i] == i % 1000 * 1000 + i / 1000);
    }
    free(range);
}

static void make_mixed(void)
{
    uint64_t seed = 1;
    int *order = malloc(N * sizeof *order);
    struct pli_group *r;
    int relation;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++) {
            order[i] = i;
        }
        for (int i = N - 1; i > 0; i--) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int j = (int)((seed >> 33) % (uint64_t)(i + 1)), swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        TIMED("incl random order", pli_group_pick_incl(world, N, order, k == 0 ? &mixed : &mixed2));
    }
    TIMED("compare random with another random", pli_group_sets_compare(mixed, mixed2, &relation));
    T_EQ(relation, MPI_SIMILAR);
    TIMED("intersection random, world", pli_group_sets_intersection(mixed, world, &r));
    T_EQ(r->size, N);
    pli_group_release(r);
    TIMED("difference world - random", pli_group_sets_difference(world, mixed, &r));
    T_EQ(r->size, 0);
    TIMED("union random, evens", pli_group_sets_union(mixed, evens, &r));
    T_EQ(r->size, N);
    pli_group_release(r);
    TIMED("translate 10^6 ranks world -> random",
          pli_group_translate_ranks(world, N, ranks, mixed2, found));
    for (int i = 0; i < N; i++) {
        T_MUST(found[order[i]] == i);
    }
    free(order);
}

int main(void)
{
    ranks = malloc(N * sizeof *ranks);
    found = malloc(N * sizeof *found);
    for (int i = 0; i < N; i++) {
        ranks[i] = i;
    }
    make_regular();
    TIMED("translate 10^6 ranks world -> evens",
          pli_group_translate_ranks(world, N, ranks, evens, found));
    T_EQ(found[10], 5);
    T_EQ(found[11], MPI_UNDEFINED);
    make_grid();
    make_mixed();
    T_OK(sizeof *world <= 192); // a world of any size
    pli_group_release(world);
    pli_group_release(evens);
    pli_group_release(odds);
    pli_group_release(grid);
    pli_group_release(mixed);
    pli_group_release(mixed2);
    T_EQ(pli_handle_live(PLI_KIND_GROUP), 0);
    free(ranks);
    free(found);
    return t_status();
}
