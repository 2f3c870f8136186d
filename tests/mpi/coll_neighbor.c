// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood collectives on grids, with edges open and closed and dimensions of size 1 and 2, and
// on graphs with several edges between two processes; blocks of other lengths in every call, of
// which some do not fit in shared memory; a block that is longer than its receiver expects.
#include "coll_t.h"

enum { LEN = 6 };

// What process `from` sends along its out-edge k, as one number.
static int along(int from, int k)
{
    return from * 1000 + k * 10 + 1;
}

// A neighborhood in which what comes in as block k is known: from whom, and which of its edges.
struct known {
    MPI_Comm comm;
    int n_in, n_out;
    int from[64], edge[64]; // MPI_PROC_NULL: nothing comes
};

static void expect(const char *what, const struct known *w, const int *got, int len, int is_gather)
{
    for (int k = 0; k < w->n_in; k++) {
        int want =
            w->from[k] == MPI_PROC_NULL ? HOLE : along(w->from[k], is_gather ? 0 : w->edge[k]);
        for (int i = 0; i < len; i++) {
            if (got[k * len + i] != want) {
                fprintf(stderr, "rank %d: %s: block %d is %d, expected %d\n", me, what, k,
                        got[k * len + i], want);
                t_failed++;
                return;
            }
        }
    }
}

static void run(int form, const struct known *w)
{
    int out[64 * LEN], in[64 * LEN], counts[64], displs[64];
    MPI_Aint bytes[64];
    MPI_Datatype types[64];
    for (int k = 0; k < 64; k++) {
        counts[k] = LEN;
        displs[k] = k * LEN;
        bytes[k] = (MPI_Aint)(k * LEN * (int)sizeof(int));
        types[k] = MPI_INT;
        for (int i = 0; i < LEN; i++) {
            out[k * LEN + i] = along(me, k);
        }
    }
    for (int pass = 0; pass < 5; pass++) {
        for (int i = 0; i < 64 * LEN; i++) {
            in[i] = HOLE;
        }
        switch (pass) {
        case 0:
            COLL(form, 2, Neighbor_allgather, Ineighbor_allgather, out, LEN, MPI_INT, in, LEN,
                 MPI_INT, w->comm);
            break;
        case 1:
            COLL(form, 2, Neighbor_allgatherv, Ineighbor_allgatherv, out, LEN, MPI_INT, in, counts,
                 displs, MPI_INT, w->comm);
            break;
        case 2:
            COLL(form, 2, Neighbor_alltoall, Ineighbor_alltoall, out, LEN, MPI_INT, in, LEN,
                 MPI_INT, w->comm);
            break;
        case 3:
            COLL(form, 2, Neighbor_alltoallv, Ineighbor_alltoallv, out, counts, displs, MPI_INT, in,
                 counts, displs, MPI_INT, w->comm);
            break;
        default:
            COLL(form, 2, Neighbor_alltoallw, Ineighbor_alltoallw, out, counts, bytes, types, in,
                 counts, bytes, types, w->comm);
        }
        expect(pass < 2 ? "neighbor_allgather" : "neighbor_alltoall", w, in, LEN, pass < 2);
    }
}

// What comes from the lower neighbour was sent by it upwards, and the other way round.
static void grid(int form, int n_dim, const int *dims, const int *periods)
{
    struct known w;
    GOOD(MPI_Cart_create(MPI_COMM_WORLD, n_dim, dims, periods, 0, &w.comm));
    if (w.comm == MPI_COMM_NULL) {
        return;
    }
    w.n_in = w.n_out = 2 * n_dim;
    for (int d = 0; d < n_dim; d++) {
        int low, high;
        GOOD(MPI_Cart_shift(w.comm, d, 1, &low, &high));
        w.from[2 * d] = low;
        w.edge[2 * d] = 2 * d + 1;
        w.from[2 * d + 1] = high;
        w.edge[2 * d + 1] = 2 * d;
    }
    run(form, &w);
    GOOD(MPI_Comm_free(&w.comm));
}

// Two edges to the next process, one to myself, one to the process before.
static void make_graph(struct known *made)
{
    struct known w;
    int next = (me + 1) % n, before = (me - 1 + n) % n;
    int to[4] = { next, me, next, before }, from[4] = { before, before, me, next };
    GOOD(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, from, MPI_UNWEIGHTED, 4, to,
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &w.comm));
    w.n_in = w.n_out = 4;
    for (int k = 0; k < 4; k++) {
        // Edges between the same two processes match in order: mine from a process is its first
        // edge to me that no earlier edge of mine has taken.
        int order = 0,
            their_to[4] = { (from[k] + 1) % n, from[k], (from[k] + 1) % n, (from[k] - 1 + n) % n };
        for (int i = 0; i < k; i++) {
            order += from[i] == from[k];
        }
        w.from[k] = from[k];
        w.edge[k] = -1;
        for (int e = 0; e < 4; e++) {
            if (their_to[e] == me && order-- == 0) {
                w.edge[k] = e;
            }
        }
    }
    *made = w;
}

static void graph(int form)
{
    struct known w;
    make_graph(&w);
    run(form, &w);
    GOOD(MPI_Comm_free(&w.comm));
}

enum { MOST = 3000, ROUNDS = 60 };

static int length(int from, int edge, int round)
{
    static const int lengths[] = { 0, 1, 7, 5, 300, 12, MOST };
    return lengths[(from * 7 + edge * 3 + round * 5 + round / 7) % 7];
}

// One call; every second has room for its ints at every second place.
static void run_lengths(const struct known *w, int round, int is_gather)
{
    static int out[4 * MOST], in[4 * 2 * MOST];
    int n_out[4], at_out[4], n_in[4], at_in[4], stride = 1 + round % 2;
    MPI_Datatype wide;
    GOOD(MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(stride * (int)sizeof(int)), &wide));
    GOOD(MPI_Type_commit(&wide));
    for (int k = 0; k < 4; k++) {
        n_out[k] = length(me, is_gather ? 0 : k, round);
        at_out[k] = k * MOST;
        n_in[k] = length(w->from[k], is_gather ? 0 : w->edge[k], round);
        at_in[k] = k * MOST; // in units of the type
        for (int i = 0; i < MOST; i++) {
            out[k * MOST + i] = along(me, k) + i;
        }
    }
    for (int i = 0; i < 4 * 2 * MOST; i++) {
        in[i] = HOLE;
    }
    if (is_gather) {
        GOOD(MPI_Neighbor_allgatherv(out, n_out[0], MPI_INT, in, n_in, at_in, wide, w->comm));
    } else {
        GOOD(MPI_Neighbor_alltoallv(out, n_out, at_out, MPI_INT, in, n_in, at_in, wide, w->comm));
    }
    for (int k = 0; k < 4; k++) {
        int first = along(w->from[k], is_gather ? 0 : w->edge[k]), n_bad = 0;
        for (int i = 0; i < MOST * stride; i++) {
            bool is_there = i % stride == 0 && i / stride < n_in[k];
            n_bad += in[k * MOST * stride + i] != (is_there ? first + i / stride : HOLE);
        }
        T_EQ(n_bad, 0);
    }
    GOOD(MPI_Type_free(&wide));
}

static void graph_lengths(void)
{
    struct known w;
    make_graph(&w);
    for (int round = 0; round < ROUNDS; round++) {
        run_lengths(&w, round, round % 3 == 0);
    }
    GOOD(MPI_Comm_free(&w.comm));
}

// Rank 0 sends more than the others expect: they are told, it is not, and later calls work.
static void too_long(void)
{
    struct known w;
    int out[4 * LEN] = { 0 }, in[4 * LEN], class;
    make_graph(&w);
    GOOD(MPI_Comm_set_errhandler(w.comm, MPI_ERRORS_RETURN));
    for (int round = 0; round < 40; round++) {
        bool is_bad = round % 10 == 9;
        int rc = MPI_Neighbor_alltoall(out, is_bad && me == 0 ? LEN : 1, MPI_INT, in, 1, MPI_INT,
                                       w.comm);
        bool is_hit = is_bad && (me == 0 || w.from[0] == 0 || w.from[3] == 0);
        MPI_Error_class(rc, &class);
        T_EQ(class, is_hit ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    }
    GOOD(MPI_Comm_free(&w.comm));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int form = 0; form < N_FORM; form++) {
        grid(form, 1, (int[]){ n }, (int[]){ 1 });
        grid(form, 1, (int[]){ n }, (int[]){ 0 });
        if (n % 2 == 0) {
            grid(form, 2, (int[]){ 2, n / 2 }, (int[]){ 1, 0 });
            grid(form, 3, (int[]){ 1, n / 2, 2 }, (int[]){ 1, 1, 1 });
        }
        graph(form);
    }
    graph_lengths();
    too_long();
    MPI_Finalize();
    return t_status();
}
