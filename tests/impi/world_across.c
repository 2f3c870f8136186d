// SPDX-License-Identifier: BSD-3-Clause
// Collectives of the test program between the even and the odd ranks of the world.
#include "world.h"
#include <stdlib.h>

static int me, side, rank, size, remote; // side: of mine, 0 even; remote: size of the other group

static int of_world(int r) // a rank of the other group
{
    return 2 * r + 1 - side;
}

static int sum_of_theirs(void)
{
    int sum = 0;
    for (int r = 0; r < remote; r++) {
        sum += of_world(r);
    }
    return sum;
}

// The root argument for the rank `root` of the group `from`.
static int root_arg(int from, int root)
{
    return side != from ? root : rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void rooted(MPI_Comm inter, int from, int root, int *all, int *counts, int *displs)
{
    int r = root_arg(from, root), v[2] = { me, -me }, got[2] = { -1, -1 };
    int root_world = 2 * root + from;
    MPI_Bcast(r == MPI_ROOT ? v : got, 2, MPI_INT, r, inter);
    CHECK(side == from || (got[0] == root_world && got[1] == -root_world));
    MPI_Gather(v, 2, MPI_INT, all, 2, MPI_INT, r, inter);
    for (int i = 0; i < remote && r == MPI_ROOT; i++) {
        CHECK(all[2 * i] == of_world(i) && all[2 * i + 1] == -of_world(i));
        all[2 * i] += 100;
    }
    MPI_Scatter(all, 2, MPI_INT, got, 2, MPI_INT, r, inter);
    CHECK(side == from || (got[0] == me + 100 && got[1] == -me));
    got[0] = 0;
    MPI_Reduce(&me, got, 1, MPI_INT, MPI_SUM, r, inter);
    CHECK(r != MPI_ROOT || got[0] == sum_of_theirs());
    for (int i = 0; i < remote; i++) { // rank i of a group has i + 1 of them, backwards in memory
        counts[i] = i + 1;
        displs[i] = (remote - i - 1) * (remote + 1);
    }
    int *mine = malloc((size_t)(rank + 1) * sizeof *mine);
    for (int i = 0; i <= rank; i++) {
        mine[i] = me;
    }
    MPI_Gatherv(mine, rank + 1, MPI_INT, all, counts, displs, MPI_INT, r, inter);
    for (int i = 0; i < remote && r == MPI_ROOT; i++) {
        CHECK(all[displs[i]] == of_world(i) && all[displs[i] + i] == of_world(i));
    }
    mine[0] = mine[rank] = -1;
    MPI_Scatterv(all, counts, displs, MPI_INT, mine, rank + 1, MPI_INT, r, inter);
    CHECK(side == from || (mine[0] == me && mine[rank] == me));
    free(mine);
}

static void everybody(MPI_Comm inter, int *all, int *counts, int *displs)
{
    int got = -1, v[2] = { me, me + 1 };
    MPI_Allreduce(&me, &got, 1, MPI_INT, MPI_SUM, inter);
    CHECK(got == sum_of_theirs());
    MPI_Allgather(v, 2, MPI_INT, all, 2, MPI_INT, inter);
    for (int i = 0; i < remote; i++) {
        CHECK(all[2 * i] == of_world(i) && all[2 * i + 1] == of_world(i) + 1);
    }
    for (int i = 0; i < remote; i++) {
        counts[i] = i + 1;
        displs[i] = (remote - i - 1) * (remote + 1);
    }
    int n = rank + 1 > remote ? rank + 1 : remote;
    int *mine = malloc((size_t)n * sizeof *mine);
    for (int i = 0; i < n; i++) {
        mine[i] = me;
    }
    MPI_Allgatherv(mine, rank + 1, MPI_INT, all, counts, displs, MPI_INT, inter);
    for (int i = 0; i < remote; i++) {
        CHECK(all[displs[i]] == of_world(i) && all[displs[i] + i] == of_world(i));
    }
    for (int i = 0; i < remote; i++) {
        mine[i] = me * 100 + i;
    }
    MPI_Alltoall(mine, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++) {
        CHECK(all[i] == of_world(i) * 100 + rank);
    }
    free(mine);
    // one element for every rank of both groups: each group sums as many as the other one has
    int *in = malloc((size_t)(size * remote) * sizeof *in);
    for (int i = 0; i < size * remote; i++) {
        in[i] = me + i;
    }
    MPI_Reduce_scatter_block(in, all, remote, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < remote; i++) {
        CHECK(all[i] == sum_of_theirs() + remote * (rank * remote + i));
    }
    free(in);
}

static void look_up(MPI_Comm inter)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    side = me % 2;
}

void world_across(MPI_Comm inter)
{
    look_up(inter);
    size_t room = (size_t)(remote + 2) * (size_t)(remote + 2) + 8;
    int *all = calloc(room, sizeof *all);
    int *counts = calloc((size_t)remote, sizeof *counts);
    int *displs = calloc((size_t)remote, sizeof *displs);
    MPI_Barrier(inter);
    for (int from = 0; from < 2; from++) {
        int n = side == from ? size : remote;
        for (int root = 0; root < n; root++) {
            rooted(inter, from, root, all, counts, displs);
        }
    }
    everybody(inter, all, counts, displs);
    MPI_Barrier(inter);
    free(all);
    free(counts);
    free(displs);
}

// `made` joins `n_side` members of this side, of which this process is `place`, and others whose
// ranks in the world add up to `theirs`.
static void check_made(MPI_Comm made, int place, int n_side, int n_other, int theirs)
{
    int flag, r, n, got = -1;
    CHECK(made != MPI_COMM_NULL);
    MPI_Comm_test_inter(made, &flag);
    CHECK(flag != 0);
    MPI_Comm_rank(made, &r);
    MPI_Comm_size(made, &n);
    CHECK(r == place && n == n_side);
    MPI_Comm_remote_size(made, &n);
    CHECK(n == n_other);
    MPI_Allreduce(&me, &got, 1, MPI_INT, MPI_SUM, made);
    CHECK(got == theirs);
    for (int i = 0; i < n_other; i++) {
        MPI_Sendrecv(&me, 1, MPI_INT, i, 5, &got, 1, MPI_INT, i, 5, made, MPI_STATUS_IGNORE);
        theirs -= got;
    }
    CHECK(theirs == 0);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
}

// The even ranks in turned order and the first odd one; then nobody of the odd ones.
static void create_parts(MPI_Comm inter)
{
    MPI_Group group, some;
    MPI_Comm made;
    int *turned = malloc((size_t)size * sizeof *turned);
    for (int i = 0; i < size; i++) {
        turned[i] = size - 1 - i;
    }
    MPI_Comm_group(inter, &group);
    MPI_Group_incl(group, side == 0 ? size : 1, side == 0 ? turned : (int[]){ 0 }, &some);
    MPI_Comm_create(inter, some, &made);
    if (side == 0) {
        check_made(made, size - 1 - rank, size, 1, 1);
    } else if (rank == 0) {
        check_made(made, 0, 1, remote, sum_of_theirs());
    } else {
        CHECK(made == MPI_COMM_NULL);
    }
    MPI_Group_free(&some);
    MPI_Comm_create(inter, side == 0 ? group : MPI_GROUP_EMPTY, &made);
    CHECK(made == MPI_COMM_NULL);
    MPI_Group_free(&group);
    free(turned);
}

// Each pair of ranks with the same number, but the third; the last ones come first.
static void split_parts(MPI_Comm inter)
{
    MPI_Comm made;
    int least = size < remote ? size : remote;
    MPI_Comm_split(inter, rank == 2 ? MPI_UNDEFINED : rank, 0, &made);
    if (rank == 2 || rank >= least) {
        CHECK(made == MPI_COMM_NULL);
    } else {
        check_made(made, 0, 1, 1, of_world(rank));
    }
    MPI_Comm_split(inter, 7, -rank, &made);
    check_made(made, size - 1 - rank, size, remote, sum_of_theirs());
}

void world_across_parts(MPI_Comm inter)
{
    look_up(inter);
    create_parts(inter);
    split_parts(inter);
}
