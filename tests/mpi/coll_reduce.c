// SPDX-License-Identifier: BSD-3-Clause
// Reductions, against what every rank can work out by itself: operations with and without an
// order, user types, sizes, roots, in place, all three forms; the same bits everywhere.
#include "coll_t.h"

// An operation with an order: pairs (a, b) stand for x -> a x + b, joined one after the other.
struct map {
    unsigned a, b;
};

static struct map join(struct map f, struct map g) // f first
{
    return (struct map){ f.a * g.a, f.b * g.a + g.b };
}

static void join_all(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    struct map *x = in, *y = inout;
    for (int i = 0; i < *len; i++) {
        y[i] = join(x[i], y[i]);
    }
}

// Sum of two ints with a hole of one int between them.
static void sum_holes(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    int *x = in, *y = inout;
    for (int i = 0; i < *len; i++) {
        y[3 * i] += x[3 * i];
        y[3 * i + 2] += x[3 * i + 2];
    }
}

static MPI_Op op_join, op_holes;
static MPI_Datatype type_map;

// What to reduce: element k of rank r as bytes, and the combination of ranks lo to hi.
struct what {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    size_t size; // of an element with its hole
};

static void element(const struct what *w, int r, int k, void *out)
{
    if (w->op == op_join) {
        *(struct map *)out = (struct map){ (unsigned)(r * 2 + k + 3), (unsigned)(r + k) };
    } else if (w->op == op_holes) {
        int v[3] = { r + k, HOLE, 3 * r - k };
        memcpy(out, v, sizeof v);
    } else if (w->type == MPI_DOUBLE) {
        double d = 1.0 / (r + 1) + k;
        memcpy(out, &d, sizeof d);
    } else {
        int v = w->op == MPI_BXOR ? r * 77 + k : (r * 31 + k) % 1000;
        memcpy(out, &v, sizeof v);
    }
}

static void combine(const struct what *w, const void *left, void *right)
{
    int one = 1;
    if (w->op == op_join) {
        join_all((void *)(uintptr_t)left, right, &one, NULL);
    } else if (w->op == op_holes) {
        sum_holes((void *)(uintptr_t)left, right, &one, NULL);
    } else if (w->type == MPI_DOUBLE) {
        *(double *)right += *(const double *)left;
    } else {
        int x = *(const int *)left, *y = right;
        *y = w->op == MPI_SUM ? x + *y : w->op == MPI_MAX ? (x > *y ? x : *y) : x ^ *y;
    }
}

static void expect(const struct what *w, int lo, int hi, int k, void *out)
{
    unsigned char acc[16];
    element(w, hi, k, acc);
    for (int r = hi - 1; r >= lo; r--) {
        unsigned char left[16];
        element(w, r, k, left);
        combine(w, left, acc);
    }
    memcpy(out, acc, w->size);
}

static void *room(size_t size)
{
    int *b = fresh(size / sizeof(int) + 4);
    return b;
}

// Floating-point sums may be formed in any fixed order: near is right.
static void compare(const char *name, const struct what *w, const void *got, int lo, int hi,
                    int first, int count)
{
    unsigned char want[16];
    for (int k = 0; k < count; k++) {
        expect(w, lo, hi, first + k, want);
        const char *g = (const char *)got + (size_t)k * w->size;
        double a, b;
        bool is_same = memcmp(g, want, w->size) == 0;
        if (w->type == MPI_DOUBLE) {
            memcpy(&a, g, sizeof a);
            memcpy(&b, want, sizeof b);
            is_same = a - b < 1e-9 && b - a < 1e-9;
        }
        if (!is_same) {
            fprintf(stderr, "rank %d of %d: %s of %s, %d elements: element %d is wrong\n", me, n,
                    name, w->name, count, k);
            t_failed++;
            return;
        }
    }
}

static void *input(const struct what *w, int count)
{
    char *b = room((size_t)count * w->size + 16);
    for (int k = 0; k < count; k++) {
        element(w, me, k, b + (size_t)k * w->size);
    }
    return b;
}

// Every rank must have the very same bytes.
static void same_everywhere(const void *b, size_t size)
{
    unsigned char *all = malloc((size + 1) * (size_t)n);
    GOOD(MPI_Allgather(b, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++) {
        T_OK(memcmp(all + (size_t)i * size, b, size) == 0);
    }
    free(all);
}

static void test_reduce(int form, const struct what *w, int count, int root, int in_place)
{
    size_t bytes = (size_t)count * w->size;
    void *s = input(w, count), *r = room(bytes + 16);
    bool here = in_place && me == root;
    if (here) {
        memcpy(r, s, bytes);
    }
    COLL(form, here ? 1 : 1 + !in_place, Reduce, Ireduce, here ? MPI_IN_PLACE : s,
         me == root ? r : NULL, count, w->type, w->op, root, MPI_COMM_WORLD);
    if (me == root) {
        compare("reduce", w, r, 0, n - 1, 0, count);
    }
    free(s);
    free(r);
}

static void test_allreduce(int form, const struct what *w, int count, int in_place)
{
    size_t bytes = (size_t)count * w->size;
    void *s = input(w, count), *r = room(bytes + 16);
    if (in_place || w->op == op_holes) {
        memcpy(r, s, bytes);
    }
    COLL(form, 1 + !in_place, Allreduce, Iallreduce, in_place ? MPI_IN_PLACE : s, r, count, w->type,
         w->op, MPI_COMM_WORLD);
    compare("allreduce", w, r, 0, n - 1, 0, count);
    if (count <= 100) {
        same_everywhere(r, bytes);
    }
    free(s);
    free(r);
}

static void test_scan(int form, const struct what *w, int count, int in_place)
{
    size_t bytes = (size_t)count * w->size;
    void *s = input(w, count), *r = room(bytes + 16);
    if (in_place || w->op == op_holes) {
        memcpy(r, s, bytes);
    }
    COLL(form, 1 + !in_place, Scan, Iscan, in_place ? MPI_IN_PLACE : s, r, count, w->type, w->op,
         MPI_COMM_WORLD);
    compare("scan", w, r, 0, me, 0, count);
    memcpy(r, s, bytes);
    COLL(form, 1 + !in_place, Exscan, Iexscan, in_place ? MPI_IN_PLACE : s, r, count, w->type,
         w->op, MPI_COMM_WORLD);
    compare("exscan", w, r, me > 0 ? 0 : 0, me > 0 ? me - 1 : 0, 0, count);
    free(s);
    free(r);
}

static void test_reduce_scatter(int form, const struct what *w, int count, int in_place)
{
    static int calls;
    int counts[64], total = 0, first = 0, only = calls % 3 == 0 ? calls % n : -1; // it gets all
    calls++;
    for (int i = 0; i < n; i++) {
        counts[i] = only < 0 ? (i % 3) * count / 2 + (i == n - 1) : i == only ? count : 0;
        first += i < me ? counts[i] : 0;
        total += counts[i];
    }
    void *s = input(w, total), *r = room((size_t)total * w->size + 16);
    memcpy(r, s, (size_t)total * w->size);
    COLL(form, 1 + !in_place, Reduce_scatter, Ireduce_scatter, in_place ? MPI_IN_PLACE : s, r,
         counts, w->type, w->op, MPI_COMM_WORLD);
    compare("reduce_scatter", w, r, 0, n - 1, first, counts[me]);
    free(s);
    free(r);
    s = input(w, count * n);
    r = room((size_t)count * (size_t)n * w->size + 16);
    memcpy(r, s, (size_t)count * (size_t)n * w->size);
    COLL(form, 1 + !in_place, Reduce_scatter_block, Ireduce_scatter_block,
         in_place ? MPI_IN_PLACE : s, r, count, w->type, w->op, MPI_COMM_WORLD);
    compare("reduce_scatter_block", w, r, 0, n - 1, me * count, count);
    free(s);
    free(r);
}

static void all_of(int form, const struct what *w, int count, int step)
{
    test_reduce(form, w, count, step % n, step / 3 % 2);
    test_allreduce(form, w, count, step / 3 % 2);
    test_scan(form, w, count, step / 3 % 2);
    test_reduce_scatter(form, w, count > 2000 ? count / n : count, step / 3 % 2);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 1, 2, 6, 17, 130, 1000, 9000, 70000 };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    make_layouts();
    GOOD(MPI_Op_create(join_all, 0, &op_join));
    GOOD(MPI_Op_create(sum_holes, 1, &op_holes));
    GOOD(MPI_Type_contiguous(2, MPI_UNSIGNED, &type_map));
    GOOD(MPI_Type_commit(&type_map));
    const struct what whats[] = {
        { "int sum", MPI_INT, MPI_SUM, 4 },
        { "maps in order", type_map, op_join, 8 },
        { "double sum", MPI_DOUBLE, MPI_SUM, 8 },
        { "pairs with holes", layouts[1].type, op_holes, 12 },
        { "int max", MPI_INT, MPI_MAX, 4 },
        { "int xor", MPI_INT, MPI_BXOR, 4 },
    };
    int step = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int n_step = sizes[i] > 1000 ? 4 : n > 8 ? 6 : 12;
        if ((long)sizes[i] * n > 300000) {
            break;
        }
        for (int k = 0; k < n_step; k++, step++) {
            all_of(step % N_FORM, &whats[k % 6], sizes[i], step);
        }
        all_of(BLOCKING, &whats[1], sizes[i], step);
        all_of(BLOCKING, &whats[2], sizes[i], step + 3);
    }
    MPI_Type_free(&type_map);
    MPI_Op_free(&op_join);
    MPI_Op_free(&op_holes);
    free_layouts();
    MPI_Finalize();
    return t_status();
}
