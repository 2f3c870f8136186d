// SPDX-License-Identifier: BSD-3-Clause
// Time of collective operations. Arguments: operations with commas between them, then sizes in
// bytes per rank (none for those that move no data). Names that begin with i are nonblocking, those
// that end in v give counts, those with neighbor go round a ring.
#include "bench.h"
#include "coll.h"

static unsigned char *in, *out;
static int me, n;
static int *counts, *places; // of the forms with counts: `size` bytes for each rank, in order
static MPI_Comm ring;        // of the neighbors

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

static void allgatherv(int size)
{
    MPI_Allgatherv(in, size, MPI_BYTE, out, counts, places, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoallv(int size)
{
    (void)size;
    MPI_Alltoallv(in, counts, places, MPI_BYTE, out, counts, places, MPI_BYTE, MPI_COMM_WORLD);
}

static void gatherv(int size)
{
    MPI_Gatherv(in, size, MPI_BYTE, out, counts, places, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void scatterv(int size)
{
    MPI_Scatterv(in, counts, places, MPI_BYTE, out, size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void neighbor_alltoall(int size)
{
    MPI_Neighbor_alltoall(in, size, MPI_BYTE, out, size, MPI_BYTE, ring);
}

static void wait_for(MPI_Request req)
{
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void ibarrier(int size)
{
    (void)size;
    MPI_Request req;
    MPI_Ibarrier(MPI_COMM_WORLD, &req);
    wait_for(req);
}

static void ibcast(int size)
{
    MPI_Request req;
    MPI_Ibcast(out, size, MPI_BYTE, 0, MPI_COMM_WORLD, &req);
    wait_for(req);
}

static void iallreduce(int size)
{
    MPI_Request req;
    MPI_Iallreduce(in, out, size / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &req);
    wait_for(req);
}

static void ialltoall(int size)
{
    MPI_Request req;
    MPI_Ialltoall(in, size, MPI_BYTE, out, size, MPI_BYTE, MPI_COMM_WORLD, &req);
    wait_for(req);
}

static void igatherv(int size)
{
    MPI_Request req;
    MPI_Igatherv(in, size, MPI_BYTE, out, counts, places, MPI_BYTE, 0, MPI_COMM_WORLD, &req);
    wait_for(req);
}

// What the result must be.
enum shape { NO_DATA, NOT_CHECKED, SAME, SUM, FROM_ALL, EACH_TO_EACH, FROM_ALL_AT_ROOT, FROM_ROOT };

struct op {
    const char *name;
    void (*run)(int size);
    enum shape shape;
};

static const struct op ops[] = {
    { "barrier", barrier, NO_DATA },
    { "bcast", bcast, SAME },
    { "reduce", reduce, NOT_CHECKED },
    { "allreduce", allreduce, SUM },
    { "allgather", allgather, FROM_ALL },
    { "alltoall", alltoall, EACH_TO_EACH },
    { "gather", gather, FROM_ALL_AT_ROOT },
    { "scatter", scatter, FROM_ROOT },
    { "reduce_scatter", reduce_scatter, NOT_CHECKED },
    { "scan", scan, NOT_CHECKED },
    { "allgatherv", allgatherv, FROM_ALL },
    { "alltoallv", alltoallv, EACH_TO_EACH },
    { "gatherv", gatherv, FROM_ALL_AT_ROOT },
    { "scatterv", scatterv, FROM_ROOT },
    { "neighbor_alltoall", neighbor_alltoall, NOT_CHECKED },
    { "ibarrier", ibarrier, NO_DATA },
    { "ibcast", ibcast, SAME },
    { "iallreduce", iallreduce, SUM },
    { "ialltoall", ialltoall, EACH_TO_EACH },
    { "igatherv", igatherv, FROM_ALL_AT_ROOT },
};

static void check_sum(const struct op *op, int size)
{
    double want = n * (n + 1) / 2.0, *x = (double *)(void *)in;
    for (int i = 0; i < size / 8; i++) {
        x[i] = me + 1;
    }
    op->run(size);
    if (((double *)(void *)out)[size / 8 - 1] != want) {
        b_die("the sum is wrong");
    }
}

// Block i of `in` holds what goes to rank i, or all of it what comes from this rank.
static void check_blocks(const struct op *op, int size)
{
    int is_each = op->shape == EACH_TO_EACH, is_from_root = op->shape == FROM_ROOT;
    for (int i = 0; i < n; i++) {
        memset(in + (size_t)i * size, is_each ? me + i : is_from_root ? i : me, (size_t)size);
    }
    op->run(size);
    int n_block = is_from_root ? 1 : op->shape == FROM_ALL_AT_ROOT && me != 0 ? 0 : n;
    for (int i = 0; i < n_block; i++) {
        unsigned char want = (unsigned char)(is_each ? me + i : is_from_root ? me : i);
        if (out[(size_t)i * size] != want || out[(size_t)(i + 1) * size - 1] != want) {
            b_die("a block is wrong");
        }
    }
}

static void check_same(const struct op *op, int size)
{
    memset(out, me == 0 ? 77 : 0, (size_t)size);
    op->run(size);
    if (out[0] != 77 || out[size - 1] != 77) {
        b_die("the broadcast is wrong");
    }
}

// The result of the last round must be right where that is quickly told.
static void check(const struct op *op, int size)
{
    if (op->shape == SUM && size >= 8) {
        check_sum(op, size);
    } else if (op->shape == SAME && size > 0) {
        check_same(op, size);
    } else if (op->shape >= FROM_ALL && size > 0) {
        check_blocks(op, size);
    }
}

static void measure(const struct op *op, int size)
{
    // A rank of the ring has two neighbors, also where there are fewer ranks.
    size_t len = (size_t)size * (size_t)(n > 2 ? n : 2);
    in = b_alloc(len);
    out = b_alloc(len);
    memset(in, 0, len);
    for (int i = 0; i < n; i++) {
        counts[i] = size;
        places[i] = i * size;
    }
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

static const struct op *find(const char *name)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            return &ops[i];
        }
    }
    b_die("there is no such collective operation here");
    return NULL;
}

int main(int argc, char **argv)
{
    me = b_start(&argc, &argv, 0);
    if (argc < 2) {
        b_die("the first argument names collective operations");
    }
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    counts = b_alloc((size_t)n * sizeof *counts);
    places = b_alloc((size_t)n * sizeof *places);
    int round = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &round, 0, &ring);
    for (char *name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
        const struct op *op = find(name);
        if (op->shape == NO_DATA) {
            measure(op, 0);
        }
        for (int i = 2; i < argc && op->shape != NO_DATA; i++) {
            measure(op, atoi(argv[i]));
        }
    }
    MPI_Comm_free(&ring);
    free(counts);
    free(places);
    MPI_Finalize();
    return 0;
}
