// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move data, against what every rank can work out by itself: sizes, layouts with
// holes, roots, in place, all three forms.
#include "coll_t.h"

static void test_bcast(int form, const struct layout *l, int m, int root)
{
    size_t len = span(l, m);
    int *b = fresh(len), *want = fresh(len);
    put(want, l, m, root, 99);
    if (me == root) {
        put(b, l, m, root, 99);
    }
    COLL(form, 2, Bcast, Ibcast, b, m / l->width, l->type, root, MPI_COMM_WORLD);
    same("bcast", b, want, len);
    free(b);
    free(want);
}

static void test_gather(int form, const struct layout *sl, const struct layout *rl, int m, int root,
                        int in_place)
{
    size_t block = (size_t)(m / rl->width) * (size_t)rl->extent, len = block * (size_t)n + 8;
    int *s = fresh(span(sl, m)), *r = fresh(len), *want = fresh(len);
    put(s, sl, m, me, root);
    for (int i = 0; i < n; i++) {
        put(want + (size_t)i * block, rl, m, i, root);
    }
    if (in_place && me == root) {
        put(r + (size_t)me * block, rl, m, me, root);
    }
    const void *from = in_place && me == root ? MPI_IN_PLACE : s;
    // Arguments that do not count here are rubbish.
    MPI_Datatype rtype = me == root ? rl->type : MPI_DATATYPE_NULL;
    COLL(form, 2, Gather, Igather, from, m / sl->width, sl->type, me == root ? r : NULL,
         me == root ? m / rl->width : -5, rtype, root, MPI_COMM_WORLD);
    if (me == root) {
        same("gather", r, want, len);
    }
    free(s);
    free(r);
    free(want);
}

static void test_scatter(int form, const struct layout *sl, const struct layout *rl, int m,
                         int root, int in_place)
{
    size_t block = (size_t)(m / sl->width) * (size_t)sl->extent, len = block * (size_t)n + 8;
    int *s = fresh(len), *r = fresh(span(rl, m)), *want = fresh(span(rl, m));
    for (int i = 0; i < n; i++) {
        put(s + (size_t)i * block, sl, m, root, i);
    }
    if (!in_place || me != root) {
        put(want, rl, m, root, me);
    }
    void *to = in_place && me == root ? MPI_IN_PLACE : r;
    COLL(form, 2, Scatter, Iscatter, me == root ? s : NULL, me == root ? m / sl->width : -5,
         me == root ? sl->type : MPI_DATATYPE_NULL, to, m / rl->width, rl->type, root,
         MPI_COMM_WORLD);
    same("scatter", r, want, span(rl, m));
    free(s);
    free(r);
    free(want);
}

// Blocks of different sizes, in reverse order with gaps: rank i has m + 2i ints.
static void places(const struct layout *l, int m, int *counts, int *displs, size_t *len)
{
    int at = 1;
    for (int i = n - 1; i >= 0; i--) {
        counts[i] = (m + 2 * i) / l->width;
        displs[i] = at;
        at += counts[i] + 1;
    }
    *len = (size_t)at * (size_t)l->extent + 8;
}

static void test_gatherv(int form, const struct layout *sl, const struct layout *rl, int m,
                         int root, int in_place)
{
    int counts[64], displs[64];
    size_t len;
    places(rl, m, counts, displs, &len);
    int mine = m + 2 * me;
    int *s = fresh(span(sl, mine)), *r = fresh(len), *want = fresh(len);
    put(s, sl, mine, me, root);
    for (int i = 0; i < n; i++) {
        put(want + (size_t)displs[i] * (size_t)rl->extent, rl, m + 2 * i, i, root);
    }
    if (in_place) {
        put(r + (size_t)displs[me] * (size_t)rl->extent, rl, mine, me, root);
    }
    const void *from = in_place && me == root ? MPI_IN_PLACE : s;
    COLL(form, 2, Gatherv, Igatherv, from, mine / sl->width, sl->type, r,
         me == root ? counts : NULL, me == root ? displs : NULL, rl->type, root, MPI_COMM_WORLD);
    if (me == root) {
        same("gatherv", r, want, len);
    }
    free(s);
    free(r);
    free(want);
}

static void test_scatterv(int form, const struct layout *sl, const struct layout *rl, int m,
                          int root)
{
    int counts[64], displs[64];
    size_t len;
    places(sl, m, counts, displs, &len);
    int mine = m + 2 * me;
    int *s = fresh(len), *r = fresh(span(rl, mine)), *want = fresh(span(rl, mine));
    for (int i = 0; i < n; i++) {
        put(s + (size_t)displs[i] * (size_t)sl->extent, sl, m + 2 * i, root, i);
    }
    put(want, rl, mine, root, me);
    COLL(form, 2, Scatterv, Iscatterv, s, me == root ? counts : NULL, me == root ? displs : NULL,
         sl->type, r, mine / rl->width, rl->type, root, MPI_COMM_WORLD);
    same("scatterv", r, want, span(rl, mine));
    free(s);
    free(r);
    free(want);
}

static void test_allgather(int form, const struct layout *sl, const struct layout *rl, int m,
                           int in_place)
{
    size_t block = (size_t)(m / rl->width) * (size_t)rl->extent, len = block * (size_t)n + 8;
    int *s = fresh(span(sl, m)), *r = fresh(len), *want = fresh(len);
    put(s, sl, m, me, 7);
    for (int i = 0; i < n; i++) {
        put(want + (size_t)i * block, rl, m, i, 7);
    }
    if (in_place) {
        put(r + (size_t)me * block, rl, m, me, 7);
    }
    COLL(form, 2, Allgather, Iallgather, in_place ? MPI_IN_PLACE : (void *)s, m / sl->width,
         in_place ? MPI_DATATYPE_NULL : sl->type, r, m / rl->width, rl->type, MPI_COMM_WORLD);
    same("allgather", r, want, len);
    free(s);
    free(r);
    free(want);
}

static void test_allgatherv(int form, const struct layout *sl, const struct layout *rl, int m,
                            int in_place)
{
    int counts[64], displs[64];
    size_t len;
    places(rl, m, counts, displs, &len);
    int mine = m + 2 * me;
    int *s = fresh(span(sl, mine)), *r = fresh(len), *want = fresh(len);
    put(s, sl, mine, me, 7);
    for (int i = 0; i < n; i++) {
        put(want + (size_t)displs[i] * (size_t)rl->extent, rl, m + 2 * i, i, 7);
    }
    if (in_place) {
        put(r + (size_t)displs[me] * (size_t)rl->extent, rl, mine, me, 7);
    }
    COLL(form, 2, Allgatherv, Iallgatherv, in_place ? MPI_IN_PLACE : (void *)s, mine / sl->width,
         sl->type, r, counts, displs, rl->type, MPI_COMM_WORLD);
    same("allgatherv", r, want, len);
    free(s);
    free(r);
    free(want);
}

static void test_alltoall(int form, const struct layout *sl, const struct layout *rl, int m,
                          int in_place)
{
    size_t sblock = (size_t)(m / sl->width) * (size_t)sl->extent;
    size_t rblock = (size_t)(m / rl->width) * (size_t)rl->extent, len = rblock * (size_t)n + 8;
    int *s = fresh(sblock * (size_t)n + 8), *r = fresh(len), *want = fresh(len);
    for (int i = 0; i < n; i++) {
        put(s + (size_t)i * sblock, sl, m, me, i);
        put(want + (size_t)i * rblock, rl, m, i, me);
        if (in_place) {
            put(r + (size_t)i * rblock, rl, m, me, i);
        }
    }
    COLL(form, in_place ? 1 : 2, Alltoall, Ialltoall, in_place ? MPI_IN_PLACE : (void *)s,
         m / sl->width, sl->type, r, m / rl->width, rl->type, MPI_COMM_WORLD);
    same("alltoall", r, want, len);
    free(s);
    free(r);
    free(want);
}

// Rank i sends m + 2((i+j)%3) ints to rank j, nothing where i+j is a multiple of 4. w: bytes, and a
// layout that depends on the partner.
static int amount(int m, int i, int j)
{
    return (i + j) % 4 == 0 ? 0 : m + 2 * ((i + j) % 3);
}

static void test_alltoallv(int form, int m, int in_place, int is_w)
{
    int scount[64], sdispl[64], rcount[64], rdispl[64];
    MPI_Datatype stype[64], rtype[64];
    const struct layout *sl[64], *rl[64];
    int at_s = 0, at_r = 0;
    for (int i = 0; i < n; i++) {
        sl[i] = &layouts[is_w ? (me + i) % 3 : 1];
        rl[i] = &layouts[is_w ? (me + i + (in_place ? 0 : 1)) % 3 : 2];
        stype[i] = sl[i]->type;
        rtype[i] = rl[i]->type;
        scount[i] = amount(m, me, i) / sl[i]->width;
        rcount[i] = amount(m, i, me) / rl[i]->width;
        sdispl[i] = is_w ? at_s * 4 : at_s / sl[i]->extent;
        rdispl[i] = is_w ? at_r * 4 : at_r / rl[i]->extent;
        at_s += (scount[i] + 1) * sl[i]->extent;
        at_r += (rcount[i] + 1) * rl[i]->extent;
    }
    size_t len = (size_t)at_r + 8;
    int *s = fresh((size_t)at_s + 8), *r = fresh(len), *want = fresh(len);
    for (int i = 0; i < n; i++) {
        put(s + (is_w ? sdispl[i] / 4 : sdispl[i] * sl[i]->extent), sl[i], amount(m, me, i), me, i);
        int at = is_w ? rdispl[i] / 4 : rdispl[i] * rl[i]->extent;
        put(want + at, rl[i], amount(m, i, me), i, me);
        if (in_place) {
            put(r + at, rl[i], amount(m, i, me), me, i);
        }
    }
    const void *from = in_place ? MPI_IN_PLACE : (void *)s;
    if (is_w) {
        COLL(form, in_place ? 1 : 2, Alltoallw, Ialltoallw, from, scount, sdispl, stype, r, rcount,
             rdispl, rtype, MPI_COMM_WORLD);
    } else {
        COLL(form, in_place ? 1 : 2, Alltoallv, Ialltoallv, from, scount, sdispl, stype[0], r,
             rcount, rdispl, rtype[0], MPI_COMM_WORLD);
    }
    same(is_w ? "alltoallw" : "alltoallv", r, want, len);
    free(s);
    free(r);
    free(want);
}

// The large-count forms: the same with wide arguments.
static void test_large(int m)
{
    MPI_Count counts[64];
    MPI_Aint displs[64];
    int *s = fresh((size_t)m), *r = fresh((size_t)m * (size_t)n),
        *want = fresh((size_t)m * (size_t)n);
    put(s, &layouts[0], m, me, 3);
    for (int i = 0; i < n; i++) {
        counts[i] = m;
        displs[i] = (MPI_Aint)i * m;
        put(want + (size_t)i * (size_t)m, &layouts[0], m, i, 3);
    }
    GOOD(MPI_Allgatherv_c(s, m, MPI_INT, r, counts, displs, MPI_INT, MPI_COMM_WORLD));
    same("allgatherv_c", r, want, (size_t)m * (size_t)n);
    for (int i = 0; i < m; i++) {
        s[i] = me == n - 1 ? i : -1;
    }
    GOOD(MPI_Bcast_c(s, m, MPI_INT, n - 1, MPI_COMM_WORLD));
    for (int i = 0; i < m; i++) {
        T_EQ(s[i], i);
    }
    free(s);
    free(r);
    free(want);
}

static void all_of(int form, int m, int step)
{
    const struct layout *sl = &layouts[step % 3], *rl = &layouts[(step / 3 + 1) % 3];
    int root = step % n;
    test_bcast(form, sl, m, root);
    test_gather(form, sl, rl, m, root, step % 2);
    test_scatter(form, sl, rl, m, (root + 1) % n, step % 2);
    test_gatherv(form, sl, rl, m, n - 1 - root, step % 2);
    test_scatterv(form, sl, rl, m, root);
    test_allgather(form, sl, rl, m, step % 2);
    test_allgatherv(form, sl, rl, m, step % 2);
    test_alltoall(form, sl, rl, m, step % 2);
    test_alltoallv(form, m, step % 2, 0);
    test_alltoallv(form, m, step % 2, 1);
    COLL(form, 2, Barrier, Ibarrier, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 2, 12, 64, 600, 5000, 40000 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    make_layouts();
    int step = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int n_step = n > 8 ? 2 : sizes[i] > 1000 ? 3 : 6;
        if ((long)sizes[i] * n > 170000) {
            break;
        }
        for (int k = 0; k < n_step; k++, step++) {
            all_of(step % N_FORM, sizes[i], step);
            all_of((step + 1) % N_FORM, sizes[i], step + 1);
        }
    }
    test_large(1000);
    free_layouts();
    MPI_Finalize();
    return t_status();
}
