// SPDX-License-Identifier: BSD-3-Clause
// Time of collective operations. Arguments: operation, then sizes in bytes per rank (none for those
// that move no data).
#include "bench.h"
#include "coll.h"

static unsigned char *in, *out;
static int me, n;

static void barrier(int size)
{
    (void)size;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int size)
{
    MPI_Bcast(out, size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void reduce(int size)
{
    MPI_Reduce(in, out, size / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(int size)
{
    MPI_Allreduce(in, out, size / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(int size)
{
    MPI_Allgather(in, size, MPI_BYTE, out, size, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(int size)
{
    MPI_Alltoall(in, size, MPI_BYTE, out, size, MPI_BYTE, MPI_COMM_WORLD);
}

static void gather(int size)
{
    MPI_Gather(in, size, MPI_BYTE, out, size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void scatter(int size)
{
    MPI_Scatter(in, size, MPI_BYTE, out, size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void reduce_scatter(int size)
{
    MPI_Reduce_scatter_block(in, out, size / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(int size)
{
    MPI_Scan(in, out, size / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

struct op {
    const char *name;
    void (*run)(int size);
};

static const struct op ops[] = {
    { "barrier", barrier },     { "bcast", bcast },         { "reduce", reduce },
    { "allreduce", allreduce }, { "allgather", allgather }, { "alltoall", alltoall },
    { "gather", gather },       { "scatter", scatter },     { "reduce_scatter", reduce_scatter },
    { "scan", scan },
};

// The result of the last round must be right where that is quickly told.
static void check(const struct op *op, int size)
{
    if (op->run == allreduce && size >= 8) {
        double want = n * (n + 1) / 2.0, *x = (double *)(void *)in;
        for (int i = 0; i < size / 8; i++) {
            x[i] = me + 1;
        }
        op->run(size);
        if (((double *)(void *)out)[size / 8 - 1] != want) {
            b_die("the sum is wrong");
        }
    } else if (op->run == alltoall || op->run == allgather) {
        for (int i = 0; i < n; i++) {
            memset(in + (size_t)i * size, op->run == alltoall ? me + i : me, (size_t)size);
        }
        op->run(size);
        for (int i = 0; i < n; i++) {
            unsigned char want = (unsigned char)(op->run == alltoall ? me + i : i);
            if (out[(size_t)i * size] != want || out[(size_t)(i + 1) * size - 1] != want) {
                b_die("a block is wrong");
            }
        }
    } else if (op->run == bcast && size > 0) {
        memset(out, me == 0 ? 77 : 0, (size_t)size);
        op->run(size);
        if (out[0] != 77 || out[size - 1] != 77) {
            b_die("the broadcast is wrong");
        }
    }
}

int main(int argc, char **argv)
{
    me = b_start(&argc, &argv, 0);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    const struct op *op = NULL;
    for (size_t i = 0; argc > 1 && i < sizeof ops / sizeof ops[0]; i++) {
        op = strcmp(ops[i].name, argv[1]) == 0 ? &ops[i] : op;
    }
    if (op == NULL) {
        b_die("the first argument names a collective operation");
    }
    for (int i = 2; i < argc || i == 2; i++) {
        int size = i < argc ? atoi(argv[i]) : 0;
        in = b_alloc((size_t)size * (size_t)n);
        out = b_alloc((size_t)size * (size_t)n);
        memset(in, 0, (size_t)size * (size_t)n);
        double t = c_measure(op->run, size);
        check(op, size);
        if (me == 0) {
            char params[64];
            snprintf(params, sizeof params, "size=%d ranks=%d", size, n);
            b_report(op->name, params, t * 1e6, "us");
        }
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
