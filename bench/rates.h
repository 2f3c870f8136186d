// SPDX-License-Identifier: BSD-3-Clause
// Message rate of several flows at once: each is a process or a thread that sends to, or receives
// from, one partner, 64 messages of 8 bytes in flight.
#ifndef PLI_BENCH_RATES_H
#define PLI_BENCH_RATES_H

#include "bind.h"

#include "bench.h"

#include <pthread.h>

enum { RATES_WINDOW = 64, RATES_REPEAT = 16, RATES_CHUNKS = 9, RATES_MAX = 16 };

struct rates_flow {
    pthread_t id;
    MPI_Comm comm;
    int is_sender, partner, tag;
    int is_first;                // of its process: speaks for it
    int (*begin)(MPI_Comm comm); // called by the thread, or NULL
    long long values[RATES_WINDOW];
};

// What the flows of a process share.
static pthread_barrier_t rates_gate;
static int rates_iters;
static double rates_result;

// All flows of all processes meet; the first of a process may change what they share.
static inline void rates_meet(const struct rates_flow *f)
{
    pthread_barrier_wait(&rates_gate);
    if (f->is_first) {
        MPI_Bcast(&rates_iters, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    pthread_barrier_wait(&rates_gate);
}

static inline void rates_windows(struct rates_flow *f, int iters)
{
    MPI_Request req[RATES_WINDOW];
    for (int i = 0; i < iters; i++) {
        for (int r = 0; r < RATES_REPEAT; r++) {
            for (int w = 0; w < RATES_WINDOW; w++) {
                if (f->is_sender) {
                    MPI_Isend(&f->values[w], 8, MPI_BYTE, f->partner, f->tag, f->comm, &req[w]);
                } else {
                    MPI_Irecv(&f->values[w], 8, MPI_BYTE, f->partner, f->tag, f->comm, &req[w]);
                }
            }
            MPI_Waitall(RATES_WINDOW, req, MPI_STATUSES_IGNORE);
        }
        if (f->is_sender) {
            MPI_Recv(NULL, 0, MPI_BYTE, f->partner, f->tag + 100, f->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, f->partner, f->tag + 100, f->comm);
        }
    }
}

// Seconds of one iteration of all flows together.
static inline double rates_chunk(struct rates_flow *f)
{
    rates_meet(f);
    int iters = rates_iters;
    double t = MPI_Wtime();
    rates_windows(f, iters);
    rates_meet(f);
    return (MPI_Wtime() - t) / iters;
}

static inline void *rates_run(void *arg)
{
    struct rates_flow *f = arg;
    double v[RATES_CHUNKS], chunk_s = 0.04;
    if (f->begin != NULL) {
        f->begin(f->comm);
    }
    b_bind(f->is_sender ? 0 : 1); // alike for threads and processes: luck must not place them
    for (int w = 0; w < RATES_WINDOW; w++) {
        f->values[w] = f->is_sender ? 1000 * f->tag + w : -1;
    }
    for (int i = 0; i < 6; i++) { // towards a count that fills a chunk, warming up on the way
        double t = rates_chunk(f) * rates_iters;
        if (f->is_first && t < chunk_s / 2) { // of the others only what rank 0 says counts
            double grow = chunk_s / (t > 0 ? t : chunk_s);
            rates_iters = (int)(rates_iters * (grow > 8 ? 8 : grow)) + 1;
        }
    }
    for (int i = 0; i < RATES_CHUNKS; i++) {
        v[i] = rates_chunk(f);
    }
    for (int w = 0; w < RATES_WINDOW; w++) {
        if (f->values[w] != 1000 * f->tag + w) {
            b_die("messages arrived in another order than they were sent");
        }
    }
    if (f->is_first) {
        // Never the fastest: it may be one in which the threads could not get in each other's way.
        qsort(v, RATES_CHUNKS, sizeof *v, b_compare);
        rates_result = RATES_WINDOW * RATES_REPEAT / v[RATES_CHUNKS / 2] / 1e6;
    }
    return NULL;
}

// Millions of messages per second of one flow; all of a process's flows are given.
static inline double rates_measure(struct rates_flow *flows, int n)
{
    rates_iters = 1;
    b_cores(); // before there are threads that ask
    pthread_barrier_init(&rates_gate, NULL, (unsigned)n);
    for (int i = 1; i < n; i++) {
        if (pthread_create(&flows[i].id, NULL, rates_run, &flows[i]) != 0) {
            b_die("cannot start a thread");
        }
    }
    flows[0].is_first = 1;
    rates_run(&flows[0]);
    for (int i = 1; i < n; i++) {
        pthread_join(flows[i].id, NULL);
    }
    pthread_barrier_destroy(&rates_gate);
    return rates_result;
}

#endif
