// SPDX-License-Identifier: BSD-3-Clause
// Every collective with every root on communicators whose ranks are in many orders: on one job, and
// over several that IMPI joins.
#include <mpi.h>

#include "t.h"

enum { MOST = 64 };

static int r, n;
static MPI_Comm c;

static double *room(int len)
{
    double *p = malloc(sizeof *p * (size_t)(len + 1));
    T_MUST(p != NULL);
    for (int i = 0; i <= len; i++) {
        p[i] = -7;
    }
    return p;
}

static void fill(double *p, int len, double first)
{
    for (int i = 0; i < len; i++) {
        p[i] = first + i;
    }
}

static void is(const double *p, int len, double first, double step)
{
    int bad = 0;
    for (int i = 0; i < len; i++) {
        bad += p[i] != first + step * i;
    }
    T_EQ(bad, 0);
}

static void rooted(int len, int root)
{
    double *a = room(len * n), *b = room(len * n);
    fill(a, len, r == root ? root * 10 : -500);
    MPI_Bcast(a, len, MPI_DOUBLE, root, c);
    is(a, len, root * 10, 1);
    fill(a, len, r * 100);
    MPI_Gather(a, len, MPI_DOUBLE, b, len, MPI_DOUBLE, root, c);
    for (int q = 0; q < n && r == root; q++) {
        is(b + q * len, len, q * 100, 1);
    }
    T_OK(r == root || len == 0 || b[0] == -7);
    for (int q = 0; q < n; q++) {
        fill(a + q * len, len, q * 1000 + root);
    }
    MPI_Scatter(a, len, MPI_DOUBLE, b, len, MPI_DOUBLE, root, c);
    is(b, len, r * 1000 + root, 1);
    fill(a, len, r);
    MPI_Reduce(a, b, len, MPI_DOUBLE, MPI_SUM, root, c);
    if (r == root) {
        is(b, len, n * (n - 1) / 2, n);
        fill(b, len, r);
    }
    MPI_Reduce(r == root ? MPI_IN_PLACE : a, r == root ? b : NULL, len, MPI_DOUBLE, MPI_SUM, root,
               c);
    if (r == root) {
        is(b, len, n * (n - 1) / 2, n);
    }
    free(a);
    free(b);
}

static void by_counts(int len, int root)
{
    int counts[MOST], displs[MOST], total = 0;
    for (int q = 0; q < n; q++) {
        counts[q] = q % 3 * len / 3 + q % 2;
        displs[q] = total + 1;
        total += counts[q] + 1;
    }
    double *a = room(len + 1), *v = room(total + 1);
    fill(a, counts[r], r * 7);
    MPI_Gatherv(a, counts[r], MPI_DOUBLE, v, counts, displs, MPI_DOUBLE, root, c);
    for (int q = 0; q < n; q++) {
        if (r == root) {
            is(v + displs[q], counts[q], q * 7, 1);
        }
        fill(v + displs[q], counts[q], q * 9);
    }
    MPI_Scatterv(v, counts, displs, MPI_DOUBLE, a, counts[r], MPI_DOUBLE, root, c);
    is(a, counts[r], r * 9, 1);
    fill(a, counts[r], r * 11);
    MPI_Allgatherv(a, counts[r], MPI_DOUBLE, v, counts, displs, MPI_DOUBLE, c);
    for (int q = 0; q < n; q++) {
        is(v + displs[q], counts[q], q * 11, 1);
    }
    fill(v + displs[r], counts[r], r * 13);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, v, counts, displs, MPI_DOUBLE, c);
    for (int q = 0; q < n; q++) {
        is(v + displs[q], counts[q], q * 13, 1);
    }
    T_OK(v[0] == -7);
    free(a);
    free(v);
}

static void unrooted(int len)
{
    double *a = room(len * n), *b = room(len * n);
    fill(a, len, r);
    MPI_Allreduce(a, b, len, MPI_DOUBLE, MPI_SUM, c);
    is(b, len, n * (n - 1) / 2, n);
    MPI_Allreduce(MPI_IN_PLACE, a, len, MPI_DOUBLE, MPI_MAX, c);
    is(a, len, n - 1, 1);
    fill(a, len, r * 100);
    MPI_Allgather(a, len, MPI_DOUBLE, b, len, MPI_DOUBLE, c);
    for (int q = 0; q < n; q++) {
        is(b + q * len, len, q * 100, 1);
    }
    fill(b + r * len, len, r * 200);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DOUBLE, b, len, MPI_DOUBLE, c);
    for (int q = 0; q < n; q++) {
        is(b + q * len, len, q * 200, 1);
        fill(a + q * len, len, r * 1000 + q * 10);
    }
    MPI_Alltoall(a, len, MPI_DOUBLE, b, len, MPI_DOUBLE, c);
    for (int q = 0; q < n; q++) {
        is(b + q * len, len, q * 1000 + r * 10, 1);
    }
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, a, len, MPI_DOUBLE, c);
    T_OK(memcmp(a, b, sizeof *a * (size_t)(len * n)) == 0);
    fill(a, len, r);
    MPI_Scan(a, b, len, MPI_DOUBLE, MPI_SUM, c);
    is(b, len, r * (r + 1) / 2, r + 1);
    MPI_Exscan(a, b, len, MPI_DOUBLE, MPI_SUM, c);
    if (r > 0) {
        is(b, len, r * (r - 1) / 2, r);
    }
    fill(a, len * n, 0);
    MPI_Reduce_scatter_block(a, b, len, MPI_DOUBLE, MPI_SUM, c);
    is(b, len, (double)n * r * len, n);
    int counts[MOST], before = 0;
    for (int q = 0; q < n; q++) {
        counts[q] = q % 2 ? len : len / 2;
        before += q < r ? counts[q] : 0;
    }
    MPI_Reduce_scatter(a, b, counts, MPI_DOUBLE, MPI_SUM, c);
    is(b, counts[r], (double)n * before, n);
    free(a);
    free(b);
}

static void to_all_by_counts(int len)
{
    int out_n[MOST], out_at[MOST], in_n[MOST], in_at[MOST], out_len = 0, in_len = 0;
    for (int q = 0; q < n; q++) {
        out_n[q] = (r + 2 * q) % 3 * len;
        in_n[q] = (q + 2 * r) % 3 * len;
        out_at[q] = out_len;
        in_at[q] = in_len;
        out_len += out_n[q];
        in_len += in_n[q];
    }
    double *a = room(out_len), *b = room(in_len);
    for (int q = 0; q < n; q++) {
        fill(a + out_at[q], out_n[q], r * 100 + q);
    }
    MPI_Alltoallv(a, out_n, out_at, MPI_DOUBLE, b, in_n, in_at, MPI_DOUBLE, c);
    for (int q = 0; q < n; q++) {
        is(b + in_at[q], in_n[q], q * 100 + r, 1);
    }
    free(a);
    free(b);
}

// A product of matrices: the order of ranks matters.
static void multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    int *x = in, *y = inout;
    for (int i = 0; i < *len; i++, x += 4, y += 4) {
        int z[4] = { x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3],
                     x[2] * y[0] + x[3] * y[2], x[2] * y[1] + x[3] * y[3] };
        memcpy(y, z, sizeof z);
    }
}

static void ordered(void)
{
    MPI_Op op;
    MPI_Datatype type;
    int one = 1, mine[4] = { r % 5 + 1, 1, 1, 0 }, all[4] = { n % 5, 0, 0, 1 }, got[4];
    all[0] = (n - 1) % 5 + 1;
    all[1] = all[2] = 1;
    all[3] = 0;
    for (int q = n - 2; q >= 0; q--) {
        int x[4] = { q % 5 + 1, 1, 1, 0 };
        multiply(x, all, &one, NULL);
    }
    MPI_Type_contiguous(4, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    MPI_Allreduce(mine, got, 1, type, op, c);
    T_OK(memcmp(got, all, sizeof all) == 0);
    for (int root = 0; root < n; root++) {
        memset(got, 0, sizeof got);
        MPI_Reduce(mine, got, 1, type, op, root, c);
        T_OK(r != root || memcmp(got, all, sizeof all) == 0);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

static void overlapping(void)
{
    MPI_Request q[60];
    int v[20], w[20], x[20];
    for (int i = 0; i < 20; i++) {
        v[i] = r + i;
        x[i] = r == i % n ? i : -1;
        MPI_Iallreduce(&v[i], &w[i], 1, MPI_INT, MPI_SUM, c, &q[3 * i]);
        MPI_Ibarrier(c, &q[3 * i + 1]);
        MPI_Ibcast(&x[i], 1, MPI_INT, i % n, c, &q[3 * i + 2]);
    }
    MPI_Barrier(c); // one that does not wait for its turn
    MPI_Waitall(60, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 20; i++) {
        T_EQ(w[i], n * (n - 1) / 2 + n * i);
        T_EQ(x[i], i);
    }
    MPI_Request p;
    int sum = 0, one = r;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, c, MPI_INFO_NULL, &p);
    for (int i = 0; i < 3; i++) {
        one = r + i;
        MPI_Start(&p);
        MPI_Wait(&p, MPI_STATUS_IGNORE);
        T_EQ(sum, n * (n - 1) / 2 + n * i);
    }
    MPI_Request_free(&p);
}

static void all(MPI_Comm comm)
{
    c = comm;
    MPI_Comm_rank(c, &r);
    MPI_Comm_size(c, &n);
    for (int len = 0; len <= 3000; len = len * 12 + 1) {
        for (int root = 0; root < n; root++) {
            rooted(len, root);
            by_counts(len, root);
            MPI_Barrier(c);
        }
        unrooted(len);
        to_all_by_counts(len);
    }
    ordered();
    overlapping();
    long l = r * 3 - 100, ls[MOST]; // 4 bytes outside
    MPI_Allgather(&l, 1, MPI_LONG, ls, 1, MPI_LONG, c);
    for (int q = 0; q < n; q++) {
        T_EQ(ls[q], q * 3 - 100);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    MPI_Group world, group;
    int rank, size, order[MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_MUST(size <= MOST);
    all(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other); // backwards
    all(other);
    MPI_Comm_free(&other);
    for (int i = 0; i < size; i++) { // from both ends: members of a job do not lie side by side
        order[i] = i % 2 ? size - 1 - i / 2 : i / 2;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, size, order, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &other);
    all(other);
    MPI_Comm_free(&other);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Finalize();
    return t_status();
}
