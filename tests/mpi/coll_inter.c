// SPDX-License-Identifier: BSD-3-Clause
// Collectives on intercommunicators: two groups of different sizes, every operation, both
// directions, all three forms.
#include "coll_t.h"

static MPI_Comm inter;
static int n_mine, n_theirs, side; // side 0: the first group

// A world rank of the other or of my group from a rank there.
static int world_of(int which, int rank)
{
    return which == 0 ? rank : (side == 0 ? n_mine : n_theirs) + rank;
}

// The root argument of a rooted operation from rank `root` of group `from`.
static int root_of(int from, int root)
{
    if (side != from) {
        return root;
    }
    int rank;
    MPI_Comm_rank(inter, &rank);
    return rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void test_bcast(int form, int m, int from, int root)
{
    int *b = fresh((size_t)m), *want = fresh((size_t)m);
    int r = root_of(from, root);
    if (r == MPI_ROOT) {
        put(b, &layouts[0], m, 5, from);
    }
    if (side != from || r == MPI_ROOT) {
        put(want, &layouts[0], m, 5, from);
    }
    COLL(form, 2, Bcast, Ibcast, b, m, MPI_INT, r, inter);
    same("inter bcast", b, want, (size_t)m);
    free(b);
    free(want);
}

static void test_gather_scatter(int form, int m, int from, int root)
{
    int r = root_of(from, root);
    size_t len = (size_t)m * (size_t)n_theirs;
    int *one = fresh((size_t)m), *all = fresh(len),
        *want = fresh(len > (size_t)m ? len : (size_t)m);
    put(one, &layouts[0], m, me, from);
    for (int i = 0; i < n_theirs && r == MPI_ROOT; i++) {
        put(want + (size_t)i * (size_t)m, &layouts[0], m, world_of(1 - side, i), from);
    }
    COLL(form, 2, Gather, Igather, one, m, MPI_INT, all, m, MPI_INT, r, inter);
    same("inter gather", all, want, len);
    // Back again.
    int *back = fresh((size_t)m);
    COLL(form, 2, Scatter, Iscatter, all, m, MPI_INT, back, m, MPI_INT, r, inter);
    for (int k = 0; k < m; k++) {
        T_EQ(back[k], side == from ? HOLE : one[k]);
    }
    free(one);
    free(all);
    free(want);
    free(back);
}

static void test_all(int form, int m)
{
    size_t len = (size_t)m * (size_t)n_theirs;
    int *s = fresh(len), *r = fresh(len), *want = fresh(len);
    put(s, &layouts[0], m, me, 1);
    for (int i = 0; i < n_theirs; i++) {
        put(want + (size_t)i * (size_t)m, &layouts[0], m, world_of(1 - side, i), 1);
    }
    COLL(form, 2, Allgather, Iallgather, s, m, MPI_INT, r, m, MPI_INT, inter);
    same("inter allgather", r, want, len);
    int counts[64], displs[64];
    for (int i = 0; i < n_theirs; i++) {
        counts[i] = m;
        displs[i] = i * m;
        put(s + (size_t)i * (size_t)m, &layouts[0], m, me, world_of(1 - side, i));
        put(want + (size_t)i * (size_t)m, &layouts[0], m, world_of(1 - side, i), me);
    }
    memset(r, 0, len * sizeof *r);
    COLL(form, 2, Alltoall, Ialltoall, s, m, MPI_INT, r, m, MPI_INT, inter);
    same("inter alltoall", r, want, len);
    memset(r, 0, len * sizeof *r);
    COLL(form, 2, Alltoallv, Ialltoallv, s, counts, displs, MPI_INT, r, counts, displs, MPI_INT,
         inter);
    same("inter alltoallv", r, want, len);
    COLL(form, 2, Barrier, Ibarrier, inter);
    free(s);
    free(r);
    free(want);
}

static void join_all(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    unsigned *x = in, *y = inout; // pairs (a, b): x -> a x + b, one after the other
    for (int i = 0; i < *len; i++) {
        unsigned a = x[2 * i] * y[2 * i], b = x[2 * i + 1] * y[2 * i] + y[2 * i + 1];
        y[2 * i] = a;
        y[2 * i + 1] = b;
    }
}

// What a whole group makes, in the order of its ranks.
static void joined(int which, int n_group, int k, unsigned out[2])
{
    out[0] = 1;
    out[1] = 0;
    for (int i = 0; i < n_group; i++) {
        unsigned next[2] = { (unsigned)world_of(which, i) + 2, (unsigned)k + 1 };
        int one = 1;
        unsigned left[2] = { out[0], out[1] };
        join_all(left, next, &one, NULL);
        out[0] = next[0];
        out[1] = next[1];
    }
}

static void test_reductions(int form, int m, int from, int root, MPI_Op op, MPI_Datatype pair)
{
    // A length that both groups can divide.
    int len = m * n_mine * n_theirs;
    unsigned *s = malloc(sizeof *s * 2 * (size_t)len + 8),
             *r = malloc(sizeof *r * 2 * (size_t)len + 8);
    for (int k = 0; k < len; k++) {
        s[2 * k] = (unsigned)me + 2;
        s[2 * k + 1] = (unsigned)k + 1;
    }
    unsigned want[2];
    COLL(form, 2, Allreduce, Iallreduce, s, r, len, pair, op, inter);
    for (int k = 0; k < len; k++) {
        joined(1 - side, n_theirs, k, want);
        T_OK(r[2 * k] == want[0] && r[2 * k + 1] == want[1]);
    }
    int root_arg = root_of(from, root);
    COLL(form, 2, Reduce, Ireduce, s, r, len, pair, op, root_arg, inter);
    for (int k = 0; k < len && root_arg == MPI_ROOT; k++) {
        joined(1 - side, n_theirs, k, want);
        T_OK(r[2 * k] == want[0] && r[2 * k + 1] == want[1]);
    }
    int rank, counts[64];
    MPI_Comm_rank(inter, &rank);
    COLL(form, 2, Reduce_scatter_block, Ireduce_scatter_block, s, r, len / n_mine, pair, op, inter);
    for (int k = 0; k < len / n_mine; k++) {
        joined(1 - side, n_theirs, rank * (len / n_mine) + k, want);
        T_OK(r[2 * k] == want[0] && r[2 * k + 1] == want[1]);
    }
    for (int i = 0; i < n_mine; i++) {
        counts[i] = i == 0 ? len : 0; // all to the first
    }
    COLL(form, 2, Reduce_scatter, Ireduce_scatter, s, r, counts, pair, op, inter);
    for (int k = 0; k < len && rank == 0; k++) {
        joined(1 - side, n_theirs, k, want);
        T_OK(r[2 * k] == want[0] && r[2 * k + 1] == want[1]);
    }
    free(s);
    free(r);
}

static void refusals(void)
{
    int a = 0, b = 0, class = -1;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Scan(&a, &b, 1, MPI_INT, MPI_SUM, inter), &class);
    T_EQ(class, MPI_ERR_COMM);
    MPI_Error_class(MPI_Allreduce(MPI_IN_PLACE, &b, 1, MPI_INT, MPI_SUM, inter), &class);
    T_EQ(class, MPI_ERR_BUFFER);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 1, 9, 700, 9000 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    make_layouts();
    T_MUST(n >= 2);
    int cut = (n + 1) / 3 > 0 ? (n + 1) / 3 : 1; // the first group is the smaller one
    side = me < cut ? 0 : 1;
    MPI_Comm local;
    GOOD(MPI_Comm_split(MPI_COMM_WORLD, side, me, &local));
    GOOD(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side == 0 ? cut : 0, 3, &inter));
    MPI_Comm_size(inter, &n_mine);
    MPI_Comm_remote_size(inter, &n_theirs);
    MPI_Op op;
    MPI_Datatype pair;
    GOOD(MPI_Op_create(join_all, 0, &op));
    GOOD(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair));
    GOOD(MPI_Type_commit(&pair));
    for (int i = 0; i < 5; i++) {
        for (int form = 0; form < N_FORM; form++) {
            int from = (i + form) % 2,
                root = from == side ? (i + form) % n_mine : (i + form) % n_theirs;
            test_bcast(form, sizes[i], from, root);
            test_gather_scatter(form, sizes[i], from, root);
            test_all(form, sizes[i]);
            if (sizes[i] < 1000) {
                test_reductions(form, sizes[i] % 100, from, root, op, pair);
            }
        }
    }
    refusals();
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    free_layouts();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    MPI_Finalize();
    return t_status();
}
