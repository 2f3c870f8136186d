// SPDX-License-Identifier: BSD-3-Clause
// Receives in all ways, and says what it has got. A rank that is replayed alone says the same.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static uint64_t sum = 1469598103934665603u;

static void take(const void *data, size_t n)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < n; i++) {
        sum = (sum ^ at[i]) * 1099511628211u;
    }
}

static void say(const char *what)
{
    printf("%d %s %016llx\n", rank, what, (unsigned long long)sum);
    fflush(stdout);
}

// Numbers of this rank, others in each run.
static int chance(void)
{
    static unsigned n;
    const char *seed = getenv("PROBE_SEED");
    n = n * 1664525u + 1013904223u + (unsigned)rank * 77u +
        (unsigned)atoi(seed != NULL ? seed : "1");
    return (int)(n >> 4);
}

static void wildcards(void)
{
    for (int round = 0; round < 20; round++) {
        int out = chance(), in[2];
        MPI_Request r[2];
        MPI_Status s;
        for (int peer = 0; peer < size; peer++) {
            if (peer != rank) {
                MPI_Send(&out, 1, MPI_INT, peer, round % 3, MPI_COMM_WORLD);
            }
        }
        for (int i = 0; i < size - 1; i++) {
            MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, round % 3, MPI_COMM_WORLD, &s);
            take(in, sizeof in[0]);
            take(&s.MPI_SOURCE, sizeof s.MPI_SOURCE);
        }
        int next = (rank + 1) % size, before = (rank + size - 1) % size, n_false = 0, done = 0;
        MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(in + 1, 1, MPI_INT, before, MPI_ANY_TAG, MPI_COMM_WORLD, &r[1]);
        MPI_Ssend(&out, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
        MPI_Send(&out, 1, MPI_INT, next, 8, MPI_COMM_WORLD);
        while (!done) {
            MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
            n_false += !done;
        }
        take(in, sizeof in);
        take(&n_false, sizeof n_false);
    }
    say("wildcards");
}

static void large(void)
{
    enum { N = 300000 };
    int *out = malloc(N * sizeof *out), *in = calloc(2 * N, sizeof *in);
    MPI_Datatype spread;
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < N; i++) {
        out[i] = i * 31 + chance();
    }
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Sendrecv(out, N, MPI_INT, next, 1, in, N, MPI_INT, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    take(in, N * sizeof *in);
    MPI_Sendrecv(out, N / 2, MPI_INT, next, 2, in, 1, spread, before, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    take(in, N * sizeof *in);
    MPI_Type_free(&spread);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rc = MPI_Sendrecv(out, 100, MPI_INT, next, 3, in, 50, MPI_INT, before, 3, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE),
        class = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Error_class(rc, &class);
    int is_cut = class == MPI_ERR_TRUNCATE;
    take(&is_cut, sizeof is_cut);
    take(in, 50 * sizeof *in);
    free(out);
    free(in);
    say(is_cut ? "large" : "large, not truncated");
}

static void probes(void)
{
    for (int round = 0; round < 10; round++) {
        int next = (rank + 1) % size, n, out[8], in[8], mine[8], flag = 0;
        for (int i = 0; i < 8; i++) {
            out[i] = chance();
        }
        MPI_Status s;
        MPI_Message m;
        MPI_Request r[2];
        MPI_Isend(out, 1 + round % 8, MPI_INT, next, 20, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(out, 8, MPI_INT, next, 21, MPI_COMM_WORLD, &r[1]);
        MPI_Mprobe(MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &m, &s);
        while (!flag) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
        }
        MPI_Get_count(&s, MPI_INT, &n);
        MPI_Recv(in, n, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, &s);
        MPI_Mrecv(mine, 8, MPI_INT, &m, MPI_STATUS_IGNORE);
        take(in, (size_t)n * sizeof *in);
        take(mine, sizeof mine);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    say("probes");
}

static void collectives(void)
{
    int *all = malloc((size_t)size * 5000 * sizeof *all), *out = malloc(5000 * sizeof *out), v, w;
    int *to = malloc((size_t)size * 5000 * sizeof *to);
    MPI_Comm half, twin;
    MPI_Request r;
    for (int n = 1; n <= 5000; n *= 17) {
        for (int i = 0; i < n; i++) {
            out[i] = chance() % 1000;
        }
        for (int i = 0; i < n * size; i++) {
            to[i] = chance();
        }
        MPI_Allgather(out, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD);
        take(all, (size_t)(n * size) * sizeof *all);
        MPI_Allreduce(out, all, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        take(all, (size_t)n * sizeof *all);
        MPI_Alltoall(to, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD);
        take(all, (size_t)(n * size) * sizeof *all);
        memcpy(all, out, (size_t)n * sizeof *all);
        MPI_Bcast(all, n, MPI_INT, 1 % size, MPI_COMM_WORLD);
        take(all, (size_t)n * sizeof *all);
        MPI_Iallreduce(out, all, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        take(all, (size_t)n * sizeof *all);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &twin);
    v = chance();
    MPI_Allreduce(&v, &w, 1, MPI_INT, MPI_BXOR, twin);
    take(&w, sizeof w);
    MPI_Scan(&v, &w, 1, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
    take(&w, sizeof w);
    MPI_Barrier(half);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&half);
    free(all);
    free(out);
    free(to);
    say("collectives");
}

static void windows(void)
{
    int *base, got[4] = { 0 }, mine = chance(), old = 0;
    MPI_Win win;
    MPI_Win_allocate(8 * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, 8 * sizeof *base);
    MPI_Win_fence(0, win);
    MPI_Put(&mine, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    take(base, 8 * sizeof *base);
    MPI_Win_fence(0, win);
    MPI_Get(got, 4, MPI_INT, (rank + 1) % size, 0, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    take(got, sizeof got);
    MPI_Win_lock_all(0, win);
    if (rank != 0) { // whose own access would be among the others' by chance
        MPI_Fetch_and_op(&mine, &old, MPI_INT, 0, 5, MPI_SUM, win);
    }
    MPI_Win_unlock_all(win);
    take(&old, sizeof old);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    say("windows");
}

static void partitions(void)
{
    int out[12], in[12];
    for (int i = 0; i < 12; i++) {
        out[i] = chance();
    }
    MPI_Request r[2];
    MPI_Psend_init(out, 4, 3, MPI_INT, (rank + 1) % size, 30, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, 3, 4, MPI_INT, (rank + size - 1) % size, 30, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &r[1]);
    MPI_Startall(2, r);
    MPI_Pready_range(0, 3, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    take(in, sizeof in);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    say("partitions");
}

// A receive that is cancelled, and then a communicator.
static void cancels(void)
{
    int v = chance(), w;
    MPI_Request r;
    MPI_Comm twin;
    MPI_Irecv(&w, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Allreduce(&v, &w, 1, MPI_INT, MPI_BXOR, twin);
    take(&w, sizeof w);
    MPI_Comm_free(&twin);
    say("cancels");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int is_short = argc > 1 && strcmp(argv[1], "crash") == 0;
    wildcards();
    large();
    if (is_short && rank == 1) {
        abort(); // here: abort
    }
    probes();
    collectives();
    windows();
    partitions();
    cancels();
    MPI_Finalize();
    say("end");
    return 0;
}
