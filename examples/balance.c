// SPDX-License-Identifier: BSD-3-Clause
// Heat on a plate cut into patches, with a hot spot that moves around and makes the patches near
// it much dearer. Each patch is a rank of an endpoint communicator and speaks to its four
// neighbours; mpix_balance moves patches between processes to even out the load. The program runs
// twice, without and with balancing, and compares time and result.
//
//     mpicc -O2 -o balance balance.c -lmpix_balance -lm
//     mpiexec -n 4 ./balance [STEPS [TRACE]]          # TRACE: a file for balance_plot.py
#include <math.h>
#include <mpi.h>
#include <mpix_balance.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 12, ROWS = 16, PATCHES = COLUMNS * ROWS }; // of patches
enum { SIDE = 48, W = SIDE + 2 };                           // cells of a patch, with its border
enum { EVERY = 5 };                                         // steps between two rebalances
enum { TAG_UP = 1, TAG_DOWN, TAG_LEFT, TAG_RIGHT };

struct patch {
    int rank;
    double now[W * W], next[W * W];
};

struct run {
    MPIX_Balance b;
    int part;
    int is_balanced;
    int n_step;
    double *trace; // the imbalance of each step
    double seconds;
    long moved;
    uint64_t result;
};

static MPI_Datatype column;

static void fail(const char *why)
{
    fprintf(stderr, "balance: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// What travels with a patch: its cells. The rest is made anew.
static int patch_size(const void *data, void *arg, MPI_Count *bytes)
{
    (void)arg;
    *bytes = sizeof(((const struct patch *)data)->now) + sizeof(double);
    return MPI_SUCCESS;
}

static int patch_pack(const void *data, void *arg, void *buf, MPI_Count bytes)
{
    const struct patch *p = data;
    double *to = buf;
    (void)arg;
    to[0] = p->rank;
    memcpy(to + 1, p->now, (size_t)bytes - sizeof(double));
    return MPI_SUCCESS;
}

static int patch_unpack(const void *buf, MPI_Count bytes, void *arg, void **data)
{
    const double *from = buf;
    struct patch *p = calloc(1, sizeof *p);
    (void)arg;
    if (p == NULL) {
        return MPI_ERR_NO_MEM;
    }
    p->rank = (int)from[0];
    memcpy(p->now, from + 1, (size_t)bytes - sizeof(double));
    *data = p;
    return MPI_SUCCESS;
}

static void patch_drop(void *data, void *arg)
{
    (void)arg;
    free(data);
}

// The spot goes around the plate once; near it a patch is computed in finer steps.
static int sweeps(int rank, int step, int n_step)
{
    double turn = 6.28318530718 * step / n_step;
    double x = COLUMNS * (0.5 + 0.3 * cos(turn)), y = ROWS * (0.5 + 0.4 * sin(turn));
    double dx = rank % COLUMNS + 0.5 - x, dy = rank / COLUMNS + 0.5 - y;
    return 1 + (int)(24 * exp(-(dx * dx + dy * dy) / 4));
}

static void compute(struct patch *p, int n)
{
    for (int s = 0; s < n; s++) {
        memcpy(p->next, p->now, sizeof p->now);
        for (int r = 1; r <= SIDE; r++) {
            for (int c = 1; c <= SIDE; c++) {
                int i = r * W + c;
                p->next[i] = 0.2 * (p->now[i] + p->now[i - 1] + p->now[i + 1] + p->now[i - W] +
                                    p->now[i + W]);
            }
        }
        p->next[W * W / 2 + W / 2] += n > 1 ? 1 : 0; // the spot heats what it is near to
        memcpy(p->now, p->next, sizeof p->now);
    }
}

static int neighbour(int rank, int d_row, int d_column)
{
    int row = rank / COLUMNS + d_row, col = rank % COLUMNS + d_column;
    int is_off = row < 0 || row >= ROWS || col < 0 || col >= COLUMNS;
    return is_off ? MPI_PROC_NULL : row * COLUMNS + col;
}

// Begin to swap edges with four neighbours, wherever they are. Returns the number of requests.
static int begin_swap(struct patch *p, MPI_Comm comm, MPI_Request *r)
{
    int up = neighbour(p->rank, -1, 0), down = neighbour(p->rank, 1, 0);
    int left = neighbour(p->rank, 0, -1), right = neighbour(p->rank, 0, 1);
    double *t = p->now;
    MPI_Irecv(&t[1], SIDE, MPI_DOUBLE, up, TAG_DOWN, comm, &r[0]);
    MPI_Irecv(&t[(W - 1) * W + 1], SIDE, MPI_DOUBLE, down, TAG_UP, comm, &r[1]);
    MPI_Irecv(&t[W], 1, column, left, TAG_RIGHT, comm, &r[2]);
    MPI_Irecv(&t[W + W - 1], 1, column, right, TAG_LEFT, comm, &r[3]);
    MPI_Isend(&t[W + 1], SIDE, MPI_DOUBLE, up, TAG_UP, comm, &r[4]);
    MPI_Isend(&t[SIDE * W + 1], SIDE, MPI_DOUBLE, down, TAG_DOWN, comm, &r[5]);
    MPI_Isend(&t[W + 1], 1, column, left, TAG_LEFT, comm, &r[6]);
    MPI_Isend(&t[W + SIDE], 1, column, right, TAG_RIGHT, comm, &r[7]);
    return 8;
}

static struct patch *patch_at(struct run *run, int i)
{
    void *data;
    MPIX_Balance_get(run->b, i, run->part, &data);
    return data;
}

// The largest load of a process by the mean.
static double imbalance(double mine)
{
    double most, sum;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return most * size / sum;
}

static void one_step(struct run *run, int step)
{
    static MPI_Request reqs[8 * PATCHES];
    int n, n_req = 0;
    double load = 0;
    MPIX_Balance_count(run->b, &n);
    for (int i = 0; i < n; i++) {
        MPI_Comm comm;
        MPIX_Balance_comm(run->b, i, &comm);
        n_req += begin_swap(patch_at(run, i), comm, &reqs[n_req]);
    }
    MPI_Waitall(n_req, reqs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) {
        struct patch *p = patch_at(run, i);
        int s = sweeps(p->rank, step, run->n_step);
        compute(p, s);
        MPIX_Balance_report(run->b, i, s);
        load += s;
    }
    run->trace[step] = imbalance(load);
}

static uint64_t hash(const struct patch *p)
{
    uint64_t h = 1469598103934665603u + (uint64_t)p->rank;
    const unsigned char *c = (const unsigned char *)p->now;
    for (size_t i = 0; i < sizeof p->now; i++) {
        h = (h ^ c[i]) * 1099511628211u;
    }
    return h;
}

static void create(struct run *run)
{
    static const MPIX_Balance_state calls = { patch_size, patch_pack, patch_unpack, patch_drop };
    int me, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n = (me + 1) * PATCHES / size - me * PATCHES / size;
    MPIX_Balance_create(MPI_COMM_WORLD, n, MPI_INFO_NULL, &run->b);
    MPIX_Balance_register(run->b, "patch", &calls, NULL, &run->part);
    for (int i = 0; i < n; i++) {
        struct patch *p = calloc(1, sizeof *p);
        MPI_Comm comm;
        if (p == NULL) {
            fail("out of memory");
        }
        MPIX_Balance_comm(run->b, i, &comm);
        MPI_Comm_rank(comm, &p->rank);
        MPIX_Balance_set(run->b, i, run->part, p);
    }
}

static void simulate(struct run *run)
{
    uint64_t mine = 0;
    int n;
    create(run);
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    for (int step = 0; step < run->n_step; step++) {
        one_step(run, step);
        if (run->is_balanced && step % EVERY == EVERY - 1) {
            MPIX_Balance_result r;
            MPIX_Balance_rebalance(run->b, &r);
            run->moved += r.moved;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    run->seconds = MPI_Wtime() - t;
    MPIX_Balance_count(run->b, &n);
    for (int i = 0; i < n; i++) {
        mine ^= hash(patch_at(run, i));
    }
    MPI_Allreduce(&mine, &run->result, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    MPIX_Balance_free(&run->b);
}

static double mean(const double *v, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += v[i];
    }
    return sum / n;
}

static void write_trace(const char *path, const struct run *run)
{
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        fail("cannot write the trace");
    }
    fprintf(f, "step,without,with\n");
    for (int i = 0; i < run[0].n_step; i++) {
        fprintf(f, "%d,%.4f,%.4f\n", i, run[0].trace[i], run[1].trace[i]);
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    int me, size, status = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int n_step = argc > 1 ? atoi(argv[1]) : 600;
    if (n_step < 1 || size > PATCHES) {
        fail("usage: mpiexec -n PROCESSES balance [STEPS [TRACE]]");
    }
    MPI_Type_vector(SIDE, 1, W, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    struct run run[2] = { { .is_balanced = 0 }, { .is_balanced = 1 } };
    for (int i = 0; i < 2; i++) {
        run[i].n_step = n_step;
        run[i].trace = malloc((size_t)n_step * sizeof(double));
        simulate(&run[i]);
    }
    if (me == 0) {
        printf("%d patches on %d processes, %d steps\n", PATCHES, size, n_step);
        for (int i = 0; i < 2; i++) {
            printf("%s balancing: the busiest process has %.2f times the mean, %.2f s\n",
                   i == 0 ? "without" : "with", mean(run[i].trace, n_step), run[i].seconds);
        }
        printf("%ld moves of patches; %s\n", run[1].moved,
               run[0].result == run[1].result ? "the results are the same, bit for bit"
                                              : "the results DIFFER");
        if (argc > 2) {
            write_trace(argv[2], run);
        }
    }
    status = run[0].result == run[1].result ? 0 : 1;
    for (int i = 0; i < 2; i++) {
        free(run[i].trace);
    }
    MPI_Type_free(&column);
    MPI_Finalize();
    return status;
}
