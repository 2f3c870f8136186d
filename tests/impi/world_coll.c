// SPDX-License-Identifier: BSD-3-Clause
// Collectives of the test program, on any communicator.
#include "world.h"
#include <stdlib.h>
#include <string.h>

static void join_fn(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *a = in, *b = inout; // runs of ranks: (first, last); joining needs neighbours in order
    (void)type;
    for (int i = 0; i < *len; i++) {
        b[2 * i] = a[2 * i + 1] + 1 == b[2 * i] ? a[2 * i] : -1000000;
    }
}

void world_reductions(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int count = 1; count <= 3000; count = count * 7 + 1) {
        int *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
        for (int i = 0; i < count; i++) {
            in[i] = rank * 3 + i;
        }
        for (int root = 0; root < size; root++) {
            memset(out, 0, (size_t)count * sizeof *out);
            MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comm);
            for (int i = 0; i < count && rank == root; i++) {
                CHECK(out[i] == 3 * size * (size - 1) / 2 + size * i);
            }
        }
        MPI_Allreduce(in, out, count, MPI_INT, MPI_MAX, comm);
        CHECK(out[count - 1] == (size - 1) * 3 + count - 1);
        memcpy(out, in, (size_t)count * sizeof *out);
        MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_INT, MPI_MIN, comm);
        CHECK(out[count - 1] == count - 1);
        MPI_Scan(in, out, count, MPI_INT, MPI_SUM, comm);
        CHECK(out[0] == 3 * rank * (rank + 1) / 2);
        out[0] = -5;
        MPI_Exscan(in, out, count, MPI_INT, MPI_SUM, comm);
        CHECK(rank == 0 || out[0] == 3 * rank * (rank - 1) / 2);
        free(in);
        free(out);
    }
    struct {
        double v;
        int at;
    } mine = { (rank * 7) % 5 + 0.25, rank }, best;
    MPI_Allreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    double top = -1;
    int where = -1;
    for (int r = 0; r < size; r++) {
        if ((r * 7) % 5 + 0.25 > top) {
            top = (r * 7) % 5 + 0.25;
            where = r;
        }
    }
    CHECK(best.v == top && best.at == where);
    // not commutative
    MPI_Op op;
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    MPI_Op_create(join_fn, 0, &op);
    int run[2] = { rank, rank }, all[2] = { -1, -1 };
    for (int root = 0; root < size; root++) {
        MPI_Reduce(run, all, 1, two, op, root, comm);
        CHECK(rank != root || (all[0] == 0 && all[1] == size - 1));
    }
    MPI_Scan(run, all, 1, two, op, comm);
    CHECK(all[0] == 0 && all[1] == rank);
    MPI_Op_free(&op);
    MPI_Type_free(&two);
    int *counts = malloc((size_t)size * sizeof *counts), total = 0;
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        total += r + 1;
    }
    int *in = malloc((size_t)total * sizeof *in), *out = malloc((size_t)total * sizeof *out);
    for (int i = 0; i < total; i++) {
        in[i] = i + rank;
    }
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
    CHECK(out[rank] == size * (rank * (rank + 1) / 2 + rank) + size * (size - 1) / 2);
    free(counts);
    free(in);
    free(out);
}

// Parts of different lengths: rank r has r + 1 of them for everybody.
static void vectors(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    size_t s = (size_t)size;
    int *counts = malloc(4 * s * sizeof *counts), *displs = counts + s, *rc = counts + 2 * s,
        *rd = counts + 3 * s, total = 0;
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        displs[r] = total + r; // with a gap
        total += r + 1;
    }
    double *in = malloc((s + 1) * (s + 2) * sizeof *in),
           *out = malloc((s + 1) * (s + 2) * sizeof *out);
    for (int i = 0; i < (size + 1) * (size + 2); i++) {
        in[i] = rank + i / 100.0;
    }
    for (int root = 0; root < size; root++) {
        MPI_Gatherv(in, rank + 1, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, root, comm);
        for (int r = 0; r < size && rank == root; r++) {
            CHECK(out[displs[r] + r] == r + r / 100.0);
        }
        MPI_Scatterv(in, counts, displs, MPI_DOUBLE, out, rank + 1, MPI_DOUBLE, root, comm);
        CHECK(out[rank] == root + (displs[rank] + rank) / 100.0);
    }
    MPI_Allgatherv(in, rank + 1, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, comm);
    for (int r = 0; r < size; r++) {
        CHECK(out[displs[r] + r] == r + r / 100.0);
    }
    for (int r = 0; r < size; r++) {
        rc[r] = rank + 1;
        rd[r] = r * (rank + 1);
    }
    MPI_Alltoallv(in, counts, displs, MPI_DOUBLE, out, rc, rd, MPI_DOUBLE, comm);
    for (int r = 0; r < size; r++) {
        CHECK(out[r * (rank + 1)] == r + displs[rank] / 100.0);
    }
    free(counts);
    free(in);
    free(out);
}

void world_moves(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int count = 1; count < 3000; count = count * 9 + 2) {
        size_t each = (size_t)count, all = each * (size_t)size;
        int *a = malloc(all * sizeof *a), *b = malloc(all * sizeof *b);
        for (int root = 0; root < size; root++) {
            for (int i = 0; i < count; i++) {
                a[i] = rank == root ? root * 5 + i : -1;
            }
            MPI_Bcast(a, count, MPI_INT, root, comm);
            CHECK(a[0] == root * 5 && a[count - 1] == root * 5 + count - 1);
            for (int i = 0; i < count; i++) {
                a[i] = rank * 100000 + i;
            }
            memset(b, 0, all * sizeof *b);
            MPI_Gather(a, count, MPI_INT, b, count, MPI_INT, root, comm);
            for (size_t i = 0; i < all && rank == root; i++) {
                CHECK(b[i] == (int)(i / each) * 100000 + (int)(i % each));
            }
            for (size_t i = 0; i < all; i++) {
                b[i] = rank == root ? (int)i + root : -1;
            }
            MPI_Scatter(b, count, MPI_INT, a, count, MPI_INT, root, comm);
            CHECK(a[0] == rank * count + root && a[count - 1] == rank * count + count - 1 + root);
        }
        for (int i = 0; i < count; i++) {
            a[i] = rank + i * size;
        }
        MPI_Allgather(a, count, MPI_INT, b, count, MPI_INT, comm);
        for (size_t i = 0; i < all; i++) {
            CHECK(b[i] == (int)(i / each) + (int)(i % each) * size);
        }
        for (size_t i = 0; i < all; i++) {
            a[i] = rank * 1000 + (int)(i / each) * 10 + (int)(i % each) % 7;
        }
        MPI_Alltoall(a, count, MPI_INT, b, count, MPI_INT, comm);
        for (size_t i = 0; i < all; i++) {
            CHECK(b[i] == (int)(i / each) * 1000 + rank * 10 + (int)(i % each) % 7);
        }
        free(a);
        free(b);
    }
    vectors(comm);
}
