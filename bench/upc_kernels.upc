// SPDX-License-Identifier: BSD-3-Clause
// Small measurements of UPC: triad on shared arrays, the barrier beside MPI's, single gets and
// puts. Prints lines "name value"; of many pieces the fastest counts, because others use the cores.
//   upc_kernels ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <upc.h>

#ifndef PER_THREAD
#define PER_THREAD 500000L // elements of the triad
#endif
enum { PIECES = 20, SLOTS = 1024 };
shared double a[PER_THREAD * THREADS], b[PER_THREAD * THREADS], c[PER_THREAD * THREADS];
shared double slots[SLOTS * THREADS];
shared double begins[THREADS], ends[THREADS];
shared int bad[THREADS];

static double fastest(double best, double begin)
{
    double t = MPI_Wtime() - begin;
    return best == 0 || t < best ? t : best;
}

// From the first thread's begin to the last one's end: where threads share a core, one may leave a
// barrier when another has already done its part.
static double span(double best, double begin)
{
    begins[MYTHREAD] = begin;
    ends[MYTHREAD] = MPI_Wtime();
    upc_barrier;
    double first = begins[0], last = ends[0];
    for (int t = 1; t < THREADS; t++) {
        first = begins[t] < first ? begins[t] : first;
        last = ends[t] > last ? ends[t] : last;
    }
    return best == 0 || last - first < best ? last - first : best;
}

static void say(const char *name, double value)
{
    if (MYTHREAD == 0) {
        printf("%s %.6g\n", name, value);
    }
}

static void triad_declared(void)
{
    double best = 0;
    upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; &a[i]) {
        a[i] = 0;
        b[i] = (double)i;
        c[i] = 2;
    }
    for (int p = 0; p < PIECES; p++) {
        upc_barrier;
        double begin = MPI_Wtime();
        upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; &a[i]) {
            a[i] = b[i] + 3.0 * c[i];
        }
        best = span(best, begin);
    }
    upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; i + 1) { // what a neighbour wrote
        bad[MYTHREAD] += a[i] != (double)i + 6;
    }
    say("triad_GBs", 24.0 * PER_THREAD * THREADS / best / 1e9);
    upc_barrier;
}

// The same through pointers, of which the compiler does not know where they point.
static void triad_pointers(shared double *x, shared double *y, shared double *z)
{
    double best = 0;
    for (int p = 0; p < PIECES; p++) {
        upc_barrier;
        double begin = MPI_Wtime();
        upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; &x[i]) {
            x[i] = y[i] + 4.0 * z[i];
        }
        best = span(best, begin);
    }
    upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; i + 1) {
        bad[MYTHREAD] += x[i] != (double)i + 8;
    }
    say("triad_pointers_GBs", 24.0 * PER_THREAD * THREADS / best / 1e9);
    upc_barrier;
}

static void barriers(int rounds)
{
    double upc = 0, mpi = 0;
    for (int p = 0; p < PIECES; p++) {
        upc_barrier;
        double begin = MPI_Wtime();
        for (int i = 0; i < rounds; i++) {
            upc_barrier;
        }
        upc = fastest(upc, begin);
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        for (int i = 0; i < rounds; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        mpi = fastest(mpi, begin);
    }
    say("upc_barrier_ns", upc / rounds * 1e9);
    say("MPI_Barrier_ns", mpi / rounds * 1e9);
}

// Thread 0 alone works on elements of thread 1, the others wait.
static void single(int rounds)
{
    double get = 0, put = 0;
    for (int i = 0; i < SLOTS; i++) {
        slots[MYTHREAD + i * THREADS] = i;
    }
    upc_barrier;
    for (int p = 0; p < PIECES && MYTHREAD == 0 && THREADS > 1; p++) {
        double sum = 0, begin = MPI_Wtime();
        for (int i = 0; i < rounds; i++) {
            sum += slots[1 + i % SLOTS * THREADS];
        }
        get = fastest(get, begin);
        bad[0] += sum != (double)rounds / SLOTS * (SLOTS * (SLOTS - 1) / 2);
        begin = MPI_Wtime();
        for (int i = 0; i < rounds; i++) {
            slots[1 + i % SLOTS * THREADS] = i % SLOTS;
        }
        upc_fence;
        put = fastest(put, begin);
    }
    upc_barrier;
    if (THREADS > 1) {
        say("get_ns", get / rounds * 1e9);
        say("put_ns", put / rounds * 1e9);
        bad[MYTHREAD] += MYTHREAD == 1 && slots[1 + 7 * THREADS] != 7;
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 0, n_bad = 0;
    if (rounds < 1) {
        fprintf(stderr, "usage: upc_kernels ROUNDS\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    triad_declared();
    triad_pointers(a, b, c);
    barriers(rounds);
    single(SLOTS * (1 + rounds / 100));
    upc_barrier;
    for (int t = 0; t < THREADS; t++) {
        n_bad += bad[t];
    }
    MPI_Finalize();
    if (n_bad > 0 && MYTHREAD == 0) {
        fprintf(stderr, "upc_kernels: %d values are wrong\n", n_bad);
    }
    return n_bad > 0;
}
