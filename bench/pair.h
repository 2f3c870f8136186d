// SPDX-License-Identifier: BSD-3-Clause
// Measures the bandwidth of large messages between two ranks in three ways, because each favours
// another implementation: a single copy by the kernel is fast with buffers that are in a cache.
#ifndef PLI_BENCH_PAIR_H
#define PLI_BENCH_PAIR_H

#include "bench.h"

enum { PAIR_WINDOW = 64 };

struct pair_job {
    unsigned char *buf[PAIR_WINDOW];
    long size;
    int window;
};

// One message to and fro, always the same buffer.
static inline void pair_pingpong(int me, int iters, void *arg)
{
    struct pair_job *j = arg;
    int n = (int)j->size;
    for (int i = 0; i < iters; i++) {
        if (me == 0) {
            MPI_Send(j->buf[0], n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(j->buf[0], n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(j->buf[0], n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(j->buf[0], n, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
}

// One after the other, blocking, from one buffer into one buffer, then an answer.
static inline void pair_stream(int me, int iters, void *arg)
{
    struct pair_job *j = arg;
    int n = (int)j->size;
    for (int i = 0; i < iters; i++) {
        for (int w = 0; w < j->window; w++) {
            if (me == 0) {
                MPI_Send(j->buf[0], n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            } else {
                MPI_Recv(j->buf[0], n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
        if (me == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        }
    }
}

// Several in flight, each from and into a buffer of its own, then an answer.
static inline void pair_window(int me, int iters, void *arg)
{
    struct pair_job *j = arg;
    MPI_Request req[PAIR_WINDOW];
    for (int i = 0; i < iters; i++) {
        for (int w = 0; w < j->window; w++) {
            if (me == 0) {
                MPI_Isend(j->buf[w], (int)j->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[w]);
            } else {
                MPI_Irecv(j->buf[w], (int)j->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req[w]);
            }
        }
        MPI_Waitall(j->window, req, MPI_STATUSES_IGNORE);
        if (me == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        }
    }
}

static inline int pair_window_of(long size)
{
    long n = (8L << 20) / size;
    return n < 4 ? 4 : n > PAIR_WINDOW ? PAIR_WINDOW : (int)n;
}

static inline void pair_create(struct pair_job *j, long size)
{
    j->size = size;
    j->window = pair_window_of(size);
    for (int w = 0; w < j->window; w++) {
        j->buf[w] = b_alloc((size_t)size);
    }
}

static inline void pair_destroy(struct pair_job *j)
{
    for (int w = 0; w < j->window; w++) {
        free(j->buf[w]);
    }
}

// One round whose data the receiver looks at.
static inline void pair_check(struct pair_job *j, int me, b_body_fn body)
{
    int n = body == pair_window ? j->window : 1;
    for (int w = 0; w < n; w++) {
        if (me == 0) {
            b_fill(j->buf[w], j->size, w);
        } else {
            memset(j->buf[w], 0, (size_t)j->size);
        }
    }
    body(me, 1, j);
    for (int w = 0; w < n; w++) {
        b_expect(j->buf[w], j->size, w);
    }
}

// GB/s of the three ways, as numbers that begin with `name`.
static inline void pair_bandwidth(int me, const char *name, long size, const char *params)
{
    static const struct {
        b_body_fn body;
        const char *suffix;
    } way[] = { { pair_window, "" }, { pair_stream, "_stream" }, { pair_pingpong, "_pingpong" } };
    struct pair_job j;
    pair_create(&j, size);
    for (int i = 0; i < 3; i++) {
        char full[64];
        double per_iter = way[i].body == pair_pingpong ? 2 : j.window;
        pair_check(&j, me, way[i].body);
        double t = b_measure(me, way[i].body, &j, 0.02);
        snprintf(full, sizeof full, "%s%s", name, way[i].suffix);
        if (me == 0) {
            b_report(full, params, (double)size * per_iter / t / 1e9, "GB/s");
        }
    }
    pair_destroy(&j);
}

#endif
