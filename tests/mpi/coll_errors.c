// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments are refused with the right class and harm nothing; ranks that disagree about a
// size are told, and nobody hangs.
#include "coll_t.h"

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

#define FAILS(call, class) T_EQ(class_of(call), class)

#define DONE(call)                                                                                 \
    do {                                                                                           \
        T_EQ(call, MPI_SUCCESS);                                                                   \
        T_EQ(MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_SUCCESS);                                        \
    } while (0)

// No element can be reduced by any operator: programs probe so.
static void reduce_nothing(MPI_Comm c)
{
    float a[1], b[1];
    int none[64] = { 0 };
    MPI_Request q;
    T_EQ(MPI_Allreduce(a, b, 0, MPI_FLOAT, MPI_BAND, c), MPI_SUCCESS);
    T_EQ(MPI_Reduce(a, b, 0, MPI_FLOAT, MPI_BAND, 0, c), MPI_SUCCESS);
    T_EQ(MPI_Scan(a, b, 0, MPI_FLOAT, MPI_BAND, c), MPI_SUCCESS);
    T_EQ(MPI_Exscan(a, b, 0, MPI_FLOAT, MPI_BAND, c), MPI_SUCCESS);
    T_EQ(MPI_Reduce_scatter(a, b, none, MPI_FLOAT, MPI_BAND, c), MPI_SUCCESS);
    T_EQ(MPI_Reduce_scatter_block(a, b, 0, MPI_FLOAT, MPI_BAND, c), MPI_SUCCESS);
    T_EQ(MPI_Reduce_local(a, b, 0, MPI_FLOAT, MPI_BAND), MPI_SUCCESS);
    DONE(MPI_Iallreduce(a, b, 0, MPI_FLOAT, MPI_BAND, c, &q));
    DONE(MPI_Ireduce(a, b, 0, MPI_FLOAT, MPI_BAND, 0, c, &q));
    DONE(MPI_Iscan(a, b, 0, MPI_FLOAT, MPI_BAND, c, &q));
    DONE(MPI_Iexscan(a, b, 0, MPI_FLOAT, MPI_BAND, c, &q));
    DONE(MPI_Ireduce_scatter(a, b, none, MPI_FLOAT, MPI_BAND, c, &q));
    DONE(MPI_Ireduce_scatter_block(a, b, 0, MPI_FLOAT, MPI_BAND, c, &q));
    T_EQ(MPI_Allreduce_init(a, b, 0, MPI_FLOAT, MPI_BAND, c, MPI_INFO_NULL, &q), MPI_SUCCESS);
    DONE(MPI_Start(&q));
    MPI_Request_free(&q);
}

// Two layouts with holes in one array that do not overlap: even elements leave, odd ones come.
static void even_to_odd(MPI_Comm c)
{
    MPI_Datatype even, odd;
    int v[128], one = 1, at = 1;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &even);
    MPI_Type_indexed(1, &one, &at, MPI_INT, &odd);
    MPI_Type_create_resized(odd, 0, 2 * sizeof(int), &odd);
    MPI_Type_commit(&even);
    MPI_Type_commit(&odd);
    for (int i = 0; i < n; i++) {
        v[2 * i] = 100 * me + i;
    }
    GOOD(MPI_Alltoall(v, 1, even, v, 1, odd, c));
    for (int i = 0; i < n; i++) {
        T_EQ(v[2 * i], 100 * me + i);
        T_EQ(v[2 * i + 1], 100 * i + me);
    }
    MPI_Type_free(&even);
    MPI_Type_free(&odd);
}

static void arguments(void)
{
    MPI_Comm c = MPI_COMM_WORLD;
    int a[64] = { 0 }, b[64], counts[64], displs[64];
    MPI_Request q;
    for (int i = 0; i < n; i++) {
        counts[i] = 1;
        displs[i] = i;
    }
    FAILS(MPI_Bcast(a, -1, MPI_INT, 0, c), MPI_ERR_COUNT);
    FAILS(MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, c), MPI_ERR_TYPE);
    FAILS(MPI_Bcast(a, 1, MPI_INT, n, c), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(a, 1, MPI_INT, -1, c), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(a, 1, MPI_INT, MPI_ROOT, c), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(NULL, 1, MPI_INT, 0, c), MPI_ERR_BUFFER);
    FAILS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, c), MPI_ERR_BUFFER);
    FAILS(MPI_Ibcast(a, -1, MPI_INT, 0, c, &q), MPI_ERR_COUNT);
    FAILS(MPI_Bcast_init(a, -1, MPI_INT, 0, c, MPI_INFO_NULL, &q), MPI_ERR_COUNT);
    FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_BAND, c), MPI_ERR_OP);
    FAILS(MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, c), MPI_ERR_OP);
    reduce_nothing(c);
    FAILS(MPI_Reduce_local(a, b, 1, MPI_FLOAT, MPI_BAND), MPI_ERR_OP);
    FAILS(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, c), MPI_ERR_BUFFER);
    FAILS(MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, c), MPI_ERR_BUFFER);
    FAILS(MPI_Allreduce(a, b, -3, MPI_INT, MPI_SUM, c), MPI_ERR_COUNT);
    FAILS(MPI_Allgather(a, 1, MPI_INT, a, 1, MPI_INT, c), MPI_ERR_BUFFER);
    FAILS(MPI_Allgather(a + me, 1, MPI_INT, a, 1, MPI_INT, c), MPI_ERR_BUFFER);
    FAILS(MPI_Allgatherv(a + me, 1, MPI_INT, a, counts, displs, MPI_INT, c), MPI_ERR_BUFFER);
    FAILS(MPI_Ialltoall(a, 1, MPI_INT, a, 1, MPI_INT, c, &q), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoallv(a, counts, displs, MPI_INT, a, counts, displs, MPI_INT, c), MPI_ERR_BUFFER);
    if (me == 0) {
        FAILS(MPI_Scatter(a, 1, MPI_INT, a, 1, MPI_INT, 0, c), MPI_ERR_BUFFER);
        FAILS(MPI_Scatterv(a, counts, displs, MPI_INT, a, 1, MPI_INT, 0, c), MPI_ERR_BUFFER);
        FAILS(MPI_Gatherv(a, 1, MPI_INT, a, counts, displs, MPI_INT, 0, c), MPI_ERR_BUFFER);
    }
    FAILS(MPI_Reduce_local(a, a, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    even_to_odd(c);
    FAILS(MPI_Allgather(a, 1, MPI_INT, b, -1, MPI_INT, c), MPI_ERR_COUNT);
    FAILS(MPI_Alltoallv(a, NULL, displs, MPI_INT, b, counts, displs, MPI_INT, c), MPI_ERR_ARG);
    counts[n - 1] = -1;
    FAILS(MPI_Alltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, c), MPI_ERR_COUNT);
    FAILS(MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, c), MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, c), MPI_ERR_TOPOLOGY);
    MPI_Datatype raw;
    MPI_Type_contiguous(2, MPI_INT, &raw);
    FAILS(MPI_Bcast(a, 1, raw, 0, c), MPI_ERR_TYPE);
    MPI_Type_free(&raw);
    // Nothing of it has disturbed the communicator.
    int x = 1, sum = 0;
    GOOD(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, c));
    T_EQ(sum, n);
}

// Forms in which each rank knows its own sizes only, and scans. Rank 0 expects `mine` of the other,
// who expects what it has.
static void counts_disagree(int *a, int *b, int mine, int theirs)
{
    MPI_Comm c = MPI_COMM_WORLD;
    int len = me == 0 ? mine : theirs;
    int counts[2] = { len, mine }, displs[2] = { 0, len };
    int code = MPI_Gatherv(a, len, MPI_INT, b, counts, displs, MPI_INT, 0, c);
    T_EQ(class_of(code), me == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    GOOD(MPI_Barrier(c));
    counts[0] = counts[1] = mine;
    displs[1] = mine;
    code = MPI_Scatterv(a, counts, displs, MPI_INT, b, len, MPI_INT, 0, c);
    T_EQ(class_of(code), me == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    GOOD(MPI_Barrier(c));
    if (mine < 4000 && theirs < 4000) { // both take the same algorithm
        code = MPI_Scatter(a, mine, MPI_INT, b, len, MPI_INT, 0, c);
        T_EQ(class_of(code), me == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
        GOOD(MPI_Barrier(c));
    }
    counts[0] = counts[1] = len;
    displs[1] = len;
    code = MPI_Alltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, c);
    T_EQ(class_of(code), MPI_ERR_TRUNCATE);
    GOOD(MPI_Barrier(c));
    int sum = 0, one = 1;
    if (mine + theirs < 2000) { // both take the same algorithm
        code = MPI_Scan(a, b, len, MPI_INT, MPI_SUM, c);
        T_EQ(class_of(code), me == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    }
    GOOD(MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, c));
    T_EQ(sum, me + 1);
}

// Also where one amount goes another way than the other; what follows is whole.
static void bcast_disagrees(int mine, int theirs)
{
    MPI_Comm c = MPI_COMM_WORLD;
    int *a = fresh((size_t)(mine + theirs));
    int code = MPI_Bcast(a, me == 0 ? mine : theirs, MPI_INT, 0, c);
    T_EQ(class_of(code), me == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    for (int root = 0; root < n; root++) {
        a[0] = me == root ? root + 7 : -1;
        a[mine + theirs - 1] = a[0];
        GOOD(MPI_Bcast(a, mine + theirs, MPI_INT, root, c));
        T_EQ(a[0], root + 7);
        T_EQ(a[mine + theirs - 1], root + 7);
    }
    free(a);
}

// Rank 0 gives one amount, the others another.
static void disagree(int mine, int theirs, int round)
{
    MPI_Comm c = MPI_COMM_WORLD;
    int len = me == 0 ? mine : theirs;
    int *a = fresh((size_t)(mine + theirs) * (size_t)n),
        *b = fresh((size_t)(mine + theirs) * (size_t)n);
    int code = MPI_Bcast(a, len, MPI_INT, 0, c);
    T_EQ(class_of(code), me == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    GOOD(MPI_Barrier(c));
    if (round == 1) { // all members meet, so all are told
        T_EQ(class_of(MPI_Allreduce(a, b, len, MPI_INT, MPI_SUM, c)), MPI_ERR_TRUNCATE);
        GOOD(MPI_Barrier(c));
    }
    MPI_Request q;
    code = MPI_Ibcast(a, len, MPI_INT, 0, c, &q);
    T_EQ(code, MPI_SUCCESS);
    code = MPI_Wait(&q, MPI_STATUS_IGNORE);
    T_OK(me == 0 || class_of(code) == MPI_ERR_TRUNCATE);
    GOOD(MPI_Barrier(c));
    code = MPI_Gather(a, len, MPI_INT, b, mine, MPI_INT, 0, c);
    T_EQ(class_of(code), me == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    GOOD(MPI_Barrier(c));
    counts_disagree(a, b, mine, theirs);
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    arguments();
    if (n == 2) {
        for (int i = 0; i < 3; i++) {
            GOOD(MPI_Barrier(MPI_COMM_WORLD)); // from now on there is a board
        }
        disagree(4, 2, 1);
        disagree(2, 4, 1);
        disagree(1000, 10, 1);
        disagree(3, 5000, 1);
        disagree(100000, 99999, 1);
    }
    bcast_disagrees(100000, 10);
    bcast_disagrees(10, 100000);
    bcast_disagrees(100000, 99999);
    bcast_disagrees(99999, 100000);
    MPI_Finalize();
    return t_status();
}
