// SPDX-License-Identifier: BSD-3-Clause
// Exposures and accesses of any groups, several windows at once, members that come late, and
// nothing else that synchronises them.
#include "t.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { N_ROUND = 48, LATE_US = 150000, N_KIND = 3, N_RANK = 8 };

static int me, n;

// What a member exposes: a place for each origin, and a number that they read.
struct window {
    MPI_Win win;
    long *mem;
    MPI_Aint base[N_RANK]; // of each member, where displacements are addresses
};

static void open_window(struct window *w, int kind, MPI_Comm comm)
{
    MPI_Aint size = (n + 1) * (MPI_Aint)sizeof(long), at = 0;
    memset(w->base, 0, sizeof w->base);
    if (kind == 0) {
        MPI_Win_allocate(size, 1, MPI_INFO_NULL, comm, &w->mem, &w->win);
        return;
    }
    w->mem = malloc((size_t)size);
    if (kind == 1) {
        MPI_Win_create(w->mem, size, 1, MPI_INFO_NULL, comm, &w->win);
        return;
    }
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w->win);
    MPI_Win_attach(w->win, w->mem, size);
    MPI_Get_address(w->mem, &at);
    MPI_Allgather(&at, 1, MPI_AINT, w->base, 1, MPI_AINT, comm);
}

static void close_window(struct window *w, int kind)
{
    MPI_Win_free(&w->win);
    if (kind != 0) {
        free(w->mem);
    }
}

// Whether a member accesses another one in a round: all see the same.
static bool does_access(int round, int window, int origin, int target)
{
    uint32_t x = (uint32_t)(round * 7919 + window * 104729 + origin * 1299709 + target * 15485863);
    x = (x ^ x >> 15) * 2654435761u;
    return round % 8 == 0 || (x >> 13) % 3 != 0;
}

static MPI_Group group_of(int round, int window, bool is_origins)
{
    MPI_Group all, group;
    int ranks[N_RANK + 1], k = 0;
    for (int i = n - 1; i >= 0; i--) {
        bool is =
            is_origins ? does_access(round, window, i, me) : does_access(round, window, me, i);
        ranks[k] = i;
        k += is;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, k, ranks, &group);
    MPI_Group_free(&all);
    return group;
}

// One member comes so late that the others go to sleep.
static void be_late(int round, int when)
{
    if (round % 16 == when && (round / 16) % n == me) {
        usleep(LATE_US);
    }
}

static void post(struct window *w, int round, int i, int assert)
{
    MPI_Group origins = group_of(round, i, true);
    for (int k = 0; k < n; k++) {
        w->mem[k] = -1;
    }
    w->mem[n] = round * 1000L + me;
    be_late(round, i == 0 ? 5 : 8);
    T_EQ(MPI_Win_post(origins, assert, w->win), 0);
    MPI_Group_free(&origins);
}

static void start(const struct window *w, int round, int i, int assert)
{
    MPI_Group targets = group_of(round, i, false);
    T_EQ(MPI_Win_start(targets, assert, w->win), 0);
    MPI_Group_free(&targets);
}

static void access_and_complete(const struct window *w, int round, int i)
{
    long mine = round * 1000L + me, got[N_RANK] = { 0 };
    for (int t = 0; t < n; t++) {
        if (does_access(round, i, me, t)) {
            MPI_Aint at = w->base[t];
            MPI_Put(&mine, 1, MPI_LONG, t, at + me * (MPI_Aint)sizeof mine, 1, MPI_LONG, w->win);
            MPI_Get(&got[t], 1, MPI_LONG, t, at + n * (MPI_Aint)sizeof mine, 1, MPI_LONG, w->win);
        }
    }
    be_late(round, i == 0 ? 11 : 14);
    T_EQ(MPI_Win_complete(w->win), 0);
    for (int t = 0; t < n; t++) {
        T_EQ(got[t], does_access(round, i, me, t) ? round * 1000L + t : 0);
    }
}

static void wait_and_check(const struct window *w, int round, int i)
{
    if (round % 3 == 0) {
        for (int flag = 0; !flag;) {
            T_EQ(MPI_Win_test(w->win, &flag), 0);
        }
    } else {
        T_EQ(MPI_Win_wait(w->win), 0);
    }
    for (int o = 0; o < n; o++) {
        T_EQ(w->mem[o], does_access(round, i, o, me) ? round * 1000L + o : -1);
    }
}

// Two windows at once. Now and then nobody tells of exposures.
static void check_groups(int first, int second)
{
    struct window w[2];
    open_window(&w[0], first, MPI_COMM_WORLD);
    open_window(&w[1], second, MPI_COMM_WORLD);
    for (int round = 0; round < N_ROUND; round++) {
        int assert = round % 7 == 6 ? MPI_MODE_NOCHECK : 0;
        post(&w[0], round, 0, assert);
        post(&w[1], round, 1, assert);
        if (assert != 0) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        start(&w[1], round, 1, assert);
        start(&w[0], round, 0, assert);
        access_and_complete(&w[0], round, 0);
        wait_and_check(&w[0], round, 0);
        access_and_complete(&w[1], round, 1);
        wait_and_check(&w[1], round, 1);
    }
    close_window(&w[0], first);
    close_window(&w[1], second);
}

// Each pair for itself: exposures follow each other as fast as they can. The target adds one to
// what the origin wrote.
static void check_rounds(int kind)
{
    struct window w;
    MPI_Comm pair;
    MPI_Group all, other;
    int partner = me ^ 1;
    MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &pair);
    int size = n;
    MPI_Comm_size(pair, &n);
    open_window(&w, kind, pair);
    if (n == 2) {
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 1, &partner, &other);
        long value = 0;
        w.mem[0] = 0;
        for (int i = 0; i < 400; i++) {
            if (i % 2 == me % 2) {
                MPI_Win_start(other, 0, w.win);
                MPI_Put(&value, 1, MPI_LONG, 1 - me % 2, w.base[1 - me % 2], 1, MPI_LONG, w.win);
                T_EQ(MPI_Win_complete(w.win), 0);
            } else {
                MPI_Win_post(other, 0, w.win);
                T_EQ(MPI_Win_wait(w.win), 0);
                T_EQ(w.mem[0], i);
                value = w.mem[0] + 1;
            }
        }
        MPI_Group_free(&other);
        MPI_Group_free(&all);
    }
    close_window(&w, kind);
    n = size;
    MPI_Comm_free(&pair);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int kind = 0; kind < N_KIND; kind++) {
        check_groups(kind, (kind + 1) % N_KIND);
        check_rounds(kind);
    }
    MPI_Finalize();
    return t_status();
}
