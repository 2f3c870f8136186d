// SPDX-License-Identifier: BSD-3-Clause
// Operations of the test program that go on while the program does something else: nonblocking,
// persistent and neighborhood collectives, and communicators made without the whole parent.
#include "world.h"
#include <stdlib.h>
#include <string.h>

enum { N_OPEN = 12, BIG = 40000 };

static int me, n;

static int sum_below(int k)
{
    return k * (k - 1) / 2;
}

// Many at once, finished in another order than they were begun, with blocking ones in between.
static void many_open(MPI_Comm comm)
{
    int in[N_OPEN], out[N_OPEN], total = 0;
    MPI_Request req[N_OPEN];
    for (int i = 0; i < N_OPEN; i++) {
        in[i] = i % n == me ? 1000 + i : -1;
        out[i] = -1;
        if (i % 3 == 0) {
            MPI_Ibcast(&in[i], 1, MPI_INT, i % n, comm, &req[i]);
        } else if (i % 3 == 1) {
            in[i] = me + i;
            MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, i % 2 == 0 ? MPI_SUM : MPI_MAX, comm,
                           &req[i]);
        } else {
            MPI_Ibarrier(comm, &req[i]);
        }
        if (i % 5 == 4) {
            MPI_Allreduce(&i, &total, 1, MPI_INT, MPI_SUM, comm);
            CHECK(total == n * i);
        }
    }
    for (int i = N_OPEN - 1; i >= N_OPEN / 2; i--) {
        MPI_Wait(&req[i], MPI_STATUS_IGNORE);
        CHECK(req[i] == MPI_REQUEST_NULL);
    }
    MPI_Waitall(N_OPEN / 2, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N_OPEN; i++) {
        CHECK(i % 3 != 0 || in[i] == 1000 + i);
        CHECK(i % 3 != 1 || out[i] == (i % 2 == 0 ? sum_below(n) + n * i : n - 1 + i));
    }
}

static void check_test(MPI_Request *req)
{
    int flag = 0;
    while (flag == 0) {
        MPI_Test(req, &flag, MPI_STATUS_IGNORE);
    }
    CHECK(*req == MPI_REQUEST_NULL);
}

static void moves(MPI_Comm comm, int root)
{
    int *all = malloc((size_t)(n * n + n) * sizeof *all), v[2] = { me, me + 7 },
        got[2] = { -1, -1 };
    int *counts = malloc(2 * (size_t)n * sizeof *counts), *displs = counts + n;
    int *mine = malloc((size_t)(n * n) * sizeof *mine);
    MPI_Request req;
    memset(all, 0, (size_t)(n * n + n) * sizeof *all);
    MPI_Igather(v, 2, MPI_INT, all, 2, MPI_INT, root, comm, &req);
    check_test(&req);
    for (int i = 0; i < n && me == root; i++) {
        CHECK(all[2 * i] == i && all[2 * i + 1] == i + 7);
        all[2 * i] += 50;
    }
    MPI_Iscatter(all, 2, MPI_INT, got, 2, MPI_INT, root, comm, &req);
    check_test(&req);
    CHECK(got[0] == me + 50 && got[1] == me + 7);
    for (int i = 0; i < n; i++) { // rank i has i + 1, backwards in memory
        counts[i] = i + 1;
        displs[i] = (n - i - 1) * n;
        mine[i] = me * 3;
    }
    MPI_Igatherv(mine, me + 1, MPI_INT, all, counts, displs, MPI_INT, root, comm, &req);
    check_test(&req);
    for (int i = 0; i < n && me == root; i++) {
        CHECK(all[displs[i]] == 3 * i && all[displs[i] + i] == 3 * i);
    }
    mine[0] = mine[me] = -1;
    MPI_Iscatterv(all, counts, displs, MPI_INT, mine, me + 1, MPI_INT, root, comm, &req);
    check_test(&req);
    CHECK(mine[0] == 3 * me && mine[me] == 3 * me);
    MPI_Iallgatherv(mine, me + 1, MPI_INT, all, counts, displs, MPI_INT, comm, &req);
    check_test(&req);
    for (int i = 0; i < n; i++) {
        CHECK(all[displs[i]] == 3 * i && all[displs[i] + i] == 3 * i);
    }
    MPI_Iallgather(&me, 1, MPI_INT, all, 1, MPI_INT, comm, &req);
    check_test(&req);
    for (int i = 0; i < n; i++) {
        CHECK(all[i] == i);
        mine[i] = me * 100 + i;
        counts[i] = 1;
        displs[i] = n - 1 - i;
    }
    MPI_Ialltoall(mine, 1, MPI_INT, all, 1, MPI_INT, comm, &req);
    check_test(&req);
    for (int i = 0; i < n; i++) {
        CHECK(all[i] == i * 100 + me);
    }
    MPI_Ialltoallv(mine, counts, displs, MPI_INT, all, counts, displs, MPI_INT, comm, &req);
    check_test(&req);
    for (int i = 0; i < n; i++) {
        CHECK(all[displs[i]] == i * 100 + (n - 1 - me));
    }
    MPI_Datatype *types = malloc((size_t)n * sizeof *types);
    for (int i = 0; i < n; i++) {
        types[i] = MPI_INT;
        displs[i] = i * (int)sizeof(int);
    }
    MPI_Ialltoallw(mine, counts, displs, types, all, counts, displs, types, comm, &req);
    check_test(&req);
    for (int i = 0; i < n; i++) {
        CHECK(all[i] == i * 100 + me);
    }
    free(types);
    free(counts);
    free(all);
    free(mine);
}

// Not commutative: (a, b) are linear functions, one after another.
static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *len; i++, a += 2, b += 2) {
        b[1] = (b[0] * a[1] + b[1]) % 9973;
        b[0] = b[0] * a[0] % 9973;
    }
}

static void reductions(MPI_Comm comm)
{
    int *in = malloc((size_t)n * sizeof *in), *counts = malloc((size_t)n * sizeof *counts);
    int got = -1, out[2] = { -1, -1 }, v[2] = { me + 2, me }, want[2] = { 1, 0 };
    MPI_Request req;
    for (int i = 0; i < n; i++) {
        in[i] = me + i;
        counts[i] = 1;
    }
    MPI_Ireduce(&me, &got, 1, MPI_INT, MPI_SUM, n - 1, comm, &req);
    check_test(&req);
    CHECK(me != n - 1 || got == sum_below(n));
    MPI_Ireduce_scatter(in, &got, counts, MPI_INT, MPI_SUM, comm, &req);
    check_test(&req);
    CHECK(got == sum_below(n) + n * me);
    MPI_Ireduce_scatter_block(in, &got, 1, MPI_INT, MPI_SUM, comm, &req);
    check_test(&req);
    CHECK(got == sum_below(n) + n * me);
    MPI_Iscan(&me, &got, 1, MPI_INT, MPI_SUM, comm, &req);
    check_test(&req);
    CHECK(got == sum_below(me + 1));
    got = -5;
    MPI_Iexscan(&me, &got, 1, MPI_INT, MPI_SUM, comm, &req);
    check_test(&req);
    CHECK(got == (me == 0 ? -5 : sum_below(me)));
    got = me;
    MPI_Iallreduce(MPI_IN_PLACE, &got, 1, MPI_INT, MPI_SUM, comm, &req);
    check_test(&req);
    CHECK(got == sum_below(n));
    // with a type and an operation that the program frees at once
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    MPI_Iallreduce(v, out, 1, pair, op, comm, &req);
    MPI_Type_free(&pair);
    MPI_Op_free(&op);
    CHECK(pair == MPI_DATATYPE_NULL && op == MPI_OP_NULL);
    check_test(&req);
    for (int i = 0; i < n; i++) {
        int next[2] = { i + 2, i };
        compose(want, next, &(int){ 1 }, NULL);
        memcpy(want, next, sizeof want);
    }
    CHECK(out[0] == want[0] && out[1] == want[1]);
    // without data
    MPI_Iallreduce(&me, &got, 0, MPI_INT, MPI_SUM, comm, &req);
    check_test(&req);
    MPI_Allreduce(&me, &got, 0, MPI_INT, MPI_SUM, comm);
    got = me == 0 ? 5 : -1;
    MPI_Bcast(&got, 1, MPI_INT, 0, comm);
    CHECK(got == 5);
    free(in);
    free(counts);
}

// Long data, while messages of the program's own go on.
static void long_ones(MPI_Comm comm)
{
    int *a = malloc(BIG * sizeof *a), *b = malloc(BIG * sizeof *b), got = -1, flag = 0;
    MPI_Request req[3];
    for (int i = 0; i < BIG; i++) {
        a[i] = me == n - 1 ? i : 0;
        b[i] = -1;
    }
    MPI_Ibcast(a, BIG, MPI_INT, n - 1, comm, &req[0]);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, &req[1]);
    MPI_Isend(&me, 1, MPI_INT, (me + 1) % n, 5, comm, &req[2]);
    while (flag == 0) {
        MPI_Testall(3, req, &flag, MPI_STATUSES_IGNORE);
    }
    CHECK(got == (me + n - 1) % n);
    MPI_Iallreduce(a, b, BIG, MPI_INT, MPI_SUM, comm, &req[0]);
    MPI_Wait(&req[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < BIG; i++) {
        CHECK(a[i] == i && b[i] == n * i);
    }
    free(a);
    free(b);
}

// A ring, in which rank r has the neighbours r - 1 and r + 1.
static void along_ring(MPI_Comm ring)
{
    int before = (me + n - 1) % n, next = (me + 1) % n, out[2] = { me * 10, me * 10 + 1 };
    int in[2] = { -1, -1 }, one[2] = { 1, 1 }, at[2] = { 1, 0 };
    MPI_Request req;
    MPI_Neighbor_allgather(&me, 1, MPI_INT, in, 1, MPI_INT, ring);
    CHECK(in[0] == before && in[1] == next);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
    CHECK(in[0] == before * 10 + 1 && in[1] == next * 10);
    MPI_Ineighbor_allgatherv(&me, 1, MPI_INT, in, one, at, MPI_INT, ring, &req);
    check_test(&req);
    CHECK(in[1] == before && in[0] == next);
    MPI_Ineighbor_alltoallv(out, one, at, MPI_INT, in, one, at, MPI_INT, ring, &req);
    check_test(&req);
    CHECK(in[1] == before * 10 && in[0] == next * 10 + 1);
    MPI_Aint bytes[2] = { sizeof(int), 0 };
    MPI_Datatype types[2] = { MPI_INT, MPI_INT };
    MPI_Neighbor_alltoallw(out, one, bytes, types, in, one, bytes, types, ring);
    CHECK(in[1] == before * 10 && in[0] == next * 10 + 1);
}

static void along_edges(MPI_Comm comm)
{
    MPI_Comm ring, graph;
    int dims[1] = { n }, periods[1] = { 1 }, in_n, out_n, weighted, status;
    int before = (me + n - 1) % n, next = (me + 1) % n;
    MPI_Cart_create(comm, 1, dims, periods, 0, &ring);
    if (n > 2) { // two edges to one process: not every MPI tells them apart
        along_ring(ring);
    }
    MPI_Comm_free(&ring);
    periods[0] = 0;
    MPI_Cart_create(comm, 1, dims, periods, 0, &ring);
    int in[2] = { -7, -7 };
    MPI_Neighbor_allgather(&me, 1, MPI_INT, in, 1, MPI_INT, ring);
    CHECK(in[0] == (me == 0 ? -7 : me - 1) && in[1] == (me == n - 1 ? -7 : me + 1));
    MPI_Comm_free(&ring);
    int peers[2] = { before, next }, weights[2] = { 3, 4 }, w_in[2], w_out[2], to[2], from[2];
    MPI_Dist_graph_create_adjacent(comm, 2, peers, weights, 2, peers, weights, MPI_INFO_NULL, 1,
                                   &graph);
    MPI_Topo_test(graph, &status);
    CHECK(status == MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(graph, &in_n, &out_n, &weighted);
    CHECK(in_n == 2 && out_n == 2 && weighted != 0);
    MPI_Dist_graph_neighbors(graph, 2, from, w_in, 2, to, w_out);
    CHECK(from[0] == before && to[1] == next && w_in[0] == 3 && w_out[1] == 4);
    if (n > 2) {
        int got[2] = { -1, -1 };
        MPI_Neighbor_allgather(&me, 1, MPI_INT, got, 1, MPI_INT, graph);
        CHECK(got[0] == before && got[1] == next);
    }
    MPI_Comm_free(&graph);
    // every rank names the edge of its neighbour: from me + 1 to me + 2
    int source = next, degree = 1, destination = (me + 2) % n, got = -1;
    MPI_Dist_graph_create(comm, 1, &source, &degree, &destination, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                          &graph);
    MPI_Dist_graph_neighbors_count(graph, &in_n, &out_n, &weighted);
    CHECK(in_n == 1 && out_n == 1 && weighted == 0);
    MPI_Neighbor_allgather(&me, 1, MPI_INT, &got, 1, MPI_INT, graph);
    CHECK(got == before);
    MPI_Comm_free(&graph);
}

// Copies that are made at the same time, and communicators of some ranks without the others.
static void new_comms(MPI_Comm comm)
{
    MPI_Comm copy[3], some, alone;
    MPI_Request req[3];
    MPI_Group whole, part;
    int result, sum = -1, v, size;
    for (int i = 0; i < 3; i++) {
        MPI_Comm_idup(comm, &copy[i], &req[i]);
    }
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == sum_below(n));
    MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
    for (int i = 2; i >= 0; i--) {
        MPI_Comm_compare(comm, copy[i], &result);
        CHECK(result == MPI_CONGRUENT);
        v = me + i;
        MPI_Allreduce(&v, &sum, 1, MPI_INT, MPI_MAX, copy[i]);
        CHECK(sum == n - 1 + i);
        MPI_Sendrecv(&v, 1, MPI_INT, (me + 1) % n, 4, &sum, 1, MPI_INT, (me + n - 1) % n, 4,
                     copy[i], MPI_STATUS_IGNORE);
        CHECK(sum == (me + n - 1) % n + i);
    }
    // odd ranks alone, backwards; then all but rank 0, out of a copy; then one by itself
    MPI_Comm_group(copy[1], &whole);
    int *rank = malloc((size_t)n * sizeof *rank), k = 0, order;
    for (int i = n - 1; i >= 0; i--) {
        if (i % 2 == 1) {
            rank[k++] = i;
        }
    }
    MPI_Group_incl(whole, k, rank, &part);
    if (me % 2 == 1) {
        MPI_Comm_create_group(copy[1], part, 17, &some);
        MPI_Comm_rank(some, &order);
        MPI_Comm_size(some, &size);
        CHECK(size == k && rank[order] == me);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, some);
        CHECK(sum == (n / 2) * (n / 2));
        MPI_Comm_free(&some);
    }
    MPI_Group_free(&part);
    MPI_Group_excl(whole, 1, (int[]){ 0 }, &part);
    if (me != 0) {
        MPI_Comm_create_group(copy[2], part, 3, &some);
        MPI_Request one;
        MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, some, &one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
        CHECK(sum == sum_below(n));
        MPI_Comm_free(&some);
    }
    MPI_Group_free(&part);
    MPI_Group_incl(whole, 1, &me, &part);
    MPI_Comm_create_group(comm, part, 0, &alone);
    MPI_Comm_size(alone, &size);
    CHECK(size == 1);
    MPI_Comm_free(&alone);
    MPI_Group_free(&part);
    MPI_Group_free(&whole);
    free(rank);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_free(&copy[i]);
    }
}

// Between even and odd ranks.
static void across(void)
{
    MPI_Comm half, both, copy[2];
    MPI_Request req[4];
    int side = me % 2, remote, sum = -1, got = -1, v = me, theirs;
    if (n < 3) {
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, side, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 77, &both);
    MPI_Comm_remote_size(both, &remote);
    int *all = calloc((size_t)remote + 1, sizeof *all),
        *mine = calloc((size_t)remote + 1, sizeof *mine);
    int *in = calloc((size_t)remote + 1, sizeof *in);
    for (int i = 0; i < remote; i++) {
        mine[i] = me * 100 + i;
    }
    MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, both, &req[0]);
    MPI_Iallgather(&me, 1, MPI_INT, all, 1, MPI_INT, both, &req[1]);
    MPI_Ibcast(&v, 1, MPI_INT, side == 0 ? (me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, both, &req[2]);
    MPI_Ialltoall(mine, 1, MPI_INT, in, 1, MPI_INT, both, &req[3]);
    MPI_Barrier(both);
    MPI_Waitall(4, req, MPI_STATUSES_IGNORE);
    theirs = remote * (1 - side) + remote * (remote - 1);
    CHECK(sum == theirs && v == (side == 0 ? me : 0));
    for (int i = 0; i < remote; i++) {
        CHECK(all[i] == 2 * i + 1 - side && in[i] == (2 * i + 1 - side) * 100 + me / 2);
    }
    MPI_Ireduce(&me, &got, 1, MPI_INT, MPI_SUM,
                side == 1 ? (me == 1 ? MPI_ROOT : MPI_PROC_NULL) : 0, both, &req[0]);
    MPI_Ibarrier(both, &req[1]);
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    CHECK(me != 1 || got == theirs);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_idup(both, &copy[i], &req[i]);
    }
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_remote_size(copy[i], &got);
        CHECK(got == remote);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, copy[i]);
        CHECK(sum == theirs);
        MPI_Comm_free(&copy[i]);
    }
    free(all);
    free(mine);
    free(in);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

// Both neighbours at once, by two requests.
static void by_two(int next, int before)
{
    int v = me, got = -1;
    MPI_Request req;
    for (int tag = 5; tag < 7; tag++) {
        MPI_Isend(&v, 1, MPI_INT, next, tag, MPI_COMM_WORLD, &req);
        MPI_Recv(&got, 1, MPI_INT, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        CHECK(got == before);
    }
}

// The same by one request. Not every MPI has it, and MPICH 4.0.2 by itself leaves its status empty,
// and fails with MPI_PROC_NULL.
#if MPI_VERSION >= 4
static void both_ways(int next, int before)
{
    int v = me, got = -1, count = 0;
    MPI_Status st;
    MPI_Request req;
    if (!world_is_joined()) {
        by_two(next, before);
        return;
    }
    MPI_Isendrecv(&v, 1, MPI_INT, next, 5, &got, 1, MPI_INT, before, 5, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, &st);
    CHECK(got == before && st.MPI_SOURCE == before && st.MPI_TAG == 5);
    MPI_Get_count(&st, MPI_INT, &count);
    CHECK(count == 1);
    MPI_Isendrecv_replace(&v, 1, MPI_INT, next, 6, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, &st);
    CHECK(v == before && st.MPI_SOURCE == before);
    MPI_Isendrecv(&v, 1, MPI_INT, MPI_PROC_NULL, 5, &got, 1, MPI_INT, MPI_PROC_NULL, 5,
                  MPI_COMM_WORLD, &req);
    MPI_Wait(&req, &st);
    CHECK(st.MPI_SOURCE == MPI_PROC_NULL);
}
#else
static void both_ways(int next, int before)
{
    by_two(next, before);
}
#endif

void world_later(int rank, int size)
{
    MPI_Comm back;
    me = rank;
    n = size;
    many_open(MPI_COMM_WORLD);
    moves(MPI_COMM_WORLD, 0);
    moves(MPI_COMM_WORLD, n - 1);
    reductions(MPI_COMM_WORLD);
    long_ones(MPI_COMM_WORLD);
    along_edges(MPI_COMM_WORLD);
    new_comms(MPI_COMM_WORLD);
    across();
    both_ways((me + 1) % n, (me + n - 1) % n);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back); // clients mixed, ranks turned round
    me = n - 1 - rank;
    many_open(back);
    moves(back, n / 2);
    reductions(back);
    along_edges(back);
    MPI_Comm_free(&back);
}

// Persistent collectives, which not every MPI has.
void world_persistent_coll(int rank, int size)
{
#if MPI_VERSION >= 4
    int v = 0, sum = 0, all[64] = { 0 };
    MPI_Request req[3];
    me = rank;
    n = size;
    MPI_Bcast_init(&v, 1, MPI_INT, n - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &req[0]);
    MPI_Allreduce_init(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &req[1]);
    MPI_Allgather_init(&me, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &req[2]);
    for (int i = 0; i < 5; i++) {
        v = me == n - 1 ? i : -1;
        sum = -1;
        memset(all, 0, sizeof all);
        if (me % 2 == 0) { // in any order
            MPI_Startall(3, req);
        } else {
            MPI_Start(&req[2]);
            MPI_Start(&req[0]);
            MPI_Start(&req[1]);
        }
        MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
        CHECK(v == i && sum == sum_below(n) && all[n - 1] == n - 1);
        CHECK(req[0] != MPI_REQUEST_NULL);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Request_free(&req[i]);
    }
#else
    (void)rank;
    (void)size;
#endif
}
